//! What mail tells the views of all features: messages in an agent's story, arrows between lanes, and what was searched for.

use substrate_core::text::one_line;
use substrate_core::view::{Hit, HitKind, Moment, MomentKind, StoryOf, Wanted};
use substrate_core::{Cx, Db, DbError, FeatureError, Timestamp};

use super::ops::{self, Mailbox, mailbox};
use super::policy::address;
use super::search;
use crate::identity::book;
use crate::lookups;
use crate::page::in_query;

/// A message on its way to one mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) id: i64,
    pub(crate) from: (i64, String),
    pub(crate) to: (i64, String),
    pub(crate) sent_ms: i64,
    /// When it was put into an answer to its agent, or read.
    pub(crate) arrived_ms: Option<i64>,
    pub(crate) subject: String,
}

pub(super) const BETWEEN: &str =
    "select m.id, m.sender, m.sender_sub, d.agent, d.sub, m.sent_ms, d.injected_ms, d.read_ms, m.subject
     from messages m join deliveries d on d.message = m.id
     where m.id > $1 and m.sent_ms <= $2 order by m.id limit $3";

/// Two questions: SQLite reads every row to answer both at once.
const ENDS: &str = "select (select min(id) from messages), (select max(id) from messages)";
const AT: &str = "select sent_ms from messages where id >= $1 order by id limit 1";

/// The first messages that were sent in that time.
pub(crate) fn between(
    db: &mut dyn Db,
    from: Timestamp,
    until: Timestamp,
    limit: i64,
) -> Result<Vec<Passed>, DbError> {
    let ends = db.first(ENDS, &[], |row| Ok(row.opt_int(0)?.zip(row.opt_int(1)?)))?;
    let Some((first, last)) = ends.flatten() else { return Ok(Vec::new()) };
    let after = lookups::id_between(db, AT, from, (first - 1, last))?;
    db.rows(BETWEEN, &[after.into(), until.0.into(), limit.into()], |row| {
        Ok(Passed {
            id: row.int(0)?,
            from: (row.int(1)?, row.text(2)?),
            to: (row.int(3)?, row.text(4)?),
            sent_ms: row.int(5)?,
            arrived_ms: row.opt_int(6)?.or(row.opt_int(7)?),
            subject: row.text(8)?,
        })
    })
}

/// What an agent wrote and got. Its own subagents' mail is theirs.
pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let own = Mailbox { agent: of.agent, sub: "" };
    let link = |id: i64| Some(format!("/mail/{id}?as={}", in_query(&of.name)));
    let mut out = Vec::new();
    for message in ops::sent(cx.db, own, of.limit)? {
        if !of.covers(message.sent_ms, message.sent_ms) {
            continue;
        }
        let deliveries = mailbox::deliveries(cx.db, message.id)?;
        let to = super::render::shortened(&super::render::addresses(cx, &deliveries)?);
        out.push(Moment {
            at_ms: message.sent_ms,
            kind: MomentKind::Sent,
            title: format!("Wrote #{} to {to}", message.id),
            text: one_line(&message.subject, 200),
            link: link(message.id),
            other: to,
            ..Moment::default()
        });
    }
    for row in mailbox::kept(cx.db, own, i64::MAX, of.limit)? {
        if !of.covers(row.sent_ms, row.sent_ms) {
            continue;
        }
        let from = address(cx, row.sender, &row.sender_sub)?;
        out.push(Moment {
            at_ms: row.sent_ms,
            until_ms: row.read_ms,
            kind: MomentKind::Got,
            title: format!("Got #{} from {from}", row.id),
            text: one_line(&row.subject, 200),
            link: link(row.id),
            other: from,
            ..Moment::default()
        });
    }
    Ok(out)
}

/// Mail with all the words: the user's own, and what agents wrote to each other. Only the user searches here.
pub(super) fn find(cx: &mut Cx<'_>, wanted: &Wanted) -> Result<Vec<Hit>, FeatureError> {
    let Some(words) = search::Words::read(&wanted.words) else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for (id, sender) in search::find_all(cx.db, book::USER, &words, wanted.limit)? {
        let Some(message) = ops::visible(cx.db, id, sender)? else { continue };
        let who = address(cx, message.sender, &message.sender_sub)?;
        let subject = one_line(&message.subject, 200);
        let is_own = ops::visible(cx.db, id, book::USER)?.is_some();
        let (text, link) = if is_own {
            (format!("#{id} {subject}"), format!("/mail/{id}"))
        } else {
            let deliveries = mailbox::deliveries(cx.db, id)?;
            let to = super::render::addresses(cx, &deliveries)?;
            // It is shown as one of those whose it is: what Substrate wrote, as the one who got it.
            let holder = if sender == book::SUBSTRATE { to.first() } else { Some(&who) };
            let holder = holder.and_then(|it| it.split('/').next()).unwrap_or_default().to_owned();
            let text = format!("#{id} to {}: {subject}", super::render::shortened(&to));
            (text, format!("/mail/{id}?as={}", in_query(&holder)))
        };
        out.push(Hit { at_ms: message.sent_ms, kind: HitKind::Mail, who, text, link });
    }
    Ok(out)
}
