//! A database in memory takes over from one that can't be written, and gives back what it has.

use super::{ONE, Place, TWO, add, copies::damage, texts};
use crate::{Durability, Writer};
use substrate_core::{Db, DbError, Timestamp};

fn in_memory() -> Writer {
    Writer::in_memory(&[("notes", TWO)], Timestamp(0)).unwrap()
}

fn texts_of(writer: &mut Writer) -> Vec<String> {
    texts(&mut writer.begin(Durability::Normal).unwrap()).unwrap()
}

#[test]
fn what_memory_took_over_and_changed_is_on_disk_afterwards() {
    let place = Place::new();
    let (mut disk, _) = place.open(&[("notes", TWO)]).unwrap();
    add(&mut disk, "stays");
    add(&mut disk, "goes");
    let mut memory = in_memory();
    let seeded = memory.take_over(&place.db(), &["note"]).unwrap();
    assert_eq!((seeded.tables[0].n_rows, &seeded.tables[0].missing), (2, &None));
    let mut tx = memory.begin(Durability::Full).unwrap();
    tx.execute("delete from note where text = 'goes'", &[]).unwrap();
    tx.execute("insert into note (text) values ('comes')", &[]).unwrap();
    tx.commit().unwrap();
    assert_eq!(place.database().read(texts).unwrap(), ["stays", "goes"]);
    disk.take_back(&memory, &seeded).unwrap();
    assert_eq!(place.database().read(texts).unwrap(), ["stays", "comes"]);
}

#[test]
fn an_older_schema_on_disk_is_taken_as_far_as_it_goes() {
    let place = Place::new();
    let (mut disk, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut disk, "old");
    let mut memory = in_memory();
    let seeded = memory.take_over(&place.db(), &["note", "star"]).unwrap();
    assert_eq!(texts_of(&mut memory), ["old"]);
    assert_eq!(seeded.tables[0].missing, None);
    assert!(seeded.tables[1].missing.is_some(), "there is no `star` yet");
}

#[test]
fn a_damaged_table_is_taken_as_far_as_it_goes_and_never_emptied() {
    let place = Place::new();
    let (mut disk, _) = place.open(&[("notes", TWO)]).unwrap();
    let long = "x".repeat(1_500);
    for _ in 0..200 {
        add(&mut disk, &long);
    }
    disk.empty_log().unwrap();
    drop(disk);
    let whole = std::fs::read(place.db()).unwrap();
    damage(&place.db());
    let mut memory = in_memory();
    let seeded = memory.take_over(&place.db(), &["note", "star"]).unwrap();
    assert!(seeded.tables[0].missing.is_some(), "{seeded:?}");
    add(&mut memory, "only in memory");
    // The disk works again: what memory never saw is still there.
    #[expect(clippy::disallowed_methods, reason = "the test's own file")]
    std::fs::write(place.db(), whole).unwrap();
    let (mut disk, _) = place.open(&[("notes", TWO)]).unwrap();
    disk.take_back(&memory, &seeded).unwrap();
    let count = |db: &mut dyn Db| db.first("select count(*) from note", &[], |row| row.int(0));
    let n: Result<Option<i64>, DbError> = place.database().read(count);
    assert!(n.unwrap().unwrap() >= 200);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the file is garbage on purpose")]
fn where_nothing_can_be_read_memory_begins_empty() {
    let place = Place::new();
    for garbage in [&b""[..], b"not a database at all"] {
        std::fs::write(place.db(), garbage).unwrap();
        let mut memory = in_memory();
        let seeded = memory.take_over(&place.db(), &["note"]).unwrap();
        assert!(seeded.tables[0].missing.is_some() && texts_of(&mut memory).is_empty());
    }
    std::fs::remove_file(place.db()).unwrap();
    let seeded = in_memory().take_over(&place.db(), &["note"]).unwrap();
    assert!(seeded.tables[0].missing.is_some());
    assert!(!place.db().exists(), "looking makes nothing");
}
