//! One thing that waits for the user, with a form for each answer.

use serde_json::Value;
use substrate_core::need::{Action, UserNeed};
use substrate_core::{NeedKind, PageRequest, Timestamp, html};

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
    pub(super) reason: String,
    pub(super) project: String,
    pub(super) since: String,
    /// All of it: a user decides only about what is shown.
    pub(super) text: String,
    /// The text is what an agent wrote to the user, not a command.
    pub(super) is_said: bool,
    pub(super) forms: Vec<ActionForm>,
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
        let forms = row.actions.iter().enumerate().filter(|_| request.may_act);
        Self {
            id: element("need", &row.id),
            kind: row.kind.name(),
            class,
            icon,
            who: row.agent.clone(),
            link: match message {
                Some(id) => format!("/mail/{id}"),
                None => format!("/agent?who={}", in_query(&row.agent)),
            },
            look: if message.is_some() { "Read and reply" } else { "Its story" },
            reason: row.reason.clone(),
            project: folder(row.project.trim_end_matches("/.git")).to_owned(),
            since: since.html(),
            text: html::shown(&row.text),
            is_said: matches!(row.kind, NeedKind::Mail | NeedKind::Deadline | NeedKind::Question),
            forms: forms.filter_map(|(at, action)| form(request, row, at, action)).collect(),
        }
    }
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
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.push_str("<input type=\"hidden\" name=\"");
            let _infallible = html::escape(&mut fields, name);
            fields.push_str("\" value=\"");
            let _infallible = html::escape(&mut fields, &text);
            fields.push_str("\">");
        }
    }
    Some(ActionForm {
        verb: action.verb.join("/"),
        fields,
        label: action.label.clone(),
        is_main: action.recommended,
    })
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
        let allow = Action::new("Allow", &["answer"], json!({"id": 3, "choose": ["a\"b"]}));
        let reply = Action::new("Reply", &["reply"], json!({"id": 3}));
        let request = PageRequest { may_act: true, ..PageRequest::default() };
        let line = NeedLine::of(Timestamp(9), &request, &row(vec![allow.recommended(), reply]));
        assert_eq!((line.id.as_str(), line.project.as_str()), ("need-dialog_s1_main", "atlas"));
        assert!(line.text.contains("&lt;b&gt;") && line.text.contains("U+202E"), "{}", line.text);
        let [form] = line.forms.as_slice() else { panic!("{}", line.forms.len()) };
        assert_eq!((form.verb.as_str(), form.is_main), ("answer", true));
        assert!(form.fields.contains("name=\"id\" value=\"3\""), "{}", form.fields);
        assert!(form.fields.contains("name=\"choose\" value=\"a&quot;b\""), "{}", form.fields);
    }

    #[test]
    fn a_browser_that_only_looks_gets_no_forms() {
        let allow = Action::new("Allow", &["answer"], json!({"id": 3}));
        let line = NeedLine::of(Timestamp(9), &PageRequest::default(), &row(vec![allow]));
        assert!(line.forms.is_empty());
    }
}
