//! Names: which are valid, which a new agent gets, and what a subagent is called.

use substrate_core::ids::checksum;

/// Pairs of words that are tried before a number is added.
const N_PAIRS: usize = 64;

/// The longest name of an agent.
const MAX_LEN: usize = 40;

/// The longest kind in a subagent's name.
const MAX_KIND: usize = 24;

/// The rule for names, for error messages.
pub(super) const RULE: &str =
    "a name starts with a letter and has at most 40 letters, digits, `_` and `-`";

/// Whether an agent may have this name: `[A-Za-z][A-Za-z0-9_-]{0,39}`, except `user` and `substrate`.
pub(super) fn is_valid(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    name.len() <= MAX_LEN
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(plain)
        && !["user", "substrate"].contains(&key(name).as_str())
}

/// The form in which names are compared.
pub(super) fn key(name: &str) -> String {
    name.to_lowercase()
}

/// Endless candidates for the name of a session's agent, best first.
pub(super) fn candidates(session: &str) -> impl Iterator<Item = String> + '_ {
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
pub(super) fn kind(kind: &str) -> String {
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
        assert_eq!(is_valid(name), expected);
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
        assert_eq!(kind(text), expected);
    }

    #[test]
    fn every_generated_name_is_valid_and_unique() {
        let mut all: Vec<String> = ADJECTIVES
            .iter()
            .flat_map(|how| ANIMALS.iter().map(move |who| format!("{how}{who}").to_lowercase()))
            .collect();
        assert!(all.iter().all(|name| is_valid(name)));
        let n = all.len();
        all.sort();
        all.dedup();
        assert_eq!((n, all.len()), (16_384, 16_384));
    }

    #[test]
    fn after_64_pairs_a_number_is_added() {
        let names: Vec<String> = candidates("s").take(66).collect();
        assert!(names[..64].iter().all(|name| !name.ends_with(|c: char| c.is_ascii_digit())));
        assert_eq!(names[64], format!("{}2", names[0]));
        assert_eq!(names[65], format!("{}3", names[0]));
    }
}
