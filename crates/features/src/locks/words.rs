//! What agents read about leases. Paths and reasons come from outside, so each is cut to one short line.

use std::fmt::Write as _;

use substrate_core::facts::Place;
use substrate_core::text::{one_line, shell_word};
use substrate_core::time::Ago;
use substrate_core::{Cx, DbError, Timestamp};

use super::status::{Blocker, Hold};

const MAX_PATH: usize = 200;

/// The longest path that a suggested command contains.
const MAX_WORD: usize = 1_000;

pub(super) const MAX_REASON: usize = 120;

/// The key under which waiters for a file are woken.
pub(super) fn wake_key(path: &str) -> String {
    format!("lock {path}")
}

/// The key for files in a reserved glob.
pub(super) fn glob_key(id: i64) -> String {
    format!("lock glob {id}")
}

/// A path for use inside backticks.
pub(super) fn path(path: &str) -> String {
    one_line(&path.replace('`', "'"), MAX_PATH)
}

pub(super) fn reason(text: &str) -> String {
    one_line(&text.replace('`', "'"), MAX_REASON)
}

/// `src/lib.rs` is leased by NobleLion, taken 3m ago: they are editing it.
pub(super) fn held(cx: &mut Cx<'_>, relative: &str, blocker: &Blocker) -> Result<String, DbError> {
    let Blocker { hold, glob, other_name, .. } = blocker;
    let who = hold.holder.address(cx)?;
    let taken = Ago(cx.now.since(hold.acquired));
    let by = match (glob, other_name) {
        (Some((_, glob)), _) => format!("reserved by {who} (`{}`)", path(glob)),
        (None, Some((_, other))) => format!("leased by {who} as `{}`", path(other)),
        (None, None) => format!("leased by {who}"),
    };
    let what = doing(hold, glob.is_some());
    Ok(format!("`{}` is {by}, taken {taken} ago: {what}.", path(relative)))
}

fn doing(hold: &Hold, is_reserved: bool) -> String {
    match (reason(&hold.reason), is_reserved) {
        (reason, _) if !reason.is_empty() => format!("\"{reason}\""),
        (_, true) => "they plan to work there".to_owned(),
        (_, false) => "they are editing it".to_owned(),
    }
}

/// What a refused actor can do instead.
pub(super) fn next(
    cx: &mut Cx<'_>,
    place: &Place,
    cwd: &str,
    blocker: &Blocker,
) -> Result<String, DbError> {
    let who = blocker.hold.holder.address(cx)?;
    let (wait, send) = (wait(&place.path, cwd), send(&who, &place.relative));
    Ok(format!("Work on something else, wait with {wait}, or write to them: {send}."))
}

/// The note to an agent that holds a file another is waiting for. `freed` is what it can release.
pub(super) fn waits_for_you(waiter: &str, relative: &str, freed: &str) -> String {
    // The holder may be in any folder.
    let release = word(freed, "").map_or_else(
        || "It is released when your turn ends.".to_owned(),
        |word| format!("Run `substrate locks release {word}` when you are done, or end your turn."),
    );
    format!("{waiter} is waiting for `{}`, which you hold. {release}", path(relative))
}

/// The mail to a person who holds a file that an agent is waiting for.
pub(super) fn waits(waiter: &str, relative: &str, freed: &str) -> (String, String) {
    let path = path(relative);
    let subject = format!("{waiter} is waiting for {path}");
    // The holder may be in any folder.
    let release = word(freed, "").map_or_else(String::new, |word| {
        format!(" Run `substrate locks release {word}` to free it now.")
    });
    let body = format!("{waiter} wants to edit `{path}`, which you hold.{release}");
    (subject, body)
}

/// How a file changed that another actor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignChange {
    /// By an edit, for certain.
    Edited,
    /// While a command ran: perhaps by it, very likely if the command names the file.
    Changed {
        is_named: bool,
    },
    Removed {
        is_named: bool,
    },
}

/// For the actor whose edit, or perhaps command, changed what another holds.
pub(super) fn you_changed(holder: &str, relative: &str, how: ForeignChange) -> String {
    let (path, send) = (path(relative), send(holder, relative));
    let what = match how {
        ForeignChange::Edited => {
            "your edit changed it. Read it again before you go on, and tell them".to_owned()
        }
        ForeignChange::Changed { is_named: false } => {
            "it changed while your command ran. If that was you, read it again and tell them"
                .to_owned()
        }
        ForeignChange::Changed { is_named: true } => {
            "it changed while your command, which names it, was running. Read it again before you go on, and tell them"
                .to_owned()
        }
        ForeignChange::Removed { is_named: false } => {
            "it was removed or moved while your command ran. If that was you, restore it and tell them"
                .to_owned()
        }
        ForeignChange::Removed { is_named: true } => {
            "it was removed or moved while your command, which names it, was running. Restore it, and tell them"
                .to_owned()
        }
    };
    format!("`{path}` is leased by {holder}, and {what}: {send}.")
}

