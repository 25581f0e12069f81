//! From the command line to the command that it names.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;
use substrate_clients::Variables;
use substrate_core::{Caller, Format, RequestId};

use super::table::{self, Definition, Run};
use super::{Context, audience, help, overview, verbs};
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::{clock, proc, ui};

pub(crate) fn main(args: &[String]) -> ExitCode {
    let matches = match parse(args) {
        Ok(matches) => matches,
        Err(error) => {
            let _reader_gone = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run(&matches) {
        Ok(code) => code,
        Err(error) => {
            if !error.message.is_empty() {
                ui::talk(&error.render());
            }
            error.exit_code()
        }
    }
}

/// Reads a command line. Building all commands takes longer than running one of them, so the typed one is built first. Help,
/// suggestions and errors come from all of them.
fn parse(args: &[String]) -> clap::error::Result<ArgMatches> {
    let by_typed = help::typed(args).and_then(|command| command.try_get_matches_from(args).ok());
    by_typed.map_or_else(|| help::command().try_get_matches_from(args), Ok)
}

/// An id for a request. A repeated request has the same one.
pub(crate) fn request() -> String {
    RequestId(proc::random_id()).to_string()
}

fn run(matches: &ArgMatches) -> Result<ExitCode> {
    let (words, flags) = table::words(matches);
    if words.is_empty() {
        return overview::run(&context(matches)?).map(|()| ExitCode::SUCCESS);
    }
    let definition = table::typed(&words).ok_or_else(|| {
        AppError::new(Kind::Internal, format!("no command is called `{}`", words.join(" ")))
    })?;
    let context = match context(matches) {
        Ok(context) => context,
        Err(error) => return without_home(matches, definition, error).map(|()| ExitCode::SUCCESS),
    };
    if let Some(dir) = flags.get_one::<String>("project-dir")
        && !Path::new(dir).is_dir()
    {
        return Err(AppError::new(Kind::User, format!("there is no folder `{dir}`"))
            .hint("`--project-dir` takes the folder of a project"));
    }
    audience::admit(&context, &words, definition)?;
    match definition.run {
        Run::Here(run) => run(&context, flags).map(|()| ExitCode::SUCCESS),
        Run::Client(run) => run(&context, flags),
        Run::Verb(verb) => verbs::run(&context, verb, flags).map(|()| ExitCode::SUCCESS),
    }
}

/// Some commands have something to say even without a state home.
fn without_home(matches: &ArgMatches, definition: &Definition, mut error: AppError) -> Result<()> {
    match definition.run {
        Run::Verb(verb) => verbs::without_state(format(matches), verb, error),
        Run::Here(_) | Run::Client(_) => {
            if definition.path == ["doctor"] {
                error.message.insert_str(0, "state not usable: ");
            }
            Err(error)
        }
    }
}

fn context(matches: &ArgMatches) -> Result<Context> {
    let env = Env::of_this_process();
    let home = Home::find(&env)?;
    let verbose = matches.get_count("verbose") > 0;
    Ok(Context { caller: caller(matches, &env), format: format(matches), verbose, env, home })
}

fn format(matches: &ArgMatches) -> Format {
    matches.get_one::<Format>("format").copied().unwrap_or_default()
}

fn caller(matches: &ArgMatches, env: &Env) -> Caller {
    let given = |flag: &str, names: &[&str]| {
        let from_env = || names.iter().find_map(|name| env.text(name)).map(str::to_owned);
        matches.get_one::<String>(flag).cloned().or_else(from_env)
    };
    let of_clients = |which: fn(&Variables) -> &'static [&'static str]| -> Vec<&str> {
        let all = substrate_clients::ALL.iter().flat_map(|client| which(&client.variables));
        all.copied().collect()
    };
    Caller {
        // The client's own variable first: an exported one may be inherited from a client around this one.
        session: given("session-id", &of_clients(|variables| variables.session)),
        agent_typed: matches.get_one::<String>("agent").is_some(),
        agent: given("agent", &["AGENT_ID"]),
        project_dir: given("project-dir", &of_clients(|variables| variables.project)),
        cwd: std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default(),
        tz_offset_s: clock::tz_offset_once_s(clock::now(), env),
        inside_client: audience::says_inside(env),
        // The host that runs the verb fills in the project and the processes above.
        project: String::new(),
        request: request(),
        lineage: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{examples, layout};
    use super::*;

    /// The command line of every command: alone, with global flags, with its examples, and with words that are wrong.
    fn lines() -> Vec<Vec<String>> {
        let split = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let mut out: Vec<_> = examples::all().map(split).collect();
        for place in layout::places() {
            for n in 1..=place.path.len() {
                let words = place.path[..n].join(" ");
                for more in [
                    "",
                    " 3",
                    " a b",
                    " --help",
                    " --agent A --format json",
                    " --nonsense",
                    " help",
                ] {
                    out.push(split(&format!("substrate {words}{more}")));
                }
                out.push(split(&format!("substrate --agent A {words}")));
            }
        }
        out
    }

    /// The words of a command, and what its flags say.
    fn said(matches: &ArgMatches) -> (Vec<&str>, String) {
        let (words, flags) = table::words(matches);
        let said = flags.ids().map(|id| {
            let raw = flags.try_get_raw(id.as_str()).ok().flatten();
            let raw = raw.map(Iterator::collect::<Vec<_>>);
            format!("{id} {raw:?} {:?}", flags.value_source(id.as_str()))
        });
        (words, said.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn the_typed_command_alone_is_read_as_among_all_commands() {
        let mut n_alone = 0;
        for line in lines() {
            let alone = help::typed(&line).and_then(|typed| typed.try_get_matches_from(&line).ok());
            let Some(alone) = alone else { continue };
            n_alone += 1;
            let among_all = help::command().try_get_matches_from(&line).ok();
            let found = among_all.as_ref().map(said);
            assert_eq!(Some(said(&alone)), found, "{line:?}");
        }
        assert!(n_alone > 200, "{n_alone}");
    }

    #[test]
    fn help_and_errors_are_those_of_all_commands() {
        for line in [
            "substrate sned x",
            "substrate send --hlep",
            "substrate send --help",
            "substrate mail",
            "substrate locks guard --help",
            "substrate --version",
            "substrate help send",
        ] {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let of_all = help::command().try_get_matches_from(&line).unwrap_err();
            assert_eq!(parse(&line).unwrap_err().to_string(), of_all.to_string(), "{line:?}");
        }
    }
}
