//! What the client passes to the command behind its status line.

use serde::Deserialize;
use serde_json::json;
use substrate_core::dialect::ClientStatus;

use super::transcript::Tokens;
use crate::status_line::StatusLine;

/// Reads the client's JSON. A part of another form counts as missing, but a status without a session is none.
pub(super) fn read(text: &str) -> Option<ClientStatus> {
    let status: Status = serde_json::from_str(text).ok()?;
    let window = status.context_window.unwrap_or_default();
    Some(ClientStatus {
        session: status.session_id,
        model: status.model.and_then(|model| model.id).unwrap_or_default(),
        used: window.current_usage.filter(Tokens::is_any).map(|tokens| tokens.total()),
        size: window.context_window_size.filter(|size| *size > 0),
        micro_usd: status.cost.and_then(|cost| cost.total_cost_usd).and_then(micro),
    })
}

/// Dollars in millionths.
fn micro(dollars: f64) -> Option<i64> {
    let micro = (dollars * 1e6).round();
    (micro > 0.0 && micro < 1e15).then_some(micro as i64)
}

/// How its settings name the command behind the status line.
pub(crate) const STATUS_LINE: StatusLine = StatusLine {
    client: super::NAME,
    text: |program| {
        let command = format!("{} statusline", crate::install::quoted(program));
        format!("{:#}\n", json!({"statusLine": {"type": "command", "command": command}}))
    },
};

#[derive(Deserialize)]
struct Status {
    session_id: String,
    #[serde(default)]
    model: Option<Model>,
    #[serde(default)]
    context_window: Option<Window>,
    #[serde(default)]
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(default)]
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Window {
    context_window_size: Option<i64>,
    /// Empty before the first answer.
    current_usage: Option<Tokens>,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_captured_status_is_read_as_the_client_counts_it() {
        let status = read(include_str!("samples/_statusLine.json")).unwrap();
        assert_eq!(status.session, "a27f116c-1898-4e5f-9d9e-3e33a843a7b7");
        assert_eq!(status.model, "claude-sonnet-4-6");
        assert_eq!((status.used, status.size), (Some(78_100), Some(200_000)));
        assert_eq!(status.micro_usd, Some(202_350));
    }

    #[test]
    fn the_settings_name_one_command_whatever_the_path() {
        let text = (STATUS_LINE.text)("/opt/it's/substrate");
        let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(settings["statusLine"]["command"], "'/opt/it'\\''s/substrate' statusline");
    }

    #[rstest]
    #[case::before_the_first_answer(r#"{"session_id":"s","context_window":{"current_usage":null}}"#, Some((None, None)))]
    #[case::no_window(r#"{"session_id":"s"}"#, Some((None, None)))]
    #[case::no_size(r#"{"session_id":"s","context_window":{"context_window_size":0,"current_usage":{"input_tokens":5}}}"#, Some((Some(5), None)))]
    #[case::nothing_counted(r#"{"session_id":"s","context_window":{"current_usage":{"output_tokens":5}}}"#, Some((None, None)))]
    #[case::no_session("{}", None)]
    #[case::a_list("[]", None)]
    #[case::a_number_as_session(r#"{"session_id":7}"#, None)]
    #[case::no_json("", None)]
    fn what_is_missing_is_left_out(
        #[case] text: &str,
        #[case] expected: Option<(Option<i64>, Option<i64>)>,
    ) {
        assert_eq!(read(text).map(|status| (status.used, status.size)), expected);
    }
}
