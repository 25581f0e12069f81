//! Many wishes, one verdict. Pure, and property-tested.

use crate::event::{Detail, Event, EventKind};
use crate::ids::checksum;
use crate::text::cut;
use crate::verdict::{Delivery, DeliveryTable, Permission, Verdict, Wait};
use crate::wish::{Answer, Block, Cause, Fate, Insists, Wish, WishKind, Wished};

/// The characters that all injected text together may take; the clients' own limit is a little higher.
pub const CONTEXT_BUDGET: usize = 9_000;

/// What already held the actor in this turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopCycle {
    /// Blocks since the actor's last tool call, as the client counts them.
    pub n_in_row: u32,
    pub told: Vec<Told>,
    /// How often each cause has held it in this turn, whatever it did in between.
    pub held: Vec<(String, u32)>,
    /// What happened before is not known, or what happens now can't be written down.
    pub is_lost: bool,
}

/// How often a lasting cause blocks an actor in one turn. Each tool call resets the client's own count, so an actor
/// that can't do what it is asked, but calls tools, would be blocked forever.
pub const MAX_HELD: u32 = 8;

impl StopCycle {
    fn n_held(&self, cause: Cause) -> u32 {
        self.held.iter().find(|(name, _)| name == cause.name()).map_or(0, |(_, n)| *n)
    }

    /// Has this cause already blocked the actor in this turn, whatever its words?
    fn has_held(&self, cause: Cause) -> bool {
        let is_cause = |told: &Told| told.0.split(':').next() == Some(cause.name());
        self.is_lost || self.told.iter().any(is_cause)
    }

    /// May a lasting cause block the actor once more? Mail ends when it is seen, and a heartbeat is meant to go on.
    fn has_patience(&self, cause: Cause, again: bool) -> bool {
        if again && self.is_lost {
            return false;
        }
        matches!(cause, Cause::Mail | Cause::Heartbeat) || self.n_held(cause) < MAX_HELD
    }
}

/// A cause together with its words, in the form in which it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told(pub String);

/// The verdict, what became of each wish, and what must be remembered.
#[derive(Debug)]
pub struct Merged {
    pub verdict: Verdict,
    /// In the order of the wishes.
    pub fates: Vec<Fate>,
    /// The blocks that are in the verdict.
    pub told: Vec<Told>,
}

/// Merges the wishes of all features, in the order in which the features are listed. A wish that was withdrawn stays so.
pub fn merge(
    event: &Event,
    wishes: &[Wished],
    delivers: DeliveryTable,
    cycle: &StopCycle,
) -> Merged {
    let mut verdict = Verdict::default();
    let mut blocks: Vec<&Block> = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut notices: Vec<&str> = Vec::new();
    let (mut denials, mut questions, mut answered) = (Vec::new(), Vec::new(), None);
    let refuses = refuses_questions(event.kind, delivers);
    let is_lost = |wished: &Wished| match wished.fate {
        Fate::Withdrawn => Some(Fate::Withdrawn),
        _ if refuses && wished.wish.kind() == WishKind::Ask => None,
        _ if delivers(event.kind, wished.wish.kind()) == Delivery::NotDeliverable => {
            Some(Fate::NotDeliverable)
        }
        _ => None,
    };
    let next_step = CAN_NOT_ASK.to_owned();
    for Wished { feature, wish, .. } in wishes.iter().filter(|wished| is_lost(wished).is_none()) {
        match wish {
            Wish::Context { text, more, .. } => {
                let text = text.trim();
                if !text.is_empty() && !sections.iter().any(|other| other.text == text) {
                    let more = more.as_deref();
                    sections.push(Section { feature, text, more, fate: Fate::Dropped });
                }
            }
            Wish::Deny { rule, reason, next } => denials.push((format!("{reason} [{rule}]"), next)),
            Wish::Ask { rule, reason } if refuses => {
                denials.push((format!("{reason} [{rule}]"), &next_step));
            }
            Wish::Ask { rule, reason } => questions.push(format!("{reason} [{rule}]")),
            Wish::Block(block) if is_blank(&block.reason) => {}
            Wish::Block(block) => blocks.push(block),
            Wish::Notice { text } => notices.push(text),
            Wish::Export { name, value } => {
                verdict.exports.retain(|(other, _)| other != name);
                verdict.exports.push((name.clone(), value.clone()));
            }
            Wish::Answer { answer, .. } => answered = answered.or(Some(answer)),
            Wish::Wait { key, until } => {
                verdict.wait = Some(Wait { key: key.clone(), until: *until });
            }
            Wish::Receipt => verdict.receipt = true,
        }
    }
    // A refusal wins over the user's own answer: rules are the user's as well, and are not passed by a click.
    verdict.permission = permission(&denials, &questions).or_else(|| answered.map(permitted));
    let held = holding(event, &blocks, cycle);
    verdict.block = joined(ended_once(&held).into_iter());
    verdict.notice = joined(notices.into_iter());
    verdict.context = fitted(&mut sections, CONTEXT_BUDGET);
    if verdict.block.is_some() || verdict.permission.is_some() {
        verdict.wait = None;
    }
    verdict.receipt &= !verdict.is_silent();
    let fate = |wished| is_lost(wished).unwrap_or_else(|| fate(wished, &verdict, &held, &sections));
    let fates = wishes.iter().map(fate).collect();
    Merged { fates, told: held.iter().map(|block| told(block)).collect(), verdict }
}

