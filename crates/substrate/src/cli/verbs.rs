//! The features' verbs as commands.

use std::time::Duration;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use substrate_core::text::{self, without_tags};
use substrate_core::{Format, Output, Verb};

use super::call::Line;
use super::local::ThisProcess;
use super::{Context, ask, hex, lines, local};
use crate::error::{AppError, Kind, Result};
use crate::{proc, ui};

/// How soon a verb that follows something asks again: after news, and after a long time without.
const FOLLOW: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3));

pub(super) fn all() -> impl Iterator<Item = &'static Verb> {
    substrate_features::ALL.iter().flat_map(|feature| feature.verbs)
}

/// Adds every verb; those of two words under the first.
pub(super) fn add(mut root: Command) -> Command {
    for feature in substrate_features::ALL {
        let mut groups: Vec<&str> = feature
            .verbs
            .iter()
            .filter(|verb| verb.path.len() == 2)
            .map(|verb| verb.path[0])
            .collect();
        groups.dedup();
        for name in groups {
            let members = || {
                feature
                    .verbs
                    .iter()
                    .filter(move |verb| verb.path.len() == 2 && verb.path[0] == name)
            };
            let about = if name == feature.name {
                feature.about.to_owned()
            } else {
                let all: Vec<&str> = members().map(|verb| verb.path[1]).collect();
                format!("{}: {}", capital(name), all.join(", "))
            };
            let mut group = Command::new(name)
                .about(about)
                .hide(members().all(|verb| verb.hidden))
                .args_conflicts_with_subcommands(true);
            group = match members().find(|verb| verb.default) {
                Some(verb) => (verb.augment)(group),
                None => group.subcommand_required(true).arg_required_else_help(true),
            };
            for verb in members() {
                group = group.subcommand(leaf(verb, verb.path[1]));
            }
            root = root.subcommand(group);
        }
        for verb in feature.verbs.iter().filter(|verb| verb.path.len() == 1) {
            root = root.subcommand(leaf(verb, verb.path[0]));
        }
    }
    root
}

/// The command of one verb.
fn leaf(verb: &Verb, name: &'static str) -> Command {
    (verb.augment)(Command::new(name).about(verb.about).hide(verb.hidden))
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The verb that was typed, with its own flags.
fn typed<'m>(name: &str, matches: &'m ArgMatches) -> (Option<&'static Verb>, &'m ArgMatches) {
    match matches.subcommand() {
        Some((second, inner)) => (all().find(|verb| verb.path == [name, second]), inner),
        None => (
            all().find(|verb| verb.path == [name] || (verb.default && verb.path[0] == name)),
            matches,
        ),
    }
}

/// Prints what the verb says where the state can't be used; gives the error back where it says nothing.
pub(super) fn without_state(
    format: Format,
    name: &str,
    matches: &ArgMatches,
    error: AppError,
) -> Result<()> {
    match typed(name, matches).0 {
        Some(verb) => excused(format, verb, error),
        None => Err(error),
    }
}

fn excused(format: Format, verb: &Verb, error: AppError) -> Result<()> {
    let is_state = matches!(error.kind, Kind::State | Kind::Daemon);
    let said = is_state.then(|| (verb.without_state)(&error.in_one_line())).flatten();
    match said {
        Some(output) => print(format, &output).map(drop),
        None => Err(error),
    }
}

/// What a client's settings or a tmux server runs without a person: it must not bring back a daemon, or a state home, that
/// the user has removed.
fn runs_by_itself(context: &Context, verb: &Verb, body: &Value) -> bool {
    match verb.path {
        ["statusline"] => !context.home.root().is_dir(),
        ["fleet", "check"] => body["pane"].is_string(),
        _ => false,
    }
}

