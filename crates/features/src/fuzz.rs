//! What is read from outside, for a fuzzer: readers that no other crate needs.

/// Reads a command line, and asks of it what guards and locks ask.
pub fn shell(text: &str) {
    let line = crate::shell::read(text);
    for made in &line.commands {
        let _name = made.name();
        let _fed = line.fed(made);
        assert!(made.inner.iter().chain(&made.executes).all(|at| *at < line.commands.len()));
        let (from, outer) = (made.from, made.outer);
        assert!(from.into_iter().chain(outer).all(|at| at < line.commands.len()));
    }
}

/// Compares globs with each other and with a path.
pub fn globs(glob: &str, other: &str, path: &str) {
    crate::globs::ask_all(glob, other, path);
}
