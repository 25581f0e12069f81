//! The verbs behind `substrate claim`.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::time::{Ago, parse_span, written_span};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Effect, Output, VerbError};

use super::asks::{self, Asked};
use super::ops::{self, Held};
use crate::identity::holder;
use crate::team::{face, ops as team};

const MAX_TTL_MS: i64 = 24 * 3_600_000;

/// Takes a resource, or goes on holding it.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::team) struct Claim {
    /// The resource, e.g. `staging-db`
    name: String,
    /// How long it is held without a renewal
    #[arg(long, default_value = "20m")]
    ttl: String,
    /// Why, for those who wait
    #[arg(long, default_value = "")]
    note: String,
    /// Even if the caller holds it already: another hold is another holder.
    #[arg(skip)]
    fresh: bool,
    /// The question that the hub was asked.
    #[arg(skip)]
    ask: Option<i64>,
    #[arg(skip)]
    token: String,
}

impl VerbArgs for Claim {
    const PATH: &'static [&'static str] = &["team", "claim"];
    const ABOUT: &'static str = "Take a named resource, or go on holding it";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;

    fn run(mut self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        check_name(&self.name)?;
        let ttl_ms = span(&self.ttl)?;
        let who = holder::caller(cx, caller)?;
        let known = ops::of(cx.db, &self.name)?;
        let own = known
            .as_ref()
            .filter(|held| held.expires > cx.now && held.holder == who.address() && !self.fresh);
        if self.token.is_empty() {
            self.token = match own {
                Some(held) => held.token.clone(),
                None => format!("c-{}", &substrate_core::ids::checksum(&caller.request)[..32]),
            };
        }
        let wanted = Held {
            name: self.name.clone(),
            token: self.token.clone(),
            holder: who.address(),
            note: one_line(&self.note, 120),
            ttl_ms,
            expires: cx.now.plus_ms(ttl_ms),
            granted: cx.now,
            ..Held::default()
        };
        if team::link(cx.db)?.is_none() {
            return alone(cx, wanted, known.as_ref());
        }
        let what = json!({
            "q": "claim", "name": wanted.name, "agent": wanted.token, "holder": wanted.holder,
            "ttl_ms": ttl_ms, "note": wanted.note,
        });
        match asks::ask(cx, self.ask, &what, json!(self))? {
            Asked::Wait(out) => Ok(*out),
            Asked::Away if cx.settings.word("team.claims_when_away") == "allow" => {
                let mut out = alone(cx, wanted, known.as_ref())?;
                out.text.push_str("The hub is away, so this machine decided alone.\n");
                Ok(out)
            }
            Asked::Away => Err(away()),
            Asked::Answer(answer) => match answer["a"].as_str() {
                Some("held") => {
                    let epoch = answer["epoch"].as_i64().unwrap_or(0);
                    let ttl_ms = answer["ttl_ms"].as_i64().unwrap_or(ttl_ms);
                    // Judged by the time since it was asked: the answer may have taken long.
                    let expires = cx.now.plus_ms(ttl_ms - asks::PATIENCE_MS.min(ttl_ms / 10));
                    granted(cx, &Held { epoch, ttl_ms, expires, in_team: true, ..wanted })
                }
                Some("taken") => Err(taken_in_team(cx, &answer["by"])?),
                _ => Err(VerbError::user("the hub could not decide", "try again")),
            },
        }
    }
}

/// This machine decides.
fn alone(cx: &mut Cx<'_>, wanted: Held, known: Option<&Held>) -> Result<Output, VerbError> {
    let live = known.filter(|held| held.expires > cx.now);
    let (epoch, granted_at) = match live {
        Some(held) if held.token == wanted.token => (held.epoch, held.granted),
        Some(held) => {
            let left = Ago(held.expires.since(cx.now));
            return Err(taken(&held.name, &held.holder, &held.note, left));
        }
        None => (known.map_or(0, |held| held.epoch).max(cx.now.0 - 1) + 1, cx.now),
    };
    granted(cx, &Held { epoch, granted: granted_at, ..wanted })
}