/// What became of a wish that could have been said.
fn fate(wished: &Wished, verdict: &Verdict, held: &[&Block], sections: &[Section<'_>]) -> Fate {
    let is_in = match &wished.wish {
        Wish::Context { text, .. } => {
            let n_blank = text.len() - text.trim_start().len();
            let section = sections.iter().find(|section| section.text == text.trim());
            return match section.map(|section| section.fate) {
                Some(Fate::Cut { kept }) => Fate::Cut { kept: n_blank + kept },
                fate => fate.unwrap_or(Fate::Dropped),
            };
        }
        Wish::Deny { .. } => matches!(verdict.permission, Some(Permission::Deny { .. })),
        Wish::Answer { answer, .. } => verdict.permission.as_ref() == Some(&permitted(answer)),
        // Where a client can't ask, a question is a refusal.
        Wish::Ask { rule, reason } => match &verdict.permission {
            Some(Permission::Ask { .. }) => true,
            Some(Permission::Deny { reason: said }) => said.contains(&format!("{reason} [{rule}]")),
            Some(Permission::Allow { .. }) | None => false,
        },
        Wish::Block(block) => held.contains(&block),
        Wish::Notice { text } => !is_blank(text),
        Wish::Export { name, value } => {
            verdict.exports.iter().any(|(other, said)| other == name && said == value)
        }
        Wish::Wait { key, until } => {
            verdict.wait.as_ref().is_some_and(|wait| wait.key == *key && wait.until == *until)
        }
        Wish::Receipt => verdict.receipt,
    };
    if is_in { Fate::Whole } else { Fate::Dropped }
}

/// What an actor can do about a call that its client could not ask about.
const CAN_NOT_ASK: &str =
    "This client can't ask its user about a call. Do without it, or ask your user to run it.";

/// Whether the client can refuse a call, but not ask about it. A question must not become a pass.
fn refuses_questions(kind: EventKind, delivers: DeliveryTable) -> bool {
    kind == EventKind::PreToolUse
        && delivers(kind, WishKind::Ask) == Delivery::NotDeliverable
        && delivers(kind, WishKind::Deny) == Delivery::Delivered
}

/// All reasons, and the next step of the first feature. Several steps could contradict each other.
fn permission(denials: &[(String, &String)], questions: &[String]) -> Option<Permission> {
    if let Some(reasons) = joined(denials.iter().map(|(reason, _)| reason.as_str())) {
        let next = denials.iter().map(|(_, next)| next.trim()).find(|next| !next.is_empty());
        let is_one = denials.iter().all(|(reason, _)| *reason == denials[0].0);
        let gap = if is_one { " " } else { "\n\n" };
        let next = next.map_or_else(String::new, |next| format!("{gap}{next}"));
        return Some(Permission::Deny { reason: reasons + &next });
    }
    joined(questions.iter().map(String::as_str)).map(|reason| Permission::Ask { reason })
}

/// The user's answer as the client is told it.
fn permitted(answer: &Answer) -> Permission {
    match answer {
        Answer::Allow => Permission::Allow { choices: Vec::new() },
        Answer::Choose { choices } => Permission::Allow { choices: choices.clone() },
        Answer::Deny { message } => Permission::Deny { reason: message.clone() },
    }
}

/// The blocks that may hold the actor now, in the order of their causes.
fn holding<'a>(event: &Event, blocks: &[&'a Block], cycle: &StopCycle) -> Vec<&'a Block> {
    let mut held: Vec<&Block> = blocks.to_vec();
    if let (true, Detail::Stop { again, .. }) = (event.is_stop(), &event.detail) {
        if event.actor.is_compaction_fork() {
            return Vec::new();
        }
        // One short of the cap, so that we let go before the client overrides us with a warning.
        let room_left = event.block_cap == 0 || cycle.n_in_row + 1 < event.block_cap;
        held.retain(|block| match block.insists {
            Insists::Once => !again,
            Insists::OncePerTurn => room_left && !(*again && cycle.has_held(block.cause)),
            Insists::WhenNew => !cycle.told.contains(&told(block)),
            Insists::WhileItLasts => room_left && cycle.has_patience(block.cause, *again),
            Insists::Always => true,
        });
    }
    // A heartbeat says that there is nothing else.
    if held.iter().any(|block| block.cause != Cause::Heartbeat) {
        held.retain(|block| block.cause != Cause::Heartbeat);
    }
    held.sort_by_key(|block| block.cause);
    held
}

