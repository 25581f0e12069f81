//! Lists of tables: what is in them is passed on as JSON, with the line on which each begins.

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::DeValue;

use super::key::Table;
use super::layer::{Lines, Scope};

/// The tables of a list; `None` where it is not one.
pub(super) fn read(
    scope: Scope,
    file: &str,
    lines: &Lines,
    value: &Spanned<DeValue<'_>>,
) -> Option<Vec<Table>> {
    let DeValue::Array(items) = value.get_ref() else { return None };
    let table = |item: &Spanned<DeValue<'_>>| {
        let DeValue::Table(_) = item.get_ref() else { return None };
        let line = lines.at(item.span().start);
        Some(Table {
            scope,
            origin: format!("{file}:{line}"),
            json: json(item.get_ref()).to_string(),
        })
    };
    items.iter().map(table).collect()
}

fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Boolean(on) => Json::Bool(*on),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Json::Null, Json::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Datetime(moment) => Json::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(name, value)| (name.get_ref().to_string(), json(value.get_ref())))
            .collect::<Map<String, Json>>()
            .into(),
    }
}
