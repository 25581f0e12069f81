//! `substrate config set KEY VALUE` and `substrate config edit`

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use substrate_core::settings::{Key, Kind as Shape, Layer, Scope};
use substrate_core::text::nearest;

use super::super::{Context, call, print};
use crate::config::root_of;
use crate::error::{AppError, Kind, Result};
use crate::{fsx, hooks, proc, ui};

pub(super) fn key() -> Arg {
    Arg::new("key").required(true).value_name("KEY").help("Its name, e.g. `journal.max_age`")
}

pub(super) fn set_flags(command: Command) -> Command {
    let value = Arg::new("value").required(true).value_name("VALUE").allow_hyphen_values(true);
    edit_flags(command.arg(key()).arg(value.help("As in TOML; text needs no quotes")))
}

pub(super) fn edit_flags(command: Command) -> Command {
    let switch = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let local = switch("local").conflicts_with("project");
    command
        .arg(switch("project").help("In the project's `.substrate.toml`"))
        .arg(local.help("In the project's `.substrate.local.toml`"))
}

/// There is no such setting; the nearest name may be meant.
pub(super) fn unknown(name: &str) -> AppError {
    let close = nearest(name, substrate_features::keys().iter().map(|key| key.name));
    let hint = close.first().map_or_else(
        || "`substrate config` lists them all".to_owned(),
        |close| format!("did you mean `{close}`?"),
    );
    AppError::new(Kind::User, format!("there is no setting `{name}`")).hint(hint)
}

/// The file that the flags mean.
fn file(context: &Context, flags: &ArgMatches) -> (Scope, PathBuf) {
    let root = root_of(call::dir(context));
    match (flags.get_flag("project"), flags.get_flag("local")) {
        (true, _) => (Scope::Project, root.join(".substrate.toml")),
        (_, true) => (Scope::Local, root.join(".substrate.local.toml")),
        _ => (Scope::User, context.home.config()),
    }
}

pub(super) fn set(context: &Context, flags: &ArgMatches) -> Result<()> {
    let given = |name| flags.get_one::<String>(name).map_or("", String::as_str);
    let (name, text) = (given("key"), given("value"));
    let keys = substrate_features::keys();
    let key = keys.iter().find(|key| key.name == name).ok_or_else(|| unknown(name))?;
    let (scope, path) = file(context, flags);
    refuse_link(scope, &path)?;
    let before = read(&path)?;
    let changed = with(&before, key, text).ok_or_else(|| {
        AppError::new(Kind::State, format!("`{}` does not parse", path.display()))
            .hint("`substrate config check` says where; nothing was changed")
    })?;
    // Problems that the file already had don't matter here.
    let problems =
        |text: &str| Layer::read(scope, &path.display().to_string(), text, &keys).problems;
    let had: Vec<String> = problems(&before).into_iter().map(|problem| problem.message).collect();
    if let Some(new) = problems(&changed).into_iter().find(|new| !had.contains(&new.message)) {
        return Err(AppError::new(Kind::User, new.message).hint("nothing was changed"));
    }
    write(context, &path, &changed)?;
    let json = json!({"key": name, "value": text, "file": path});
    print::result(context, &json, || format!("{name} = {text} in {}\n", path.display()));
    Ok(())
}

/// The file with that value. `None` if it does not parse.
fn with(toml: &str, key: &Key, text: &str) -> Option<String> {
    let mut document: toml_edit::DocumentMut = toml.parse().ok()?;
    let is_text = matches!(key.kind, Shape::Span | Shape::Size | Shape::Word(_) | Shape::Text);
    let quoted = || toml_edit::Value::from(text);
    let value = match text.parse::<toml_edit::Value>() {
        Ok(value) if !is_text || value.is_str() => value,
        // A list of one needs no brackets.
        _ if key.kind == Shape::Texts => {
            let mut list = toml_edit::Array::new();
            list.push(text);
            list.into()
        }
        _ => quoted(),
    };
    let mut at = document.as_table_mut() as &mut dyn toml_edit::TableLike;
    let mut parts = key.name.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            match at.get_mut(part).and_then(toml_edit::Item::as_value_mut) {
                // Keep the comment behind it.
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = value;
                    *old.decor_mut() = decor;
                }
                None => drop(at.insert(part, toml_edit::value(value))),
            }
            break;
        }
        let inner = at.entry(part).or_insert_with(|| {
            let mut table = toml_edit::Table::new();
            table.set_implicit(true);
            toml_edit::Item::Table(table)
        });
        at = inner.as_table_like_mut()?;
    }
    Some(document.to_string())
}

