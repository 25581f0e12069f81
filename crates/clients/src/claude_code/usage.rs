//! What a line of a transcript says about the tokens of an answer. Anything odd is skipped: the client writes this file
//! for itself.

use std::borrow::Cow;

use serde::Deserialize;
use substrate_core::Timestamp;
use substrate_core::dialect::{Tokens, UsageLine};

/// A line of an answer. The client writes one per part of it, all with the same id and usage.
pub(super) fn of_line(line: &str) -> Option<UsageLine> {
    if !line.contains("\"assistant\"") {
        return None;
    }
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let message = line.message.filter(|_| line.kind.as_deref() == Some("assistant"))?;
    let (id, usage) = (message.id?, message.usage?);
    let model = message.model.unwrap_or_default();
    // What the client says in the model's name costs nothing.
    if model == "<synthetic>" || id.is_empty() {
        return None;
    }
    let at = line.timestamp.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Some(UsageLine {
        id: id.into_owned(),
        model: model.into_owned(),
        at: at.map(|at| Timestamp(at.as_millisecond())),
        tokens: usage.tokens(),
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage {
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    cache_read_input_tokens: Option<i64>,
    cache_creation_input_tokens: Option<i64>,
    cache_creation: Option<CacheCreation>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Option<i64>,
}

impl Usage {
    fn tokens(&self) -> Tokens {
        let n = |value: Option<i64>| value.unwrap_or(0).max(0);
        let written = n(self.cache_creation_input_tokens);
        let of_1h = self.cache_creation.as_ref().and_then(|kinds| kinds.ephemeral_1h_input_tokens);
        let cache_1h = n(of_1h).min(written);
        Tokens {
            input: n(self.input_tokens),
            output: n(self.output_tokens),
            cache_read: n(self.cache_read_input_tokens),
            cache_5m: written - cache_1h,
            cache_1h,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_says_what_it_used() {
        let line = json!({"type": "assistant", "timestamp": "2026-01-02T03:04:05.678Z", "message": {
            "id": "msg_1", "model": "claude-opus-4-5", "content": [], "usage": {
                "input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 10,
                "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 4}}}});
        let found = of_line(&line.to_string()).unwrap();
        assert_eq!((found.id.as_str(), found.model.as_str()), ("msg_1", "claude-opus-4-5"));
        assert_eq!(found.at, Some(Timestamp(1_767_323_045_678)));
        let tokens = Tokens { input: 1, output: 2, cache_read: 3, cache_5m: 6, cache_1h: 4 };
        assert_eq!(found.tokens, tokens);
    }

    #[rstest]
    #[case::empty("")]
    #[case::cut_off(r#"{"type":"assistant","message":{"usage":"#)]
    #[case::of_the_user(r#"{"type":"user","x":"assistant","message":{"id":"a","usage":{}}}"#)]
    #[case::of_the_client(
        r#"{"type":"assistant","message":{"id":"a","model":"<synthetic>","usage":{"input_tokens":1}}}"#
    )]
    #[case::without_usage(r#"{"type":"assistant","message":{"id":"a","model":"m"}}"#)]
    #[case::without_an_id(r#"{"type":"assistant","message":{"model":"m","usage":{}}}"#)]
    fn another_line_says_nothing(#[case] line: &str) {
        assert_eq!(of_line(line), None);
    }
}
