//! `substrate locks wait`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::time::parse_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError, WaitFor};

use super::owner::Owner;
use super::standing::{self, Standing};
use super::targets::{self, Target};
use super::{record, within, words};

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Wait {
    /// The file, or a folder or glob in which nobody else shall hold anything
    path: String,
    /// Give up after so long
    #[arg(long, default_value = "10m")]
    #[serde(default = "ten_minutes")]
    timeout: String,
    /// When the waiting ends
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
    /// Who held it when the waiting began.
    #[arg(skip)]
    #[serde(default)]
    held_by: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

impl VerbArgs for Wait {
    const PATH: &'static [&'static str] = &["locks", "wait"];
    const ABOUT: &'static str = "Wait until nobody else holds a file";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Owner::of_caller(cx)?;
        let found = targets::known(std::slice::from_ref(&self.path), &self.found, caller);
        let target = found.into_iter().next().unwrap_or_default();
        let file = words::path(&target.relative);
        let taken = if target.is_glob {
            within::other(cx, &me, &target)?
        } else {
            match standing::of(cx, &me, &target.place())? {
                Standing::Taken(holder) => {
                    Some((holder, target.path.clone(), target.relative.clone()))
                }
                Standing::Own(_) => return Ok(free(&target, &format!("`{file}` is yours."), None)),
                Standing::Free { .. } => None,
            }
        };
        let Some((holder, path, relative)) = taken else {
            let by = self.held_by.as_deref();
            let was = by.map_or_else(String::new, |by| format!(" {by} held it."));
            let next = match target.is_glob {
                true => "The first edit of a file takes it.",
                false => "Edit it now: the first edit takes it.",
            };
            return Ok(free(&target, &format!("`{file}` is free.{was} {next}"), by));
        };
        let until = match self.until_ms {
            Some(until) => until,
            None => cx.now.plus_ms(span(&self.timeout)?).0,
        };
        let by = holder.claim.owner.address(cx)?;
        if until <= cx.now.0 {
            return Err(VerbError::user(
                format!("`{file}` is still held by {by}"),
                format!("write to them: {}", words::send(&by, &target.relative)),
            ));
        }
        record::wanted(cx, &me, &holder, (&path, &relative), None)?;
        let key = holder.wake_key(&path);
        // A holder that falls silent wakes nobody: look again when its lease would be over.
        let look_again = until.min(holder.until.0 + 1);
        let body = json!(Self {
            until_ms: Some(until),
            held_by: Some(by.clone()),
            found: vec![target],
            ..self
        });
        let mut out = Output::new(String::new(), json!({"free": false, "holder": by}));
        // An agent waits for a file once; a person may do so in every terminal.
        let by = match me.is_person() {
            true => caller.request.clone(),
            false => format!("{} {}", me.session, me.actor),
        };
        out.wait = Some(WaitFor { key, by, until_ms: look_again, body });
        Ok(out)
    }
}

fn free(target: &Target, text: &str, held_by: Option<&str>) -> Output {
    Output::new(format!("{text}\n"), json!({"free": true, "path": target.path, "held_by": held_by}))
}

pub(super) fn span(text: &str) -> Result<i64, VerbError> {
    parse_span(text).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is no duration", words::path(text)),
            "write it like `30s`, `10m` or `1h`",
        )
    })
}
