//! The address book: what other features may ask about agents, and which names agents and subagents get.
//!
//! Together with `holder` and `presence` this is the public face of identity. Its other modules are private.

use substrate_core::ids::checksum;
use substrate_core::text::nearest;
use substrate_core::{Db, DbError, Timestamp, World};

use super::presence;

pub(crate) use super::holder::{pulse, seat};

/// The person at the keyboard.
pub(crate) const USER: i64 = 1;

/// Substrate itself, as the sender of its own messages.
pub(crate) const SUBSTRATE: i64 = 2;

/// Where mail can be sent: an agent, or one of its subagents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) agent: i64,
    pub(crate) name: String,
    /// The subagent's own name; empty for the agent itself.
    pub(crate) sub: String,
    /// The id of the machine that it is on, if that is not this one. Its name is then `NobleLion@laptop`.
    pub(crate) machine: Option<String>,
}

impl Address {
    /// An agent of this machine.
    pub(crate) fn of_agent(agent: i64, name: String) -> Self {
        Self { agent, name, ..Self::default() }
    }

    /// As it is typed: `NobleLion`, `NobleLion/reviewer-1`.
    pub(crate) fn text(&self) -> String {
        if self.sub.is_empty() { self.name.clone() } else { format!("{}/{}", self.name, self.sub) }
    }
}

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Found(Address),
    /// A subagent that has ended and can't read mail any more. Its agent still exists.
    Ended(Address),
    /// No agent has that name. These are similar.
    Unknown {
        nearest: Vec<String>,
    },
}

/// Looks a name up, ignoring case: `NobleLion`, `noblelion`, `NobleLion/reviewer-1`, `NobleLion@laptop`.
pub(crate) fn find(db: &mut dyn Db, text: &str) -> Result<Lookup, DbError> {
    let (name, sub) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
    let Some(found) = named(db, name)? else {
        return Ok(Lookup::Unknown { nearest: nearest_agents(db, text)? });
    };
    if sub.is_empty() {
        return Ok(Lookup::Found(found));
    }
    let Address { agent, name, machine, .. } = found;
    if machine.is_some() {
        // Only its own machine knows its subagents.
        let sub = far_sub(sub);
        return Ok(Lookup::Found(Address { agent, name, sub, machine }));
    }
    let found = db.first(
        "select name, ended_ms from agent_actors where agent = $1 and lower(name) = $2",
        &[agent.into(), sub.to_lowercase().as_str().into()],
        |row| Ok((row.text(0)?, row.opt_int(1)?)),
    )?;
    Ok(match found {
        Some((sub, None)) => Lookup::Found(Address { agent, name, sub, machine }),
        Some((sub, Some(_))) => Lookup::Ended(Address { agent, name, sub, machine }),
        None => Lookup::Unknown { nearest: nearest_subagents(db, agent, &name)? },
    })
}

/// The agent of this machine with that name, ignoring case, and the name as it is written.
pub(crate) fn agent(db: &mut dyn Db, name: &str) -> Result<Option<(i64, String)>, DbError> {
    let here = named(db, name)?.filter(|found| found.machine.is_none());
    Ok(here.map(|found| (found.agent, found.name)))
}

/// The agent of that name, on this machine or another.
fn named(db: &mut dyn Db, name: &str) -> Result<Option<Address>, DbError> {
    db.first(
        "select id, name, machine from agents where name_key = $1 and deleted_ms is null",
        &[name.to_lowercase().as_str().into()],
        |row| {
            let (name, machine) = (row.text(1)?, row.opt_text(2)?);
            Ok(Address { agent: row.int(0)?, name, sub: String::new(), machine })
        },
    )
}

