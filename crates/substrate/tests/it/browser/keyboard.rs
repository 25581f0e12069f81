//! The dashboard without a mouse.

use serde_json::json;
use substrate_browser::Browser;

use super::Dashboard;
use super::fleet::{self, Fleet};

#[test]
fn a_dialog_is_answered_and_mail_is_sent_by_keyboard_alone() {
    let mut fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    tab.press("Tab");
    assert!(tab.focused().contains("Skip to the content"), "{}", tab.focused());
    tab.press("Enter");
    tab.wait_for("the content has the focus", "document.activeElement.id === 'main'");

    tab.tab_to("Allow once");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(tab.js(outline), "solid", "the focus is seen");
    // The row also goes by itself, before the form has come back to the page.
    tab.js("window.before = true");
    tab.press("Enter");
    assert!(fleet.answered().contains("\"behavior\":\"allow\""));
    tab.wait_for(
        "the row to be gone",
        "!window.before && document.readyState === 'complete' && !(document.querySelector('#needs-list')?.innerText ?? '').includes('git push origin parser')",
    );

    tab.tab_to("Mail");
    tab.press("Enter");
    tab.wait_for("the page", "location.pathname === '/mail' && document.readyState === 'complete'");
    tab.tab_to("input#to");
    tab.type_text("TealGopher");
    tab.tab_to("textarea#text");
    tab.type_text("Written by keyboard.");
    tab.tab_to("Send");
    tab.press(" ");
    tab.wait_for(
        "it is sent",
        "document.readyState === 'complete' && document.querySelector('#text').value === ''",
    );
    tab.goto(&dashboard.url("/mail?box=sent"));
    tab.wait_for_text("TealGopher");
    assert_eq!(tab.problems(), Vec::<String>::new());
}

/// What a reader types, folds out or has in focus stays where it is while rows come and go around it.
#[test]
fn live_rows_leave_focus_and_typed_text_alone() {
    let mut fleet = Fleet::played(fleet::plain);
    let (dashboard, browser) = (Dashboard::of(&fleet.env), Browser::start());
    let tab = dashboard.tab(&fleet.env, &browser);
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
    tab.press("Tab");
    tab.tab_to("Allow once");
    fleet.dialog("MintLynx", "Bash", &json!({"command": "make release", "description": "release"}));
    tab.wait_for_text("make release");
    assert!(tab.focused().contains("Allow once"), "{}", tab.focused());
    tab.press("Enter");
    assert!(fleet.answered().contains("\"behavior\":\"allow\""), "the row that had the focus");
    tab.wait_for("its row is gone", "!(document.querySelector('#needs-list')?.innerText ?? '').includes('git push origin parser')");

    tab.goto(&dashboard.url("/mail"));
    tab.wait_for("live", "document.querySelector('#state').textContent === 'live'");
    tab.click("#text", "");
    tab.type_text("half a sentence");
    let from = [("CLAUDECODE", "1"), ("CLAUDE_SESSION_ID", "mintlynx")];
    fleet.env.substrate_with(["send", "User", "The release is ready."], &from).success();
    tab.wait_for_text("The release is ready.");
    assert_eq!(
        tab.js("document.activeElement.id + ': ' + document.querySelector('#text').value"),
        "text: half a sentence"
    );
    assert_eq!(tab.problems(), Vec::<String>::new());
}
