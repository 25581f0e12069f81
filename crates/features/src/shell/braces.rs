//! `a{b,c}d`: the words that braces stand for. One pass over the marks that the word's reader left, then as many words as
//! there are, within bounds.

use std::ops::Range;

use super::State;
use super::lex::{Broken, MAX_NESTED};
use super::words::Marks;

/// The most words that one word may stand for.
const MAX_EXPANDED: usize = 1_000;

/// At most this many braces and commas are looked at.
const MAX_MARKS: usize = 4 * MAX_EXPANDED;

/// A part of a word.
enum Part {
    Text(Range<usize>),
    /// One of these.
    Any(Vec<Vec<Self>>),
}

/// A brace that is open.
struct Open {
    at: usize,
    /// Where its latest comma is.
    commas: Vec<usize>,
    done: Vec<Vec<Part>>,
    parts: Vec<Part>,
    /// Where the text that is in no part begins.
    from: usize,
}

/// What the word at that place of the text stands for, each as it would be written.
pub(super) fn expanded(
    state: &mut State,
    text: &str,
    word: Range<usize>,
    marks: &Marks,
) -> Result<Vec<String>, Broken> {
    if marks.len() > MAX_MARKS {
        return Err(state.cut());
    }
    let parts = parts(state, word, marks)?;
    let mut out = vec![String::new()];
    append(state, text, &parts, &mut out)?;
    Ok(out)
}

fn parts(state: &mut State, word: Range<usize>, marks: &Marks) -> Result<Vec<Part>, Broken> {
    let new = |at, from| Open { at, commas: Vec::new(), done: Vec::new(), parts: Vec::new(), from };
    let mut open = vec![new(word.start, word.start)];
    for (at, mark) in marks {
        let at = *at;
        let Some(last) = open.last_mut() else { break };
        match mark {
            b'{' => {
                last.parts.push(Part::Text(last.from..at));
                if open.len() > usize::from(MAX_NESTED) {
                    return Err(state.cut());
                }
                open.push(new(at, at + 1));
            }
            b',' if open.len() > 1 => {
                let Some(last) = open.last_mut() else { break };
                last.parts.push(Part::Text(last.from..at));
                last.done.push(std::mem::take(&mut last.parts));
                last.commas.push(at);
                last.from = at + 1;
            }
            b'}' if open.len() > 1 => {
                let Some(mut inner) = open.pop() else { break };
                inner.parts.push(Part::Text(inner.from..at));
                let Some(outer) = open.last_mut() else { break };
                if inner.done.is_empty() {
                    outer.parts.push(Part::Text(inner.at..inner.at + 1));
                    outer.parts.append(&mut inner.parts);
                    outer.from = at;
                } else {
                    inner.done.push(inner.parts);
                    outer.parts.push(Part::Any(inner.done));
                    outer.from = at + 1;
                }
            }
            _ => {}
        }
    }
    // What is never closed is text.
    while open.len() > 1 {
        let (Some(inner), Some(outer)) = (open.pop(), open.last_mut()) else { break };
        outer.parts.push(Part::Text(inner.at..inner.at + 1));
        for (mut parts, comma) in inner.done.into_iter().zip(inner.commas) {
            outer.parts.append(&mut parts);
            outer.parts.push(Part::Text(comma..comma + 1));
        }
        outer.parts.extend(inner.parts);
        outer.from = inner.from;
    }
    let mut whole = open.pop().map(|open| (open.parts, open.from)).unwrap_or_default();
    whole.0.push(Part::Text(whole.1..word.end));
    Ok(whole.0)
}

/// Appends the parts to every word so far.
fn append(
    state: &mut State,
    text: &str,
    parts: &[Part],
    out: &mut Vec<String>,
) -> Result<(), Broken> {
    for part in parts {
        match part {
            Part::Text(range) => {
                let text = text.get(range.clone()).unwrap_or_default();
                state.pay(text.len().saturating_mul(out.len()))?;
                out.iter_mut().for_each(|one| one.push_str(text));
            }
            Part::Any(all) => {
                let mut each = Vec::new();
                for one in all {
                    let mut some = vec![String::new()];
                    append(state, text, one, &mut some)?;
                    each.append(&mut some);
                    if each.len().saturating_mul(out.len()) > MAX_EXPANDED {
                        return Err(state.cut());
                    }
                }
                let long = |all: &[String]| all.iter().map(String::len).sum::<usize>();
                state.pay(
                    long(out)
                        .saturating_mul(each.len())
                        .saturating_add(long(&each).saturating_mul(out.len())),
                )?;
                *out = out
                    .iter()
                    .flat_map(|before| each.iter().map(move |one| format!("{before}{one}")))
                    .collect();
            }
        }
    }
    Ok(())
}