pub(super) fn edit(context: &Context, flags: &ArgMatches) -> Result<()> {
    let (scope, path) = file(context, flags);
    refuse_link(scope, &path)?;
    if !path.exists() {
        write(context, &path, b"# `substrate config` lists every key.\n".as_slice())?;
    }
    let env = &context.env;
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| env.text(name)).unwrap_or("vi");
    // Like other programs, treat it as a shell command line.
    let status = proc::command("sh", env)
        .args(["-c", &format!("exec {editor} \"$0\"")])
        .arg(&path)
        .status()
        .map_err(|error| AppError::from_error(Kind::State, &error))?;
    if !status.success() {
        return Err(AppError::new(Kind::User, format!("`{editor}` ended with an error"))
            .hint("set EDITOR to the editor that you use"));
    }
    let text = read(&path)?;
    let name = path.display().to_string();
    let layer = Layer::read(scope, &name, &text, &substrate_features::keys());
    print::to_programs(
        context,
        &json!({"file": path, "problems": super::problems(&layer.problems)}),
    );
    for problem in &layer.problems {
        ui::talk(&format!("{problem}\n  {}\n", problem.hint));
    }
    match layer.problems.len() {
        0 => {
            ui::talk("the settings are fine, and in force\n");
            Ok(())
        }
        n => Err(AppError::new(Kind::State, format!("{n} lines are not in force"))
            .hint("fix them: `substrate config edit`")),
    }
}

/// A repository could make its settings file a link to one of the user's files.
fn refuse_link(scope: Scope, path: &Path) -> Result<()> {
    match path.parent() {
        Some(root) if scope != Scope::User => hooks::refuse_link(root, path),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` could not be read; nothing was changed", path.display()))),
    }
}

fn write(context: &Context, path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    if path == context.home.config() {
        context.home.ensure()?;
    }
    let mode = std::os::unix::fs::MetadataExt::mode;
    let mode = std::fs::metadata(path).map_or(0o600, |found| mode(&found) & 0o777);
    fsx::replace(&fsx::real(path), text.as_ref(), mode).map_err(|error| {
        AppError::from_error(Kind::State, &error)
            .hint(format!("`{}` could not be written; nothing was changed", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn key(name: &str) -> &'static Key {
        substrate_features::keys().into_iter().find(|key| key.name == name).unwrap()
    }

    #[rstest]
    #[case::first("", "locks.mirror", "true", "[locks]\nmirror = true\n")]
    #[case::dotted(
        "locks.mirror = false # why\n",
        "locks.mirror",
        "true",
        "locks.mirror = true # why\n"
    )]
    #[case::table(
        "# top\n[locks]\nmirror = false\n",
        "locks.mirror",
        "true",
        "# top\n[locks]\nmirror = true\n"
    )]
    #[case::span("", "journal.max_age", "7d", "[journal]\nmax_age = \"7d\"\n")]
    #[case::quoted("", "journal.max_age", "\"7d\"", "[journal]\nmax_age = \"7d\"\n")]
    #[case::other_lines_stay(
        "a = 1 # x\n\n[locks]\n",
        "journal.max_age",
        "7d",
        "a = 1 # x\n\n[locks]\n\n[journal]\nmax_age = \"7d\"\n"
    )]
    fn one_key_changes(
        #[case] before: &str,
        #[case] name: &str,
        #[case] value: &str,
        #[case] after: &str,
    ) {
        assert_eq!(with(before, key(name), value).as_deref(), Some(after));
    }

    #[test]
    fn a_file_that_does_not_parse_is_left_alone() {
        assert_eq!(with("a = = 1", key("locks.mirror"), "true"), None);
    }
}
