//! Which actor of a session runs a command: the open shell calls, and how a command line is recognised in them. The shell
//! of a subagent has the same environment as its parent's, so only its command tells them apart.

use substrate_core::dialect::ShellWrapper;
use substrate_core::{Cx, Db, DbError, SafeId, Timestamp};

use crate::retention::Expiring;

/// How long a call may run before it counts as lost. The client reports no end when a person presses Esc.
const OPEN_MS: i64 = 60 * 60_000;

/// How long a command may keep running in the background after its call has ended.
const BACKGROUND_MS: i64 = 10 * 60_000;

/// How long after its end a tool call still tells who made it: the last word of a tool server may come late.
const TOOL_GRACE_MS: i64 = 30_000;

/// How much of a command is kept.
pub(super) const MAX_COMMAND: usize = 4_096;

/// Who runs a command. The empty name is the main thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellOwner {
    One(String),
    /// Several actors run the same command.
    Several(Vec<String>),
}

pub(super) fn actor(
    cx: &mut Cx<'_>,
    session: &SafeId,
    shells: &[String],
) -> Result<ShellOwner, DbError> {
    let calls = running_calls(cx.db, session, cx.now)?;
    if calls.is_empty() {
        return Ok(ShellOwner::One(String::new()));
    }
    let wrappers = cx.world.dialects().iter().filter_map(|dialect| dialect.shell_wrapper);
    Ok(among(&calls, shells, &wrappers.collect::<Vec<_>>()))
}

/// Finds the owners of the calls that match the command lines.
pub(super) fn among(
    calls: &[ShellCall],
    shells: &[String],
    wrappers: &[ShellWrapper],
) -> ShellOwner {
    let mut found: Vec<String> = Vec::new();
    let lines: Vec<Line> = shells.iter().map(|line| Line::read(line, wrappers)).collect();
    // Where the client's own wrapper is seen, it says exactly what the call's command is.
    let is_exact = lines.iter().any(|line| line.inside.is_some());
    for call in calls {
        let fits = if shells.is_empty() {
            call.is_open && Command::read(&call.mark).is_some_and(|command| command.mentions_us)
        } else {
            let command = Command::read(&call.mark);
            command.is_some_and(|command| lines.iter().any(|line| line.runs(&command, is_exact)))
        };
        if fits && !found.contains(&call.sub) {
            found.push(call.sub.clone());
        }
    }
    match found.len() {
        0 => ShellOwner::One(String::new()),
        1 => ShellOwner::One(found.remove(0)),
        // Without command lines this is only a guess, and several guesses are useless.
        _ if shells.is_empty() => ShellOwner::One(String::new()),
        _ => {
            found.sort();
            ShellOwner::Several(found)
        }
    }
}

/// Whether a command may run Substrate.
pub(super) fn mentions_us(command: &str) -> bool {
    command.contains("substrate")
}

/// Whether a command is likely to outlive its call, by its own words.
pub(super) fn is_background(command: &str) -> bool {
    let bytes = command.as_bytes();
    let at = |i: Option<usize>| i.and_then(|i| bytes.get(i)).copied().unwrap_or(b' ');
    let lone = |i: usize| {
        !matches!(at(i.checked_sub(1)), b'&' | b'>' | b'<' | b'|')
            && !matches!(at(Some(i + 1)), b'&' | b'>')
    };
    command.bytes().enumerate().any(|(i, byte)| byte == b'&' && lone(i))
}

/// What is stored to recognise a command: the length and a checksum of its plain form, and whether it names Substrate.
/// Never its text, which may contain secrets.
pub(super) fn mark(command: &str) -> String {
    let text = plain(command);
    let is_cut = command.len() + 4 > MAX_COMMAND;
    format!("{} {:x} {is_cut} {}", text.len(), sum(text.as_bytes()), mentions_us(command))
}

/// A stored mark.
struct Command {
    len: usize,
    sum: u64,
    is_cut: bool,
    mentions_us: bool,
}

impl Command {
    fn read(mark: &str) -> Option<Self> {
        let mut words = mark.split(' ');
        let len = words.next()?.parse().ok()?;
        let sum = u64::from_str_radix(words.next()?, 16).ok()?;
        let (is_cut, mentions_us) = (words.next()? == "true", words.next()? == "true");
        Some(Self { len, sum, is_cut, mentions_us })
    }

    fn is(&self, text: &str) -> bool {
        text.len() == self.len && sum(text.as_bytes()) == self.sum
    }

    fn begins(&self, text: &str) -> bool {
        text.as_bytes().get(..self.len).is_some_and(|start| sum(start) == self.sum)
    }

    /// Whether the command occurs anywhere in the text: a rolling checksum, byte by byte.
    fn is_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let Some(first) = bytes.get(..self.len) else { return false };
        let highest = (1..self.len).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut here = sum(first);
        for (leaves, enters) in bytes.iter().zip(&bytes[self.len..]) {
            if here == self.sum {
                return true;
            }
            let rest = here.wrapping_sub(highest.wrapping_mul(u64::from(*leaves) + 1));
            here = rest.wrapping_mul(BASE).wrapping_add(u64::from(*enters) + 1);
        }
        here == self.sum
    }
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1))
}

