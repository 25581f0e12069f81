//! Whether an agent has just asked its user something. Then its turn must end, so that the user can answer.

/// How much of a message's end is searched, in characters. A question may be followed by its choices.
const MAX_END: usize = 600;

/// Whether a message ends with a question: a sentence near its end, outside code, that ends with a question mark.
///
/// A false positive does no harm, because the agent is merely not held. A false negative traps an agent that asks.
pub(super) fn is_question(message: &str) -> bool {
    let start = message.char_indices().rev().nth(MAX_END - 1).map_or(0, |(at, _)| at);
    // Only the part before tells whether the end starts inside a code block.
    let (before, end) = message.split_at(start);
    let mut is_code = before.matches("```").count() % 2 == 1;
    for (at, part) in end.split("```").enumerate() {
        is_code ^= at > 0;
        if !is_code && part.lines().any(|line| asks(&without_code(line))) {
            return true;
        }
    }
    false
}

/// A line without the code between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

/// Whether a sentence in the line ends with a question mark. `a?b=1` has none.
fn asks(line: &str) -> bool {
    let ends = |rest: &str| {
        rest.trim_start_matches(['*', '_', '"', '\'', ')', ']', '”', '’', '»', '!', '?'])
            .chars()
            .next()
            .is_none_or(char::is_whitespace)
    };
    line.match_indices('?').any(|(at, mark)| ends(&line[at + mark.len()..]))
        // These never occur in an address, and often no space follows them.
        || line.contains(['？', '؟'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("Postgres or SQLite?", true)]
    #[case::after_a_report("I have set up the schema.\n\nShould I use Postgres or SQLite?", true)]
    #[case::bold("**Which one do you want?**", true)]
    #[case::in_quotes("Did you mean \"both?\"", true)]
    #[case::in_brackets("I would take SQLite (is that all right?)", true)]
    #[case::with_choices("Which database?\n\n1. Postgres\n2. SQLite", true)]
    #[case::with_a_sentence_after("Which database? Tell me and I will go on.", true)]
    #[case::doubled("Really??", true)]
    #[case::with_space_after("Which one?  \n\n", true)]
    #[case::chinese("用哪个数据库？", true)]
    #[case::arabic("أي قاعدة بيانات؟", true)]
    #[case::a_statement("All done.", false)]
    #[case::nothing("", false)]
    #[case::an_address("See https://example.org/a?b=1 for more.", false)]
    #[case::code("I added `a ? b : c`.", false)]
    #[case::a_block_of_code("It reads:\n```\nis it? \n```\nDone.", false)]
    #[case::after_code("```\nlet a;\n```\nIs that right?", true)]
    #[case::open_code("```\nwhat?\n", false)]
    fn questions_at_the_end_are_found(#[case] message: &str, #[case] expected: bool) {
        assert_eq!(is_question(message), expected);
    }

    #[test]
    fn only_the_end_of_a_message_counts() {
        let long = "A long report. ".repeat(100);
        assert!(!is_question(&format!("Why? {long}")));
        assert!(is_question(&format!("{long} Why?")));
        assert!(!is_question(&format!("```\n{long} Why?\n")), "code that began before");
        assert!(!is_question(&"é".repeat(10_000)), "no boundary is cut");
    }
}
