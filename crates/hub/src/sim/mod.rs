//! Machines, links and the hub's real service in one process, with simulated time: thousands of seeds with loss, repetition,
//! reordering, cuts, and a database that forgets.

mod scale;
mod world;

use rstest::rstest;
use world::{Faults, World};

/// How many seeds a test plays: a second's work, so that a busy machine is done in good time too.
const PART: u64 = 70;

/// Every seed is another history.
fn run(seeds: std::ops::Range<u64>, faults: Faults) {
    for seed in seeds {
        let mut world = World::new(seed, 3, faults);
        world.play(60, 40_000);
        world.settle();
        world.check();
    }
}

fn part_of(first: u64, part: u64) -> std::ops::Range<u64> {
    first + part * PART..first + (part + 1) * PART
}

#[test]
fn without_faults_everything_arrives_once_and_in_order() {
    run(0..50, Faults::NONE);
}

#[rstest]
fn cuts_lose_nothing(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] part: u64) {
    run(part_of(1_000, part), Faults { cut: 30, ..Faults::NONE });
}

#[rstest]
fn loss_repetition_and_reordering_lose_nothing(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] part: u64) {
    let faults = Faults { lose: 80, repeat: 80, reorder: 150, cut: 10, ..Faults::NONE };
    run(part_of(2_000, part), faults);
}

#[rstest]
fn a_database_that_forgets_loses_nothing(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] part: u64) {
    run(part_of(3_000, part), Faults { forget: 8, cut: 20, lose: 20, ..Faults::NONE });
}
