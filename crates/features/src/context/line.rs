//! The status line: a template, and what its fields say. Pure text.

use substrate_core::text::one_line;

/// The most characters of one field.
const MAX_FIELD: usize = 60;

/// The most characters of a whole line, styles included.
const MAX_LINE: usize = 600;

/// Templates by name.
const THEMES: &[(&str, &str)] = &[
    (
        "plain",
        "{agent}[ · {effort}][ · {context} %][ · {unread} mail][ · {holds} held][ · {needs} waiting for you][ · {cost}]",
    ),
    (
        "colour",
        "{bold}{cyan}{agent}{reset}[ {dim}{effort}{reset}][ {context} %][ {yellow}{unread} mail{reset}][ {green}{holds} held{reset}][ {bold}{red}{needs} waiting for you{reset}][ {dim}{cost}{reset}]",
    ),
    ("short", "{agent}[ {context}%][ ✉{unread}][ ▣{holds}][ !{needs}]"),
];

/// Styles by name, as terminals know them.
const STYLES: &[(&str, &str)] = &[
    ("bold", "\u{1b}[1m"),
    ("dim", "\u{1b}[2m"),
    ("red", "\u{1b}[31m"),
    ("green", "\u{1b}[32m"),
    ("yellow", "\u{1b}[33m"),
    ("blue", "\u{1b}[34m"),
    ("magenta", "\u{1b}[35m"),
    ("cyan", "\u{1b}[36m"),
    ("reset", RESET),
];

const RESET: &str = "\u{1b}[0m";

/// The fields of a line. One that is empty has nothing to say.
pub(super) type Fields<'a> = &'a [(&'static str, String)];

/// Fills a template, or the theme of that name. `[…]` is left out if one of its fields is empty. An unknown field stays as it
/// is, so that a person who misspelt it sees it.
pub(super) fn filled(template: &str, fields: Fields<'_>) -> String {
    let theme = THEMES.iter().find(|(name, _)| *name == template);
    let template = theme.map_or(template, |(_, template)| *template);
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(&part(before, fields).text);
        let Some((optional, after)) = after.split_once(']') else {
            rest = after;
            break;
        };
        let found = part(optional, fields);
        if !found.is_empty_somewhere {
            out.push_str(&found.text);
        }
        rest = after;
    }
    out.push_str(&part(rest, fields).text);
    // What stands between the first part and the second is no beginning.
    let begins = |c: char| c.is_whitespace() || matches!(c, '·' | '|' | '•' | ',');
    let line: String = out.trim_start_matches(begins).trim_end().chars().take(MAX_LINE).collect();
    if line.contains('\u{1b}') && !line.ends_with(RESET) { line + RESET } else { line }
}

/// A piece of a template with its fields filled in.
#[derive(Default)]
struct Part {
    text: String,
    is_empty_somewhere: bool,
}

fn part(template: &str, fields: Fields<'_>) -> Part {
    let mut out = Part::default();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        push_plain(&mut out.text, before);
        let Some((name, after)) = after.split_once('}') else {
            rest = after;
            break;
        };
        if let Some((_, style)) = STYLES.iter().find(|(known, _)| *known == name) {
            out.text.push_str(style);
        } else if let Some((_, value)) = fields.iter().find(|(known, _)| *known == name) {
            out.is_empty_somewhere |= value.is_empty();
            out.text.push_str(&one_line(value, MAX_FIELD));
        } else {
            push_plain(&mut out.text, &format!("{{{name}}}"));
        }
        rest = after;
    }
    push_plain(&mut out.text, rest);
    out
}

/// Text of the template itself: one line, and no style that is not ours.
fn push_plain(out: &mut String, text: &str) {
    out.extend(text.chars().filter(|c| !c.is_control()));
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn fields(agent: &str, unread: &str) -> Vec<(&'static str, String)> {
        vec![("agent", agent.to_owned()), ("unread", unread.to_owned())]
    }

    #[rstest]
    #[case::all("{agent}[ · {unread} mail]", "Ana", "2", "Ana · 2 mail")]
    #[case::nothing_unread("{agent}[ · {unread} mail]", "Ana", "", "Ana")]
    #[case::no_agent("{agent}[ · {unread} mail]", "", "2", "2 mail")]
    #[case::nothing("{agent}[ · {unread} mail]", "", "", "")]
    #[case::misspelt("{agnet} {agent}", "Ana", "", "{agnet} Ana")]
    #[case::open_bracket("{agent} [{unread}", "Ana", "2", "Ana 2")]
    #[case::open_brace("{agent} {unread", "Ana", "2", "Ana unread")]
    #[case::styles("{red}{agent}", "Ana", "", "\u{1b}[31mAna\u{1b}[0m")]
    #[case::reset_once("{red}{agent}{reset}", "Ana", "", "\u{1b}[31mAna\u{1b}[0m")]
    #[case::foreign_escapes("\u{1b}]0;x\u{7}{agent}\n", "A\u{1b}[31m", "", "]0;xA [31m")]
    fn a_template(
        #[case] template: &str,
        #[case] agent: &str,
        #[case] unread: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(filled(template, &fields(agent, unread)), expected);
    }

    #[test]
    fn a_theme_names_only_fields_and_styles_that_exist() {
        let all = super::super::verbs::FIELDS.map(|name| (name, "7".to_owned()));
        for (name, _) in THEMES {
            let line = filled(name, &all);
            assert!(line.contains('7') && !line.contains(['{', '}']), "{name}: {line}");
        }
    }
}
