//! Copies, and what is put back from them.

use super::{ONE, Place, add, texts};
use crate::{Database, StoreError};
use substrate_core::Timestamp;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Writes over pages in the middle of the file.
#[expect(clippy::disallowed_methods, reason = "damage is done on purpose")]
pub(super) fn damage(path: &std::path::Path) {
    let mut bytes = std::fs::read(path).unwrap();
    for at in (4_096..bytes.len()).step_by(4_096) {
        bytes[at..at + 2_000].fill(0xa5);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_backup_never_overwrites() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "a");
    let target = place.folder.path().join("copy.db");
    place.database().back_up(&target).unwrap();
    assert!(Database::at(&target).check().unwrap().is_empty());
    assert_eq!(Database::at(&target).read(texts).unwrap(), ["a"]);
    assert!(matches!(place.database().back_up(&target), Err(StoreError::Create { .. })));
}

#[test]
fn a_copy_is_made_once_a_day_and_three_are_kept() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let backups = place.folder.path().join("backups");
    let at = |ms| place.database().back_up_daily(&backups, Timestamp(ms)).unwrap().is_some();
    add(&mut writer, "a");
    assert!(at(DAY) && !at(DAY + 1) && !at(2 * DAY - 1));
    assert!((2..6).all(|n| at(n * DAY)));
    let mut names: Vec<_> =
        std::fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let expected = [3, 4, 5].map(|n| format!("daily-{}.db", n * DAY));
    assert_eq!(names, expected.map(std::ffi::OsString::from));
}

#[test]
fn damage_is_found_by_the_daily_copy_and_replaces_no_good_one() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let backups = place.folder.path().join("backups");
    add(&mut writer, "kept");
    writer.empty_log().unwrap();
    place.database().back_up_daily(&backups, Timestamp(DAY)).unwrap();
    drop(writer);
    damage(&place.db());
    let found = place.database().back_up_daily(&backups, Timestamp(3 * DAY)).unwrap_err();
    assert!(matches!(found.storage(), Some(substrate_core::DbError::Corrupt { .. })), "{found:?}");
    assert_eq!(Database::newest_good_copy(&backups), Some(backups.join(format!("daily-{DAY}.db"))));
}

#[test]
fn a_copy_takes_the_place_of_a_damaged_database_which_is_kept() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let backups = place.folder.path().join("backups");
    add(&mut writer, "copied");
    let copy = place.database().back_up_daily(&backups, Timestamp(DAY)).unwrap().unwrap();
    add(&mut writer, "since");
    writer.empty_log().unwrap();
    add(&mut writer, "in the log");
    drop(writer);
    damage(&place.db());
    let damaged = std::fs::read(place.db()).unwrap();
    let restored = place.database().restore(&copy, Timestamp(7)).unwrap();
    let aside = place.folder.path().join("subtrate.db.damaged-7");
    assert_eq!(restored, Some(aside.clone()));
    assert_eq!(std::fs::read(aside).unwrap(), damaged);
    assert!(place.folder.path().join("subtrate.db.damaged-7-wal").exists());
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "after");
    assert_eq!(place.database().read(texts).unwrap(), ["copied", "after"]);
}

#[test]
fn a_damaged_copy_is_refused_and_nothing_is_touched() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "here");
    let copy = place.folder.path().join("copy.db");
    place.database().back_up(&copy).unwrap();
    damage(&copy);
    assert!(place.database().restore(&copy, Timestamp(7)).is_err());
    assert_eq!(place.database().read(texts).unwrap(), ["here"]);
}
