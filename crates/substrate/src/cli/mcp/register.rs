//! Where the server is registered: `hooks install --mcp` asks the client itself to add it.

/// Our program, as a client starts it.
pub(super) fn program() -> String {
    std::env::current_exe()
        .map_or_else(|_| "substrate".to_owned(), |path| path.display().to_string())
}
