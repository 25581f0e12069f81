//! What models cost: list prices of their makers, as of a date. A model that is not in the table has no price.

use substrate_core::dialect::Tokens;

/// When the prices were looked up.
pub(super) const AS_OF: &str = "2026-10-10";

/// Billionths of a dollar per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Price {
    input: i64,
    output: i64,
    cache_read: i64,
}

const fn price_of(input: i64, output: i64, cache_read: i64) -> Price {
    Price { input, output, cache_read }
}

/// A model's name, and its price. Only a date may follow the name: a later model of a family may cost something else. A
/// model whose price depends on the length of a prompt is left out, because sums don't tell that.
const PRICES: &[(&str, Price)] = &[
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

/// What these tokens cost, in billionths of a dollar. `None`: the model has no price.
pub(super) fn nanos(model: &str, tokens: Tokens) -> Option<i64> {
    let Price { input, output, cache_read } = price(model)?;
    // Writing a cache costs a quarter more than the input, or twice as much if it lasts an hour.
    let parts = [
        (tokens.input, input),
        (tokens.output, output),
        (tokens.cache_read, cache_read),
        (tokens.cache_5m, input * 5 / 4),
        (tokens.cache_1h, input * 2),
    ];
    Some(parts.iter().fold(0, |sum: i64, (n, each)| sum.saturating_add(n.saturating_mul(*each))))
}

fn price(model: &str) -> Option<Price> {
    let fits = |name: &str| {
        let rest = model.strip_prefix(name)?;
        let digits = rest.strip_prefix(['-', '@']).unwrap_or("x");
        let is_date = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
        (rest.is_empty() || is_date).then_some(())
    };
    PRICES.iter().find(|(name, _)| fits(name).is_some()).map(|(_, price)| *price)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::exact("claude-opus-4-5", Some(5_000))]
    #[case::dated("claude-opus-4-5-20251101", Some(5_000))]
    #[case::older("claude-opus-4-20250514", Some(15_000))]
    #[case::at("claude-sonnet-4@20250514", Some(3_000))]
    #[case::later_is_not_guessed("claude-opus-4-9", None)]
    #[case::newer("claude-opus-5-5", Some(4_000))]
    #[case::another_family("claude-opus-9", None)]
    #[case::a_larger_window("claude-sonnet-4-5[1m]", None)]
    #[case::nothing("", None)]
    fn a_million_input_tokens_cost(#[case] model: &str, #[case] millidollars: Option<i64>) {
        let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
        assert_eq!(nanos(model, tokens), millidollars.map(|price| price * 1_000_000));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = Tokens { input: 10, output: 20, cache_read: 100, cache_5m: 8, cache_1h: 1 };
        // 10·$3 + 20·$15 + 100·$0.30 + 8·$3.75 + 1·$6, each per million.
        assert_eq!(nanos("claude-sonnet-4-5", tokens), Some(396_000));
    }
}
