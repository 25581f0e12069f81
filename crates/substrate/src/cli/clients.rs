//! `substrate clients`

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use substrate_clients::{ABILITIES, ALL, Client};
use substrate_core::Audience;

use super::print;
use super::table::Definition;
use crate::hooks;

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["clients"],
    Audience::User,
    "Show what works with which client",
    |context, _| {
        let one = |client: &&Client| {
            let mut out: Map<String, Value> = ABILITIES
                .iter()
                .map(|ability| (ability.name.to_owned(), (ability.of)(client).into()))
                .collect();
            out.insert("client".to_owned(), client.name.into());
            out.insert("is_here".to_owned(), hooks::is_client_here(client, &context.env).into());
            Value::Object(out)
        };
        let json: Vec<Value> = ALL.iter().map(one).collect();
        print::result(context, &json!(json), text);
        Ok(())
    },
)];

fn text() -> String {
    let wide = ABILITIES.iter().map(|ability| ability.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    let mut line = |name: &str, cells: Vec<&str>| {
        let mut text = format!("{name:<wide$}");
        for (client, cell) in ALL.iter().zip(cells) {
            let wide = client.name.len().max("untried".len());
            let _infallible = write!(text, "  {cell:<wide$}");
        }
        let _infallible = writeln!(out, "{}", text.trim_end());
    };
    line("", ALL.iter().map(|client| client.name).collect());
    for ability in ABILITIES {
        line(ability.name, ALL.iter().map(|client| (ability.of)(client)).collect());
    }
    out
}
