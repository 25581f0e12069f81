//! What tokens cost, at the list prices of the clients' models. A model without a price is never guessed.

use substrate_core::dialect::{Dialect, Price, Tokens};

/// The prices of all clients.
#[derive(Clone, Copy)]
pub(super) struct PriceList(pub(super) &'static [&'static Dialect]);

impl PriceList {
    /// The day of the latest list.
    pub(super) fn as_of(self) -> &'static str {
        self.0.iter().map(|dialect| dialect.prices.as_of).max().unwrap_or_default()
    }

    /// What these tokens cost, in billionths of a dollar. `None`: the model has no price.
    pub(super) fn nanos(self, model: &str, tokens: Tokens) -> Option<i64> {
        let Price { input, output, cache_read } = self.price(model)?;
        // Writing a cache costs a quarter more than the input, or twice as much if it lasts an hour.
        let parts = [
            (tokens.input, input),
            (tokens.output, output),
            (tokens.cache_read, cache_read),
            (tokens.cache_5m, input * 5 / 4),
            (tokens.cache_1h, input * 2),
        ];
        let add = |sum: i64, (n, each): &(i64, i64)| sum.saturating_add(n.saturating_mul(*each));
        Some(parts.iter().fold(0, add))
    }

    fn price(self, model: &str) -> Option<Price> {
        let mut all = self.0.iter().flat_map(|dialect| dialect.prices.models);
        all.find(|(name, _)| is_that(model, name)).map(|(_, price)| *price)
    }
}

/// Whether a model has that name, with or without a date behind it.
fn is_that(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let digits = rest.strip_prefix(['-', '@']).unwrap_or_default();
    rest.is_empty() || (digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ALL: PriceList = PriceList(&substrate_clients::DIALECTS);

    #[rstest]
    #[case::exact("opus-4-5", Some(5_000))]
    #[case::dated("opus-4-5-20251101", Some(5_000))]
    #[case::older("opus-4-20250514", Some(15_000))]
    #[case::at("sonnet-4@20250514", Some(3_000))]
    #[case::later_is_not_guessed("opus-4-9", None)]
    #[case::newer("opus-5-5", Some(4_000))]
    #[case::another_family("opus-9", None)]
    #[case::a_larger_window("sonnet-4-5[1m]", None)]
    fn a_million_input_tokens_cost(#[case] model: &str, #[case] millidollars: Option<i64>) {
        let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
        let found = ALL.nanos(&format!("claude-{model}"), tokens);
        assert_eq!(found, millidollars.map(|price| price * 1_000_000));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = Tokens { input: 10, output: 20, cache_read: 100, cache_5m: 8, cache_1h: 1 };
        // 10·$3 + 20·$15 + 100·$0.30 + 8·$3.75 + 1·$6, each per million.
        assert_eq!(ALL.nanos("claude-sonnet-4-5", tokens), Some(396_000));
    }
}
