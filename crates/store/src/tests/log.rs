//! The log stays short while one writes as fast as it can.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{ONE, Place, add};
use crate::log::{MAX_LOG, checkpoint, log_size};
use crate::{Durability, Writer};
use substrate_core::{Db as _, DbError};

/// One commit of about 100 KB.
fn write_much(writer: &mut Writer) {
    let mut tx = writer.begin(Durability::Normal).unwrap();
    let text = "x".repeat(100 << 10);
    tx.execute("insert into note (text) values ($1)", &[text.as_str().into()]).unwrap();
    tx.execute("delete from note where id < (select max(id) from note) - 20", &[]).unwrap();
    tx.commit().unwrap();
}

/// The longest log file over this many commits.
fn longest(writer: &mut Writer, place: &Place, n_commits: usize) -> u64 {
    let lengths = (0..n_commits).map(|_| {
        write_much(writer);
        log_size(&place.db())
    });
    lengths.max().unwrap()
}

#[test]
fn the_log_is_bounded_while_readers_come_and_go() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    writer.copy_log_aside().unwrap();
    let readers = place.database();
    let enough = AtomicBool::new(false);
    let longest = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(Ordering::Relaxed) {
                let seen: Result<i64, DbError> = readers.read(|db| {
                    let n = db.first("select count(*) from note", &[], |row| row.int(0))?;
                    // One that takes its time over one state of the database.
                    std::thread::sleep(Duration::from_millis(30));
                    Ok(n.unwrap_or(0))
                });
                seen.unwrap();
            }
        });
        let longest = longest(&mut writer, &place, 3_000);
        enough.store(true, Ordering::Relaxed);
        longest
    });
    assert!(longest < MAX_LOG, "{} MB after 300 MB of writes", longest >> 20);
}

#[test]
fn the_log_is_bounded_without_a_thread() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let longest = longest(&mut writer, &place, 500);
    assert!(longest < MAX_LOG / 4, "{} MB", longest >> 20);
}

#[test]
fn a_reader_that_stays_slows_the_writer_down_before_the_log_is_too_long() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    writer.copy_log_aside().unwrap();
    add(&mut writer, "something to see");
    let readers = place.database();
    let result: Result<u64, DbError> = readers.read(|db| {
        db.first("select 1 from note", &[], |_| Ok(()))?;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            write_much(&mut writer);
        }
        Ok(log_size(&place.db()))
    });
    let pinned = result.unwrap();
    assert!((40 << 20..MAX_LOG).contains(&pinned), "{} MB", pinned >> 20);
    write_much(&mut writer);
    write_much(&mut writer);
    assert!(writer.log_bytes() < 1 << 20, "it begins again when the reader is gone");
    assert!(log_size(&place.db()) <= 8 << 20);
}

#[test]
fn the_log_counts_for_the_size_but_for_no_more_than_a_quarter_of_the_pages() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let size =
        |writer: &mut Writer| writer.begin_reading().unwrap().size_bytes().unwrap().cast_unsigned();
    write_much(&mut writer);
    let with_log = size(&mut writer);
    writer.empty_log().unwrap();
    let pages = size(&mut writer);
    assert!(with_log > pages && with_log <= pages + pages / 4, "{with_log} {pages}");
}

#[test]
fn a_reader_that_is_idle_holds_nothing() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    add(&mut writer, "a");
    let readers = place.database();
    readers.read(super::texts).unwrap();
    add(&mut writer, "b");
    assert!(checkpoint(writer.conn(), "restart").unwrap().is_whole);
}

#[test]
fn the_log_is_emptied_when_nothing_happens() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    writer.copy_log_aside().unwrap();
    longest(&mut writer, &place, 60);
    assert!(log_size(&place.db()) > 4 << 20);
    let begun = Instant::now();
    while log_size(&place.db()) > 0 {
        writer.when_idle().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", log_size(&place.db()));
        std::thread::yield_now();
    }
    add(&mut writer, "goes on");
}

#[test]
fn the_log_of_a_killed_writer_is_read_quickly() {
    let place = Place::new();
    let (mut writer, _) = place.open(&[("notes", ONE)]).unwrap();
    let readers = place.database();
    let written: Result<(), DbError> = readers.read(|db| {
        db.first("select count(*) from note", &[], |row| row.int(0))?;
        while log_size(&place.db()) < 39 << 20 {
            write_much(&mut writer);
        }
        Ok(())
    });
    written.unwrap();
    // What a process that was killed leaves: the files as they are, and no process that knows the log.
    let left = Place::new();
    for name in ["subtrate.db", "subtrate.db-wal"] {
        let (from, to) = (place.folder.path().join(name), left.folder.path().join(name));
        std::fs::copy(from, to).unwrap();
    }
    let begun = Instant::now();
    let (mut writer, _) = left.open(&[("notes", ONE)]).unwrap();
    let took = begun.elapsed();
    add(&mut writer, "goes on");
    assert!(
        took < Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 200 }),
        "{took:?}"
    );
}
