//! After a shell command: files that others hold and that changed while it ran, although no edit announced it.
//!
//! Both sides are told, once. A command that names the file is told even while the holder has a call open that does not
//! name it. A command that does not name the file is told only if it ran alone: the holder had no call open, and no
//! other open call names the file. The journal knows which calls are open, so edits write no rows for this.
//!
//! The time stamp is the system's time of change, which `touch` can't set.

use substrate_core::{Cx, DbError, Detail, Event, EventKind, Settings, Timestamp, ToolClass, Wish};

use super::files;
use super::history::{self, LeaseChange};
use super::leases::{self, Lease, SeenLease};
use super::status::{self, Hold};
use super::words::{self, ForeignChange};
use crate::identity::holder::{Holder, Pulses};
use crate::shell::files::writes;
use crate::shell::{self, Simple};
use crate::{journal, mail};

/// Held files that are checked after a command.
const MAX_LOOKED_AT: i64 = 64;

/// How long a command is assumed to have run if the client does not say.
const UNKNOWN_MS: i64 = 120_000;

/// How late a hook may run after the command has ended.
const LATE_MS: i64 = 2_000;

/// Includes commands that failed: they may have changed files first.
pub(super) fn is_after_shell(event: &Event) -> bool {
    matches!(event.kind, EventKind::PostToolUse | EventKind::PostToolUseFailure)
        && event.tool().is_some_and(|call| call.class == ToolClass::Shell)
}

/// Whether the event looks at files that the database names.
pub(super) fn looks(event: &Event, settings: &Settings) -> bool {
    settings.word("locks.mode") != "off" && is_after_shell(event)
}

pub(super) fn after_shell(cx: &mut Cx<'_>, event: &Event) -> Result<Vec<Wish>, DbError> {
    let Some(me) = Holder::of_event(cx, event) else { return Ok(Vec::new()) };
    // Mostly no one else holds anything, and no file is checked.
    if !leases::others_hold(cx.db, &me)? {
        return Ok(Vec::new());
    }
    let began = began(event);
    let mut pulses = Pulses::default();
    let mut out = Vec::new();
    for (lease, seen) in held_here(cx, event, &me)? {
        let Some(change) = change(cx, &lease, seen, began) else { continue };
        if lease.hold.until(cx, &mut pulses)?.is_none() {
            continue;
        }
        let holder = &lease.hold.holder;
        let is_lent = status::waits_for(cx, holder, &me)?;
        let suspect = match is_lent {
            true => Suspect::Blocker,
            false => suspect(cx, event, &me, &lease, change.at)?,
        };
        if suspect != Suspect::Other {
            leases::saw(cx.db, &lease.path, change.stamp)?;
        }
        let is_named = match suspect {
            Suspect::Blocker | Suspect::Other => continue,
            Suspect::Me { is_named } => is_named,
        };
        let how = match change.stamp {
            Some(_) => ForeignChange::Changed { is_named },
            None => ForeignChange::Removed { is_named },
        };
        let file = (&*lease.path, &*lease.relative);
        out.push(tell(cx, &me, &lease.hold, file, &event.cwd, how)?);
    }
    Ok(out)
}

/// The newest leases of others in the command's working tree. That tree is the project's folder, the command's folder or
/// one above it. Which one is looked up only if others hold something in one of these.
fn held_here(cx: &mut Cx<'_>, event: &Event, me: &Holder) -> Result<Vec<SeenLease>, DbError> {
    let above = || std::iter::once(event.cwd.as_str()).chain(folders(&event.cwd));
    let project = Some(event.project.as_str()).filter(|project| above().all(|it| it != *project));
    let mut out = Vec::new();
    for root in above().chain(project) {
        out.extend(leases::others_in_root(cx.db, root, me, MAX_LOOKED_AT)?);
    }
    if !out.is_empty() && files::knows_here(cx, event) {
        let here = files::root_here(cx, event);
        out.retain(|(lease, _)| Some(&lease.root) == here.as_ref());
    }
    Ok(out)
}

