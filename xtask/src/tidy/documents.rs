//! Documents: their length, the length of their sentences, what they name, and whether a test keeps what they promise.

use std::path::Path;

use anyhow::Result;

use super::{files, folders, name_of, sources_below, text};

/// The most lines of a document.
const MAX_LINES: [(&str, usize); 2] = [("README.md", 150), ("ARCHITECTURE.md", 180)];

/// The map, whose sentences are measured.
const MAP: &str = "ARCHITECTURE.md";

/// The most words in half of the map's sentences, in nine of ten, and in any.
const MAX_MEDIAN: usize = 15;
const MAX_P90: usize = 25;
const MAX_WORDS: usize = 45;

/// The heading in SECURITY.md below which nothing is promised.
const UNPREVENTED: &str = "What stays possible";

pub(super) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for (name, max) in MAX_LINES {
        let n_lines = text(&root.join(name))?.lines().count();
        if n_lines > max {
            out.push(format!("{name}: {n_lines} lines, more than {max}"));
        }
    }
    out.extend(unnamed(root)?);
    out.extend(long_sentences(&text(&root.join(MAP))?));
    out.extend(private_paths(root)?);
    out.extend(promises(root)?);
    Ok(out)
}

/// Crates and features that the map does not name.
fn unnamed(root: &Path) -> Result<Vec<String>> {
    let map = text(&root.join(MAP))?;
    let crates = folders(&root.join("crates"))?;
    let features = folders(&root.join("crates/features/src"))?;
    let crates = crates.iter().filter(|name| !map.contains(&format!("`crates/{name}`")));
    let features = features.iter().filter(|name| !map.contains(&format!("| `{name}` |")));
    let crates = crates.map(|name| format!("{MAP} does not name crates/{name}"));
    Ok(crates
        .chain(features.map(|name| format!("{MAP} does not name the feature {name}")))
        .collect())
}

/// Paths of the machine that a document was written on.
fn private_paths(root: &Path) -> Result<Vec<String>> {
    // In two parts, so that this file does not find itself.
    let private = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/fa", "rm/"),
        concat!("../sha", "red"),
    ];
    let top = std::fs::read_dir(root)?.flatten().map(|entry| entry.path());
    let is_document = |path: &Path| path.extension().is_some_and(|it| it == "md" || it == "toml");
    let mut documents: Vec<_> = top.filter(|path| is_document(path)).collect();
    documents.push(root.join("Makefile"));
    documents.extend(files(&root.join("docs"), &["md"])?);
    let mut out = Vec::new();
    for file in documents {
        let text = text(&file)?;
        for word in private.iter().filter(|word| text.contains(**word)) {
            out.push(format!("{}: names `{word}`, a path of one machine", name_of(root, &file)));
        }
    }
    Ok(out)
}

/// Compares the sentences of a page with the limits. Cells of tables count only against the longest.
fn long_sentences(page: &str) -> Vec<String> {
    let (blocks, cells) = prose(page);
    let mut sentences: Vec<(usize, String)> =
        blocks.iter().flat_map(|block| split(block)).collect();
    sentences.sort();
    let at = |of_100: usize| sentences.get(sentences.len() * of_100 / 100).map_or(0, |(n, _)| *n);
    let mut out = Vec::new();
    for (name, measured, max) in
        [("the median", at(50), MAX_MEDIAN), ("the 90th percentile", at(90), MAX_P90)]
    {
        if measured > max {
            out.push(format!(
                "{MAP}: {name} of its sentences has {measured} words, more than {max}"
            ));
        }
    }
    let in_cells = cells.iter().flat_map(|cell| split(cell));
    let long = sentences.iter().cloned().chain(in_cells).filter(|(n, _)| *n > MAX_WORDS);
    out.extend(
        long.map(|(n, sentence)| format!("{MAP}: {n} words, more than {MAX_WORDS}: {sentence}")),
    );
    out
}

