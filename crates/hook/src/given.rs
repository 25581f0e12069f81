//! What the system gives a process: arguments, variables, a folder. The C library passes the first two to `main` where they are,
//! so reading them costs no system call. `/proc` would say the same, for a tenth of the program's time.

use std::ffi::{CStr, c_char};

/// What a process was started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    args: *const *const c_char,
    vars: *const *const c_char,
}

/// One argument or variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text(*const c_char);

impl Given {
    /// # Safety
    ///
    /// Both lists end with a null pointer. All other pointers lead to strings that end with a zero byte. Lists and strings live as
    /// long as the process, and no code changes them.
    #[expect(unsafe_code, reason = "only the caller knows where the pointers come from")]
    #[cfg(all(target_os = "linux", not(test)))]
    pub(crate) const unsafe fn new(args: *const *const c_char, vars: *const *const c_char) -> Self {
        Self { args, vars }
    }

    /// What std knows, in the same form.
    #[cfg(not(all(target_os = "linux", not(test))))]
    pub(crate) fn by_std() -> Self {
        use std::os::unix::ffi::OsStringExt;
        let args = std::env::args_os().map(OsStringExt::into_vec);
        let vars = std::env::vars_os()
            .map(|(name, value)| [&name.into_vec()[..], b"=", &value.into_vec()].concat());
        Self { args: leaked(args), vars: leaked(vars) }
    }

    /// The arguments after the program's name.
    pub(crate) fn args(self) -> impl Iterator<Item = Text> {
        list(self.args).skip(1)
    }

    /// The variables, `NAME=value`.
    pub(crate) fn vars(self) -> impl Iterator<Item = Text> {
        list(self.vars)
    }
}

#[expect(unsafe_code, reason = "a list that the C library gives has no length")]
fn list(from: *const *const c_char) -> impl Iterator<Item = Text> {
    let mut at = from;
    std::iter::from_fn(move || {
        // SAFETY: `Given::new` promises that the list ends with a null pointer, and we stay there.
        let text = unsafe { *at };
        if text.is_null() {
            return None;
        }
        // SAFETY: this was not the end.
        at = unsafe { at.add(1) };
        Some(Text(text))
    })
}

/// Writes the current folder into the space. `None`: it has no path, or the path does not fit.
#[cfg(all(target_os = "linux", not(test)))]
#[expect(unsafe_code, reason = "the same without an allocation, which would cost system calls")]
pub(crate) fn cwd(space: &mut [u8]) -> Option<usize> {
    unsafe extern "C" {
        fn getcwd(space: *mut c_char, len: usize) -> *mut c_char;
    }
    // SAFETY: the space is ours, and the C library writes at most `len` bytes of it, with a zero byte at the end.
    let found = unsafe { getcwd(space.as_mut_ptr().cast(), space.len()) };
    if found.is_null() { None } else { space.iter().position(|byte| *byte == 0) }
}

impl Text {
    /// Its first byte. Zero: it is empty.
    #[expect(unsafe_code, reason = "most variables are told apart without looking for their ends")]
    pub(crate) fn first(self) -> u8 {
        // SAFETY: `Given::new` promises a string that ends with a zero byte, so there is one byte at least.
        unsafe { self.0.cast::<u8>().read() }
    }

    #[expect(unsafe_code, reason = "a string that the C library gives has no length")]
    pub(crate) fn bytes(self) -> &'static [u8] {
        // SAFETY: `Given::new` promises a string that ends with a zero byte, lives as long as the process and is not changed.
        unsafe { CStr::from_ptr(self.0) }.to_bytes()
    }
}

#[cfg(not(all(target_os = "linux", not(test))))]
fn leaked(texts: impl Iterator<Item = Vec<u8>>) -> *const *const c_char {
    let texts = texts.filter_map(|text| std::ffi::CString::new(text).ok());
    let list: Vec<*const c_char> =
        texts.map(|text| text.into_raw().cast_const()).chain([std::ptr::null()]).collect();
    list.leak().as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_variables_are_those_of_std() {
        let given = Given::by_std();
        let args: Vec<_> = given.args().map(|text| text.bytes().to_vec()).collect();
        let by_std: Vec<_> =
            std::env::args_os().skip(1).map(|arg| arg.into_encoded_bytes()).collect();
        assert_eq!(args, by_std);
        let n_vars = given.vars().filter(|text| text.first() != 0).count();
        assert_eq!(n_vars, std::env::vars_os().count());
        assert!(given.vars().any(|text| text.bytes().starts_with(b"PATH=")));
    }
}
