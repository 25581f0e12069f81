//! Names that announce a secret: of variables, keys, fields, flags and headers.

use super::bytes::{Beginnings, four};

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// A password: any word may be one.
    Password,
    /// A token or a key: rarely a plain word or a number.
    Token,
    /// Perhaps: only if the value looks random.
    Perhaps,
    /// A scheme, then credentials, up to the end of the line.
    Authorization,
    /// Pairs, of which every value counts.
    Cookie,
}

/// Found anywhere in a name that is written without its `_`, `-` and `.`.
const PARTS: &[(&str, Promise)] = &[
    ("password", Promise::Password),
    ("passwd", Promise::Password),
    ("passphrase", Promise::Password),
    ("passwort", Promise::Password),
    ("passcode", Promise::Password),
    ("contrasena", Promise::Password),
    ("pswd", Promise::Password),
    ("dbpass", Promise::Password),
    ("userpass", Promise::Password),
    ("rootpass", Promise::Password),
    ("adminpass", Promise::Password),
    ("keypass", Promise::Password),
    ("storepass", Promise::Password),
    ("mysqlpwd", Promise::Password),
    ("secret", Promise::Password),
    ("credential", Promise::Token),
    ("token", Promise::Token),
    ("bearer", Promise::Token),
    ("apikey", Promise::Token),
    ("appkey", Promise::Token),
    ("accesskey", Promise::Token),
    ("accountkey", Promise::Token),
    ("authkey", Promise::Token),
    ("clientkey", Promise::Token),
    ("databasekey", Promise::Token),
    ("dbkey", Promise::Token),
    ("deploykey", Promise::Token),
    ("encryptionkey", Promise::Token),
    ("licensekey", Promise::Perhaps),
    ("masterkey", Promise::Token),
    ("privatekey", Promise::Token),
    ("privkey", Promise::Token),
    ("servicekey", Promise::Token),
    ("sessionkey", Promise::Token),
    ("sharedkey", Promise::Token),
    ("signingkey", Promise::Token),
    ("sshkey", Promise::Token),
    ("storagekey", Promise::Token),
    ("subscriptionkey", Promise::Token),
    ("tlskey", Promise::Token),
    ("webhookkey", Promise::Token),
    ("writekey", Promise::Token),
    ("connectionstring", Promise::Perhaps),
    ("signature", Promise::Perhaps),
    ("sessionid", Promise::Perhaps),
    ("sessid", Promise::Perhaps),
    ("jsessionid", Promise::Perhaps),
];

/// Found as a whole word of a name.
const WORDS: &[(&str, Promise)] = &[
    ("pass", Promise::Password),
    ("pwd", Promise::Password),
    ("pw", Promise::Password),
    ("psw", Promise::Password),
    ("creds", Promise::Token),
    ("jwt", Promise::Token),
    ("sas", Promise::Perhaps),
    ("sig", Promise::Perhaps),
    ("auth", Promise::Perhaps),
    ("key", Promise::Perhaps),
    ("salt", Promise::Perhaps),
    ("dsn", Promise::Perhaps),
];

/// A name with such an ending is about a secret, but its value is not one.
const ABOUT: &[&str] = &[
    "file",
    "files",
    "path",
    "paths",
    "dir",
    "folder",
    "id",
    "ids",
    "name",
    "names",
    "type",
    "types",
    "kind",
    "count",
    "counts",
    "limit",
    "limits",
    "max",
    "min",
    "len",
    "length",
    "size",
    "ttl",
    "age",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "timeout",
    "url",
    "uri",
    "urls",
    "endpoint",
    "host",
    "port",
    "policy",
    "policies",
    "field",
    "fields",
    "label",
    "title",
    "hint",
    "help",
    "message",
    "error",
    "errors",
    "regex",
    "pattern",
    "prefix",
    "suffix",
    "format",
    "usage",
    "used",
    "budget",
    "index",
    "version",
    "required",
    "enabled",
    "disabled",
    "valid",
    "invalid",
    "status",
    "state",
    "source",
    "store",
    "manager",
    "provider",
    "service",
    "class",
    "stdin",
    "prompt",
    "command",
    "cmd",
    "env",
    "var",
    "arn",
    "ref",
    "location",
    "schema",
    "scope",
    "scopes",
    "reader",
    "parser",
    "stream",
    "list",
    "map",
    "set",
    "checksum",
    "fingerprint",
    "tokens",
    "secrets",
    "secretsmanager",
    "secretmanager",
    "s",
    "at",
    "date",
    "time",
    "row",
    "column",
    "line",
    "start",
    "end",
    "alg",
    "algorithm",
    "encoding",
    "strength",
    "rotation",
    "management",
    "storage",
    "exchange",
    "input",
    "output",
    "cost",
    "policyid",
    "identifier",
    "detection",
    "scanner",
    "scanning",
    "sharing",
    "public",
    "is",
    "has",
];

