//! What a scratchpad must contain. Any way to write a heading will do: what it says matters, not the Markdown.

/// The headings that every scratchpad needs.
pub(super) const SECTIONS: [&str; 3] = ["What I did", "Cross-agent observations", "Unresolved"];

/// The headings that are missing.
pub fn missing(text: &str) -> Vec<&'static str> {
    let mut left = SECTIONS.to_vec();
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if left.is_empty() {
            break;
        }
        let heading = heading(line, lines.peek().copied());
        left.retain(|name| !heading.as_ref().is_some_and(|heading| begins(heading, name)));
    }
    left
}

/// Whether nothing was written.
pub fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// A scratchpad to begin with.
pub fn template(agent: &str, day: &str) -> String {
    let sections: String = SECTIONS.iter().map(|name| format!("\n## {name}\n\n")).collect();
    format!("# {agent}, {day}\n{sections}")
}

/// Whether a text is the template without a word added.
pub fn is_untouched(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let is_title = lines.next().is_some_and(|line| {
        let day = line.rsplit_once(", ").filter(|_| line.starts_with("# ")).map(|(_, day)| day);
        day.is_some_and(|day| day.parse::<jiff::civil::Date>().is_ok())
    });
    is_title && lines.eq(SECTIONS.iter().map(|name| format!("## {name}")))
}

/// The words of a heading: `## Words`, `**Words**`, or `Words` underlined.
fn heading(line: &str, next: Option<&str>) -> Option<String> {
    let line = line.trim().trim_start_matches(['-', '+', ' ']);
    let is_marked = line.starts_with('#') || line.starts_with("**") || line.starts_with("__");
    let is_underlined = || {
        let under = next.unwrap_or_default().trim();
        under.len() >= 3 && (under.bytes().all(|b| b == b'=') || under.bytes().all(|b| b == b'-'))
    };
    if !is_marked && !is_underlined() {
        return None;
    }
    // Skip marks, numbers and pictures before the words.
    Some(plain(line.trim_start_matches(|c: char| !c.is_alphabetic())))
}

fn begins(heading: &str, name: &str) -> bool {
    heading.strip_prefix(&plain(name)).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Lower case, with one space between words. Hyphens of all kinds count as spaces.
fn plain(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c == '-' || ('\u{2010}'..='\u{2015}').contains(&c);
    let words: Vec<&str> = text.split(is_gap).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::as_asked("## What I did\nx\n## Cross-agent observations\n- y\n## Unresolved\nnone", &[])]
    #[case::any_level("# What I did\n###### Cross-agent observations\n#Unresolved", &[])]
    #[case::any_case("## WHAT I DID\n## cross-Agent Observations\n## unresolved", &[])]
    #[case::with_more("## What I did today\n## Cross-agent observations (none)\n## Unresolved: two things", &[])]
    #[case::bold("**What I did**: x\n- **Cross-agent observations**\n__Unresolved__", &[])]
    #[case::numbered("## 1. What I did\n## 2) Cross-agent observations\n## **3. Unresolved**", &[])]
    #[case::pictures("## ✅ What I did\n## 👀 Cross\u{2011}agent  observations\n## ❓ Unresolved", &[])]
    #[case::underlined("What I did\n==========\nCross-agent observations\n---\nUnresolved\n---", &[])]
    #[case::windows("\u{feff}## What I did\r\n\r\n## Cross-agent observations\r\n## Unresolved\r\n", &[])]
    #[case::the_template(&template("spec-writer", "2026-02-08"), &[])]
    #[case::empty("", &SECTIONS)]
    #[case::prose("I say What I did, Cross-agent observations and Unresolved.\nUnresolved\n", &SECTIONS)]
    #[case::one_lacks("## What I did\n## Unresolved", &["Cross-agent observations"])]
    #[case::another_word("## What I didn't\n## Cross-agent observationsx\n## Unresolvedness", &SECTIONS)]
    #[case::binary("\u{0}\u{fffd}## What\u{0}", &SECTIONS)]
    fn headings_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(missing(text), expected);
    }

    #[rstest]
    #[case::template(&template("spec-writer, the second", "2026-02-08"), true)]
    #[case::windows(&template("x", "2026-02-08").replace('\n', "\r\n"), true)]
    #[case::a_word(&(template("x", "2026-02-08") + "none\n"), false)]
    #[case::only_headings("## What I did\n## Cross-agent observations\n## Unresolved\n", false)]
    #[case::another_title(
        "# My day\n## What I did\n## Cross-agent observations\n## Unresolved",
        false
    )]
    #[case::nothing("", false)]
    fn only_the_bare_template_is_untouched(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_untouched(text), expected);
    }

    #[rstest]
    #[case("", true)]
    #[case(" \n\t", true)]
    #[case("\u{feff}\n", true)]
    #[case("x", false)]
    fn white_space_alone_is_blank(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_blank(text), expected);
    }
}
