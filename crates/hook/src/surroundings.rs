//! The process's own surroundings, read from the system in one piece each: no allocation, no copies.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use ipc::{passed, place};
use rustix::fs::{CWD, Mode, OFlags};

/// Room for the usual sizes. Anything larger costs an allocation.
pub(crate) struct Space {
    args: [MaybeUninit<u8>; 1 << 10],
    cwd: [MaybeUninit<u8>; 4 << 10],
    env: [MaybeUninit<u8>; 32 << 10],
    home: [u8; 128],
}

impl Space {
    pub(crate) const fn new() -> Self {
        Self {
            args: [const { MaybeUninit::uninit() }; 1 << 10],
            cwd: [const { MaybeUninit::uninit() }; 4 << 10],
            env: [const { MaybeUninit::uninit() }; 32 << 10],
            home: [0; 128],
        }
    }
}

pub(crate) struct Surroundings<'a> {
    /// Everything after the program's name, each ended by a zero byte.
    pub(crate) args: &'a [u8],
    pub(crate) cwd: &'a [u8],
    /// The variables that go with the request.
    pub(crate) env: &'a [u8],
    substrate_home: &'a [u8],
    home: &'a [u8],
    /// A deadline from the environment, instead of the event's own.
    pub(crate) deadline_ms: Option<u32>,
}

/// The arguments as the C library passes them.
pub(crate) struct Given {
    pub(crate) n: c_int,
    pub(crate) args: *const *const c_char,
}

impl Given {
    /// For a `main` that std calls: std knows the arguments.
    #[cfg(not(all(target_os = "linux", not(test))))]
    pub(crate) const BY_STD: Self = Self { n: 0, args: std::ptr::null() };

    /// For a system without `/proc`.
    #[cold]
    #[expect(
        unsafe_code,
        reason = "std does not know the arguments of a program that it does not start"
    )]
    fn each(&self) -> Vec<Vec<u8>> {
        if self.args.is_null() {
            return std::env::args_os().map(|arg| arg.as_bytes().to_vec()).collect();
        }
        (0..usize::try_from(self.n).unwrap_or(0))
            // SAFETY: the C library gives `n` pointers to strings that end with a zero byte and live as long as we do.
            .map(|at| unsafe { CStr::from_ptr(*self.args.add(at)) }.to_bytes().to_vec())
            .collect()
    }
}

impl<'a> Surroundings<'a> {
    pub(crate) fn look(space: &'a mut Space, given: &Given) -> Self {
        let all = read(c"/proc/self/cmdline", &mut space.args)
            .unwrap_or_else(|| zero_ended(given.each().into_iter()));
        let args = &all[(end_of(all) + 1).min(all.len())..];
        let cwd = link(c"/proc/self/cwd", &mut space.cwd).unwrap_or_else(|| {
            std::env::current_dir().unwrap_or_default().into_os_string().leak().as_bytes()
        });
        let env = read(c"/proc/self/environ", &mut space.env).unwrap_or_else(|| {
            zero_ended(
                std::env::vars_os()
                    .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()),
            )
        });
        let mut out =
            Self { args, cwd, env: &[], substrate_home: &[], home: &[], deadline_ms: None };
        out.look_through(env, &mut space.home);
        out
    }

    /// The state home's path, if it is known and absolute.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        place::state_home(
            Some(OsStr::from_bytes(self.substrate_home)),
            Some(OsStr::from_bytes(self.home)),
        )
        .filter(|home| home.is_absolute())
    }

    /// The socket's path, without an allocation. `None`: it is unknown or too long.
    pub(crate) fn socket<'b>(&self, space: &'b mut [u8; 108]) -> Option<&'b [u8]> {
        let parts: &[&[u8]] = if self.substrate_home.is_empty() {
            &[self.home, b"/.subtrate/", place::SOCKET.as_bytes()]
        } else {
            &[self.substrate_home, b"/", place::SOCKET.as_bytes()]
        };
        // A relative home would be another one in every folder. `substrate` reports that.
        if parts[0].first() != Some(&b'/') {
            return None;
        }
        let mut n = 0;
        for part in parts {
            space.get_mut(n..n + part.len())?.copy_from_slice(part);
            n += part.len();
        }
        Some(&space[..n])
    }

    /// Finds what we need ourselves, and moves the variables that go with the request to the front.
    fn look_through(&mut self, env: &'a mut [u8], home: &'a mut [u8; 128]) {
        const HOME: &[u8] = b"HOME=";
        const OWN: &[u8] = b"SUBSTRATE_HOME=";
        const DEADLINE: &[u8] = b"SUBSTRATE_HOOK_DEADLINE_MS=";
        let (mut kept, mut at, mut home_len) = (0, 0, 0);
        let mut own = 0..0;
        while at < env.len() {
            let end = at + end_of(&env[at..]);
            let next = (end + 1).min(env.len());
            let entry = &env[at..end];
            // Only names that can matter are compared in full: this runs at every tool call.
            if matches!(env[at], b'A' | b'C' | b'S' | b'T') {
                if passed::passes(entry) {
                    if entry.starts_with(OWN) {
                        own = kept + OWN.len()..kept + entry.len();
                    } else if let Some(value) = entry.strip_prefix(DEADLINE) {
                        self.deadline_ms = place::given_deadline_ms(value);
                    }
                    env.copy_within(at..next, kept);
                    kept += next - at;
                }
            } else if let Some(value) = entry.strip_prefix(HOME) {
                // Copied, since its place will be overwritten.
                home_len = value.len().min(home.len());
                home[..home_len].copy_from_slice(&value[..home_len]);
            }
            at = next;
        }
        self.home = if home_len < home.len() { &home[..home_len] } else { long_home() };
        self.env = &env[..kept];
        self.substrate_home = &self.env[own];
    }
}

