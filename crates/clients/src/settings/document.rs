//! A settings file as a tree that knows where each of its parts stands.
//!
//! Two parsers look at the text: `serde_json` decides what is strict JSON, since that is all that the client reads,
//! and `jsonc-parser` says where everything is. Of duplicate keys the last one counts, as it does for the client.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use crate::install::{Drops, SettingsError};

/// The client skips a byte order mark at the very beginning, and so do we. It stays where it is.
const BOM: char = '\u{feff}';
/// What JSON calls white space.
pub(crate) const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// A text whose top level is an object.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) root: Object<'a>,
}

/// Something that is wrong with a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where, in bytes.
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) advice: String,
    /// What the client drops because of it; `None` where only we are unable to handle it.
    pub(crate) drops: Option<Drops>,
}

impl Problem {
    pub(crate) fn refusal(self, text: &str) -> SettingsError {
        SettingsError { line: line_of(text, self.at), message: self.message, advice: self.advice }
    }
}

/// A text without its byte order mark, and the mark.
pub(crate) fn split_bom(text: &str) -> (&str, &str) {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    text.split_at(text.len() - body.len())
}

/// Whether that counts as no file at all, for the client as for us.
pub(crate) fn is_blank(body: &str) -> bool {
    body.trim_matches(BLANKS).is_empty()
}

/// The tree of a text that has no byte order mark.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Problem> {
    let strict = serde_json::from_str::<IgnoredAny>(text);
    match (parse_to_ast(text, &<_>::default(), &STRICT), strict) {
        (Ok(parsed), Ok(_)) => match parsed.value {
            Some(Value::Object(root)) => Ok(Document { text, root }),
            Some(other) => Err(not_an_object(&other)),
            None => Err(not_for_us(0, "the file has no value".to_owned())),
        },
        (Ok(_), Err(error)) => Err(not_json(text, None, &error)),
        (Err(ours), Err(error)) => Err(not_json(text, Some(&ours), &error)),
        // Half of a surrogate pair, or hundreds of nested lists: the client accepts them.
        (Err(ours), Ok(_)) => {
            let message = format!("the file cannot be edited safely here ({})", ours.kind());
            Err(not_for_us(ours.range().start, message))
        }
    }
}

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn not_json(text: &str, ours: Option<&ParseError>, error: &serde_json::Error) -> Problem {
    let dropped = "the client reads strict JSON and drops the whole file";
    let (at, message, advice) = match ours.map(|ours| (ours.kind(), ours.range().start)) {
        Some((
            ParseErrorKind::CommentsNotAllowed | ParseErrorKind::UnterminatedCommentBlock,
            at,
        )) => (at, format!("there is a comment: {dropped}"), "take the comment out"),
        Some((ParseErrorKind::TrailingCommasNotAllowed, at)) => {
            (at, format!("there is a comma after the last item: {dropped}"), "take that comma out")
        }
        _ => {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            let at = offset(text, error.line(), error.column());
            (
                at,
                format!("it is not JSON ({said}): {dropped}"),
                "mend the line, or restore a backup of the file",
            )
        }
    };
    Problem { at, message, advice: advice.to_owned(), drops: Some(Drops::File) }
}

fn not_an_object(value: &Value<'_>) -> Problem {
    Problem {
        at: value.start(),
        message: format!("the file is {}, not an object: the client drops it", kind_of(value)),
        advice: "make the file an object, `{ … }`".to_owned(),
        drops: Some(Drops::File),
    }
}

fn not_for_us(at: usize, message: String) -> Problem {
    Problem { at, message, advice: "edit the file by hand".to_owned(), drops: None }
}

/// What a value is, in words.
pub(crate) fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

/// The member that counts.
pub(crate) fn member<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v ObjectProp<'a>> {
    object.properties.iter().rev().find(|prop| prop.name.as_str() == name)
}

/// That member's value, if it is text.
pub(crate) fn text_of<'v>(object: &'v Object<'_>, name: &str) -> Option<&'v str> {
    match &member(object, name)?.value {
        Value::StringLit(text) => Some(&text.value),
        _ => None,
    }
}

/// The members or elements of a container, as places.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// Just behind the opening bracket.
    pub(crate) open: usize,
    /// The closing bracket.
    pub(crate) close: usize,
    pub(crate) items: Vec<Range<usize>>,
}

impl From<&Object<'_>> for List {
    fn from(object: &Object<'_>) -> Self {
        let items = object.properties.iter().map(|prop| prop.start()..prop.end()).collect();
        Self { open: object.start() + 1, close: object.end() - 1, items }
    }
}

impl From<&Array<'_>> for List {
    fn from(array: &Array<'_>) -> Self {
        let items = array.elements.iter().map(|value| value.start()..value.end()).collect();
        Self { open: array.start() + 1, close: array.end() - 1, items }
    }
}

/// Lines count from one.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}
