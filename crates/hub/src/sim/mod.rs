//! Machines, links and the hub's real service in one process, with simulated time: thousands of seeds with loss, repetition,
//! reordering, cuts, and a database that forgets.

mod scale;
mod world;

use rstest::rstest;
use world::{Faults, World};

/// Every seed is another history. `n` of them take a few seconds.
fn run(seeds: std::ops::Range<u64>, faults: Faults) {
    for seed in seeds {
        let mut world = World::new(seed, 3, faults);
        world.play(60, 40_000);
        world.settle();
        world.check();
    }
}

#[test]
fn without_faults_everything_arrives_once_and_in_order() {
    run(0..50, Faults::NONE);
}

#[rstest]
#[case(1_000)]
#[case(1_350)]
fn cuts_lose_nothing(#[case] first: u64) {
    run(first..first + 350, Faults { cut: 30, ..Faults::NONE });
}

#[rstest]
#[case(2_000)]
#[case(2_350)]
fn loss_repetition_and_reordering_lose_nothing(#[case] first: u64) {
    let faults = Faults { lose: 80, repeat: 80, reorder: 150, cut: 10, ..Faults::NONE };
    run(first..first + 350, faults);
}

#[rstest]
#[case(3_000)]
#[case(3_350)]
fn a_database_that_forgets_loses_nothing(#[case] first: u64) {
    run(first..first + 350, Faults { forget: 8, cut: 20, lose: 20, ..Faults::NONE });
}
