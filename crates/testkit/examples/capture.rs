//! `cargo xtask capture CLIENT`: what the hooks of an installed client are given, in a scripted session. For a version of it
//! that is new to us.
#![expect(clippy::print_stdout, reason = "this is what the example is for")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use substrate_clients::install::{Form, Wanted};
use substrate_testkit::{ModelServer, OTHERS, Script, TestEnv, Turn, write_file};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (name, folder) = (args.next().unwrap_or_default(), args.next().map(PathBuf::from));
    let kind = OTHERS.iter().find(|kind| kind.name == name);
    let (Some(kind), Some(folder)) = (kind, folder) else {
        let names: Vec<&str> = OTHERS.iter().map(|kind| kind.name).collect();
        println!("usage: capture CLIENT FOLDER   (one of {})", names.join(", "));
        return ExitCode::from(2);
    };
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let env = TestEnv::new();
    let model = ModelServer::start(Script::new([
        (kind.shell)("echo hi"),
        (kind.write)(&env.project().join("new.txt")),
        Turn::text("done"),
    ]));
    let client = (kind.client)(&env, &model).args(kind.trusting);
    // It stands in for our program: the commands that we register are what runs it.
    let recorder = env.root().join("substrate-hook");
    write_file(&recorder, format!("#!/bin/sh\nexec cat > '{}'/\"$2-$$.json\"\n", folder.display()));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&recorder, executable).expect("the recorder is ours");
    let known = substrate_clients::named(kind.name).expect("both tables have it");
    let (install, places) = (&known.install, known.install.places);
    let program = recorder.display().to_string();
    let entries = (install.entries)(Form::User { program: &program });
    let file = env.home().join(places.home).join(places.user_settings);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let wanted = Wanted { entries, ..Wanted::default() };
    let added = (install.format.add)(&text, &wanted).expect("the settings are ours");
    write_file(&file, added.text);
    let run = client.run("begin");
    let n = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    println!("{n} payloads in {}", folder.display());
    if n == 0 {
        println!("{run}");
    }
    if n > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
