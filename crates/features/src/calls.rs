//! A tool call that the journal kept, in words for people.

use substrate_core::{Dialect, Question};

/// What a person must see of a call: the command, the questions with their options, the files, or its input as it was kept.
pub(crate) fn words(dialects: &[&Dialect], client: &str, tool: &str, input: &str) -> String {
    let dialect = dialects.iter().find(|dialect| dialect.client == client);
    let Some(call) = dialect.and_then(|dialect| (dialect.call)(tool, input)) else {
        return input.to_owned();
    };
    if let Some(command) = call.command {
        command
    } else if !call.questions.is_empty() {
        call.questions.iter().map(question).collect::<Vec<_>>().join("\n")
    } else if !call.files.is_empty() && !call.is_search {
        call.files.join(" ")
    } else if let Some(skill) = call.skill {
        skill
    } else {
        input.to_owned()
    }
}

/// The same in one line, for a list. Of an input without a meaning to us it shows the first text: a pattern, an address.
pub(crate) fn short(dialects: &[&Dialect], client: &str, tool: &str, input: &str) -> String {
    let whole = words(dialects, client, tool, input);
    let shown = if whole == input { first_text(input).unwrap_or(whole) } else { whole };
    substrate_core::text::one_line(&shown, MAX_SHORT)
}

/// The longest line, in characters.
const MAX_SHORT: usize = 160;

/// A question, and below it what can be answered.
fn question(one: &Question) -> String {
    one.options.iter().fold(one.text.clone(), |out, option| format!("{out}\n- {option}"))
}

/// The first text of an object, cut off or not.
fn first_text(input: &str) -> Option<String> {
    let (_, rest) = input.strip_prefix('{')?.split_once(":\"")?;
    let text = format!("\"{rest}");
    serde_json::Deserializer::from_str(&text).into_iter::<String>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use substrate_clients::DIALECTS;

    use super::*;

    #[rstest]
    #[case::command("Bash", r#"{"command":"make test","description":"x"}"#, "make test")]
    #[case::not_json("Bash", "cut off {", "cut off {")]
    #[case::question(
        "AskUserQuestion",
        r#"{"questions":[{"question":"Which port?","options":[{"label":"80","description":"plain"},{"label":"443"}]}]}"#,
        "Which port?\n- 80\n- 443"
    )]
    #[case::file("Edit", r#"{"file_path":"/a.rs","old_string":"x"}"#, "/a.rs")]
    #[case::anything("WebFetch", r#"{"url":"x","n":1}"#, r#"{"url":"x","n":1}"#)]
    fn a_person_sees_of_a_call(#[case] tool: &str, #[case] input: &str, #[case] expected: &str) {
        assert_eq!(words(&DIALECTS, "claude-code", tool, input), expected);
    }

    #[rstest]
    #[case::pattern("Grep", r#"{"pattern":"fn main","path":"/p"}"#, "fn main")]
    #[case::address("WebFetch", r#"{"url":"x","n":1}"#, "x")]
    #[case::nothing("Odd", r#"{"n":1}"#, r#"{"n":1}"#)]
    #[case::lines("Bash", r#"{"command":"a\nb"}"#, "a b")]
    fn a_list_shows_of_a_call(#[case] tool: &str, #[case] input: &str, #[case] expected: &str) {
        assert_eq!(short(&DIALECTS, "claude-code", tool, input), expected);
    }
}
