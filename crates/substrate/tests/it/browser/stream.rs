//! The stream in real tabs: each entry once, whatever happens to the daemon.

use serde_json::{Value, json};
use substrate_browser::{Browser, Tab};
use substrate_testkit::wait_until;

use super::Dashboard;
use super::fleet::{self, Fleet};
use crate::house::{SOON, daemon_pid, journal, signal};

/// Keeps the numbers of the entries that this tab is told of.
fn listen(tab: &Tab) {
    tab.js("window.told = []; window.addEventListener('substrate:entries', (event) => told.push(...event.detail.map((row) => row.id))); 0");
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
}

fn told(tab: &Tab) -> Vec<i64> {
    tab.js("told").as_array().unwrap().iter().filter_map(Value::as_i64).collect()
}

/// Rows with the same id, or lists that have one twice.
fn doubled(tab: &Tab) -> Value {
    tab.js("(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.filter((id, at) => ids.indexOf(id) !== at); })()")
}

#[test]
fn a_killed_daemon_neither_loses_nor_doubles_a_row_in_two_tabs() {
    let fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tabs = [dashboard.tab(&fleet.env, &browser), browser.tab()];
    tabs[1].goto(&dashboard.url("/agent?who=TealGopher"));
    let begins = tabs.each_ref().map(|tab| tab.js("Number(document.body.dataset.newest)"));
    tabs.iter().for_each(listen);
    for round in 0..3 {
        for n in 0..12 {
            let input = json!({"command": format!("echo {round} {n}"), "description": "a step"});
            fleet.tool("TealGopher", "Bash", &input);
            if n == 6 {
                signal(&fleet.env, "-KILL", daemon_pid(&fleet.env));
            }
        }
        let newest = journal(&fleet.env).last().unwrap()["id"].as_i64().unwrap();
        for tab in &tabs {
            tab.wait_for(&format!("entry {newest}"), &format!("told.includes({newest})"));
        }
    }
    let all: Vec<i64> =
        journal(&fleet.env).iter().filter_map(|entry| entry["id"].as_i64()).collect();
    for (tab, begins) in tabs.iter().zip(begins) {
        let begins = begins.as_i64().unwrap();
        let after: Vec<i64> = all.iter().copied().filter(|id| *id > begins).collect();
        assert_eq!(told(tab), after);
        assert_eq!(doubled(tab), json!([]));
        assert_eq!(
            tab.js("document.querySelector('#newest').textContent"),
            json!(all.last().unwrap().to_string())
        );
    }
    let rows = "[...document.querySelectorAll('tbody [data-row] th')].map((e) => e.textContent.trim()).sort()";
    let before = tabs[0].js(rows);
    tabs[0].goto(&dashboard.url("/"));
    assert_eq!(before, tabs[0].js(rows), "a live page is what a new one is");
}

#[test]
fn an_answer_in_one_tab_takes_the_row_out_of_the_other() {
    let mut fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tabs = [dashboard.tab(&fleet.env, &browser), browser.tab()];
    tabs[1].goto(&dashboard.url("/"));
    tabs[1].wait_for("live", "document.querySelector('#state').textContent === 'live'");
    tabs[0].click("button", "Deny");
    assert!(fleet.answered().contains("\"behavior\":\"deny\""));
    tabs[1].wait_for(
        "it is gone there",
        "!(document.querySelector('#needs-list')?.innerText ?? '').includes('git push origin parser')",
    );
    assert_eq!(
        tabs[1].js("document.title.startsWith('(')"),
        json!(true),
        "the question still waits"
    );
    wait_until(SOON, "one waits", || fleet.n_waiting() == 1);
}

#[test]
fn a_key_that_is_withdrawn_ends_the_stream() {
    let fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
    fleet.env.substrate(["ui", "revoke", "--all"]).success();
    fleet.asked("MintLynx", "and one more thing");
    tab.wait_for(
        "it says so",
        "document.querySelector('#state').textContent.startsWith('not live')",
    );
    tab.goto(&dashboard.url("/"));
    assert!(tab.text().contains("Sign in"), "{}", tab.text());
}
