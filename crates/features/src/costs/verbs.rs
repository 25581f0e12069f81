//! `substrate cost`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::parse_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::ops;
use super::prices::PriceList;
use super::record::day;
use super::view::{By, Sum, by_day, sums};
use crate::charts::short;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Cost {
    /// What the rows are about
    #[arg(long, value_enum, default_value = "agent")]
    #[serde(default)]
    by: By,
    /// From when on: a span such as `7d`, or a day such as `2026-02-08`
    #[arg(long, default_value = "7d")]
    #[serde(default = "week")]
    since: String,
}

fn week() -> String {
    "7d".to_owned()
}

impl VerbArgs for Cost {
    const PATH: &'static [&'static str] = &["cost"];
    const ABOUT: &'static str = "Show the tokens and the money that agents used";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let since = self.first_day(cx, caller)?;
        let rows = ops::since(cx.db, &since)?;
        let prices = PriceList(cx.world.dialects());
        let (sums, total) = sums(&rows, self.by, prices);
        let mut text = String::new();
        if rows.is_empty() {
            let _infallible = writeln!(
                text,
                "No usage since {since}. It is read from transcripts a moment after a turn ends."
            );
        } else {
            text.push_str(&table(self.by, &sums, &total));
            let _infallible =
                writeln!(text, "\nSince {since}, at list prices of {}.", prices.as_of());
        }
        if !total.without_price.is_empty() {
            let names = total.without_price.join(", ");
            let _infallible =
                writeln!(text, "Without a price: {names}. The sums are at least that.");
        }
        let mut days: Vec<String> = rows.iter().map(|row| row.day.clone()).collect();
        days.dedup();
        let json = json!({
            "by": self.by, "since": since, "rows": sums, "total": total, "prices_as_of": prices.as_of(),
            "days": by_day(&rows, &days, prices),
        });
        Ok(Output::new(text, json))
    }
}

impl Cost {
    fn first_day(&self, cx: &Cx<'_>, caller: &Caller) -> Result<String, VerbError> {
        if self.since.parse::<jiff::civil::Date>().is_ok() {
            return Ok(self.since.clone());
        }
        let span = parse_span(&self.since).ok_or_else(|| {
            VerbError::user(
                format!("`{}` is neither a span nor a day", self.since),
                "write it like `7d` or `2026-02-08`",
            )
        })?;
        Ok(day(cx.now.plus_ms(-span), caller.tz_offset_s))
    }
}

fn table(by: By, sums: &[Sum], total: &Sum) -> String {
    let mut out = format!(
        "{:<28} {:>8} {:>8} {:>8} {:>8}  {}\n",
        by.name(),
        "answers",
        "input",
        "output",
        "cached",
        "cost"
    );
    for sum in sums.iter().chain([total]) {
        line(&mut out, sum, "");
        for sub in &sum.subagents {
            line(&mut out, sub, "  ");
        }
    }
    out
}

fn line(out: &mut String, sum: &Sum, indent: &str) {
    let name = if sum.name.is_empty() { "(none)" } else { &sum.name };
    let name = format!("{indent}{}", one_line(name, 60));
    let cached = sum.cache_read_tokens + sum.cache_write_tokens;
    let _infallible = writeln!(
        out,
        "{name:<28} {:>8} {:>8} {:>8} {:>8}  {}",
        sum.answers,
        short(sum.input_tokens),
        short(sum.output_tokens),
        short(cached),
        sum.money()
    );
}
