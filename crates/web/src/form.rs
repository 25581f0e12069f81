//! Fields of a query or a form, and how they become a verb's own flags.

use clap::{ArgAction, Command};
use serde_json::Value;
use substrate_core::facts::Place;
use substrate_core::{Local, Verb, VerbError};

use crate::site::Refusal;

/// The most fields of a request.
const MAX_FIELDS: usize = 200;

/// Names and values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// From `a=1&b=two+words`.
    pub fn of_form(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MAX_FIELDS);
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decoded(name), decoded(value))
                })
                .collect(),
        )
    }

    /// From a JSON object of texts, numbers, booleans and lists of these.
    pub fn of_json(text: &[u8]) -> Option<Self> {
        let Ok(Value::Object(object)) = serde_json::from_slice(text) else { return None };
        let mut out = Vec::new();
        for (name, value) in object {
            let values = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                match value {
                    Value::Null => {}
                    Value::String(text) => out.push((name.clone(), text)),
                    Value::Bool(_) | Value::Number(_) => {
                        out.push((name.clone(), value.to_string()));
                    }
                    Value::Array(_) | Value::Object(_) => return None,
                }
            }
        }
        (out.len() <= MAX_FIELDS).then_some(Self(out))
    }

    /// Takes a field that is not the verb's.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// The body of a verb's request: the fields are its flags by their long names, and its arguments by name. Checked as
    /// the command line is.
    pub fn body(self, verb: &Verb, local: &mut dyn Local) -> Result<Value, Refusal> {
        let name = verb.path.last().copied().unwrap_or_default();
        let mut command =
            (verb.augment)(Command::new(name)).no_binary_name(true).disable_help_flag(true);
        command.build();
        let (mut flags, mut plain) = (Vec::new(), Vec::new());
        for (name, value) in self.0 {
            let known = command
                .get_arguments()
                .find(|arg| arg.get_long() == Some(name.as_str()) || arg.get_id().as_str() == name);
            let Some(arg) = known else {
                return Err(Refusal::new(422, format!("there is no field `{name}`"))
                    .hint(format!("`substrate {} --help` lists them", verb.path.join(" "))));
            };
            match arg.get_action() {
                _ if arg.is_positional() => plain.push((arg.get_index(), value)),
                ArgAction::SetTrue if matches!(value.as_str(), "true" | "on" | "1" | "") => {
                    flags.extend(arg.get_long().map(|long| format!("--{long}")));
                }
                ArgAction::SetTrue => {}
                // An empty field of a form was not filled in.
                _ if value.is_empty() => {}
                _ => flags.extend(arg.get_long().map(|long| format!("--{long}={value}"))),
            }
        }
        // Fields come in any order, arguments in the command's own.
        plain.sort_by_key(|(index, _)| *index);
        if !plain.is_empty() {
            flags.push("--".to_owned());
            flags.extend(plain.into_iter().map(|(_, value)| value));
        }
        let matches = command.try_get_matches_from(flags).map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            Refusal::new(422, line.trim_start_matches("error: "))
        })?;
        (verb.body)(&matches, local).map_err(Refusal::from)
    }
}

fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit =
                    || char::from(bytes.clone().next()?).to_digit(16).inspect(|_| _ = bytes.next());
                match (digit(), digit()) {
                    (Some(high), Some(low)) => {
                        out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    }
                    _ => out.push(b'%'),
                }
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A page has no files and no standard input of its own.
pub struct NoFiles<'a> {
    pub place: &'a dyn Fn(&str) -> Place,
}

impl Local for NoFiles<'_> {
    fn read(&mut self, _path: &str) -> Result<String, VerbError> {
        Err(VerbError::user("a page can't read files", "paste the text instead"))
    }

    fn place(&mut self, path: &str) -> Place {
        (self.place)(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded() {
        let fields = Fields::of_form("a=1&b=two+words%21&c=%C3%BC%zz&&d");
        let expected = [("a", "1"), ("b", "two words!"), ("c", "ü%zz"), ("d", "")];
        assert_eq!(fields.0, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let fields = Fields::of_json(br#"{"to":["a","b"],"n":3,"on":true,"x":null}"#).unwrap();
        let expected = [("n", "3"), ("on", "true"), ("to", "a"), ("to", "b")];
        assert_eq!(fields.0, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(Fields::of_json(b"[1]"), None);
        assert_eq!(Fields::of_json(br#"{"a":{"b":1}}"#), None);
    }
}
