//! The SQL of requests that wait.

use serde::{Deserialize, Serialize};
use substrate_core::{Db, DbError, Pane, RequestId, Row, Timestamp};

/// A request for permission, or a question, of one dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) id: i64,
    pub(super) session: String,
    /// Which call it is about, as `policy::call_key` says it.
    pub(super) call: String,
    pub(super) state: State,
    pub(super) agent: String,
    pub(super) project: String,
    pub(super) pane: Option<Pane>,
    pub(super) tool: String,
    pub(super) asked: Timestamp,
    pub(super) until: Timestamp,
    /// What the user decided, once they did.
    pub(super) decision: Option<Decision>,
    pub(super) by: String,
    /// Why it is closed.
    pub(super) why: String,
    pub(super) questions: Vec<Asking>,
    /// The whole of it: a command, files, or the input.
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// The user has answered, and the hook has not confirmed yet that it printed the answer.
    Answered,
    Closed,
}

/// One question, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asking {
    pub(super) text: String,
    pub(super) options: Vec<String>,
    pub(super) takes_several: bool,
}

/// What the user decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    Deny {
        message: String,
    },
    /// One answer per question, in their order.
    Choose(Vec<String>),
}

impl Asked {
    /// What its hook waits for.
    pub(super) fn key(&self) -> String {
        key(&self.session, &self.call)
    }
}

/// What the hook of a dialog waits for.
pub(super) fn key(session: &str, call: &str) -> String {
    format!("answer {session} {call}")
}

macro_rules! columns {
    () => {
        "id, session, call, state, agent, project, pane_socket, pane_id, tool, asked_ms, until_ms, decision, message,
         choices, by_whom, why, questions, what"
    };
}

const ONE: &str = concat!("select ", columns!(), " from answers where id = $1");
const OF_CALL: &str = concat!(
    "select ",
    columns!(),
    " from answers where session = $1 and call = $2 and asked_ms between $3 and $4 order by id desc limit 1"
);
const LIVE: &str = concat!(
    "select ",
    columns!(),
    " from answers where session = $1 and call = $2 and state <> 'closed' order by id desc limit 1"
);
pub(super) const OF_SESSION: &str =
    concat!("select ", columns!(), " from answers where session = $1 and state <> 'closed'");
const ALL_LIVE: &str =
    concat!("select ", columns!(), " from answers where state <> 'closed' order by id");

pub(super) fn one(db: &mut dyn Db, id: i64) -> Result<Option<Asked>, DbError> {
    db.first(ONE, &[id.into()], asked)
}

/// The row of a hook that has waited since then. The times of a hook that asked a second daemon differ a little.
pub(super) fn of_call(
    db: &mut dyn Db,
    session: &str,
    call: &str,
    since: Timestamp,
) -> Result<Option<Asked>, DbError> {
    const ABOUT_MS: i64 = 3_000;
    let (from, to) = (since.plus_ms(-ABOUT_MS).0, since.plus_ms(ABOUT_MS).0);
    db.first(OF_CALL, &[session.into(), call.into(), from.into(), to.into()], asked)
}

/// The rows of a session that are not closed.
pub(super) fn of_session(db: &mut dyn Db, session: &str) -> Result<Vec<Asked>, DbError> {
    db.rows(OF_SESSION, &[session.into()], asked)
}

/// When a row of the session was last closed.
pub(super) fn last_closed(db: &mut dyn Db, session: &str) -> Result<Option<Timestamp>, DbError> {
    let sql = "select max(closed_ms) from answers where session = $1 and state = 'closed'";
    let last = db.first(sql, &[session.into()], |row| row.opt_int(0))?;
    Ok(last.flatten().map(Timestamp))
}

/// The rows that are not closed, oldest first.
pub(super) fn all(db: &mut dyn Db) -> Result<Vec<Asked>, DbError> {
    db.rows(ALL_LIVE, &[], asked)
}

