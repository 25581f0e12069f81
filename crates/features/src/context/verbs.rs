//! `substrate statusline`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::dialect::ClientStatus;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, SafeId, VerbError};

use super::line;
use super::ops::{self, ReportedUsage};
use super::window::{Usage, guessed};
use crate::identity::book;
use crate::{efforts, fleet, locks, mail};

/// The fields of a template, in the order in which `run` fills them.
pub(super) const FIELDS: [&str; 8] =
    ["agent", "effort", "model", "context", "unread", "holds", "needs", "cost"];

/// The longest error that the line shows.
const MAX_WHY: usize = 120;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Statusline {
    /// Print what to put into the client's settings, instead of a status line
    #[arg(long)]
    print_config: bool,
    /// What the client says.
    #[arg(skip)]
    status: ClientStatus,
    /// What its settings need.
    #[arg(skip)]
    config: String,
}

impl VerbArgs for Statusline {
    const PATH: &'static [&'static str] = &["statusline"];
    const ABOUT: &'static str =
        "Print one line for the client's status bar, from the JSON on standard input";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        if self.print_config {
            self.config = local.status_line().unwrap_or_default();
            return Ok(());
        }
        let text = local.read("-")?;
        self.status = local.client_status(&text).ok_or_else(|| {
            VerbError::user(
                "standard input is not what a client tells its status line",
                "set `substrate statusline` as the status line's command in the client's settings",
            )
        })?;
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        if self.print_config {
            let json = json!({"config": self.config});
            return Ok(Output::new(self.config, json));
        }
        let status = self.status;
        let session = SafeId::new(&status.session).ok_or_else(|| {
            VerbError::user("the status names no session", "run it as the client's status line")
        })?;
        let session = session.as_str();
        let usage = status.used.map(|used| {
            let size = status.size.unwrap_or_else(|| guessed(&status.model, used));
            Usage::of(used, size, cx.settings)
        });
        if let Some(usage) = usage {
            let report = ReportedUsage {
                used: Some(usage.used),
                size: usage.size,
                source: "statusline".to_owned(),
                at: cx.now,
            };
            ops::report(cx.db, session, book::MAIN, &report)?;
        }
        let agent = book::of_session(cx.db, session)?;
        let effort = efforts::face::of_session(cx.db, session)?;
        let n_unread = match &agent {
            Some((agent, _)) => mail::face::n_unread(cx.db, (*agent, ""), cx.now)?,
            None => 0,
        };
        let n_held = locks::leases::n_held(cx, session, book::MAIN)?;
        let n_needs =
            fleet::face::n_waiting(cx)? + mail::face::n_unread(cx.db, (book::USER, ""), cx.now)?;
        let cost = status.micro_usd.map(|micro| format!("${:.2}", micro as f64 / 1e6));
        let name = agent.map(|(_, name)| name);
        let count = |n: i64| if n > 0 { n.to_string() } else { String::new() };
        let values = [
            name.clone().unwrap_or_default(),
            effort.as_ref().map(efforts::face::Effort::label).unwrap_or_default(),
            status.model,
            usage.map(|usage| usage.percent_of_window.to_string()).unwrap_or_default(),
            count(n_unread),
            count(i64::try_from(n_held).unwrap_or(i64::MAX)),
            count(n_needs),
            cost.clone().unwrap_or_default(),
        ];
        let fields: Vec<(&'static str, String)> = FIELDS.into_iter().zip(values).collect();
        let text = line::filled(cx.settings.text("statusline.template"), &fields);
        let json = json!({
            "session": session,
            "agent": name,
            "effort": effort.map(|effort| effort.id),
            "percent": usage.map(|usage| usage.percent_of_window),
            "unread": n_unread,
            "holds": n_held,
            "needs": n_needs,
            "cost": cost,
        });
        Ok(Output::new(format!("{text}\n"), json))
    }

    fn without_state(why: &str) -> Option<Output> {
        let why = one_line(why, MAX_WHY);
        let text = format!("Substrate: state not usable ({why}) · substrate doctor\n");
        Some(Output::new(text, json!({"state": "not usable", "why": why})))
    }
}