/// Every name that announces a secret has one of these.
static SIGNS: Beginnings = Beginnings::of(&[
    "pass", "pwd", "pws", "psw", "secr", "toke", "cred", "key", "auth", "cook", "jwt", "sig",
    "bear", "conn", "rase", "sess", "salt", "dsn", "sas", "_pw", "-pw", ".pw",
]);

const LONGEST: usize = 64;

/// The name that ends before `end`, as far as it is looked at.
pub(super) fn before(text: &[u8], end: usize) -> &[u8] {
    let first = end.saturating_sub(LONGEST);
    let len = text[first..end].iter().rev().take_while(|b| is_part(**b)).count();
    let mut start = end - len;
    // `\nNAME`: the letter belongs to the escape.
    if len > 1 && start > 0 && text[start - 1] == b'\\' && matches!(text[start], b'n' | b't' | b'r')
    {
        start += 1;
    }
    &text[start..end]
}

/// Whether the name that ends before `end` surely promises nothing, and has no dot. Most have neither, and need no closer look.
pub(super) fn says_nothing(text: &[u8], end: usize) -> bool {
    let first = end.saturating_sub(LONGEST);
    let mut after = 0;
    let mut len = 0;
    for byte in text[first..end].iter().rev() {
        let look = LOOK[usize::from(*byte)];
        if look & IN_NAME == 0 {
            break;
        }
        len += 1;
        if look >> (after & 31) & 1 != 0 && (*byte == b'.' || SIGNS.begin(four(&text[end - len..])))
        {
            return false;
        }
        after = *byte;
    }
    // Too short to be among the signs; `\npw` ends with it.
    !(2..=3).contains(&len) || !text[end - 2..end].eq_ignore_ascii_case(b"pw")
}

/// What a look at one byte of a name says: which letters after it begin a sign, a bit each, and whether it can be in a name at
/// all. A dot always counts.
static LOOK: [u64; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let seconds = if b == b'.' as usize { u32::MAX } else { SIGNS.seconds[b] };
        table[b] = seconds as u64 | if IS_PART[b] { IN_NAME } else { 0 };
        b += 1;
    }
    table
};

const IN_NAME: u64 = 1 << 32;

/// Whether a name may have this byte.
pub(super) fn is_part(byte: u8) -> bool {
    IS_PART[usize::from(byte)]
}

static IS_PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        b += 1;
    }
    table
};

/// What the name says, if anything.
pub(super) fn promise(name: &[u8]) -> Option<Promise> {
    may_promise(name).then(|| judged(name)).flatten()
}

fn may_promise(name: &[u8]) -> bool {
    name.windows(2)
        .enumerate()
        .any(|(at, two)| SIGNS.pair(two[0], two[1]) && SIGNS.begin(four(&name[at..])))
        || name.len() == 2 && name.eq_ignore_ascii_case(b"pw")
}

fn judged(name: &[u8]) -> Option<Promise> {
    let mut buffer = [0; 2 * LONGEST];
    let words = words(name, &mut buffer);
    let mut squeezed = [0; LONGEST];
    let mut len = 0;
    for byte in words.iter().filter(|byte| **byte != b'_').take(LONGEST) {
        squeezed[len] = *byte;
        len += 1;
    }
    let squeezed = &squeezed[..len];
    match squeezed {
        b"authorization" | b"proxyauthorization" => return Some(Promise::Authorization),
        b"cookie" | b"setcookie" | b"cookies" => return Some(Promise::Cookie),
        // The folder of a shell.
        b"pwd" | b"oldpwd" => return Some(Promise::Perhaps),
        _ => {}
    }
    let each = || words.split(|b| *b == b'_').filter(|word| !word.is_empty());
    let last = each().rev().find(|word| !word.iter().all(u8::is_ascii_digit))?;
    if is_about(last) {
        return None;
    }
    part_of(squeezed).or_else(|| {
        let places =
            each().filter_map(|found| WORDS.iter().position(|(word, _)| word.as_bytes() == found));
        places.min().map(|n| WORDS[n].1)
    })
}

