//! The whole story: the real client's dialogs and questions, answered in a real browser, and mail from there to the model.

use serde_json::{Value, json};
use std::time::Duration;
use substrate_browser::{Browser, Tab};
use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn, at_most, wait_until};

use super::Dashboard;
use crate::house::{SOON, configure};

const DIALOG: &str = "Do you want to proceed?";

fn bash(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command, "description": "a step"}))
}

/// Notes the moment at which a row with buttons first stands on the page, by the page's own clock.
fn watch(tab: &Tab) {
    tab.js(
        "window.seen = {}; const look = () => document.querySelectorAll('.need').forEach((row) => {
           if (row.querySelector('form[action=\"/do/answer\"]')) seen[row.querySelector('pre, .said, .cmd').textContent.trim()] ??= Date.now(); });
         new MutationObserver(look).observe(document.body, { childList: true, subtree: true }); look(); 0",
    );
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
}

/// When the daemon was asked, by its own clock: the same machine's.
fn asked_ms(env: &TestEnv, what: &str) -> i64 {
    let mut found = None;
    wait_until(SOON, what, || {
        let out = env.substrate(["answer", "--format", "json"]).success();
        let out: Value = serde_json::from_str(&out).unwrap();
        let rows = out["requests"].as_array().unwrap();
        found =
            rows.iter().find(|row| row["what"] == what).and_then(|row| row["asked_ms"].as_i64());
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn dialogs_questions_and_mail_of_the_real_client_in_the_page() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    env.substrate(["hooks", "install"]).success();
    configure(&env, "[ui]\nanswer = true\n");
    env.substrate(["daemon", "start"]).success();
    let question = json!({"questions": [{
        "question": "Which one?", "header": "Plan", "multiSelect": false,
        "options": [{"label": "Alpha", "description": "the first"}, {"label": "Beta", "description": "the second"}],
    }]});
    let model = ModelServer::start(Script::new([
        bash("touch made"),
        bash("touch by-hand"),
        bash("touch never"),
        Turn::tool("AskUserQuestion", question),
        Turn::text("all answered"),
        Turn::text("mail is read"),
    ]));
    let (dashboard, browser) = (Dashboard::of(&env), Browser::start());
    let tab = dashboard.tab(&env, &browser);
    watch(&tab);
    let client = Client::new(&env, &model);
    let tui = client.interactive(&["--permission-mode", "default"]);
    tui.type_line("begin");

    // Soon after the hook, and then the tool runs.
    let asked = asked_ms(&env, "touch made");
    tab.wait_for("the row", "seen['touch made']");
    let seen = tab.js("seen['touch made']").as_i64().unwrap();
    let took = Duration::from_millis(u64::try_from(seen - asked).unwrap_or(0));
    // Less than half a second on an idle machine. The rest is for a debug build on a busy one.
    let bar = at_most(Duration::from_secs(2));
    assert!(took <= bar, "the row came after {took:?}, the bar is {bar:?}");
    println!("the dialog was on the page after {took:?}");
    tui.wait_for(DIALOG, SOON);
    tab.click("button", "Allow once");
    wait_until(SOON, "the tool to run", || env.project().join("made").exists());
    tab.wait_for(
        "its row is gone",
        "!(document.querySelector('#needs-list')?.innerText ?? '').includes('touch made')",
    );

    // The terminal still works, and the row goes by itself.
    tab.wait_for_text("touch by-hand");
    tui.wait_for("touch by-hand", SOON);
    // The words stay on the screen when the dialog goes, and the third dialog comes after the second tool.
    tui.press_until("1", SOON, || env.project().join("by-hand").exists());
    tab.wait_for(
        "its row is gone",
        "!(document.querySelector('#needs-list')?.innerText ?? '').includes('touch by-hand')",
    );

    tab.wait_for_text("touch never");
    tab.click("button", "Deny");
    model.wait_for_request("The user denied this call", SOON);
    tab.wait_for_text("Which one?");
    tab.click("label", "Beta");
    tab.click("button", "Answer");
    tui.wait_for("all answered", SOON);
    let last = model.main_requests().last().unwrap().clone();
    assert!(last.tool_results().iter().any(|result| result.text.contains("Beta")), "{last:?}");
    assert!(!env.project().join("never").exists());
    tab.wait_for("nothing waits", "!document.querySelector('.need form[action=\"/do/answer\"]')");

    // Mail from the page reaches the model, and the page shows how far it has come.
    let name = tab.js("document.querySelector('tbody th').textContent.trim()");
    tab.goto(&dashboard.url("/mail"));
    tab.click("#to", "");
    tab.type_text(name.as_str().unwrap());
    tab.click("#text", "");
    tab.type_text("Please keep <b>parse()</b> as it is.");
    tab.click("button", "Send");
    let request = model.wait_for_request("Please keep", SOON);
    assert!(request.news().contains("parse()"), "{}", request.news());
    tui.wait_for("mail is read", SOON);
    tab.goto(&dashboard.url("/mail?box=sent"));
    tab.click("#mail-list a", name.as_str().unwrap());
    tab.wait_for("the ledger", "document.querySelectorAll('.ledger li.is').length >= 2");
    assert_eq!(tab.problems(), Vec::<String>::new());
    tui.stop();
}
