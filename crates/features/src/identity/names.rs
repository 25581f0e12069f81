//! Names: which are valid, which a new agent gets, and what a subagent is called.

use substrate_core::ids::checksum;

use super::words::{ADJECTIVES, ANIMALS};

/// How many pairs of words are tried before a number is added.
const N_PAIRS: usize = 64;

/// The longest name of an agent.
const MAX_LEN: usize = 40;

/// The longest first part of a subagent's name.
const MAX_KIND: usize = 24;

/// What a name must be, in words.
pub(super) const RULE: &str =
    "a name begins with a letter and has up to 40 letters, digits, `_` and `-`";

/// Whether somebody may be called so: `[A-Za-z][A-Za-z0-9_-]{0,39}`, and not as the two who are always there.
pub(super) fn is_valid(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    name.len() <= MAX_LEN
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(plain)
        && !["user", "substrate"].contains(&key(name).as_str())
}

/// The form in which names are compared.
pub(super) fn key(name: &str) -> String {
    name.to_lowercase()
}

/// The names for the agent of a session, best first; they never end.
pub(super) fn candidates(session: &str) -> impl Iterator<Item = String> + '_ {
    let numbered = (2_u64..).map(move |n| format!("{}{n}", pair(session, 0)));
    (0..N_PAIRS).map(move |n_tried| pair(session, n_tried)).chain(numbered)
}

fn pair(session: &str, n_tried: usize) -> String {
    let hash = checksum(&format!("{session} {n_tried}"));
    let byte = |at: usize| {
        hash.get(at..at + 2).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    format!("{}{}", ADJECTIVES[byte(0) % ADJECTIVES.len()], ANIMALS[byte(2) % ANIMALS.len()])
}

/// The first part of a subagent's name: what the client calls its kind, made harmless.
pub(super) fn kind(kind: &str) -> String {
    let mut out = String::new();
    for c in kind.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
        if out.len() == MAX_KIND {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "subagent".to_owned() } else { out.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::two_words("NobleLion", true)]
    #[case::one_letter("a", true)]
    #[case::signs("build_bot-2", true)]
    #[case::forty(&"a".repeat(40), true)]
    #[case::forty_one(&"a".repeat(41), false)]
    #[case::empty("", false)]
    #[case::digit_first("2fast", false)]
    #[case::dash_first("-rf", false)]
    #[case::subagent("NobleLion/reviewer-1", false)]
    #[case::path("../../etc", false)]
    #[case::break_inside("a\nb", false)]
    #[case::escape("a\u{1b}[31m", false)]
    #[case::letters_of_others("Löwe", false)]
    #[case::person("User", false)]
    #[case::person_in_capitals("USER", false)]
    #[case::ourselves("substrate", false)]
    fn a_name_is_valid_or_not(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_valid(name), expected);
    }

    #[rstest]
    #[case::plain("reviewer", "reviewer")]
    #[case::capitals("Explore", "explore")]
    #[case::spaces("general purpose", "general-purpose")]
    #[case::plugin("demo:rev", "demo-rev")]
    #[case::path("../../etc/passwd", "etc-passwd")]
    #[case::escape("\u{1b}[31mred\n# heading", "31mred-heading")]
    #[case::nothing_left("///", "subagent")]
    #[case::no_letter_of_ours("審査", "subagent")]
    #[case::blank(" ", "subagent")]
    #[case::long("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwx")]
    #[case::dash_at_the_end("abcdefghijklmnopqrstuvw-xyz", "abcdefghijklmnopqrstuvw")]
    fn a_kind_becomes_harmless(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(kind(text), expected);
    }

    #[test]
    fn every_name_that_can_be_made_is_valid_and_no_two_pairs_read_the_same() {
        let mut all: Vec<String> = ADJECTIVES
            .iter()
            .flat_map(|how| ANIMALS.iter().map(move |who| format!("{how}{who}").to_lowercase()))
            .collect();
        assert!(all.iter().all(|name| is_valid(name)));
        let n = all.len();
        all.sort();
        all.dedup();
        assert_eq!((n, all.len()), (16_384, 16_384));
    }

    #[test]
    fn after_64_pairs_a_number_is_added() {
        let names: Vec<String> = candidates("s").take(66).collect();
        assert!(names[..64].iter().all(|name| !name.ends_with(|c: char| c.is_ascii_digit())));
        assert_eq!(names[64], format!("{}2", names[0]));
        assert_eq!(names[65], format!("{}3", names[0]));
    }
}
