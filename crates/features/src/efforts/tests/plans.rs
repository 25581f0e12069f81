//! The statements of an event touch rows by their keys, however many efforts and windows there are.

use super::*;
use crate::efforts::ops::{self, messages, windows};
use rstest::rstest;
use substrate_core::Param;

#[rstest]
#[case::open_window(windows::OPEN, &["w USING INDEX windows_open (session=? AND actor=?)", "m USING INDEX windows_open (session=? AND actor=?)", "e USING INTEGER PRIMARY KEY (rowid=?)"])]
#[case::active(ops::ACTIVE, &["efforts USING INDEX efforts_active (agent=? AND project=?)"])]
#[case::unfinished(ops::UNFINISHED, &["efforts USING INDEX efforts_unfinished (project=?)"])]
#[case::open(messages::OPEN, &["effort_pending USING INDEX effort_pending_open (effort=?)"])]
fn a_statement_uses_its_index_and_sorts_nothing(#[case] sql: &str, #[case] indexes: &[&str]) {
    let mut stage = two();
    let n = (1..=9).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); n];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    for index in indexes {
        assert!(plan.contains(index), "{plan}");
    }
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}