/// The address of an agent of another machine, which is made if there is none. `None` if no agent can have that name.
/// The machine's name counts: one that joins again under its name has another id, and is the same address.
pub(crate) fn far_agent(
    db: &mut dyn Db,
    (machine, machine_name): (&str, &str),
    name: &str,
    now: Timestamp,
) -> Result<Option<Address>, DbError> {
    let name = if name_key(name) == "user" { "User" } else { name };
    if !is_valid_name(name) && name != "User" {
        return Ok(None);
    }
    let whole = format!("{name}@{machine_name}");
    let made = db.first(
        "insert into agents (name, name_key, project, made_ms, machine) values ($1, $2, '', $3, $4)
         on conflict (name_key) do update set machine = excluded.machine returning id, name",
        &[whole.as_str().into(), name_key(&whole).as_str().into(), now.0.into(), machine.into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )?;
    let machine = Some(machine.to_owned());
    Ok(made.map(|(agent, name)| Address { agent, name, sub: String::new(), machine }))
}

/// The name of a subagent of another machine, reduced to what a subagent may be called.
pub(crate) fn far_sub(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    text.chars().filter(plain).take(MAX_LEN).collect()
}

/// The id of the machine that an agent is on, if that is not this one.
pub(crate) fn machine_of(db: &mut dyn Db, agent: i64) -> Result<Option<String>, DbError> {
    let found = db.first("select machine from agents where id = $1", &[agent.into()], |row| {
        row.opt_text(0)
    })?;
    Ok(found.flatten())
}

/// The agents of a machine can't be reached any more; without one, those of all others. Their messages keep their names.
pub(crate) fn forget_far(
    db: &mut dyn Db,
    machine: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "update agents set deleted_ms = $2, name_key = name_key || '#' || id
         where machine is not null and deleted_ms is null and ($1 is null or machine = $1)",
        &[machine.into(), now.0.into()],
    )?;
    Ok(())
}

/// The name of an agent, even if it was deleted.
pub(crate) fn name_of(db: &mut dyn Db, agent: i64) -> Result<String, DbError> {
    let name =
        db.first("select name from agents where id = $1", &[agent.into()], |row| row.text(0))?;
    Ok(name.unwrap_or_else(|| format!("agent {agent}")))
}

/// The agent of a session, and its name.
pub(crate) fn of_session(db: &mut dyn Db, session: &str) -> Result<Option<(i64, String)>, DbError> {
    db.first(
        "select a.id, a.name from agent_sessions s join agents a on a.id = s.agent where s.session = $1",
        &[session.into()],
        |row| Ok((row.int(0)?, row.text(1)?)),
    )
}

/// The name of an actor, as mail is addressed: `NobleLion`, `NobleLion/reviewer-1`.
pub(crate) fn address_in(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<String>, DbError> {
    let Some((_, name)) = of_session(db, session)? else { return Ok(None) };
    Ok(Some(match sub_in(db, session, actor)? {
        Some(sub) => format!("{name}/{sub}"),
        None => name,
    }))
}

/// A subagent's own name, by its key in a session.
pub(crate) fn sub_in(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
) -> Result<Option<String>, DbError> {
    if actor == MAIN {
        return Ok(None);
    }
    db.first(
        "select name from agent_actors where session = $1 and actor = $2",
        &[session.into(), actor.into()],
        |row| row.text(0),
    )
}

/// The sessions of an agent, latest first.
pub(crate) fn sessions_of(db: &mut dyn Db, agent: i64) -> Result<Vec<String>, DbError> {
    db.rows(
        "select session from agent_sessions where agent = $1 order by last_ms desc limit 200",
        &[agent.into()],
        |row| row.text(0),
    )
}

/// The project that an agent was in last; empty where it was in none.
pub(crate) fn project_of(db: &mut dyn Db, agent: i64) -> Result<String, DbError> {
    let found = db.first(
        "select project from agent_sessions where agent = $1 order by last_ms desc limit 1",
        &[agent.into()],
        |row| row.text(0),
    )?;
    Ok(found.unwrap_or_default())
}

/// The agents that work in that project and are not offline, except `except`.
pub(crate) fn reachable_in(
    db: &mut dyn Db,
    world: &dyn World,
    now: Timestamp,
    project: &str,
    except: i64,
) -> Result<Vec<Address>, DbError> {
    let found = presence::in_project(db, world, now, project)?;
    let mut out: Vec<Address> = Vec::new();
    for one in found {
        let is_new = one.agent != except && out.iter().all(|other| other.agent != one.agent);
        if is_new && one.status != presence::Status::Offline {
            out.push(Address::of_agent(one.agent, one.name));
        }
    }
    Ok(out)
}

/// The main thread's name among the actors of a session.
pub(crate) const MAIN: &str = "main";

/// The names most similar to an unknown name, among the newest agents.
fn nearest_agents(db: &mut dyn Db, text: &str) -> Result<Vec<String>, DbError> {
    let known = db.rows(
        "select name from agents where deleted_ms is null order by id desc limit 2000",
        &[],
        |row| row.text(0),
    )?;
    Ok(nearest(text, known.iter().map(String::as_str)).into_iter().map(str::to_owned).collect())
}

/// The subagents of an agent that can still read mail.
fn nearest_subagents(db: &mut dyn Db, agent: i64, name: &str) -> Result<Vec<String>, DbError> {
    db.rows(
        "select name from agent_actors where agent = $1 and ended_ms is null order by last_ms desc limit 3",
        &[agent.into()],
        |row| Ok(format!("{name}/{}", row.text(0)?)),
    )
}

/// Pairs of words that are tried before a number is added.
const N_PAIRS: usize = 64;

/// The longest name of an agent.
const MAX_LEN: usize = 40;

/// The longest kind in a subagent's name.
const MAX_KIND: usize = 24;

/// The rule for names, for error messages.
pub(super) const NAME_RULE: &str =
    "a name starts with a letter and has at most 40 letters, digits, `_` and `-`";

/// Whether an agent may have this name: `[A-Za-z][A-Za-z0-9_-]{0,39}`, except `user` and `substrate`.
pub(super) fn is_valid_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    name.len() <= MAX_LEN
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(plain)
        && !["user", "substrate"].contains(&name_key(name).as_str())
}

