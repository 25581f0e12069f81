//! `substrate answer`

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::{one_line, quoted};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Effect, Output, VerbError};

use super::ON;
use super::ops::{self, Asked, Asking, Decision, State};

/// The longest reason or answer, in bytes.
const MAX_TEXT: usize = 8_000;

/// Lists the permission dialogs and questions that wait for you, or answers one of them beside the client's own dialog.
/// The first answer wins. Switch it on with `substrate config set ui.answer true`.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Answer {
    /// Which one to answer, by its number in the list
    id: Option<i64>,
    /// Allow or deny the call
    #[arg(requires = "id")]
    decision: Option<AllowOrDeny>,
    /// What the agent is told with a denial
    #[arg(long, requires = "decision")]
    reason: Option<String>,
    /// Answer a question with one of its options or with words of your own; repeat it for each question, or for several
    /// options of one
    #[arg(long, value_name = "LABEL", requires = "id", conflicts_with = "decision")]
    choose: Vec<String>,
    /// Where the answer was given
    #[arg(long, hide = true)]
    from: Option<String>,
}

#[derive(ValueEnum, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllowOrDeny {
    Allow,
    Deny,
}

impl VerbArgs for Answer {
    const PATH: &'static [&'static str] = &["answer"];
    const ABOUT: &'static str = "Answer permission dialogs and questions of agents";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let Some(id) = self.id else { return Ok(list(cx)?) };
        let asked = ops::one(cx.db, id)?
            .ok_or_else(|| VerbError::user(format!("there is no request #{id}"), LIST_THEM))?;
        may_answer(cx, &asked)?;
        let decision = self.decided(&asked)?;
        let by = by(&decision, self.from.as_deref(), caller);
        if !ops::decide(cx.db, id, &decision, &by)? {
            return Err(VerbError::user(format!("request #{id} was just answered"), LIST_THEM));
        }
        cx.effects.push(Effect::Wake { key: asked.key() });
        let said = match &decision {
            Decision::Allow => format!("Allowed: {}.\n", line(&asked)),
            Decision::Deny { .. } => format!("Denied: {}.\n", line(&asked)),
            Decision::Choose(chosen) => {
                format!("Answered {}: {}.\n", asked.agent, one_line(&chosen.join("; "), 200))
            }
        };
        Ok(Output::new(said, json!({"id": id, "agent": asked.agent, "answer": word(&decision)})))
    }
}

const LIST_THEM: &str = "`substrate answer` lists what waits for you";

impl Answer {
    /// What the user decided, if that fits what was asked.
    fn decided(&self, asked: &Asked) -> Result<Decision, VerbError> {
        let too_long = |text: &&String| text.len() > MAX_TEXT;
        if self.choose.iter().chain(&self.reason).any(|text| too_long(&text)) {
            return Err(VerbError::user(
                format!("an answer may have {MAX_TEXT} bytes"),
                "write the rest into a file and name it",
            ));
        }
        let id = asked.id;
        match (self.decision, asked.questions.is_empty(), self.choose.is_empty()) {
            (Some(AllowOrDeny::Deny), ..) => {
                let said = self.reason.as_deref().map(str::trim).filter(|text| !text.is_empty());
                let message = said.map_or_else(
                    || {
                        "The user denied this call. Don't try it again; ask how to go on."
                            .to_owned()
                    },
                    |text| format!("The user denied this call: {text}"),
                );
                Ok(Decision::Deny { message })
            }
            (Some(AllowOrDeny::Allow), true, _) => Ok(Decision::Allow),
            (None, false, false) => chosen(&asked.questions, &self.choose, id),
            (_, false, _) => Err(VerbError::user(
                format!("#{id} is a question, and `allow` does not answer it"),
                format!("`substrate answer {id} --choose {}`", example(&asked.questions)),
            )),
            (None, true, false) => Err(VerbError::user(
                format!("#{id} is a call that needs permission, not a question"),
                format!("`substrate answer {id} allow` or `substrate answer {id} deny`"),
            )),
            (None, true, true) => Err(VerbError::user(
                format!("say how to answer #{id}"),
                format!("`substrate answer {id} allow` or `substrate answer {id} deny`"),
            )),
        }
    }
}

/// One answer per question. Where only one question is asked, several choices are one answer.
fn chosen(questions: &[Asking], choices: &[String], id: i64) -> Result<Decision, VerbError> {
    let given = || choices.iter().map(|text| text.trim().to_owned()).collect::<Vec<_>>();
    match questions {
        [one] if one.takes_several => Ok(Decision::Choose(vec![given().join(", ")])),
        _ if choices.len() == questions.len() => Ok(Decision::Choose(given())),
        _ => Err(VerbError::user(
            format!(
                "#{id} asks {} and got {}",
                n_of(questions.len(), "question"),
                n_of(choices.len(), "answer")
            ),
            format!(
                "give one `--choose` per question, in their order: `substrate answer {id} --choose {}`",
                example(questions)
            ),
        )),
    }
}

