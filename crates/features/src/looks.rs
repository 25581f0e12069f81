//! Facts that a transaction asks for: everything is taken back, and happens once.

use substrate_core::engine::{self, Outcome, Surroundings};
use substrate_core::facts::Found;
use substrate_core::world::Nowhere;
use substrate_core::{
    Cx, Db, Delivery, Event, EventKind, Facts, Feature, FeatureError, Need, RequestId, Settings,
    Timestamp, Wish,
};
use substrate_store::{Durability, Writer};

const LOOKS: Feature = Feature {
    name: "looks",
    looks: Some(|event, _| event.kind == EventKind::Stop),
    consider: Some(consider),
    record: Some(|cx, _, _| note(cx, "recorded")),
    ..Feature::NOTHING
};

const BEFORE: Feature = Feature {
    name: "before",
    consider: Some(|cx, _| note(cx, "before").map(|()| Vec::new())),
    ..Feature::NOTHING
};

fn note(cx: &mut Cx<'_>, what: &str) -> Result<(), FeatureError> {
    cx.db.execute("insert into noted values ($1)", &[what.into()])?;
    Ok(())
}

fn consider(cx: &mut Cx<'_>, _: &Event) -> Result<Vec<Wish>, FeatureError> {
    note(cx, "considered")?;
    let text = cx.real_file("/a", 10).unwrap_or("nothing").to_owned();
    Ok(vec![Wish::context(text, None)])
}

/// What came of an event, and what it has noted.
fn happens(kind: EventKind, facts: &Facts, may_look: bool) -> (Outcome, Vec<String>) {
    let mut writer = Writer::in_memory(&[("engine", engine::MIGRATIONS)], Timestamp(0)).unwrap();
    let settings = Settings::resolve(&[], &[]);
    let around = Surroundings {
        features: &[&BEFORE, &LOOKS],
        settings: &settings,
        facts,
        world: &Nowhere,
        delivers: |_, _| Delivery::Delivered,
        wishes: &[],
        micros: || 0,
        is_late: false,
        request: RequestId([1; 16]),
        scope: None,
        begun_us: 0,
        may_look,
        troubles: &["it was late".to_owned()],
    };
    let mut tx = writer.begin(Durability::Normal).unwrap();
    let db: &mut dyn Db = &mut tx;
    db.execute("create table noted (what text not null)", &[]).unwrap();
    db.execute("insert into noted values ('another event')", &[]).unwrap();
    let outcome = engine::run(&around, db, &Event::bare("test", kind, Timestamp(1)));
    let noted = db.rows("select what from noted order by rowid", &[], |row| row.text(0)).unwrap();
    (outcome, noted)
}

fn need() -> Need {
    Need::RealFile { path: "/a".to_owned(), max: 10 }
}

#[test]
fn what_was_not_looked_up_is_asked_for_and_nothing_has_happened() {
    let (outcome, noted) = happens(EventKind::Stop, &Facts::default(), true);
    assert_eq!(outcome.look, [need()]);
    assert_eq!(noted, ["another event"], "others in the same transaction stay");
}

#[test]
fn with_the_fact_it_happens_once() {
    for (found, expected) in [(Found::Text("text".to_owned()), "text"), (Found::Nothing, "nothing")]
    {
        let mut facts = Facts::default();
        facts.insert(need(), found);
        let (outcome, noted) = happens(EventKind::Stop, &facts, true);
        assert!(outcome.look.is_empty());
        assert_eq!(outcome.wishes[0].wish.words(), expected);
        assert_eq!(noted, ["another event", "before", "considered", "recorded"]);
        let troubles: Vec<&str> = outcome.failures.iter().map(|one| &*one.message).collect();
        assert_eq!(troubles, ["it was late"]);
    }
}

#[test]
fn who_can_not_be_asked_again_is_answered_without_it() {
    for (kind, may_look) in [(EventKind::Stop, false), (EventKind::SessionStart, true)] {
        let (outcome, noted) = happens(kind, &Facts::default(), may_look);
        assert!(outcome.look.is_empty());
        assert_eq!(noted.len(), 4);
    }
}
