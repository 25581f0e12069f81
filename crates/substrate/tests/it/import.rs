//! `substrate import`: shown first, done once, and nothing lost silently.

use serde_json::Value;
use substrate_testkit::{Running, TestEnv, write_file};

use crate::house::{SOON, plain};

const ISSUES: &str = r#"{"id":"bd-1","title":"Fix login","status":"open","priority":2}
{"id":"bd-2","title":"Old","status":"closed","priority":2}
{"id":"bd-3","title":"First","status":"open","priority":0}
"#;

fn titles(env: &TestEnv) -> Vec<String> {
    let list = env.substrate(["work", "list", "--format", "json"]).success();
    let list: Value = serde_json::from_str(&list).unwrap();
    let items = list["work"].as_array().unwrap().iter();
    let mut titles: Vec<(i64, String)> = items
        .map(|item| (item["id"].as_i64().unwrap(), item["title"].as_str().unwrap().to_owned()))
        .collect();
    titles.sort();
    titles.into_iter().map(|(_, title)| title).collect()
}

#[test]
fn issues_are_shown_first_and_imported_once() {
    let env = TestEnv::new();
    write_file(&env.project().join(".beads/issues.jsonl"), ISSUES);
    let shown = env.substrate(["import", "beads", "."]).code(0);
    assert!(shown.stderr.contains("work bd-3: First"), "{shown}");
    assert!(shown.stderr.contains("not carried over: bd-2: it is closed"), "{shown}");
    assert_eq!(titles(&env), Vec::<String>::new());
    for counts in ["2 imported, 0 imported before.", "0 imported, 2 imported before."] {
        let done = env.substrate(["import", "beads", ".", "--apply"]).success();
        assert!(done.starts_with(counts) && done.contains("bd-2"), "{done}");
        assert_eq!(titles(&env), ["First", "Fix login"]);
    }
}

#[test]
fn messages_reach_agents_of_the_same_name_and_the_others_are_listed() {
    let env = TestEnv::new();
    let _none = env
        .hook_with("SessionStart", plain("s1", "SessionStart"), &[("AGENT_ID", "BlueLake")])
        .code(0);
    let message = "---json\n{\"id\": \"msg_1\", \"from\": \"GreenCastle\", \"to\": [\"BlueLake\", \"NoSuch\"], \"created\": \"2025-10-23T15:22:14Z\"}\n---\n\n# Build plan\n\nFirst this.\n";
    write_file(&env.project().join("repo/messages/2025/10/msg_1.md"), message);
    for counts in ["1 imported, 0 imported before.", "0 imported, 1 imported before."] {
        let done = env.substrate(["import", "agent-mail", "repo", "--apply"]).success();
        assert!(done.starts_with(counts) && done.contains("NoSuch"), "{done}");
    }
    let inbox = env.substrate(["inbox", "--agent", "BlueLake"]).success();
    assert_eq!(
        inbox.matches("Build plan").count() - inbox.matches("# Build plan").count(),
        1,
        "{inbox}"
    );
    assert!(inbox.contains("From GreenCastle in Agent Mail"), "{inbox}");
}

#[test]
fn tasks_of_a_database_are_read_and_left_alone() {
    let env = TestEnv::new();
    let sql = "create table projects (id blob primary key, name text);
        create table tasks (id blob primary key, project_id blob, title text, description text, status text, created_at text);
        insert into projects values (x'01', 'web');
        insert into tasks values (x'0a', x'01', 'Add a page', null, 'todo', '1'), (x'0b', x'01', 'Gone', '', 'done', '2');";
    let script = format!("import sqlite3; sqlite3.connect('db.sqlite').executescript('''{sql}''')");
    let mut python = env.command("python3");
    python.args(["-c", &script]);
    Running::start(python, Vec::new()).finish(SOON).success();
    let before = std::fs::read(env.project().join("db.sqlite")).unwrap();
    env.substrate(["import", "vibe-kanban", "db.sqlite", "--apply"]).success();
    assert_eq!(titles(&env), ["Add a page"]);
    assert_eq!(std::fs::read(env.project().join("db.sqlite")).unwrap(), before);
}