/// For the holder of that file.
pub(super) fn was_changed(who: &str, relative: &str, how: ForeignChange) -> (String, String) {
    let path = path(relative);
    match how {
        ForeignChange::Edited => (
            format!("{who} changed {path}"),
            format!("{who} changed `{path}`, which you hold.\nRead it again before you edit it."),
        ),
        ForeignChange::Changed { is_named } => (
            format!("{path} changed while {who} ran a command"),
            format!(
                "`{path}`, which you hold, changed while {who} ran a command{}.\n\
                 Read it again before you edit it.",
                ran(is_named)
            ),
        ),
        ForeignChange::Removed { is_named } => (
            format!("{path} disappeared while {who} ran a command"),
            format!(
                "`{path}`, which you hold, was removed or moved while {who} ran a command{}.\n\
                 Find it before you edit it, or ask them.",
                ran(is_named)
            ),
        ),
    }
}

/// Why that command is suspected.
const fn ran(is_named: bool) -> &'static str {
    if is_named { " that names it" } else { " and you ran none" }
}

/// `substrate locks wait src/lib.rs`, in backticks.
pub(super) fn wait(path: &str, cwd: &str) -> String {
    match word(path, cwd) {
        Some(word) => format!("`substrate locks wait {word}`"),
        None => "`substrate locks`, which shows when it is free".to_owned(),
    }
}

/// The command that shows who has a file.
pub(super) fn show(path: &str, cwd: &str) -> String {
    word(path, cwd)
        .map_or_else(|| "substrate locks".to_owned(), |word| format!("substrate locks show {word}"))
}

/// The command that writes to an agent about a file, in backticks.
pub(super) fn send(who: &str, relative: &str) -> String {
    let (who, subject) = (shell_word(who), shell_word(&path(relative)));
    format!("`substrate send --to {who} --subject {subject} --body \"…\"`")
}

/// A glob or another file in the working tree of that file, as a path.
pub(super) fn in_root(path: &str, relative: &str, other: &str) -> String {
    let root = path.strip_suffix(relative).unwrap_or_default();
    format!("{root}{}", other.strip_prefix("./").unwrap_or(other))
}

/// A path as one word of a command that runs in `cwd`: relative if it lies below, else absolute. `None` if no line can
/// show it unchanged.
fn word(path: &str, cwd: &str) -> Option<String> {
    let below =
        path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    let from_here = match below.filter(|below| !cwd.is_empty() && !below.is_empty()) {
        Some(below) if below.starts_with(['-', '~']) => format!("./{below}"),
        Some(below) => below.to_owned(),
        None => path.to_owned(),
    };
    let is_whole = one_line(&from_here, MAX_WORD) == from_here && !from_here.contains('`');
    is_whole.then(|| shell_word(&from_here))
}

/// What an agent holds, for a conversation that has forgotten it.
pub(super) fn you_hold(relatives: &[String], n: usize) -> String {
    let mut out = format!("You hold {n} file lease{}: ", if n == 1 { "" } else { "s" });
    for (i, relative) in relatives.iter().enumerate() {
        let _infallible = write!(out, "{}`{}`", if i == 0 { "" } else { ", " }, path(relative));
    }
    if n > relatives.len() {
        out.push_str(", …");
    }
    let they = if n == 1 { "It ends" } else { "They end" };
    let them = if n == 1 { "it" } else { "them" };
    let _infallible = write!(out, ". {they} with your turn; `substrate locks` shows {them}.");
    out
}

/// A time in UTC, to the millisecond.
pub(super) fn iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::at_the_root("/repo/src/a.rs", "/repo", Some("src/a.rs"))]
    #[case::below_the_root("/repo/src/a.rs", "/repo/src", Some("a.rs"))]
    #[case::beside("/repo/a.rs", "/repo/src", Some("/repo/a.rs"))]
    #[case::only_a_common_prefix("/repo2/a.rs", "/repo", Some("/repo2/a.rs"))]
    #[case::in_any_folder("/repo/a.rs", "", Some("/repo/a.rs"))]
    #[case::top_folder("/a.rs", "/", Some("a.rs"))]
    #[case::space("/repo/my file.rs", "/repo", Some("'my file.rs'"))]
    #[case::shell("/repo/$(touch pwned) \"x.rs", "/repo", Some("'$(touch pwned) \"x.rs'"))]
    #[case::quote("/repo/it's.rs", "/repo", Some(r"'it'\''s.rs'"))]
    #[case::glob("/repo/src/**", "/repo", Some("'src/**'"))]
    #[case::flag("/repo/-rf", "/repo", Some("./-rf"))]
    #[case::home("/repo/~x", "/repo", Some("'./~x'"))]
    #[case::marks("/repo/a`b", "/repo", None)]
    #[case::two_lines("/repo/a\nb", "/repo", None)]
    fn a_path_becomes_a_word_of_a_command(
        #[case] path: &str,
        #[case] cwd: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(word(path, cwd).as_deref(), expected);
        if let Some(word) = expected {
            assert_eq!(crate::shell::split(word).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_long_path_appears_whole_or_not_at_all() {
        let long = |n: usize| format!("/repo/{}", "x/".repeat(n));
        assert_eq!(word(&long(200), "/").unwrap().len(), long(200).len() - 1);
        assert_eq!(word(&long(600), "/"), None);
    }
}