fn n_of(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn example(questions: &[Asking]) -> String {
    let first = |question: &Asking| {
        question.options.first().map_or("…".to_owned(), |it| one_line(it, 60))
    };
    questions.iter().map(|it| format!("\"{}\"", first(it))).collect::<Vec<_>>().join(" --choose ")
}

/// Refuses an answer that would come too late.
fn may_answer(cx: &Cx<'_>, asked: &Asked) -> Result<(), VerbError> {
    let id = asked.id;
    let in_its_terminal = format!("look at the terminal of {}", asked.agent);
    match asked.state {
        State::Open if cx.world.has_waiter(&asked.key()) => Ok(()),
        State::Open if !cx.settings.on(ON) => Err(VerbError::user(
            "answering outside the client is switched off",
            format!("`substrate config set {ON} true` switches it on for the next request"),
        )),
        State::Open => Err(VerbError::user(
            format!("request #{id} no longer waits for an answer here"),
            in_its_terminal,
        )),
        State::Answered => Err(VerbError::user(
            format!("request #{id} is already answered: {}", asked.by),
            LIST_THEM,
        )),
        State::Closed => {
            Err(VerbError::user(format!("request #{id} is closed: {}", asked.why), in_its_terminal))
        }
    }
}

/// Who decided what, and from where: the words of the journal.
fn by(decision: &Decision, from: Option<&str>, caller: &Caller) -> String {
    let from = match from.map(|from| one_line(from, 80)).filter(|from| !from.is_empty()) {
        Some(from) => from,
        None => format!("the command line in {}", one_line(&caller.cwd, 120)),
    };
    let did = match decision {
        Decision::Allow => "allowed",
        Decision::Deny { .. } => "denied",
        Decision::Choose(_) => "answered",
    };
    format!("{did} by the user, from {from}")
}

const fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny { .. } => "deny",
        Decision::Choose(_) => "choose",
    }
}

/// The requests that wait right now, oldest first.
pub(super) fn waiting(cx: &mut Cx<'_>) -> Result<Vec<Asked>, DbError> {
    let world = cx.world;
    let all = ops::all(cx.db)?.into_iter();
    Ok(all.filter(|it| it.state == State::Open && world.has_waiter(&it.key())).collect())
}

fn list(cx: &mut Cx<'_>) -> Result<Output, DbError> {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for asked in waiting(cx)? {
        let kind = if asked.questions.is_empty() { "permission" } else { "question" };
        let ago = Ago(cx.now.since(asked.asked));
        let _infallible = writeln!(
            text,
            "#{:<5} {:<12} {ago:>4}  {kind:<10}  {}",
            asked.id,
            asked.agent,
            line(&asked)
        );
        text.push_str(&details(&asked));
        rows.push(shown(&asked, kind));
    }
    if text.is_empty() {
        text = match cx.settings.on(ON) {
            true => "Nothing waits for your answer.\n".to_owned(),
            false => format!(
                "Agents are answered in their terminals only. `substrate config set {ON} true` lets you answer here too.\n"
            ),
        };
    } else {
        text.push_str("Answer with `substrate answer N allow`, `deny` or `--choose LABEL`.\n");
    }
    Ok(Output::new(text, json!({ "requests": rows })))
}

/// In one line: the tool and what it does, or the first question.
fn line(asked: &Asked) -> String {
    match asked.questions.first() {
        Some(question) => one_line(&question.text, 160),
        None => format!("{}: {}", asked.tool, one_line(&asked.what, 160)),
    }
}

/// What one line does not show: the rest of a long command, and the options of questions.
fn details(asked: &Asked) -> String {
    if asked.questions.is_empty() {
        let is_whole = one_line(&asked.what, 160) == asked.what;
        return if is_whole { String::new() } else { quoted(&asked.what) };
    }
    let mut out = String::new();
    for (at, question) in asked.questions.iter().enumerate() {
        if at > 0 {
            let _infallible = writeln!(out, "       {}", one_line(&question.text, 160));
        }
        for option in &question.options {
            let _infallible = writeln!(out, "         - {}", one_line(option, 160));
        }
    }
    out
}

fn shown(asked: &Asked, kind: &str) -> Value {
    json!({
        "id": asked.id,
        "kind": kind,
        "agent": asked.agent,
        "project": asked.project,
        "session": asked.session,
        "tool": asked.tool,
        "what": asked.what,
        "questions": asked.questions,
        "asked_ms": asked.asked.0,
        "pane": asked.pane.as_ref().map(|pane| json!({"socket": pane.socket, "id": pane.id})),
    })
}