/// Adds a row. A hook that asks a second time keeps the one it has.
pub(super) fn put(db: &mut dyn Db, new: &Asked, request: RequestId) -> Result<(), DbError> {
    let request = written(request);
    if let Some(kept) =
        db.first(LIVE, &[new.session.as_str().into(), new.call.as_str().into()], asked)?
    {
        let sql = "update answers set request = $2, until_ms = $3 where id = $1";
        db.execute(sql, &[kept.id.into(), request.as_str().into(), new.until.0.into()])?;
        return Ok(());
    }
    let questions = match new.questions.is_empty() {
        true => None,
        false => serde_json::to_string(&new.questions).ok(),
    };
    let pane = new.pane.as_ref();
    db.execute(
        "insert into answers (session, call, state, agent, project, pane_socket, pane_id, tool, asked_ms, until_ms,
           request, questions, what)
         values ($1, $2, 'open', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            new.session.as_str().into(),
            new.call.as_str().into(),
            new.agent.as_str().into(),
            new.project.as_str().into(),
            pane.map(|pane| pane.socket.as_str()).into(),
            pane.map(|pane| pane.id.as_str()).into(),
            new.tool.as_str().into(),
            new.asked.0.into(),
            new.until.0.into(),
            request.as_str().into(),
            questions.as_deref().into(),
            new.what.as_str().into(),
        ],
    )?;
    Ok(())
}

/// Stores what the user decided. `false`: it was answered or closed meanwhile.
pub(super) fn decide(
    db: &mut dyn Db,
    id: i64,
    decision: &Decision,
    by: &str,
) -> Result<bool, DbError> {
    let (word, message, choices) = match decision {
        Decision::Allow => ("allow", None, None),
        Decision::Deny { message } => ("deny", Some(message.as_str()), None),
        Decision::Choose(chosen) => ("choose", None, serde_json::to_string(chosen).ok()),
    };
    let n = db.execute(
        "update answers set state = 'answered', decision = $2, message = $3, choices = $4, by_whom = $5
         where id = $1 and state = 'open'",
        &[id.into(), word.into(), message.into(), choices.as_deref().into(), by.into()],
    )?;
    Ok(n > 0)
}

/// Closes a row.
pub(super) fn close(db: &mut dyn Db, id: i64, why: &str, now: Timestamp) -> Result<(), DbError> {
    let sql = "update answers set state = 'closed', why = $2, closed_ms = $3 where id = $1 and state <> 'closed'";
    db.execute(sql, &[id.into(), why.into(), now.0.into()])?;
    Ok(())
}

/// The row whose hook made that request, if it is not closed.
pub(super) fn of_request(db: &mut dyn Db, request: RequestId) -> Result<Option<Asked>, DbError> {
    let sql =
        concat!("select ", columns!(), " from answers where state <> 'closed' and request = $1");
    db.first(sql, &[written(request).as_str().into()], asked)
}

fn written(request: RequestId) -> String {
    request.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn asked(row: &dyn Row) -> Result<Asked, DbError> {
    let state = match row.text(3)?.as_str() {
        "open" => State::Open,
        "answered" => State::Answered,
        _ => State::Closed,
    };
    let json = |text: Option<String>| text.unwrap_or_else(|| "[]".to_owned());
    let decision = match row.opt_text(11)?.as_deref() {
        Some("allow") => Some(Decision::Allow),
        Some("deny") => Some(Decision::Deny { message: row.opt_text(12)?.unwrap_or_default() }),
        Some("choose") => Some(Decision::Choose(
            serde_json::from_str(&json(row.opt_text(13)?)).unwrap_or_default(),
        )),
        _ => None,
    };
    let pane = row.opt_text(6)?.zip(row.opt_text(7)?).map(|(socket, id)| Pane { socket, id });
    Ok(Asked {
        id: row.int(0)?,
        session: row.text(1)?,
        call: row.text(2)?,
        state,
        agent: row.text(4)?,
        project: row.text(5)?,
        pane,
        tool: row.text(8)?,
        asked: Timestamp(row.int(9)?),
        until: Timestamp(row.int(10)?),
        decision,
        by: row.opt_text(14)?.unwrap_or_default(),
        why: row.opt_text(15)?.unwrap_or_default(),
        questions: serde_json::from_str(&json(row.opt_text(16)?)).unwrap_or_default(),
        what: row.text(17)?,
    })
}
