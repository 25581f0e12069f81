//! Scores how well a skill fits a prompt, by whole words in its name, its description and the table of keywords.

use std::collections::BTreeSet;

use substrate_core::facts::Skill;
use substrate_core::text::cut;

/// What a word counts, depending on where it is found.
const IN_KEYWORDS: usize = 5;
const IN_NAME: usize = 3;
const IN_DESCRIPTION: usize = 1;

/// The score of a suggestion: one word of the name, or several of the description.
const ENOUGH: usize = 3;

/// How many are suggested.
const MAX_SUGGESTED: usize = 3;

/// How much of a prompt counts. What comes later is mostly pasted.
const MAX_PROMPT: usize = 4_000;

/// Words that don't tell what a person wants. `use`, `when` and the like open half of all descriptions.
const STOP_WORDS: &[&str] = &[
    "about", "after", "again", "all", "also", "and", "any", "are", "ask", "because", "been",
    "before", "but", "can", "could", "did", "does", "don", "each", "for", "from", "get", "give",
    "had", "has", "have", "help", "her", "here", "his", "how", "into", "its", "just", "let",
    "like", "make", "may", "more", "most", "must", "need", "new", "not", "now", "off", "one",
    "only", "other", "our", "out", "over", "please", "run", "shall", "she", "should", "skill",
    "some", "such", "than", "thank", "that", "the", "their", "them", "then", "there", "these",
    "they", "thing", "this", "those", "through", "too", "use", "used", "user", "using", "very",
    "want", "was", "way", "well", "were", "what", "when", "where", "whether", "which", "who",
    "why", "will", "with", "work", "would", "yes", "yet", "you", "your",
];

/// The table of keywords: each phrase with its skill. Malformed lines are skipped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keywords {
    entries: Vec<(Vec<String>, String)>,
}

impl Keywords {
    /// Reads lines such as `effect, error handling => effect-patterns`.
    pub(super) fn read(lines: &[String]) -> Self {
        let mut entries = Vec::new();
        for line in lines {
            let Some((keywords, skill)) = line.rsplit_once("=>") else { continue };
            let skill = skill.trim().to_lowercase();
            let phrases = keywords.split(',').map(|phrase| words(phrase).collect::<Vec<_>>());
            entries.extend(
                phrases
                    .filter(|phrase| !phrase.is_empty() && !skill.is_empty())
                    .map(|phrase| (phrase, skill.clone())),
            );
        }
        Self { entries }
    }

    /// How many of a skill's phrases the prompt contains.
    fn n_in(&self, prompt: &[String], skill: &str) -> usize {
        let is_said = |phrase: &[String]| prompt.windows(phrase.len()).any(|part| part == phrase);
        self.entries.iter().filter(|(phrase, name)| name == skill && is_said(phrase)).count()
    }
}

/// The skills that fit, best first.
pub(super) fn best<'a>(prompt: &str, skills: &'a [Skill], keywords: &Keywords) -> Vec<&'a Skill> {
    let prompt = cut(prompt, MAX_PROMPT).to_lowercase();
    let said: Vec<String> = words(&prompt).collect();
    let telling: BTreeSet<String> =
        split(&prompt).filter(|word| is_telling(word)).map(stem).collect();
    let mut found: Vec<(usize, &Skill)> = skills
        .iter()
        .map(|skill| (score(&said, &telling, skill, keywords), skill))
        .filter(|(score, _)| *score >= ENOUGH)
        .collect();
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
    found.into_iter().take(MAX_SUGGESTED).map(|(_, skill)| skill).collect()
}

fn score(said: &[String], telling: &BTreeSet<String>, skill: &Skill, keywords: &Keywords) -> usize {
    let n_in = |text: &str| {
        let own: BTreeSet<String> = words(text).collect();
        own.iter().filter(|word| telling.contains(*word)).count()
    };
    IN_NAME * n_in(&skill.name)
        + IN_DESCRIPTION * n_in(&skill.description)
        + IN_KEYWORDS * keywords.n_in(said, &skill.name.to_lowercase())
}

/// The words of a text, in lower case and stemmed.
fn words(text: &str) -> impl Iterator<Item = String> {
    split(text).map(|word| stem(&word.to_lowercase()))
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether a word of a prompt tells what a person wants.
fn is_telling(word: &str) -> bool {
    let is_stop_word = |word: &str| STOP_WORDS.binary_search(&word).is_ok();
    let singular = word.strip_suffix('s').unwrap_or(word);
    word.chars().filter(|c| c.is_alphabetic()).count() >= 3
        && !is_stop_word(word)
        && !is_stop_word(singular)
}

/// `tests` and `testing` become `test`; `release` and `releasing` become `releas`. Crude is enough, because both sides are
/// stemmed.
fn stem(word: &str) -> String {
    let n_chars = word.chars().count();
    let without = |end: &str, at_least: usize| {
        word.strip_suffix(end).filter(|_| n_chars >= at_least + end.len())
    };
    if let Some(stem) = without("ies", 3) {
        return format!("{stem}y");
    }
    let singular = without("s", 3).filter(|stem| !stem.ends_with(['s', 'u', 'i'])).unwrap_or(word);
    let stem = without("ing", 4).unwrap_or(singular);
    let is_long = stem.chars().count() >= 5;
    stem.strip_suffix('e').filter(|_| is_long).unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn the_stop_words_are_sorted_for_the_binary_search() {
        assert!(STOP_WORDS.is_sorted());
    }
}
