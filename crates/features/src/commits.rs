//! The latest commits, in one wording. If several features tell them, the merge says them once.

use substrate_core::facts::GitQuestion;
use substrate_core::text::one_line;
use substrate_core::{Facts, Need, Wish};

const LOG: GitQuestion = GitQuestion::Log { n: 5 };

/// The longest line, in characters.
const MAX_LINE: usize = 120;

pub(crate) fn need(dir: &str) -> Need {
    Need::Git { dir: dir.to_owned(), what: LOG }
}

/// A section of its own; `None` if there are no commits. A commit's words come from outside, so each is one indented line.
pub(crate) fn wish(facts: &Facts, dir: &str) -> Option<Wish> {
    let lines = facts.git(dir, LOG)?.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> =
        lines.map(|line| format!("\n  {}", one_line(line, MAX_LINE))).collect();
    let text = format!("Recent commits:{}", lines.concat());
    let more = Some("git log --oneline -5".to_owned());
    (!lines.is_empty()).then(|| Wish::context(text, more))
}