/// A process's command line.
struct Line {
    text: String,
    /// What a client's wrapper runs, if it is one.
    inside: Option<String>,
}

impl Line {
    fn read(line: &str, wrappers: &[ShellWrapper]) -> Self {
        let text = plain(line);
        let inside = wrappers.iter().find_map(|wrapper| {
            let (_, rest) = text.split_once(wrapper.before)?;
            rest.rsplit_once(wrapper.after).map(|(inside, _)| inside.to_owned())
        });
        Self { text, inside }
    }

    fn runs(&self, command: &Command, is_exact: bool) -> bool {
        if command.len == 0 {
            return false;
        }
        match &self.inside {
            Some(inside) if command.is_cut => command.begins(inside),
            Some(inside) => command.is(inside),
            None => !is_exact && command.is_in(&self.text),
        }
    }
}

/// A command line without what quoting changes: quotes, backslashes, white space; and without the standard input that
/// the client gives it, since it puts that inside the command where there is a pipe.
fn plain(text: &str) -> String {
    let drops = |c: &char| !(c.is_whitespace() || c.is_control() || matches!(c, '\'' | '"' | '\\'));
    text.chars().filter(drops).collect::<String>().replace("</dev/null", "")
}

/// A shell call that may still be running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellCall {
    /// The subagent's own name for mail; empty for the main thread.
    pub(super) sub: String,
    /// What `shells::mark` made of its command.
    pub(super) mark: String,
    pub(super) is_open: bool,
}

/// A shell call that is about to begin.
pub(super) struct NewShellCall<'a> {
    pub(super) use_id: &'a str,
    pub(super) actor: &'a str,
    pub(super) mark: &'a str,
    /// It keeps running after its call has ended.
    pub(super) is_background: bool,
}

pub(super) fn begin_call(
    db: &mut dyn Db,
    session: &SafeId,
    new: &NewShellCall<'_>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into shell_calls (session, use_id, actor, command, is_background, began_ms)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (session, use_id) do update
         set command = excluded.command, is_background = excluded.is_background,
           began_ms = excluded.began_ms, ended_ms = null",
        &[
            session.as_str().into(),
            new.use_id.into(),
            new.actor.into(),
            new.mark.into(),
            i64::from(new.is_background).into(),
            now.0.into(),
        ],
    )?;
    Ok(())
}

/// Ends the call. If `goes_on`, its command keeps running in the background.
pub(super) fn end_call(
    db: &mut dyn Db,
    session: &SafeId,
    use_id: &str,
    goes_on: bool,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update shell_calls set ended_ms = $3, is_background = case when $4 = 1 then 1 else is_background end
         where session = $1 and use_id = $2",
        &[session.as_str().into(), use_id.into(), now.0.into(), i64::from(goes_on).into()],
    )?;
    Ok(())
}

/// The calls of a session whose command may be running now.
pub(super) fn running_calls(
    db: &mut dyn Db,
    session: &SafeId,
    now: Timestamp,
) -> Result<Vec<ShellCall>, DbError> {
    db.rows(
        "select coalesce(a.name, ''), c.command, c.ended_ms from shell_calls c
         left join agent_actors a on a.session = c.session and a.actor = c.actor
         where c.session = $1 and ((c.ended_ms is null and c.began_ms >= $2) or (c.is_background = 1 and c.ended_ms >= $3))
         order by c.began_ms desc limit 500",
        &[session.as_str().into(), now.plus_ms(-OPEN_MS).0.into(), now.plus_ms(-BACKGROUND_MS).0.into()],
        |row| {
            Ok(ShellCall { sub: row.text(0)?, mark: row.text(1)?, is_open: row.opt_int(2)?.is_none() })
        },
    )
}

/// The subagent that made the call of a tool, empty for the main thread. `None` if no such call runs.
pub(super) fn caller_of(
    db: &mut dyn Db,
    session: &SafeId,
    use_id: &str,
    now: Timestamp,
) -> Result<Option<String>, DbError> {
    db.first(
        "select coalesce(a.name, '') from shell_calls c
         left join agent_actors a on a.session = c.session and a.actor = c.actor
         where c.session = $1 and c.use_id = $2 and c.began_ms >= $3
           and (c.ended_ms is null or c.ended_ms >= $4)",
        &[
            session.as_str().into(),
            use_id.into(),
            now.plus_ms(-OPEN_MS).0.into(),
            now.plus_ms(-TOOL_GRACE_MS).0.into(),
        ],
        |row| row.text(0),
    )
}

/// Old calls.
pub(super) const CALLS: Expiring =
    Expiring { table: "shell_calls", key: "session, use_id", when: "began_ms < $1" };

/// Ends the calls of an actor. Commands may keep running in the background.
pub(super) fn end_calls(
    db: &mut dyn Db,
    session: &SafeId,
    actor: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let params = [session.as_str().into(), actor.into(), now.0.into()];
    db.execute(
        "update shell_calls set ended_ms = $3 where session = $1 and actor = $2 and ended_ms is null",
        &params,
    )?;
    Ok(())
}
