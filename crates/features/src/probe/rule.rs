//! One rule: `EVENT [TOOL] WISH: TEXT`.

/// A rule as it is written in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule<'a> {
    pub(super) event: &'a str,
    pub(super) tool: Option<&'a str>,
    pub(super) wish: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Rule<'a> {
    /// `None`: not of the form.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (head, text) = line.split_once(':')?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let (event, tool, wish) = match words[..] {
            [event, wish] => (event, None, wish),
            [event, tool, wish] => (event, Some(tool), wish),
            _ => return None,
        };
        Some(Self { event, tool, wish, text: text.trim() })
    }

    pub(super) fn is_about(&self, event: &str, tool: Option<&str>) -> bool {
        self.event == event && self.tool.is_none_or(|wanted| tool == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("Stop block: go on", Some(("Stop", None, "block", "go on")))]
    #[case::tool("PreToolUse Bash deny: no: never", Some(("PreToolUse", Some("Bash"), "deny", "no: never")))]
    #[case::no_text("Stop block", None)]
    #[case::too_short("Stop: x", None)]
    #[case::too_long("a b c d: x", None)]
    fn a_rule_is_read(
        #[case] line: &str,
        #[case] expected: Option<(&str, Option<&str>, &str, &str)>,
    ) {
        let found = Rule::read(line).map(|rule| (rule.event, rule.tool, rule.wish, rule.text));
        assert_eq!(found, expected);
    }
}
