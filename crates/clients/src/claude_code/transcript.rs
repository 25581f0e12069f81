//! The end of a transcript. Anything odd is skipped: the client writes this file for itself.

use serde::Deserialize;
use substrate_core::Timestamp;
use substrate_core::dialect::LatestAnswer;

/// The latest answer after the latest compaction; `None` where the end of the file has none. The main thread's file may
/// hold lines of subagents, which have a window of their own; a subagent's file (`is_sub`) is all its own.
pub(super) fn latest(tail: &str, is_sub: bool) -> Option<LatestAnswer> {
    for line in tail.lines().rev() {
        // Most lines are long and of no use here: only those that may be are read as JSON.
        if !line.contains("\"assistant\"") && !line.contains("compact_boundary") {
            continue;
        }
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { continue };
        if line.kind.as_deref() == Some("system") {
            if line.subtype.as_deref() == Some("compact_boundary") {
                return None;
            }
            continue;
        }
        let is_ours = line.kind.as_deref() == Some("assistant") && (is_sub || !line.is_sidechain);
        if let Some(message) = line.message.filter(|_| is_ours)
            && let Some(usage) = message.usage
        {
            let model = message.model.unwrap_or_default().into_owned();
            // What the client says in the model's name costs nothing, and counts nothing.
            if model == "<synthetic>" {
                continue;
            }
            let at = line.timestamp.and_then(|text| text.parse::<jiff::Timestamp>().ok());
            let at = at.map(|at| Timestamp(at.as_millisecond()));
            return Some(LatestAnswer { used: usage.total(), model, at });
        }
    }
    None
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    subtype: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: bool,
    #[serde(borrow, default)]
    timestamp: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    model: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Tokens {
    input_tokens: Option<i64>,
    cache_creation_input_tokens: Option<i64>,
    cache_read_input_tokens: Option<i64>,
}

impl Tokens {
    fn counts(&self) -> impl Iterator<Item = i64> {
        [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens]
            .into_iter()
            .flatten()
    }

    /// Whether any of them is said.
    pub(super) fn is_any(&self) -> bool {
        self.counts().next().is_some()
    }

    /// What is in the window.
    pub(super) fn total(&self) -> i64 {
        self.counts().map(|n| n.max(0)).fold(0, i64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn answer(used: i64) -> String {
        json!({"type": "assistant", "isSidechain": false, "timestamp": "2026-01-02T03:04:05.678Z",
               "message": {"id": "m", "model": "claude-opus-5-5", "content": [],
                           "usage": {"input_tokens": 1, "cache_creation_input_tokens": 2,
                                     "cache_read_input_tokens": used - 3, "output_tokens": 99}}})
        .to_string()
    }

    fn side(used: i64) -> String {
        answer(used).replace("\"isSidechain\":false", "\"isSidechain\":true")
    }

    const BOUNDARY: &str =
        r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":9}}"#;
    const USER: &str =
        r#"{"type":"user","message":{"role":"user","content":"\"assistant\" compact_boundary"}}"#;

    #[rstest]
    #[case::none("", None)]
    #[case::one(&answer(100), Some(100))]
    #[case::the_last(&[answer(100), answer(200)].join("\n"), Some(200))]
    #[case::before_a_user(&[&answer(100), USER].join("\n"), Some(100))]
    #[case::sidechain(&[answer(100), side(900)].join("\n"), Some(100))]
    #[case::compacted(&[&answer(100), BOUNDARY].join("\n"), None)]
    #[case::compacted_and_on(&[&answer(100), BOUNDARY, &answer(50)].join("\n"), Some(50))]
    #[case::half_a_line(&[&answer(100), &answer(200)[..150]].join("\n"), Some(100))]
    #[case::no_usage(&[&answer(100), r#"{"type":"assistant","message":{"model":"m"}}"#].join("\n"), Some(100))]
    #[case::synthetic(&[answer(100), answer(3).replace("claude-opus-5-5", "<synthetic>")].join("\n"), Some(100))]
    #[case::negative(r#"{"type":"assistant","message":{"usage":{"input_tokens":-5,"cache_read_input_tokens":7}}}"#, Some(7))]
    #[case::huge(r#"{"type":"assistant","message":{"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9}}}"#, Some(i64::MAX))]
    #[case::no_numbers(r#"{"type":"assistant","message":{"usage":{"input_tokens":"many"}}}"#, None)]
    fn the_latest_answer_counts(#[case] tail: &str, #[case] expected: Option<i64>) {
        assert_eq!(latest(tail, false).map(|found| found.used), expected);
    }

    #[test]
    fn a_subagents_own_file_is_all_sidechain_and_a_line_says_when_and_which() {
        let found = latest(&side(900), true).unwrap();
        assert_eq!((found.used, found.model.as_str()), (900, "claude-opus-5-5"));
        assert_eq!(found.at, Some(Timestamp(1_767_323_045_678)));
    }

    proptest! {
        /// Whatever stands before a whole answer, in whatever pieces: it is the answer that counts.
        #[test]
        fn hostile_lines_neither_break_it_nor_count(
            junk in prop::collection::vec("(\\{\"type\":\"assistant\")?.{0,80}", 0..20),
            cut in 0usize..200,
            used in 3i64..1_000_000,
        ) {
            let whole = answer(used);
            let piece = &whole[..cut.min(whole.len() - 1)];
            let junk: Vec<String> = junk.iter().map(|line| line.replace('\n', " ")).collect();
            let tail = format!("{}\n{whole}\n{piece}", junk.join("\n"));
            prop_assert_eq!(latest(&tail, false).map(|found| found.used), Some(used));
            // And alone it says something or nothing, and ends.
            let _maybe = latest(&junk.join("\n"), true);
        }
    }
}