fn told(block: &Block) -> Told {
    Told(format!("{}:{}", block.cause.name(), &checksum(&block.reason)[..16]))
}

/// The reasons. A line that ends several of them is said once, at the last.
fn ended_once<'a>(held: &[&'a Block]) -> Vec<&'a str> {
    let last_line = |text: &'a str| text.rsplit_once('\n').map(|(_, line)| line);
    let shortened = |(at, block): (usize, &&'a Block)| {
        let reason = block.reason.as_str();
        let end = last_line(reason);
        let is_said_later =
            end.is_some() && held[at + 1..].iter().any(|later| last_line(&later.reason) == end);
        match reason.rsplit_once('\n') {
            Some((rest, _)) if is_said_later => rest.trim_end(),
            _ => reason,
        }
    };
    held.iter().enumerate().map(shortened).collect()
}

/// The distinct texts, a blank line between them.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    for text in texts {
        if !is_blank(text) && !kept.contains(&text) {
            kept.push(text);
        }
    }
    (!kept.is_empty()).then(|| kept.join("\n\n"))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

struct Section<'a> {
    feature: &'a str,
    text: &'a str,
    more: Option<&'a str>,
    fate: Fate,
}

/// The sections under their features' names, cut from the back to the budget. Each learns what became of it.
fn fitted(sections: &mut [Section<'_>], budget: usize) -> Option<String> {
    let mut out = String::new();
    for section in sections {
        let head =
            format!("{}[substrate {}] ", if out.is_empty() { "" } else { "\n\n" }, section.feature);
        let tail =
            format!("… (cut; `{}` shows all of it)", section.more.unwrap_or("substrate journal"));
        let room = budget.saturating_sub(out.len() + head.len());
        if section.text.len() <= room {
            out.push_str(&head);
            out.push_str(section.text);
            section.fate = Fate::Whole;
            continue;
        }
        let kept = cut(section.text, room.saturating_sub(tail.len()));
        if !kept.is_empty() {
            out.push_str(&head);
            out.push_str(kept);
            out.push_str(&tail);
            section.fate = Fate::Cut { kept: kept.len() };
        }
        break;
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests;