/// When the command began; rather too early than too late.
fn began(event: &Event) -> Timestamp {
    let ran = match event.detail {
        Detail::ToolAfter { duration_ms, .. } | Detail::ToolFailed { duration_ms, .. } => {
            duration_ms.unwrap_or(UNKNOWN_MS).max(0)
        }
        _ => 0,
    };
    event.at.plus_ms(-(ran.saturating_add(LATE_MS)))
}

/// A change of a file.
struct FileChange {
    at: Timestamp,
    /// Its time stamp now; `None` if the file is gone.
    stamp: Option<i64>,
}

/// A new change after the holder's own last edit and while the command ran. `None` also while the holder is editing,
/// since then the author is unclear.
fn change(cx: &Cx<'_>, lease: &Lease, seen: Option<i64>, began: Timestamp) -> Option<FileChange> {
    if lease.hold.is_provisional {
        return None;
    }
    let found = cx.changed(&lease.path)?;
    let stamp = found.itself;
    // A missing file has no time stamp, but its folder does.
    let at = stamp.or(found.folder)?;
    let own = lease.modified.max(lease.hold.acquired);
    let at = Timestamp(at);
    (stamp != seen && at > own && at > began).then_some(FileChange { at, stamp })
}

/// The folders above a path, nearest first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(at, _)| &path[..at.max(1)])
}

/// Who probably changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspect {
    /// The holder itself, or it is unclear.
    Blocker,
    Me {
        is_named: bool,
    },
    /// A third actor, whose running command names the file. It is told when that command ends.
    Other,
}

fn suspect(
    cx: &mut Cx<'_>,
    event: &Event,
    me: &Holder,
    lease: &Lease,
    at: Timestamp,
) -> Result<Suspect, DbError> {
    let holder = &lease.hold.holder;
    let own = match holder.is_person() {
        true => Vec::new(),
        false => {
            // A parent that waits for its subagent does nothing itself.
            let waiting = status::open_calls(cx.db, &holder.session, &holder.actor)?;
            journal::running_at(cx.db, &holder.session, &holder.actor, at, &waiting)?
        }
    };
    let command = event.tool().and_then(|call| call.command.as_deref()).unwrap_or_default();
    let is_named = names(command, &lease.path) && !only_reads(command);
    if is_named {
        let is_own = own.iter().any(|call| names(&call.input, &lease.path));
        return Ok(if is_own { Suspect::Blocker } else { Suspect::Me { is_named } });
    }
    if !own.is_empty() {
        return Ok(Suspect::Blocker);
    }
    let name = lease.path.rsplit('/').next().unwrap_or_default();
    let except = [(&*me.session, &*me.actor), (&*holder.session, &*holder.actor)];
    for (session, actor) in journal::who_named(cx.db, name, except)? {
        let calls = journal::running_at(cx.db, &session, &actor, at, &[])?;
        if calls.iter().any(|call| !call.is_over && names(&call.input, &lease.path)) {
            return Ok(Suspect::Other);
        }
    }
    Ok(Suspect::Me { is_named })
}

/// Tells the holder by mail. The wish tells the actor whose edit or command it was.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    me: &Holder,
    hold: &Hold,
    (path, relative): (&str, &str),
    cwd: &str,
    how: ForeignChange,
) -> Result<Wish, DbError> {
    let (who, holder) = (me.address(cx)?, hold.holder.address(cx)?);
    history::add(cx.db, path, &who, LeaseChange::Bypassed, &format!("held by {holder}"), cx.now)?;
    let (subject, body) = words::was_changed(&who, relative, how);
    mail::face::note(cx, (hold.holder.agent, &hold.holder.sub), &subject, body, None)?;
    let text = words::you_changed(&holder, relative, how);
    Ok(Wish::context(text, Some(words::show(path, cwd))))
}

/// Programs that don't change the files they are given.
const READERS: &[&str] = &[
    "[",
    "[[",
    "ag",
    "awk",
    "basename",
    "bat",
    "cat",
    "cd",
    "cmp",
    "column",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "false",
    "fd",
    "fgrep",
    "file",
    "find",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uniq",
    "wc",
    "which",
    "xxd",
];