fn granted(cx: &mut Cx<'_>, held: &Held) -> Result<Output, VerbError> {
    ops::set(cx.db, held)?;
    let text = format!(
        "You hold {} for {} (epoch {}). `substrate claim release {}` lets go.\n",
        held.name,
        written_span(held.ttl_ms),
        held.epoch,
        held.name
    );
    let json = json!({
        "name": held.name, "epoch": held.epoch, "ttl_ms": held.ttl_ms, "token": held.token,
        "in_team": held.in_team, "holder": held.holder,
    });
    Ok(Output::new(text, json))
}

fn taken(name: &str, holder: &str, note: &str, left: Ago) -> VerbError {
    let note = match note {
        "" => String::new(),
        note => format!(" ({})", one_line(note, 120)),
    };
    VerbError::user(
        format!("{} holds `{name}` for another {left} at most{note}", one_line(holder, 80)),
        "`substrate claim list` shows who holds what; write to its holder, or try later",
    )
}

fn taken_in_team(cx: &mut Cx<'_>, by: &Value) -> Result<VerbError, VerbError> {
    let text = |key: &str| by[key].as_str().unwrap_or_default().to_owned();
    let holder = holder_in_team(cx, by)?;
    let left = Ago(by["left_ms"].as_i64().unwrap_or(0));
    Ok(taken(&one_line(&text("name"), 100), &holder, &text("note"), left))
}

fn holder_in_team(cx: &mut Cx<'_>, by: &Value) -> Result<String, VerbError> {
    let machine = face::machine_name(cx.db, by["machine"].as_str().unwrap_or_default())?;
    let holder = one_line(by["holder"].as_str().unwrap_or_default(), 60);
    Ok(format!("{holder}@{machine}"))
}

fn away() -> VerbError {
    VerbError::user(
        "the team's hub is away, so no claim is certain",
        "`substrate team status` says since when; `team.claims_when_away = \"allow\"` lets this machine decide alone",
    )
}

/// Goes on holding, only if it is still that hold.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::team) struct Renew {
    name: String,
    #[arg(skip)]
    token: String,
    #[arg(skip)]
    ask: Option<i64>,
}

impl VerbArgs for Renew {
    const PATH: &'static [&'static str] = &["team", "renew"];
    const ABOUT: &'static str = "Go on holding a resource";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let held = ops::of(cx.db, &self.name)?.filter(|held| held.token == self.token);
        let lost = || VerbError::user(format!("`{}` is no longer yours", self.name), "");
        let held = held.ok_or_else(lost)?;
        let longer = Held { expires: cx.now.plus_ms(held.ttl_ms), ..held.clone() };
        if !held.in_team {
            if held.expires <= cx.now {
                return Err(lost());
            }
            return granted(cx, &longer);
        }
        let what = json!({
            "q": "renew", "name": held.name, "agent": held.token, "epoch": held.epoch, "ttl_ms": held.ttl_ms,
        });
        match asks::ask(cx, self.ask, &what, json!(self))? {
            Asked::Wait(out) => Ok(*out),
            Asked::Away => Err(away()),
            Asked::Answer(answer) if answer["a"] == "held" => granted(cx, &longer),
            Asked::Answer(_) => {
                ops::end(cx.db, &self.name)?;
                // An error would undo that.
                Ok(Output::new(String::new(), json!({"lost": true})))
            }
        }
    }
}

/// Lets a resource go.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::team) struct Release {
    name: String,
    /// Only if it is still that hold.
    #[arg(skip)]
    token: Option<String>,
    #[arg(skip)]
    ask: Option<i64>,
}

