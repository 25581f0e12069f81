//! Adds usage up, by what was asked for.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use substrate_core::dialect::Tokens;

use super::ops::UsageRow;
use super::prices::PriceList;

/// What rows are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    #[default]
    Agent,
    Project,
    Day,
    Model,
}

impl By {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Project => "project",
            Self::Day => "day",
            Self::Model => "model",
        }
    }

    fn key(self, row: &UsageRow) -> &str {
        match self {
            Self::Agent => &row.agent,
            Self::Project => &row.project,
            Self::Day => &row.day,
            Self::Model => &row.model,
        }
    }
}

/// A sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sum {
    pub(super) name: String,
    pub(super) answers: i64,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    pub(super) cache_read_tokens: i64,
    pub(super) cache_write_tokens: i64,
    /// Billionths of a dollar: what the models with a price cost.
    pub(super) nano_usd: i64,
    /// Models in it that have no price. The cost is at least `nano_usd` then.
    pub(super) without_price: Vec<String>,
    /// The models and projects in it.
    pub(super) models: Vec<String>,
    pub(super) projects: Vec<String>,
    /// An agent's subagents, which are part of its own sum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) subagents: Vec<Self>,
}

impl Sum {
    fn add(&mut self, row: &UsageRow, prices: PriceList) {
        let Tokens { input, output, cache_read, cache_5m, cache_1h } = row.tokens;
        self.answers += row.n_answers;
        self.input_tokens += input;
        self.output_tokens += output;
        self.cache_read_tokens += cache_read;
        self.cache_write_tokens += cache_5m + cache_1h;
        for (names, name) in [(&mut self.models, &row.model), (&mut self.projects, &row.project)] {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        match prices.nanos(&row.model, row.tokens) {
            Some(nanos) => self.nano_usd = self.nano_usd.saturating_add(nanos),
            None if self.without_price.contains(&row.model) => {}
            None => self.without_price.push(row.model.clone()),
        }
    }

    /// All tokens.
    pub(super) const fn tokens(&self) -> i64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }

    /// `$1.23`, or `at least $1.23`; `no price` if nothing of it has one.
    pub(super) fn money(&self) -> String {
        let money = dollars(self.nano_usd);
        match (self.without_price.is_empty(), self.nano_usd) {
            (true, _) => money,
            (false, 0) => "no price".to_owned(),
            (false, _) => format!("at least {money}"),
        }
    }
}

/// `$1.23`, from billionths.
pub(super) fn dollars(nano_usd: i64) -> String {
    let cents = nano_usd.saturating_add(5_000_000) / 10_000_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// What was spent on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct DaySum {
    pub(super) day: String,
    pub(super) nano_usd: i64,
    /// By project, as far as there is a price.
    pub(super) projects: BTreeMap<String, i64>,
    /// Tokens of models without a price.
    pub(super) unpriced_tokens: i64,
}

/// Each of these days, in their order, spent or not.
pub(super) fn by_day(rows: &[UsageRow], days: &[String], prices: PriceList) -> Vec<DaySum> {
    let of = |day: &String| {
        let mut sum = DaySum { day: day.clone(), ..DaySum::default() };
        for row in rows.iter().filter(|row| row.day == *day) {
            match prices.nanos(&row.model, row.tokens) {
                Some(nanos) => {
                    sum.nano_usd = sum.nano_usd.saturating_add(nanos);
                    *sum.projects.entry(row.project.clone()).or_default() += nanos;
                }
                None => sum.unpriced_tokens += row.tokens.sum(),
            }
        }
        sum
    };
    days.iter().map(of).collect()
}

/// The sums, the dearest first (days in their order), and the sum of all.
pub(super) fn sums(rows: &[UsageRow], by: By, prices: PriceList) -> (Vec<Sum>, Sum) {
    let mut total = Sum { name: "total".to_owned(), ..Sum::default() };
    let mut found: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut subs: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    for row in rows {
        total.add(row, prices);
        found.entry(by.key(row)).or_default().add(row, prices);
        if by == By::Agent && !row.sub.is_empty() {
            subs.entry((&row.agent, &row.sub)).or_default().add(row, prices);
        }
    }
    for ((agent, sub), sum) in subs {
        if let Some(of) = found.get_mut(agent) {
            of.subagents.push(Sum { name: format!("{agent}/{sub}"), ..sum });
        }
    }
    let named = |(name, sum): (&str, Sum)| Sum { name: name.to_owned(), ..sum };
    let mut out: Vec<Sum> = found.into_iter().map(named).collect();
    if by != By::Day {
        out.sort_by_key(|sum| std::cmp::Reverse((sum.nano_usd, sum.input_tokens)));
    }
    (out, total)
}
