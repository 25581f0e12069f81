//! The payload exactly as clients of the common form write it: one object, every field perhaps absent.
//!
//! Values stay raw until they are needed, so an 80 KB `tool_input` is skipped over, never built into a tree.
//! Invariant: only text that is no JSON object fails. An unknown field, a field twice (the last one counts, as in the
//! client's own JavaScript) and a value of an unexpected type do not: a value of the wrong type counts as absent.
//! Skipping does not recurse, so nesting can't overflow the stack.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::json;

/// A struct whose fields are the keys of a JSON object, by their own names or by those behind a `=`.
macro_rules! object {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    ($(#[$doc:meta])* struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident $(= $key:literal)?,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct $name<'a> {
            $($(#[$field_doc])* pub(crate) $field: $crate::wire::Raw<'a>,)+
            /// How many fields are neither among these nor known to be unread.
            pub(crate) n_unknown: usize,
        }

        impl<'a> $name<'a> {
            /// `None`: the text is no JSON object.
            pub(crate) fn read(text: &'a str, unread: &[&str]) -> Option<Self> {
                let mut out = Self::default();
                $crate::json::object(text, |key, value, is_plain| {
                    $(if key == $crate::wire::object!(@key $field $($key)?) {
                        out.$field = $crate::wire::Raw::of(value, is_plain);
                        return;
                    })+
                    out.n_unknown += usize::from(!unread.contains(&key));
                })?;
                Some(out)
            }
        }
    };
}

pub(crate) use object;

object! {
    /// The fields of all events that we look at. Those that most events have come first.
    struct Payload {
        session_id,
        transcript_path,
        cwd,
        prompt_id,
        /// What `prompt_id` is called by another client.
        turn_id,
        permission_mode,
        hook_event_name,
        /// What `hook_event_name` is called in the scripts that some people test their hooks with.
        hook_type,
        agent_id,
        agent_type,

        // Tools.
        tool_name,
        tool_input,
        tool_response,
        tool_use_id,
        duration_ms,
        error,
        is_interrupt,
        tool_calls,

        // Turns.
        prompt,
        /// Only a prompt of a person has it, for a client that reports others as well.
        submitted_prompt,
        command_name,
        expansion_type,
        stop_hook_active,
        last_assistant_message,
        background_tasks,
        agent_transcript_path,

        // One word on why.
        source,
        reason,
        trigger,
        action,
        mcp_server_name,

        // Everything else.
        model,
        notification_type,
        message,
        title,
        task_id,
        task_subject,
        task_description,
        teammate_name,
        team_name,
        from_model,
        to_model,
        new_cwd,
        directory,
        file_path,
        event,
        load_reason,
        name,
        worktree_path,

        // What other clients call it.
        prompt_response,
        tool_result,
        parent_agent_id,
    }
}

object! {
    /// The fields of a `tool_input` that say what a call is about.
    struct ToolInput {
        file_path,
        notebook_path,
        path,
        command,
        run_in_background,
        is_background,
        skill,
        dir_path,
        name,
        mode,
        input,
        patch,
    }
}

/// A value that was not parsed yet, or none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw<'a> {
    json: Option<&'a str>,
    /// It has no escapes.
    is_plain: bool,
}

impl<'a> Raw<'a> {
    pub(crate) const fn of(json: &'a str, is_plain: bool) -> Self {
        Self { json: Some(json), is_plain }
    }

    /// The value as JSON text, whatever it is.
    pub(crate) const fn json(self) -> Option<&'a str> {
        self.json
    }

    /// A string. Half of a surrogate pair, which the client writes when it cuts a text inside an emoji, becomes
    /// `�`s: one such character must not hide a whole command from the guards.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let json = self.json?;
        match (self.is_plain, json.as_bytes()) {
            (true, [b'"', .., b'"']) => json.get(1..json.len() - 1).map(Cow::Borrowed),
            _ => json::unquoted(json),
        }
    }

    /// A string, if there is anything in it.
    pub(crate) fn some_text(self) -> Option<String> {
        self.text().filter(|text| !text.is_empty()).map(Cow::into_owned)
    }

    /// A number without its fraction.
    pub(crate) fn whole(self) -> Option<i64> {
        let json = self.json()?;
        // Beyond the whole numbers, a cast keeps to the nearest one there is.
        json.parse().ok().or_else(|| serde_json::from_str::<f64>(json).ok().map(|n| n as i64))
    }

    pub(crate) fn is_true(self) -> bool {
        self.json() == Some("true")
    }

    /// How many items a list has.
    pub(crate) fn n_items(self) -> Option<usize> {
        serde_json::from_str::<Vec<IgnoredAny>>(self.json()?).ok().map(|items| items.len())
    }

    /// The JSON text of an object.
    pub(crate) fn object(self) -> Option<&'a str> {
        self.json().filter(|json| json.starts_with('{'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn message(json: &str) -> Option<String> {
        let payload = Payload::read(json, &[]).unwrap();
        payload.message.text().map(Cow::into_owned)
    }

    #[rstest]
    #[case::plain(r#"{"message":"a b"}"#, Some("a b"))]
    #[case::escapes(r#"{"message":"a\n\"b\"\u0041\ud83d\ude00"}"#, Some("a\n\"b\"A😀"))]
    #[case::half_a_pair(r#"{"message":"a\ud83d"}"#, Some("a\u{fffd}\u{fffd}\u{fffd}"))]
    #[case::half_a_pair_in_a_key(r#"{"\udc00":1,"message":"a"}"#, Some("a"))]
    #[case::escaped_key(r#"{"mess\u0061ge":"a"}"#, Some("a"))]
    #[case::twice(r#"{"message":"a","message":"b"}"#, Some("b"))]
    #[case::null(r#"{"message":null}"#, None)]
    #[case::number(r#"{"message":1}"#, None)]
    #[case::huge_number(r#"{"message":1e999}"#, None)]
    #[case::list(r#"{"message":["a"]}"#, None)]
    #[case::unknown_fields(r#"{"x":{"message":"no"},"message":"a","y":[{}]}"#, Some("a"))]
    fn a_text_is_read_from(#[case] json: &str, #[case] expected: Option<&str>) {
        assert_eq!(message(json).as_deref(), expected);
    }

    #[rstest]
    #[case("12", Some(12))]
    #[case("12.7", Some(12))]
    #[case("-0.5", Some(0))]
    #[case("1e300", Some(i64::MAX))]
    #[case("1e999", None)]
    #[case("\"12\"", None)]
    #[case("true", None)]
    fn a_number_is_read_from(#[case] json: &str, #[case] expected: Option<i64>) {
        let json = format!(r#"{{"duration_ms":{json}}}"#);
        let payload = Payload::read(&json, &[]).unwrap();
        assert_eq!(payload.duration_ms.whole(), expected);
    }

    #[rstest]
    #[case("[]", Some(0))]
    #[case("[1,{},[[]]]", Some(3))]
    #[case("{}", None)]
    #[case("null", None)]
    fn items_are_counted(#[case] json: &str, #[case] expected: Option<usize>) {
        let json = format!(r#"{{"tool_calls":{json}}}"#);
        let payload = Payload::read(&json, &[]).unwrap();
        assert_eq!(payload.tool_calls.n_items(), expected);
    }
}