impl VerbArgs for Release {
    const PATH: &'static [&'static str] = &["team", "release"];
    const ABOUT: &'static str = "Let a named resource go";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let who = holder::caller(cx, caller)?;
        let known = ops::of(cx.db, &self.name)?;
        let is_own = |held: &Held| match &self.token {
            Some(token) => held.token == *token,
            None => held.holder == who.address() || who.agent == crate::identity::book::USER,
        };
        let held = known.filter(|held| held.expires > cx.now && is_own(held)).ok_or_else(|| {
            VerbError::user(
                format!("you don't hold `{}` on this machine", one_line(&self.name, 80)),
                "`substrate claim list` shows who holds what",
            )
        })?;
        if held.in_team {
            let what = json!({"q": "release", "name": held.name, "agent": held.token, "epoch": held.epoch});
            match asks::ask(cx, self.ask, &what, json!(self))? {
                Asked::Wait(out) => return Ok(*out),
                // It ends by itself in the team.
                Asked::Away | Asked::Answer(_) => {}
            }
        }
        ops::end(cx.db, &held.name)?;
        let text = format!("Released {}.\n", held.name);
        Ok(Output::new(text, json!({"released": held.name})))
    }
}

/// Who holds what.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::team) struct Claims {
    #[arg(skip)]
    ask: Option<i64>,
}

impl VerbArgs for Claims {
    const PATH: &'static [&'static str] = &["team", "claims"];
    const ABOUT: &'static str = "List who holds which resource";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let (mut rows, mut note) = (Vec::new(), "");
        if team::link(cx.db)?.is_some() {
            match asks::ask(cx, self.ask, &json!({"q": "claims"}), json!({}))? {
                Asked::Wait(out) => return Ok(*out),
                Asked::Away => note = "The hub is away: these are the claims of this machine.\n",
                Asked::Answer(answer) => {
                    for by in answer["claims"].as_array().map_or(&[][..], Vec::as_slice) {
                        let number = |key: &str| by[key].as_i64().unwrap_or(0);
                        rows.push(json!({
                            "name": one_line(by["name"].as_str().unwrap_or_default(), 100),
                            "holder": holder_in_team(cx, by)?, "epoch": number("epoch"),
                            "note": one_line(by["note"].as_str().unwrap_or_default(), 120),
                            "held_ms": number("held_ms"), "left_ms": number("left_ms"),
                        }));
                    }
                    return Ok(listed(&rows, note));
                }
            }
        }
        for held in ops::all(cx.db, cx.now)? {
            rows.push(json!({
                "name": held.name, "holder": held.holder, "epoch": held.epoch, "note": held.note,
                "held_ms": cx.now.since(held.granted), "left_ms": held.expires.since(cx.now),
            }));
        }
        Ok(listed(&rows, note))
    }
}

fn listed(rows: &[Value], note: &str) -> Output {
    let mut text = note.to_owned();
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        let span = |key: &str| Ago(row[key].as_i64().unwrap_or(0));
        let _infallible = write!(
            text,
            "{}  {} for {}, {} left (epoch {})",
            word("name"),
            word("holder"),
            span("held_ms"),
            span("left_ms"),
            row["epoch"]
        );
        let _infallible = match word("note") {
            "" => writeln!(text),
            note => writeln!(text, "  {note}"),
        };
    }
    if rows.is_empty() {
        text.push_str("No claims are held. `substrate claim NAME` takes one.\n");
    }
    Output::new(text, json!(rows))
}

/// The hub's answer to a question; none, if it did not come in time.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::team) struct Answered {
    #[arg(skip)]
    id: i64,
    #[arg(skip)]
    answer: Value,
}

impl VerbArgs for Answered {
    const PATH: &'static [&'static str] = &["team", "answered"];
    const ABOUT: &'static str = "Note what the hub answered";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        ops::answer(cx.db, self.id, &self.answer.to_string())?;
        cx.effects.push(Effect::Wake { key: asks::key(self.id) });
        Ok(Output::default())
    }
}

fn check_name(name: &str) -> Result<(), VerbError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    if (1..=100).contains(&name.len()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(VerbError::user(
        "a resource's name has letters, digits, `-`, `_`, `.`, `:` and `/`",
        "for example `staging-db`",
    ))
}

fn span(text: &str) -> Result<i64, VerbError> {
    parse_span(text).filter(|ms| (1_000..=MAX_TTL_MS).contains(ms)).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is not a time from 1s to 24h", one_line(text, 40)),
            "write it like `--ttl 20m`",
        )
    })
}