/// The form in which names are compared.
pub(super) fn name_key(name: &str) -> String {
    name.to_lowercase()
}

/// Endless candidates for the name of a session's agent, best first.
pub(super) fn candidate_names(session: &str) -> impl Iterator<Item = String> + '_ {
    let numbered = (2_u64..).map(move |n| format!("{}{n}", pair(session, 0)));
    (0..N_PAIRS).map(move |n_tried| pair(session, n_tried)).chain(numbered)
}

fn pair(session: &str, n_tried: usize) -> String {
    let hash = checksum(&format!("{session} {n_tried}"));
    let byte = |at: usize| {
        hash.get(at..at + 2).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0)
    };
    format!("{}{}", ADJECTIVES[byte(0) % ADJECTIVES.len()], ANIMALS[byte(2) % ANIMALS.len()])
}

/// The first part of a subagent's name: the client's word for its kind, reduced to safe characters.
pub(super) fn kind_of_subagent(kind: &str) -> String {
    let mut out = String::new();
    for c in kind.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
        if out.len() == MAX_KIND {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "subagent".to_owned() } else { out.to_owned() }
}

/// The first words of names: friendly, and easy to tell apart.
#[rustfmt::skip]
const ADJECTIVES: [&str; 128] = [
    "Able", "Agile", "Amber", "Ample", "Ancient", "Arctic", "Ardent", "Autumn",
    "Azure", "Balmy", "Blithe", "Bold", "Brave", "Breezy", "Bright", "Brisk",
    "Bronze", "Busy", "Calm", "Candid", "Careful", "Cheery", "Chief", "Civic",
    "Classic", "Clean", "Clear", "Clever", "Cobalt", "Cool", "Copper", "Coral",
    "Cosmic", "Cosy", "Crimson", "Crisp", "Curious", "Daring", "Dawn", "Dear",
    "Deft", "Devoted", "Early", "Earnest", "Easy", "Eager", "Elegant", "Epic",
    "Fair", "Famous", "Fancy", "Fearless", "Festive", "Fine", "Firm", "Fleet",
    "Fond", "Frank", "Free", "Fresh", "Frosty", "Gentle", "Giant", "Gifted",
    "Glad", "Gleaming", "Golden", "Good", "Graceful", "Grand", "Great", "Green",
    "Handy", "Happy", "Hardy", "Hearty", "Helpful", "Honest", "Humble", "Indigo",
    "Ivory", "Jade", "Jolly", "Joyful", "Just", "Keen", "Kind", "Lively",
    "Loyal", "Lucid", "Lucky", "Lunar", "Lush", "Magic", "Mellow", "Merry",
    "Mighty", "Mild", "Misty", "Modest", "Neat", "Nimble", "Noble", "Olive",
    "Patient", "Peaceful", "Placid", "Plucky", "Polite", "Proud", "Quick", "Quiet",
    "Rapid", "Rosy", "Royal", "Rustic", "Sage", "Scarlet", "Serene", "Silver",
    "Snowy", "Solar", "Steady", "Sunny", "Swift", "Teal", "Tidy", "Vivid",
];

