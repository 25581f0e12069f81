//! Every client keeps the contract, and so does the invented one.

use std::path::{Path, PathBuf};

use substrate_testkit::{ACORN, ACORN_EVIDENCE, Evidence, Sample, contract};

/// The files of a client's folder, by name.
fn files(client: &str, folder: &str) -> Vec<(String, Vec<u8>)> {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/src");
    let folder: PathBuf = clients.join(client.replace('-', "_")).join(folder);
    let mut out: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some((name, std::fs::read(&path).ok()?))
        })
        .filter(|(name, _)| !name.starts_with(['_', '.']))
        .collect();
    out.sort();
    assert!(!out.is_empty());
    out
}

/// A client's folder has `samples/EVENT[.variant].json`, and `install/corpus/`: `refused-…` is broken, `ours-…` already
/// has entries of ours.
#[test]
fn every_client_keeps_to_the_contract() {
    for client in substrate_clients::ALL {
        let samples = files(client.name, "samples");
        let samples: Vec<Sample<'_>> = samples
            .iter()
            .map(|(name, stdin)| Sample { event: name.split(['-', '.']).next().unwrap(), stdin })
            .collect();
        let corpus = files(client.name, "install/corpus");
        let texts = |is_meant: fn(&str) -> bool| -> Vec<&str> {
            let meant = corpus.iter().filter(|(name, _)| is_meant(name));
            meant.map(|(_, text)| std::str::from_utf8(text).unwrap()).collect()
        };
        let is_foreign = |name: &str| !["refused-", "ours-"].iter().any(|it| name.starts_with(it));
        let settings = texts(is_foreign);
        let broken = texts(|name| name.starts_with("refused-"));
        let evidence = Evidence { samples: &samples, settings: &settings, broken: &broken };
        contract::check(client, &evidence);
    }
}

#[test]
fn a_client_that_is_only_a_folder_keeps_to_it_too() {
    static CLIENT: substrate_clients::Client = ACORN;
    contract::check(&CLIENT, &ACORN_EVIDENCE);
}

#[test]
#[should_panic(expected = "PreToolUse Context")]
fn a_client_that_says_what_it_does_not_deliver_is_found() {
    static CLIENT: substrate_clients::Client = substrate_clients::Client {
        encode: |_, verdict| substrate_clients::Answer {
            stdout: verdict.context.clone().unwrap_or_default(),
            ..substrate_clients::Answer::default()
        },
        ..ACORN
    };
    contract::only_what_is_delivered_is_said(&CLIENT);
}