fn is_about(word: &[u8]) -> bool {
    ABOUT_BEGINNINGS.begin(four(word)) && ABOUT.iter().any(|about| about.as_bytes() == word)
}

/// The strongest part: a `token_key` is a token.
fn part_of(squeezed: &[u8]) -> Option<Promise> {
    (0..squeezed.len())
        .filter(|at| PART_BEGINNINGS.fit(&squeezed[*at..]))
        .flat_map(|at| {
            let rest = &squeezed[at..];
            let begins =
                |part: &str| part.as_bytes()[0] == rest[0] && rest.starts_with(part.as_bytes());
            PARTS.iter().filter(move |(part, _)| begins(part))
        })
        .map(|(_, promise)| *promise)
        .min_by_key(|promise| *promise as u8)
}

static ABOUT_BEGINNINGS: Beginnings = Beginnings::of(ABOUT);

static PART_BEGINNINGS: Beginnings = {
    let mut all = Beginnings::EMPTY;
    let mut n = 0;
    while n < PARTS.len() {
        all.add(PARTS[n].0);
        n += 1;
    }
    all
};

/// The name in small letters, with `_` between its words: `dbPassword` is `db_password`.
fn words<'a>(name: &[u8], out: &'a mut [u8; 2 * LONGEST]) -> &'a [u8] {
    let mut len = 0;
    let mut push = |byte| {
        out[len] = byte;
        len += 1;
    };
    let mut was_lower = false;
    for byte in name.iter().take(LONGEST) {
        if !byte.is_ascii_alphanumeric() || (was_lower && byte.is_ascii_uppercase()) {
            push(b'_');
        }
        if byte.is_ascii_alphanumeric() {
            push(byte.to_ascii_lowercase());
        }
        was_lower = byte.is_ascii_lowercase() || byte.is_ascii_digit();
    }
    &out[..len]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("DB_PASS", Some(Promise::Password))]
    #[case("dbPassword", Some(Promise::Password))]
    #[case("MYSQL_PWD", Some(Promise::Password))]
    #[case("spring.datasource.password", Some(Promise::Password))]
    #[case("client-key-data", Some(Promise::Token))]
    #[case("AccountKey", Some(Promise::Token))]
    #[case("_authToken", Some(Promise::Token))]
    #[case("AWS_SECRET_ACCESS_KEY", Some(Promise::Password))]
    #[case("PASSWORD_2", Some(Promise::Password))]
    #[case("Authorization", Some(Promise::Authorization))]
    #[case("Set-Cookie", Some(Promise::Cookie))]
    #[case("_auth", Some(Promise::Perhaps))]
    #[case("key", Some(Promise::Perhaps))]
    #[case("PWD", Some(Promise::Perhaps))]
    #[case("PASSWORD_FILE", None)]
    #[case("token_type", None)]
    #[case("max_tokens", None)]
    #[case("tokens", None)]
    #[case("secretName", None)]
    #[case("compass", None)]
    #[case("passed", None)]
    #[case("monkey", None)]
    #[case("command", None)]
    #[case("", None)]
    fn a_name_says(#[case] name: &str, #[case] expected: Option<Promise>) {
        assert_eq!(promise(name.as_bytes()), expected);
    }

    #[test]
    fn every_announcing_name_gets_past_the_first_look() {
        for (name, expected) in PARTS.iter().chain(WORDS) {
            let found = promise(name.as_bytes());
            assert!(found.is_some(), "{name}: {expected:?} expected");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_says_nothing_promises_nothing(
            parts in proptest::collection::vec(proptest::sample::select(vec![
                "pw", "Pw", "pas", "s", "pass", "key", "Key", "to", "ken", "sas", "dsn", "sig", "_", "-", ".", "a", "user", "\\n",
                "\\t", " ", "secr", "et", "jwt", "auth", "n", "x9", "cook", "ie", "rase", "na",
            ]), 0..12),
        ) {
            let text = parts.concat().into_bytes();
            for end in 0..=text.len() {
                if says_nothing(&text, end) {
                    let name = before(&text, end);
                    proptest::prop_assert!(promise(name).is_none() && !name.contains(&b'.'), "{:?}", name);
                }
            }
        }
    }
}