/// The second words of names.
#[rustfmt::skip]
const ANIMALS: [&str; 128] = [
    "Badger", "Bat", "Bear", "Beaver", "Bee", "Bison", "Bobcat", "Buffalo",
    "Bull", "Bunny", "Camel", "Canary", "Caribou", "Cat", "Catfish", "Cheetah",
    "Chipmunk", "Cobra", "Colt", "Condor", "Cougar", "Coyote", "Crab", "Crane",
    "Cricket", "Crow", "Deer", "Dingo", "Dolphin", "Donkey", "Dove", "Dragonfly",
    "Duck", "Eagle", "Eel", "Egret", "Elephant", "Elk", "Emu", "Ermine",
    "Falcon", "Ferret", "Finch", "Firefly", "Flamingo", "Fox", "Frog", "Gazelle",
    "Gecko", "Gibbon", "Giraffe", "Goat", "Goldfish", "Goose", "Gopher", "Grouse",
    "Gull", "Hamster", "Hare", "Hawk", "Hedgehog", "Heron", "Hippo", "Horse",
    "Hound", "Ibex", "Ibis", "Iguana", "Impala", "Jackal", "Jaguar", "Jay",
    "Kestrel", "Kingfisher", "Kiwi", "Koala", "Ladybird", "Lark", "Lemming", "Lemur",
    "Leopard", "Lion", "Lizard", "Llama", "Lobster", "Lynx", "Macaw", "Magpie",
    "Mammoth", "Manatee", "Marmot", "Marten", "Meerkat", "Mole", "Mongoose", "Moose",
    "Moth", "Mouse", "Narwhal", "Newt", "Ocelot", "Octopus", "Okapi", "Oriole",
    "Osprey", "Ostrich", "Otter", "Owl", "Ox", "Panda", "Panther", "Parrot",
    "Peacock", "Pelican", "Penguin", "Pheasant", "Pigeon", "Pony", "Puffin", "Puma",
    "Quail", "Rabbit", "Raccoon", "Raven", "Robin", "Salmon", "Seal", "Walrus",
];

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::two_words("NobleLion", true)]
    #[case::one_letter("a", true)]
    #[case::signs("build_bot-2", true)]
    #[case::forty(&"a".repeat(40), true)]
    #[case::forty_one(&"a".repeat(41), false)]
    #[case::empty("", false)]
    #[case::digit_first("2fast", false)]
    #[case::dash_first("-rf", false)]
    #[case::subagent("NobleLion/reviewer-1", false)]
    #[case::path("../../etc", false)]
    #[case::break_inside("a\nb", false)]
    #[case::escape("a\u{1b}[31m", false)]
    #[case::not_ascii("Löwe", false)]
    #[case::person("User", false)]
    #[case::person_in_capitals("USER", false)]
    #[case::ourselves("substrate", false)]
    fn a_name_is_valid_or_not(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_valid_name(name), expected);
    }

    #[rstest]
    #[case::plain("reviewer", "reviewer")]
    #[case::capitals("Explore", "explore")]
    #[case::spaces("general purpose", "general-purpose")]
    #[case::plugin("demo:rev", "demo-rev")]
    #[case::path("../../etc/passwd", "etc-passwd")]
    #[case::escape("\u{1b}[31mred\n# heading", "31mred-heading")]
    #[case::nothing_left("///", "subagent")]
    #[case::not_ascii("審査", "subagent")]
    #[case::blank(" ", "subagent")]
    #[case::long("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwx")]
    #[case::dash_at_the_end("abcdefghijklmnopqrstuvw-xyz", "abcdefghijklmnopqrstuvw")]
    fn a_kind_is_reduced_to_safe_characters(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(kind_of_subagent(text), expected);
    }

    #[test]
    fn every_generated_name_is_valid_and_unique() {
        let mut all: Vec<String> = ADJECTIVES
            .iter()
            .flat_map(|how| ANIMALS.iter().map(move |who| format!("{how}{who}").to_lowercase()))
            .collect();
        assert!(all.iter().all(|name| is_valid_name(name)));
        let n = all.len();
        all.sort();
        all.dedup();
        assert_eq!((n, all.len()), (16_384, 16_384));
    }

    #[test]
    fn after_64_pairs_a_number_is_added() {
        let names: Vec<String> = candidate_names("s").take(66).collect();
        assert!(names[..64].iter().all(|name| !name.ends_with(|c: char| c.is_ascii_digit())));
        assert_eq!(names[64], format!("{}2", names[0]));
        assert_eq!(names[65], format!("{}3", names[0]));
    }
}
