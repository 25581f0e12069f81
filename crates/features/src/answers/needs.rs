//! The requests that wait, as rows of what needs the user: with everything that is decided about, and the answers.

use serde_json::json;
use substrate_core::need::{Action, UserNeed, dialog_id};
use substrate_core::text::one_line;
use substrate_core::view::{Check, CheckKind};
use substrate_core::{Cx, FeatureError, NeedKind};

use super::ops::Asked;
use super::policy::MAX_WHAT;
use super::verbs;
use crate::identity::book::MAIN;

pub(super) fn needs_you(cx: &mut Cx<'_>) -> Result<Vec<UserNeed>, FeatureError> {
    let mut out: Vec<UserNeed> = Vec::new();
    for asked in verbs::waiting(cx)? {
        let mut row = need(&asked);
        // The fleet knows of one dialog per session. A second request is a row of its own.
        if out.iter().any(|other| other.id == row.id) {
            row.id = format!("answer:{}", asked.id);
        }
        out.push(row);
    }
    Ok(out)
}

pub(super) fn checks(cx: &mut Cx<'_>) -> Result<Vec<Check>, FeatureError> {
    let check = |asked: Asked| Check {
        kind: CheckKind::Waits,
        what: asked.agent,
        detail: match asked.questions.is_empty() {
            true => format!("a permission dialog for {}, until you answer", asked.tool),
            false => "a question, until you answer".to_owned(),
        },
        since_ms: Some(asked.asked.0),
        link: Some("/".to_owned()),
    };
    Ok(verbs::waiting(cx)?.into_iter().map(check).collect())
}

fn need(asked: &Asked) -> UserNeed {
    let is_question = !asked.questions.is_empty();
    let first = asked.questions.first().map_or("", |question| question.text.as_str());
    let reason = match is_question {
        true => format!("asks: {}", one_line(first, 160)),
        false => format!("asks for permission: {}", asked.tool),
    };
    UserNeed {
        id: dialog_id(&asked.session, MAIN),
        kind: if is_question { NeedKind::Question } else { NeedKind::Permission },
        reason,
        text: text(asked),
        is_whole: true,
        actions: actions(asked),
        agent: asked.agent.clone(),
        project: asked.project.clone(),
        session: asked.session.clone(),
        actor: MAIN.to_owned(),
        since_ms: asked.asked.0,
        pane: asked.pane.clone().map(Into::into),
    }
}

/// The command, or the questions with their options.
fn text(asked: &Asked) -> String {
    if asked.questions.is_empty() {
        return asked.what.clone();
    }
    let lines = asked.questions.iter().flat_map(|question| {
        let options = question.options.iter().map(|option| format!("- {option}"));
        std::iter::once(question.text.clone()).chain(options)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Several questions at once, and a question that takes several options, are answered with the command.
fn actions(asked: &Asked) -> Vec<Action> {
    let id = asked.id;
    let answer = |label: &str, decision: &str| {
        Action::new(label, &["answer"], json!({"id": id, "decision": decision}))
    };
    match asked.questions.as_slice() {
        // A call that is not shown whole can only be denied here.
        [] if asked.what.len() > MAX_WHAT => vec![answer("Deny", "deny").recommended()],
        [] => vec![answer("Allow once", "allow").recommended(), answer("Deny", "deny")],
        [one] if !one.takes_several => {
            let choice = |option: &String| {
                Action::new(option, &["answer"], json!({"id": id, "choose": [option]}))
            };
            one.options.iter().map(choice).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use substrate_core::Timestamp;

    use super::super::ops::{Asking, State};
    use super::*;

    fn asked(what: &str, questions: Vec<Asking>) -> Asked {
        Asked {
            id: 3,
            session: "s1".to_owned(),
            call: "Bash x".to_owned(),
            state: State::Open,
            agent: "CalmOtter".to_owned(),
            project: "/repo".to_owned(),
            pane: None,
            tool: "Bash".to_owned(),
            asked: Timestamp(5),
            until: Timestamp(9),
            decision: None,
            by: String::new(),
            why: String::new(),
            questions,
            what: what.to_owned(),
        }
    }

    fn asking(options: &[&str], takes_several: bool) -> Asking {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Asking { text: "Which port?".to_owned(), options, takes_several }
    }

    fn labels(row: &UserNeed) -> Vec<(&str, bool)> {
        row.actions.iter().map(|action| (action.label.as_str(), action.recommended)).collect()
    }

    #[test]
    fn a_call_is_shown_whole_and_can_be_allowed_or_denied() {
        let row = need(&asked("git push", Vec::new()));
        assert_eq!((row.id.as_str(), row.text.as_str()), ("dialog:s1:main", "git push"));
        assert_eq!(labels(&row), [("Allow once", true), ("Deny", false)]);
        assert_eq!(row.actions[0].body, json!({"id": 3, "decision": "allow"}));
    }

    #[test]
    fn a_call_that_is_not_shown_whole_can_only_be_denied() {
        let row = need(&asked(&"x".repeat(MAX_WHAT + 3), Vec::new()));
        assert_eq!(labels(&row), [("Deny", true)]);
    }

    #[test]
    fn a_question_is_answered_with_its_options_if_one_press_can_do_it() {
        let row = need(&asked("", vec![asking(&["80", "443"], false)]));
        assert_eq!(row.text, "Which port?\n- 80\n- 443");
        assert_eq!(labels(&row), [("80", false), ("443", false)]);
        assert_eq!(row.actions[1].body, json!({"id": 3, "choose": ["443"]}));
        assert!(need(&asked("", vec![asking(&["80"], true)])).actions.is_empty());
        let two = vec![asking(&["80"], false), asking(&["443"], false)];
        assert!(need(&asked("", two)).actions.is_empty());
    }
}
