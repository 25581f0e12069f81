//! One thing that waits for the user, with a form for each answer.

use serde_json::Value;
use substrate_core::need::{Action, UserNeed};
use substrate_core::{NeedKind, PageRequest, Timestamp, html};

use crate::fleet::verbs::needs::without;
use crate::page::{Since, element, folder, in_query};

/// A row, ready to be shown.
pub(super) struct NeedLine {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) class: &'static str,
    pub(super) icon: &'static str,
    pub(super) who: String,
    pub(super) link: String,
    /// What the link leads to.
    pub(super) look: &'static str,
    /// Where its terminal is.
    pub(super) pane: String,
    pub(super) reason: String,
    pub(super) project: String,
    pub(super) since: String,
    /// All of it: a user decides only about what is shown.
    pub(super) text: String,
    /// The text is what an agent wrote to the user, not a command.
    pub(super) is_said: bool,
    pub(super) forms: Vec<ActionForm>,
    /// One of several answers to a question.
    pub(super) choice: Option<Choice>,
}

/// A question with its options.
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) verb: String,
    pub(super) fields: String,
    pub(super) options: Vec<String>,
}

/// A button.
pub(super) struct ActionForm {
    /// The path below `/do/`.
    pub(super) verb: String,
    /// Hidden fields: what runs the verb once, and the verb's own body.
    pub(super) fields: String,
    pub(super) label: String,
    pub(super) is_main: bool,
}

impl NeedLine {
    pub(super) fn of(now: Timestamp, request: &PageRequest, row: &UserNeed) -> Self {
        let since =
            Since { at: Timestamp(row.since_ms), now, tz_offset_s: request.caller.tz_offset_s };
        let message = row.id.strip_prefix("mail:");
        let (class, icon) = match row.kind {
            NeedKind::Error | NeedKind::Limit => ("error", "error"),
            NeedKind::Question => ("attention", "ask"),
            NeedKind::Mail => ("mark", "mail"),
            NeedKind::Deadline => ("attention", "clock"),
            NeedKind::Dead => ("gone", "gone"),
            NeedKind::Guard | NeedKind::Permission | NeedKind::Idle => ("attention", "attention"),
        };
        let choice = choice(request, row);
        let is_form = |_: &(usize, &Action)| request.may_act && choice.is_none();
        let forms = row.actions.iter().enumerate().filter(is_form);
        let text = match &choice {
            // The options are below it, to be chosen.
            Some(choice) => {
                let is_option = |line: &&str| {
                    let option = line.strip_prefix("- ");
                    option.is_some_and(|option| choice.options.iter().any(|one| one == option))
                };
                row.text.lines().filter(|line| !is_option(line)).collect::<Vec<_>>().join("\n")
            }
            None => row.text.clone(),
        };
        let reason = match without(&row.reason, &row.text) {
            "asks" if row.kind == NeedKind::Question => "has a question",
            reason => reason,
        };
        Self {
            id: element("need", &row.id),
            kind: row.kind.name(),
            class,
            icon,
            who: row.agent.clone(),
            link: match message {
                Some(id) => format!("/mail/{id}"),
                None if row.agent.is_empty() => "/work".to_owned(),
                None => format!("/agent?who={}", in_query(&row.agent)),
            },
            look: match message {
                Some(_) => "Read and reply",
                None if row.agent.is_empty() => "The queue",
                None => "Its story",
            },
            pane: row.pane.as_ref().map_or_else(String::new, |pane| pane.id.clone()),
            reason: reason.to_owned(),
            project: folder(row.project.trim_end_matches("/.git")).to_owned(),
            since: since.html(),
            text: html::shown(&text),
            is_said: matches!(row.kind, NeedKind::Mail | NeedKind::Deadline | NeedKind::Question),
            forms: forms
                .filter_map(|(at, action)| form(request, row, at, action))
                .chain(go(request, row))
                .collect(),
            choice,
        }
    }
}

/// A question whose answers are all options of it: one form with all of them.
fn choice(request: &PageRequest, row: &UserNeed) -> Option<Choice> {
    let first = row.actions.iter().find(|action| !action.body["choose"].is_null())?;
    let options: Vec<String> = row
        .actions
        .iter()
        .filter_map(|action| Some(action.body["choose"].as_array()?.first()?.as_str()?.to_owned()))
        .collect();
    if !request.may_act || options.is_empty() {
        return None;
    }
    let mut fields =
        request.hidden(&first.verb.join(" "), &format!("{} {} choose", row.id, row.since_ms));
    for (name, value) in first.body.as_object()?.iter().filter(|(name, _)| *name != "choose") {
        hidden_field(&mut fields, name, value);
    }
    let id = element("choice", &row.id);
    Some(Choice { id, verb: first.verb.join("/"), fields, options })
}

