//! Acorn, a client that does not exist: one folder, as a real one is in `clients`. It shares as little as it can with the
//! real clients: other event names, no call ids, settings in TOML, timeouts in milliseconds, and a tool call is refused when
//! its hook is missing. It passes the same [`contract`](crate::contract), which proves that adding a client takes one folder.

mod protocol;
mod settings;

use substrate_clients::install::{IfMissing, Installer, Places};
use substrate_clients::{Client, Relaunch, Variables};
use substrate_core::dialect::{ClientStatus, Dialect, LatestAnswer, Prices, Tokens, UsageLine};
use substrate_core::{TodoItem, ToolClass};

use crate::contract::{Evidence, Sample};

const NAME: &str = "acorn";

/// The client.
pub const ACORN: Client = Client {
    name: NAME,
    title: "Acorn",
    program: "acorn",
    variables: VARIABLES,
    dialect: &DIALECT,
    decode: protocol::decode,
    encode: protocol::encode,
    delivers: protocol::delivers,
    session_files: None,
    was_interrupted: |tail| tail.ends_with(b"\ninterrupted\n"),
    status: |text| {
        let session = text.strip_prefix("thread ")?.trim().to_owned();
        Some(ClientStatus { session, ..ClientStatus::default() })
    },
    relaunch: Relaunch { fresh: without_conversation, again: <[_]>::to_vec },
    install: Installer {
        places: Places {
            home: ".acorn",
            project: ".acorn",
            user_settings: "config.toml",
            project_settings: "config.toml",
            local_settings: None,
        },
        format: settings::FORMAT,
        entries: settings::entries,
        prompts: Vec::new,
        scripts: |_| Vec::new(),
        rule: |words, is_beginning| {
            if is_beginning { format!("{words} *") } else { words.to_owned() }
        },
        broad_rule: "substrate *",
        own_check: None,
        if_missing: IfMissing::Refuses,
    },
};

/// Payloads and settings to try it with.
pub const EVIDENCE: Evidence<'_> = Evidence {
    samples: &[
        Sample { event: "session.begin", stdin: br#"{"type":"session.begin","thread":"t1","dir":"/repo"}"# },
        Sample { event: "prompt", stdin: br#"{"type":"prompt","thread":"t1","dir":"/repo","text":"go on"}"# },
        Sample {
            event: "tool.before",
            stdin: br#"{"type":"tool.before","thread":"t1","dir":"/repo","tool":"run","args":{"line":"ls"}}"#,
        },
        Sample {
            event: "tool.after",
            stdin: br#"{"type":"tool.after","thread":"t1","dir":"/repo","tool":"patch","args":{"paths":["a.rs","b.rs"]}}"#,
        },
        Sample { event: "turn.end", stdin: br#"{"type":"turn.end","thread":"t1","dir":"/repo"}"# },
    ],
    settings: &[
        "",
        "model = \"oak\"\n",
        "# no line break at the end\nmodel = \"oak\"",
        "model = \"oak\"\n\n[[hooks]]\non = \"prompt\"\nrun = \"theirs\"\ntimeout_ms = 5\n",
    ],
    broken: &["model = \n", "[[hooks\n"],
};

const VARIABLES: Variables = Variables {
    process: None,
    inside: &["ACORN"],
    session: &["ACORN_THREAD"],
    project: &["ACORN_DIR"],
    config: "ACORN_HOME",
    block_cap: None,
};

const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: &["$CONFIG/config.toml", "$PROJECT/.acorn/config.toml"],
    session_variable: Some("ACORN_THREAD"),
    own_directions: &["ACORN.md"],
    question_tool: None,
    shell_wrapper: None,
    limit_kinds: &[],
    limit_words: &[],
    todo_file: |text| {
        let subject = text.strip_prefix("todo ")?.to_owned();
        Some(TodoItem { id: String::new(), is_begun: false, subject })
    },
    tools: &[("run", ToolClass::Shell), ("patch", ToolClass::Edit), ("look", ToolClass::Read)],
    call: |_, _| None,
    latest_answer: |tail, _| {
        let used =
            tail.lines().rev().find_map(|line| line.strip_prefix("tokens ")?.parse().ok())?;
        Some(LatestAnswer { used, model: "oak".to_owned(), at: None })
    },
    usage: |line| {
        let (id, used) = line.strip_prefix("usage ")?.split_once(' ')?;
        let tokens = Tokens { input: used.parse().ok()?, ..Tokens::default() };
        let (id, model) = (id.to_owned(), "oak".to_owned());
        Some(UsageLine { id, model, at: None, tokens })
    },
    prices: Prices { as_of: "2026-01-01", models: &[] },
    usage_mark: "usage ",
    resume: |session| format!("acorn resume {session}"),
};

/// `acorn resume THREAD …` starts over as `acorn …`.
fn without_conversation(line: &[std::ffi::OsString]) -> Vec<std::ffi::OsString> {
    match line {
        [program, resume, _, rest @ ..] if program == "acorn" && resume == "resume" => {
            std::iter::once(program).chain(rest).cloned().collect()
        }
        line => line.to_vec(),
    }
}
