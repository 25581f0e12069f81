//! Usage with the real client: what we read from its transcripts is what it counted itself.

use std::path::{Path, PathBuf};

use serde_json::Value;
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, Usage, wait_until};

use crate::house::{SOON, configure};

fn usage(input_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 100,
        output_tokens: 7,
    }
}

fn total(env: &TestEnv) -> Value {
    let out = env.substrate(["cost", "--by", "model", "--format", "json"]).success();
    serde_json::from_str::<Value>(&out).unwrap()["total"].clone()
}

/// The file of that name in a folder or below it.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|found| found == name));
    here.cloned().or_else(|| entries.iter().find_map(|path| find(path, name)))
}

/// The value of that field, however deep it is.
fn field<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    match json {
        Value::Object(map) => map.get(name).or_else(|| map.values().find_map(|v| field(v, name))),
        Value::Array(list) => list.iter().find_map(|one| field(one, name)),
        _ => None,
    }
}

#[test]
fn the_usage_of_a_session_and_its_subagent_is_what_the_client_counted() {
    let env = TestEnv::new();
    configure(&env, "[persist]\nmode = \"off\"\n");
    env.substrate(["hooks", "install"]).success();
    env.substrate(["daemon", "start"]).success();
    let main =
        [Turn::agent("look around").usage(usage(1_000)), Turn::text("done").usage(usage(2_000))];
    let script = Script::new(main).subagent("look around", [Turn::text("seen").usage(usage(30))]);
    let model = ModelServer::start(script);
    let run = Client::new(&env, &model).print("go", &[]);
    assert_eq!(run.result(), "done");
    wait_until(SOON, "all transcripts are read", || total(&env)["answers"].as_i64() >= Some(3));

    let transcript = find(&env.config(), &format!("{}.jsonl", run.session_id())).unwrap();
    let text = std::fs::read_to_string(transcript).unwrap();
    let line = text.lines().rfind(|line| line.contains("\"cost-state\"")).expect("a cost-state");
    let json: Value = serde_json::from_str(line).unwrap();
    let counted = field(&json, "modelUsage").unwrap().as_object().unwrap();
    let sum = |name: &str| -> i64 { counted.values().filter_map(|one| one[name].as_i64()).sum() };
    let ours = total(&env);
    for (field, theirs) in [
        ("input_tokens", "inputTokens"),
        ("output_tokens", "outputTokens"),
        ("cache_read_tokens", "cacheReadInputTokens"),
        ("cache_write_tokens", "cacheCreationInputTokens"),
    ] {
        assert_eq!(ours[field], sum(theirs), "{field}: {ours} {counted:?}");
    }
    let by_agent = env.substrate(["cost"]).success();
    assert!(by_agent.contains("/general-purpose-1"), "the subagent has its own line: {by_agent}");
}