/// Subcommands of git that don't change the working tree.
const GIT_READERS: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "commit",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Characters that end a word of a command, or of the JSON around it.
const ENDS: &[char] = &[
    ' ', '\t', '\n', '\r', '\'', '"', '`', '\\', '=', ',', ';', ':', '(', ')', '{', '}', '[', ']',
    '<', '>', '|', '&', '$',
];

/// Whether a word of the text is that path or its end: `a.rs`, `src/a.rs` and `../src/a.rs` name `/repo/src/a.rs`.
pub(super) fn names(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    // Most texts don't contain the name at all.
    if name.is_empty() || !text.contains(name) {
        return false;
    }
    // A name that contains such a character counts anywhere in the text.
    if name.contains(ENDS) {
        return true;
    }
    text.split(ENDS).any(|word| is_end_of(word, path))
}

fn is_end_of(word: &str, path: &str) -> bool {
    let mut rest = word;
    while let Some(inner) = rest.strip_prefix("./").or_else(|| rest.strip_prefix("../")) {
        rest = inner;
    }
    if rest.starts_with('/') {
        return rest == path;
    }
    let before = path.strip_suffix(rest).filter(|_| !rest.is_empty());
    before.is_some_and(|before| before.ends_with('/'))
}

/// Whether a line consists of programs that only read. A line that can't be parsed may do anything.
pub(super) fn only_reads(command: &str) -> bool {
    let line = shell::read(command);
    let reads = |simple: &Simple| match &simple.git {
        Some(git) => GIT_READERS.contains(&git.sub.as_str()),
        None => simple.words.is_empty() || READERS.contains(&simple.name()),
    };
    !line.is_broken
        && !line.is_cut
        && line.commands.iter().all(reads)
        && writes::writes(&line).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("python3 fix.py a.rs", true)]
    #[case("python3 fix.py src/a.rs", true)]
    #[case("python3 fix.py ./src/a.rs", true)]
    #[case("cd x; python3 fix.py ../src/a.rs", true)]
    #[case("python3 fix.py /repo/src/a.rs", true)]
    #[case("python3 -c \"open('src/a.rs', 'w')\"", true)]
    #[case("fix --file=src/a.rs", true)]
    #[case("{\"command\":\"fix 'src/a.rs'\\nls\"}", true)]
    #[case("{\"file_path\":\"/repo/src/a.rs\"}", true)]
    #[case("python3 fix.py lib/a.rs", false)]
    #[case("python3 fix.py /other/src/a.rs", false)]
    #[case("python3 fix.py aa.rs", false)]
    #[case("python3 fix.py a.rs.bak", false)]
    #[case("python3 fix.py rs", false)]
    #[case("make fmt", false)]
    #[case("", false)]
    fn a_text_names_a_file(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(names(text, "/repo/src/a.rs"), expected);
    }

    #[test]
    fn a_name_with_brackets_is_found() {
        assert!(names("fix 'app/[id].tsx'", "/repo/app/[id].tsx"));
        assert!(!names("fix app/id.tsx", "/repo/app/[id].tsx"));
    }

    #[rstest]
    #[case("cat a.rs", true)]
    #[case("cd src && grep -n x a.rs | head -3 2>&1", true)]
    #[case("git diff a.rs && git log -3 -- a.rs", true)]
    #[case("sed -n 1,5p a.rs", true)]
    #[case("find . -name a.rs", true)]
    #[case("sed -i s/a/b/ a.rs", false)]
    #[case("cat a.rs > b.rs", false)]
    #[case("python3 fix.py a.rs", false)]
    #[case("cat a.rs; python3 fix.py", false)]
    #[case("find . -name a.rs -exec fix {} +", false)]
    #[case("git checkout a.rs", false)]
    #[case("cat $(fix a.rs)", false)]
    #[case("cat 'a.rs", false)]
    fn a_line_only_reads(#[case] line: &str, #[case] expected: bool) {
        assert_eq!(only_reads(line), expected);
    }
}
