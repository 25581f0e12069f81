//! What the client's models cost: list prices of their maker, as of a date. A model that is not in the table has no price.

use substrate_core::dialect::{Price, Prices};

pub(super) const PRICES: Prices = Prices { as_of: "2026-10-10", models: MODELS };

const fn price_of(input: i64, output: i64, cache_read: i64) -> Price {
    Price { input, output, cache_read }
}

/// A model's name, and its price. Only a date may follow the name: a later model of a family may cost something else. A
/// model whose price depends on the length of a prompt is left out, because sums don't tell that.
const MODELS: &[(&str, Price)] = &[
    ("claude-opus-5-5", price_of(4_000, 20_000, 200)),
    ("claude-opus-5", price_of(5_000, 25_000, 500)),
    ("claude-opus-4-8", price_of(5_000, 25_000, 500)),
    ("claude-opus-4-7", price_of(5_000, 25_000, 500)),
    ("claude-opus-4-6", price_of(5_000, 25_000, 500)),
    ("claude-opus-4-5", price_of(5_000, 25_000, 500)),
    ("claude-opus-4-1", price_of(15_000, 75_000, 1_500)),
    ("claude-opus-4", price_of(15_000, 75_000, 1_500)),
    ("claude-sonnet-5-5", price_of(2_000, 10_000, 100)),
    ("claude-sonnet-5", price_of(2_000, 10_000, 200)),
    ("claude-sonnet-4-6", price_of(3_000, 15_000, 300)),
    ("claude-sonnet-4-5", price_of(3_000, 15_000, 300)),
    ("claude-sonnet-4", price_of(3_000, 15_000, 300)),
    ("claude-3-7-sonnet", price_of(3_000, 15_000, 300)),
    ("claude-haiku-4-5", price_of(1_000, 5_000, 100)),
    ("claude-3-5-haiku", price_of(800, 4_000, 80)),
];
