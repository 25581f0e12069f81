//! What the hot statements touch: partial indexes only, and no more rows in a full mailbox than in a small one.

use super::*;
use crate::mail::ops::{ledger, mailbox};
use crate::mail::search;
use rstest::rstest;
use substrate_core::Param;

fn plan(stage: &mut Stage, sql: &str) -> String {
    let n = (1..=9).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let params = vec![Param::Int(1); n];
    let explain = format!("explain query plan {sql}");
    stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"))
}

#[rstest]
#[case::pending(mailbox::PENDING, "deliveries_pending (agent=? AND sub=? AND priority>?)")]
#[case::announced(mailbox::ANNOUNCED, "deliveries_unread (agent=? AND sub=?)")]
#[case::for_subs(
    mailbox::PENDING_FOR_SUBS,
    "deliveries_pending (agent=? AND sub=? AND priority>?)"
)]
#[case::any_new(mailbox::ANY_NEW, "deliveries_pending (agent=? AND sub=?)")]
#[case::any_unread(mailbox::ANY_UNREAD, "deliveries_unread (agent=? AND sub=?)")]
#[case::unread(mailbox::UNREAD, "deliveries_unread (agent=? AND sub=?)")]
#[case::n_unread(mailbox::N_UNREAD, "deliveries_unread (agent=? AND sub=?)")]
#[case::kept(mailbox::KEPT, "deliveries_kept (agent=? AND sub=? AND message<?)")]
#[case::flying(ledger::FLYING, "deliveries_flying (in_session=? AND in_actor=?)")]
#[case::overdue(ledger::OVERDUE, "deliveries_due (deadline_ms>? AND deadline_ms<?)")]
#[case::snoozed(ledger::NEXT_SNOOZE, "deliveries_snoozed (agent=?")]
#[case::claim(ledger::INJECTED, "deliveries_claim (claim=?)")]
#[case::forward(ledger::FORWARD, "deliveries_subs (agent=? AND sub=?)")]
#[case::search(search::FIND, "s VIRTUAL TABLE INDEX")]
#[case::search_all(search::FIND_ALL, "s VIRTUAL TABLE INDEX")]
#[case::elsewhere(ledger::LOST_ELSEWHERE, "deliveries_flying_to (agent=? AND sub=?)")]
fn a_statement_uses_its_index_and_sorts_nothing(#[case] sql: &str, #[case] index: &str) {
    let mut stage = two();
    let plan = plan(&mut stage, sql);
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN d"), "{plan}");
}

/// Runs through a mailbox of `n` messages, of which most were read; the sizes of what it shows.
fn shown(n: i64) -> (usize, usize, usize) {
    let mut stage = two();
    let otter =
        stage.with(|cx| crate::identity::book::agent(cx.db, "CalmOtter").unwrap().unwrap().0);
    stage.with(|cx| {
        for id in 1..=n {
            cx.db
                .execute(
                    "insert into messages (id, sender, sender_sub, subject, priority, sent_ms, thread, body)
                     values ($1, 1, '', 'apple', 1, 0, $1, 'pear')",
                    &[id.into()],
                )
                .unwrap();
            cx.db
                .execute(
                    "insert into deliveries (message, agent, sub, box, priority, queued_ms, starred)
                     values ($1, $2, '', 'inbox', 1, 0, 0)",
                    &[id.into(), otter.into()],
                )
                .unwrap();
            search::add(cx.db, id, &[1, otter], "apple", "pear").unwrap();
        }
    });
    let block = stage.told(&stop(&stage, "otter", false)).verdict.block.unwrap();
    assert!(block.starts_with("You have 200+ unread messages:\n"), "{block}");
    let inbox = run(&mut stage, &inside("otter"), "inbox", json!({}));
    assert_eq!(inbox.json["messages"].as_array().unwrap().len(), 20);
    let all = run(&mut stage, &inside("otter"), "inbox", json!({"all": true}));
    let found = run(&mut stage, &inside("otter"), "search", json!({"words": ["apple"]}));
    assert_eq!(found.json["messages"][0]["id"], n);
    let n_found = found.json["messages"].as_array().unwrap().len();
    (block.lines().count(), n_found, all.json["messages"].as_array().unwrap().len())
}

#[test]
fn a_full_mailbox_shows_as_much_as_a_small_one() {
    assert_eq!(shown(300), (23, 20, 50));
    assert_eq!(shown(20_000), (23, 20, 50));
}
