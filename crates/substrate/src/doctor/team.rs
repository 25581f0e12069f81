//! The team: whether the link to its hub is up, and since when it is not.

use substrate_core::Timestamp;
use substrate_core::time::Ago;
use substrate_features::team::{Link, link};
use substrate_store::Database as Store;

use super::database::{Database, State};
use super::finding::{Area, Finding};
use crate::config::Home;
use crate::error::AppError;
use crate::team::Membership;

/// What is known of this machine's team.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    /// What it joined, as the file says. `None` if that can't be read.
    pub(super) is_joined: bool,
    pub(super) link: Option<Link>,
}

/// `None`: this machine is in no team.
pub(super) fn look(home: &Home, database: &Database) -> Option<Team> {
    let is_joined = Membership::read(home).is_some();
    let is_readable = matches!(database.state, State::Intact { n_missing_steps: 0 });
    let read = || Store::at(&database.path).read(|db| link(db).map_err(AppError::from)).ok();
    let link = is_readable.then(read).flatten().flatten();
    (is_joined || link.is_some()).then_some(Team { is_joined, link })
}

pub(super) fn judge(found: Option<&Team>, now: Timestamp, out: &mut Vec<Finding>) {
    let Some(Team { is_joined, link }) = found else { return };
    if !is_joined {
        out.push(
            Area::Features
                .warning("team-keys", "this machine was in a team, but its keys are gone")
                .next("`substrate team leave`, and join again"),
        );
        return;
    }
    let Some(link) = link else { return };
    let ago = Ago(now.since(link.since));
    out.push(match link.is_up {
        true => Area::Features.ok("team-up", format!("connected to the hub for {ago}")),
        false => Area::Features
            .warning(
                "team-away",
                format!("the hub `{}` has been unreachable for {ago}: {}", link.hub, link.why),
            )
            .next("`substrate team status`; mail to other machines waits until it is back"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::up(true, Some(true), "team-up")]
    #[case::away(true, Some(false), "team-away")]
    #[case::not_yet(true, None, "")]
    #[case::without_keys(false, Some(true), "team-keys")]
    fn a_link(#[case] is_joined: bool, #[case] up: Option<bool>, #[case] expected: &str) {
        let link = up.map(|is_up| Link {
            machine: "m-1".to_owned(),
            name: "laptop".to_owned(),
            hub: "hub:1".to_owned(),
            is_up,
            since: Timestamp(0),
            why: "refused".to_owned(),
        });
        let mut out = Vec::new();
        judge(Some(&Team { is_joined, link }), Timestamp(60_000), &mut out);
        let ids: Vec<&str> = out.iter().map(|finding| finding.id).collect();
        assert_eq!(ids.concat(), expected);
    }
}