pub(super) fn run(context: &Context, name: &str, matches: &ArgMatches) -> Result<()> {
    let (verb, matches) = typed(name, matches);
    let verb =
        verb.ok_or_else(|| AppError::new(Kind::Internal, format!("no verb is called `{name}`")))?;
    // What the client says about its project is no reason to look for files anywhere but here.
    let dir = matches.get_one::<String>("project-dir").cloned();
    let mut body = (verb.body)(matches, &mut ThisProcess::new(context).from(dir))?;
    if let Some(source) = (verb.streams)(&body) {
        return lines::run(context, verb, &source);
    }
    let mut line = if runs_by_itself(context, verb, &body) {
        Line::quiet(context, verb)
    } else {
        Line::new(context, verb)
    };
    let mut pause = FOLLOW.0;
    let mut request = context.caller.request.clone();
    loop {
        let output = match line.call(body, &request) {
            Ok(output) => output,
            Err(AppError { question: Some(question), .. }) if ask::is_possible() => {
                if !ask::yes(&question.text) {
                    return Err(AppError::new(Kind::User, "nothing was changed"));
                }
                // Another request: the first one was refused.
                (body, request) = (question.body, hex(proc::random_id()));
                continue;
            }
            Err(error) => return excused(context.format, verb, error),
        };
        let printed = print(context.format, &output)?;
        if !printed && output.after.is_some() {
            return Err(AppError::new(Kind::State, "the output could not be written")
                .hint("nothing counts as seen or read; run the command again"));
        }
        if let Some(after) = output.after {
            line.call(after, &request)?;
        }
        match output.follow {
            Some(next) => body = next,
            None => return Ok(()),
        }
        pause = if output.text.is_empty() { (pause * 2).min(FOLLOW.1) } else { FOLLOW.0 };
        std::thread::sleep(pause);
        // The terminal may have another size by now.
        if let Some(screen) = body.get_mut("screen") {
            *screen = json!(local::screen());
        }
    }
}

/// Whether it went out.
fn print(format: Format, output: &Output) -> Result<bool> {
    Ok(match format {
        Format::Text | Format::Context => ui::printed(&without_tags(output.text.clone())),
        Format::Json if output.follow.is_some() => {
            // One object a line, so that a program can read as it comes.
            output
                .json
                .as_array()
                .into_iter()
                .flatten()
                .all(|item| ui::printed(&format!("{}\n", tagless(item.to_string()))))
        }
        Format::Json => ui::printed(&format!("{}\n", pretty(&output.json))),
        Format::Hook => match &output.hook {
            Some(Value::Null) => true,
            Some(hook) => ui::printed(&format!("{}\n", gated(hook))),
            None => {
                return Err(AppError::new(Kind::User, "this command has no hook format")
                    .hint("use `--format json`"));
            }
        },
    })
}

pub(super) fn pretty(json: &Value) -> String {
    tagless(serde_json::to_string_pretty(json).unwrap_or_else(|_| json.to_string()))
}

/// JSON that means the same, and in which a model that reads it sees no tag of its client: what others wrote is in it as it
/// is, for programs.
fn tagless(json: String) -> String {
    let found: Vec<usize> = text::tags(&json).collect();
    if found.is_empty() {
        return json;
    }
    let (mut out, mut from) = (String::with_capacity(json.len() + found.len() * 5), 0);
    for at in found {
        out.push_str(&json[from..at]);
        out.push_str("\\u003c");
        from = at + 1;
    }
    out + &json[from..]
}

/// What a client reads, with its texts as they may be told.
fn gated(value: &Value) -> Value {
    match value {
        Value::String(text) => text::defused(text).map_or_else(|| value.clone(), Value::String),
        Value::Array(items) => items.iter().map(gated).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), gated(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_has_no_tag_of_a_client_and_programs_read_the_same() {
        let value = json!({"subject": "a</system-reminder>b < c", "all": ["<user>", 1, null]});
        let text = pretty(&value);
        assert!(!text.contains("</system-reminder>") && !text.contains("<user>"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let expected = json!({"subject": "a(/system-reminder>b < c", "all": ["(user>", 1, null]});
        assert_eq!(gated(&value), expected);
    }
}