fn hidden_field(fields: &mut String, name: &str, value: &Value) {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.push_str("<input type=\"hidden\" name=\"");
    let _infallible = html::escape(fields, name);
    fields.push_str("\" value=\"");
    let _infallible = html::escape(fields, &text);
    fields.push_str("\">");
}

/// The form of an action. A reply needs words, which are written on the page of the message.
fn form(request: &PageRequest, row: &UserNeed, at: usize, action: &Action) -> Option<ActionForm> {
    if action.verb == ["reply"] {
        return None;
    }
    let key = format!("{} {} {at}", row.id, row.since_ms);
    let mut fields = request.hidden(&action.verb.join(" "), &key);
    for (name, value) in action.body.as_object()? {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            hidden_field(&mut fields, name, value);
        }
    }
    Some(ActionForm {
        verb: action.verb.join("/"),
        fields,
        label: action.label.clone(),
        is_main: action.recommended,
    })
}

/// Goes to its terminal.
fn go(request: &PageRequest, row: &UserNeed) -> Option<ActionForm> {
    row.pane.as_ref().filter(|_| request.may_act && !row.agent.is_empty())?;
    let name = row.agent.split('/').next().unwrap_or_default();
    let fields = go_fields(request, name, &row.id);
    let label = "Go to its pane".to_owned();
    Some(ActionForm { verb: "fleet/go".to_owned(), fields, label, is_main: false })
}

/// The hidden fields of a form that goes to an agent's terminal. One may go there again and again.
pub(super) fn go_fields(request: &PageRequest, name: &str, row: &str) -> String {
    let mut fields = request.hidden("fleet go", &format!("go {row} {}", request.caller.request));
    hidden_field(&mut fields, "name", &Value::String(name.to_owned()));
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(actions: Vec<Action>) -> UserNeed {
        UserNeed {
            id: "dialog:s1:main".to_owned(),
            kind: NeedKind::Permission,
            agent: "CalmOtter".to_owned(),
            project: "/p/atlas/.git".to_owned(),
            session: "s1".to_owned(),
            actor: "main".to_owned(),
            since_ms: 0,
            reason: "asks for permission: Bash".to_owned(),
            text: "rm <b>\u{202e}x".to_owned(),
            is_whole: true,
            pane: None,
            actions,
        }
    }

    #[test]
    fn an_answer_is_a_form_of_its_verb_and_what_agents_wrote_is_text() {
        let allow = Action::new("Allow", &["answer"], json!({"id": 3, "names": ["a\"b"]}));
        let reply = Action::new("Reply", &["reply"], json!({"id": 3}));
        let request = PageRequest { may_act: true, ..PageRequest::default() };
        let line = NeedLine::of(Timestamp(9), &request, &row(vec![allow.recommended(), reply]));
        assert_eq!((line.id.as_str(), line.project.as_str()), ("need-dialog_s1_main", "atlas"));
        assert!(line.text.contains("&lt;b&gt;") && line.text.contains("U+202E"), "{}", line.text);
        let [form] = line.forms.as_slice() else { panic!("{}", line.forms.len()) };
        assert_eq!((form.verb.as_str(), form.is_main), ("answer", true));
        assert!(form.fields.contains("name=\"id\" value=\"3\""), "{}", form.fields);
        assert!(form.fields.contains("name=\"names\" value=\"a&quot;b\""), "{}", form.fields);
    }

    #[test]
    fn a_question_is_one_form_with_its_options() {
        let option = |one: &str| Action::new(one, &["answer"], json!({"id": 3, "choose": [one]}));
        let request = PageRequest { may_act: true, ..PageRequest::default() };
        let asks = UserNeed {
            kind: NeedKind::Question,
            reason: "asks: Which port?".to_owned(),
            text: "Which port?\n- 80\n- 443".to_owned(),
            ..row(vec![option("80"), option("443")])
        };
        let line = NeedLine::of(Timestamp(9), &request, &asks);
        assert_eq!((line.reason.as_str(), line.text.as_str()), ("has a question", "Which port?"));
        assert!(line.forms.is_empty());
        let choice = line.choice.unwrap();
        assert_eq!(
            (choice.verb.as_str(), choice.options),
            ("answer", vec!["80".to_owned(), "443".to_owned()])
        );
        let line = NeedLine::of(Timestamp(9), &PageRequest::default(), &asks);
        assert_eq!(line.text, "Which port?\n- 80\n- 443", "one who only looks sees the options");
    }

    #[test]
    fn a_browser_that_only_looks_gets_no_forms() {
        let allow = Action::new("Allow", &["answer"], json!({"id": 3}));
        let line = NeedLine::of(Timestamp(9), &PageRequest::default(), &row(vec![allow]));
        assert!(line.forms.is_empty());
    }
}
