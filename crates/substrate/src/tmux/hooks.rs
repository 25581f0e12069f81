//! The hooks of a tmux server that report when a person looks at a pane. They have their own index in each list, beside
//! the person's hooks, and can be removed again.

use std::path::Path;

use ipc::place;

use super::server::{Server, TmuxError};

/// Our index in each list of hooks.
const PLACE: &str = "[7301]";

/// The events after which a person may see another pane: another window of the session, another pane of the window,
/// and, with `focus-events` on, the terminal itself.
const HOOKS: [(&str, &str); 3] =
    [("session-window-changed", "-g"), ("window-pane-changed", "-gw"), ("pane-focus-in", "-gw")];

/// Only panes that are on a screen count.
const IS_SEEN: &str = "#{&&:#{session_attached},#{window_active}}";

/// Installs the hooks. `program` is ours. Its output and failures are not shown in any pane. Without a daemon nothing
/// runs: looking at a pane must not start one, nor create a state home that the user has removed.
pub(crate) fn hook(server: &Server, program: &Path, home: &Path) -> Result<(), TmuxError> {
    let quoted = |text: &str| shell_quoted(&text.replace('#', "##"));
    let command = format!(
        "test -S {} && SUBSTRATE_HOME={} {} fleet check --pane '#{{pane_id}}' --socket {} >/dev/null 2>&1 || :",
        quoted(&home.join(place::SOCKET).display().to_string()),
        quoted(&home.display().to_string()),
        quoted(&program.display().to_string()),
        quoted(server.socket()),
    );
    let action = format!("if-shell -F '{IS_SEEN}' {{ run-shell -b {} }}", tmux_quoted(&command));
    for (name, _) in HOOKS {
        server.run(&["set-hook", "-g", &format!("{name}{PLACE}"), &action])?;
    }
    Ok(())
}

/// Removes them.
pub(crate) fn unhook(server: &Server) -> Result<(), TmuxError> {
    for (name, _) in HOOKS {
        server.run(&["set-hook", "-gu", &format!("{name}{PLACE}")])?;
    }
    Ok(())
}

/// Whether they are installed, and whether the terminal's own focus is reported too.
pub(crate) fn hooked(server: &Server) -> Result<(bool, bool), TmuxError> {
    let mut n = 0;
    for (name, list) in HOOKS {
        let said = server.run(&["show-hooks", list, name]).unwrap_or_default();
        n += usize::from(said.contains(PLACE));
    }
    let focus = server.run(&["show-options", "-gqv", "focus-events"])?;
    Ok((n == HOOKS.len(), focus.trim() == "on"))
}

/// Whether a server has hooks of that state home.
pub(crate) fn serves(server: &Server, home: &Path) -> bool {
    let home = home.display().to_string();
    HOOKS.iter().any(|(name, list)| {
        let said = server.run(&["show-hooks", list, name]).unwrap_or_default();
        said.lines().any(|line| line.contains(PLACE) && line.contains(&home))
    })
}

/// Quotes one word for a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes one word for tmux's own parser, in double quotes.
fn tmux_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(shell_quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(tmux_quoted(r#"a "b" $c \d"#), r#""a \"b\" \$c \\d""#);
    }
}