/// The paragraphs and list items of a Markdown page, and the cells of its tables. Code and headings are left out.
fn prose(page: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut cells) = (vec![String::new()], Vec::new());
    let mut is_code = false;
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if line.starts_with('|') && !is_code {
            cells.extend(line.split('|').map(str::to_owned));
        }
        if is_code || line.is_empty() || line.starts_with(['#', '|']) || line.starts_with("```") {
            blocks.push(String::new());
            continue;
        }
        let item = item_text(line);
        if item.is_some() {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(' ');
            block.push_str(item.unwrap_or(line));
        }
    }
    (blocks, cells)
}

/// The text of a list item: `* text`, `- text`, `1. text`.
fn item_text(line: &str) -> Option<&str> {
    let (mark, rest) = line.split_once(' ')?;
    let is_number = mark.strip_suffix('.').is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()));
    (matches!(mark, "*" | "-") || is_number).then_some(rest)
}

/// The sentences of a text, each with its number of words. Code between backticks is one word.
fn split(text: &str) -> Vec<(usize, String)> {
    let mut sentences = vec![Vec::new()];
    let without_code: String = text
        .split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part } else { "`…`" })
        .collect();
    for word in without_code.split_whitespace() {
        if let Some(sentence) = sentences.last_mut() {
            sentence.push(word);
        }
        if word.trim_end_matches(['*', '_', ')', '"']).ends_with(['.', '?', '!']) {
            sentences.push(Vec::new());
        }
    }
    let sentences = sentences.into_iter().filter(|words| !words.is_empty());
    sentences.map(|words| (words.len(), words.join(" "))).collect()
}

/// Every line of SECURITY.md names an existing test, except for those that say what is not prevented.
fn promises(root: &Path) -> Result<Vec<String>> {
    let mut code = String::new();
    for file in sources_below(root)? {
        code.push_str(&text(&file)?);
    }
    Ok(unproved(&text(&root.join("SECURITY.md"))?, &code))
}

/// The lines of a list that name no test in the code.
fn unproved(document: &str, code: &str) -> Vec<String> {
    let is_test = |name: &str| {
        let name = name.rsplit("::").next().unwrap_or_default();
        !name.is_empty() && code.contains(&format!("fn {name}("))
    };
    let mut out = Vec::new();
    for section in document.split("\n## ").filter(|section| !section.starts_with(UNPREVENTED)) {
        for item in section.split("\n* ").skip(1) {
            let mut named = item.split('`').skip(1).step_by(2).filter(|name| name.contains("::"));
            let is_proved = named.clone().next().is_some() && named.all(is_test);
            if !is_proved {
                let line = item.lines().next().unwrap_or_default();
                out.push(format!("SECURITY.md: no existing test for `{line}`"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted_without_code_tables_and_headings() {
        let page = "# A heading of many words. And more\n\nOne two `a b. c` four. Five\nsix?\n\n* Seven. \n1. Eight nine\n   ten\n\n```\nlet code = 1;\n```\n| a cell | b |\n";
        let (blocks, cells) = prose(page);
        let n: Vec<usize> = blocks.iter().flat_map(|block| split(block)).map(|(n, _)| n).collect();
        assert_eq!(n, [4, 2, 1, 3]);
        assert!(cells.iter().any(|cell| cell.trim() == "a cell"));
    }

    #[test]
    fn a_page_of_long_sentences_is_found() {
        let sentence = |n: usize| format!("{}end.\n\n", "word ".repeat(n - 1));
        assert_eq!(long_sentences(&sentence(15).repeat(9)), [""; 0]);
        assert_eq!(long_sentences(&sentence(16).repeat(9)).len(), 1, "the median");
        let page = sentence(5).repeat(8) + &sentence(26).repeat(2);
        assert_eq!(long_sentences(&page).len(), 1, "the 90th percentile");
        assert_eq!(
            long_sentences(&(sentence(5).repeat(20) + &sentence(46))).len(),
            1,
            "one of them"
        );
        assert_eq!(long_sentences(&format!("| {} |\n", sentence(46).trim())).len(), 1, "in a cell");
    }

    #[test]
    fn a_promise_without_a_test_is_found() {
        let document = "# Security\n\n## A\n\n* kept: `it::kept`, `it::too`\n* none: `word`\n* gone:\n  `it::gone`\n\n## What stays possible\n\n* all\n";
        let found = unproved(document, "fn kept() {} fn too() {}");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("none") && found[1].contains("gone"));
    }
}