/// A home whose path is unusually long.
fn long_home() -> &'static [u8] {
    let found = std::env::vars_os().find(|(name, _)| name == "HOME");
    found.map_or(&[], |(_, value)| value.leak().as_bytes())
}

/// Where the first zero byte is, or the end. Sixteen bytes at a time: environments are long, and this is the hot path.
fn end_of(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let mut at = 0;
    for &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] in bytes.as_chunks::<16>().0 {
        let low = zeros(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        let high = zeros(u64::from_le_bytes([i, j, k, l, m, n, o, p]));
        if low | high != 0 {
            let n = if low == 0 { 64 + high.trailing_zeros() } else { low.trailing_zeros() };
            return at + (n / 8) as usize;
        }
        at += 16;
    }
    at + bytes[at..].iter().position(|byte| *byte == 0).unwrap_or(bytes.len() - at)
}

/// Reads a system file that fits into the space.
fn read<'a>(path: &CStr, space: &'a mut [MaybeUninit<u8>]) -> Option<&'a mut [u8]> {
    let file = open_above_streams(path)?;
    let (bytes, rest) = rustix::io::read(&file, space).ok()?;
    // Closed when the process ends, which is soon.
    std::mem::forget(file);
    (!bytes.is_empty() && !rest.is_empty()).then_some(bytes)
}

/// Opens a file with a descriptor that is not a standard stream's. If the caller closed one, its number would be next.
/// The null device takes it, so nothing else is ever read or written there.
fn open_above_streams(path: &CStr) -> Option<OwnedFd> {
    let open = |path| rustix::fs::open(path, OFlags::RDWR.union(OFlags::CLOEXEC), Mode::empty());
    let mut file =
        rustix::fs::open(path, OFlags::RDONLY.union(OFlags::CLOEXEC), Mode::empty()).ok()?;
    while file.as_raw_fd() <= 2 {
        drop(file);
        std::mem::forget(open(c"/dev/null").ok()?);
        file = rustix::fs::open(path, OFlags::RDONLY.union(OFlags::CLOEXEC), Mode::empty()).ok()?;
    }
    Some(file)
}

/// The target of a link in `/proc`.
fn link<'a>(path: &CStr, space: &'a mut [MaybeUninit<u8>]) -> Option<&'a [u8]> {
    let (target, rest) = rustix::fs::readlinkat_raw(CWD, path, space).ok()?;
    (!rest.is_empty()).then_some(target)
}

/// The same form for systems without such files, and for more than the usual sizes.
fn zero_ended(items: impl Iterator<Item = Vec<u8>>) -> &'static mut [u8] {
    let mut out = Vec::new();
    for item in items {
        out.extend_from_slice(&item);
        out.push(0);
    }
    out.leak()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_at_every_distance() {
        for len in 0..40 {
            let mut bytes = vec![b'x'; len];
            assert_eq!(end_of(&bytes), len);
            bytes.extend_from_slice(b"\0abcdefghijk\0");
            assert_eq!(end_of(&bytes), len);
        }
    }

    #[test]
    fn what_passes_is_kept_and_the_homes_are_found() {
        let mut space = Space::new();
        let mut env = b"PATH=/bin\0HOME=/h\0AGENT_ID=a\0X=1\0CLAUDE_API_KEY=k\0SUBSTRATE_HOME=/s\0CLAUDE_PID=7\0".to_vec();
        let mut found = Surroundings {
            args: &[],
            cwd: &[],
            env: &[],
            substrate_home: &[],
            home: &[],
            deadline_ms: None,
        };
        found.look_through(&mut env, &mut space.home);
        assert_eq!(found.env, b"AGENT_ID=a\0SUBSTRATE_HOME=/s\0CLAUDE_PID=7\0");
        assert_eq!((found.home, found.substrate_home), (&b"/h"[..], &b"/s"[..]));
        let mut socket = [0; 108];
        assert_eq!(found.socket(&mut socket), Some(&b"/s/daemon.sock"[..]));
        found.substrate_home = &[];
        assert_eq!(found.socket(&mut socket), Some(&b"/h/.subtrate/daemon.sock"[..]));
        for home in [&b""[..], b"h"] {
            found.home = home;
            assert_eq!((found.socket(&mut socket), found.state_home()), (None, None));
        }
    }
}
