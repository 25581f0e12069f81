//! Secrets out, before anything is stored.
//!
//! The patterns are documented in the reference; each keeps the name of what it hides. They run over JSON text as well
//! as plain text, so they know that a quote or a line break may be escaped there. Linear time, whatever the input.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::Regex;
use substrate_core::text::cut;

/// A kind of secret: its name for the reference, words without which it can't be there, its pattern, and what is put in
/// its place.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub name: &'static str,
    /// In lower case; a text that has none of them in any case is not looked at further.
    needles: &'static [&'static str],
    regex: &'static str,
    replacement: &'static str,
}

/// How far beyond the kept text the patterns look, so that a secret across the cut is still recognised.
const BEYOND_THE_CUT: usize = 1_024;

/// Every pattern, in the order in which they are applied. They run over bytes, and each match begins and ends at an
/// ASCII character, so what is left is still text.
pub const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "private keys (PEM blocks)",
        needles: &["private key-----"],
        regex: r"(?s-u)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        replacement: "[private key]",
    },
    Pattern {
        name: "keys of well-known services (Anthropic, OpenAI, Stripe, AWS, Google, GitHub, GitLab, Slack, npm, PyPI, Hugging Face)",
        needles: &[
            "sk-",
            "k_live_",
            "k_test_",
            "akia",
            "asia",
            "aiza",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "xoxa-",
            "xoxb-",
            "xoxe-",
            "xoxo-",
            "xoxp-",
            "xoxr-",
            "xoxs-",
            "npm_",
            "pypi-",
            "hf_",
        ],
        regex: r"(?-u)\b(?:sk-[A-Za-z0-9_-]{12,}|[rs]k_(?:live|test)_[A-Za-z0-9]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[0-9A-Za-z_-]{20,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{12,}|xox[abeoprs]-[A-Za-z0-9-]{8,}|npm_[A-Za-z0-9]{16,}|pypi-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,})",
        replacement: "[key]",
    },
    Pattern {
        name: "JSON web tokens",
        needles: &["eyj"],
        regex: r"(?-u)\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        replacement: "[token]",
    },
    Pattern {
        name: "authorization headers",
        needles: &["authorization", "x-api-key", "cookie"],
        regex: r#"(?i-u)\b((?:authorization|proxy-authorization|x-api-key|cookie|set-cookie)\\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic|token)\s+)?)[^\s"'\\]{4,}"#,
        replacement: "${1}[redacted]",
    },
    Pattern {
        name: "bearer tokens",
        needles: &["bearer"],
        regex: r"(?i-u)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}",
        replacement: "${1}[redacted]",
    },
    Pattern {
        name: "passwords in URLs",
        needles: &["://"],
        regex: r#"(?-u)(://[^/\s:@"'\\]*:)[^/\s@"'\\]+@"#,
        replacement: "${1}[redacted]@",
    },
    Pattern {
        name: "values whose name says that they are secret (password, passphrase, secret, token, credential, api key, access key, private key)",
        needles: SECRET_NAMES,
        regex: r#"(?i-u)((?:password|passwd|passphrase|secret|token|credentials?|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?key)[A-Z0-9_]*\\?["']?\s*[:=]\s*)(?:\\?"(?:[^"\\]|\\[^"])+\\?"|'[^']+'|[^\s"'\\,;&|)}]{3,})"#,
        replacement: "${1}[redacted]",
    },
    Pattern {
        name: "secrets as command-line flags (--password x, --token x, --secret x, --api-key x)",
        needles: &[
            "-password",
            "-passwd",
            "-passphrase",
            "-secret",
            "-token",
            "-api-key",
            "-access-key",
            "-auth",
        ],
        regex: r#"(?i-u)(\s--?(?:password|passwd|passphrase|secret|token|api-key|access-key|auth)(?:=|\s+))[^\s"'\\-][^\s"'\\]*"#,
        replacement: "${1}[redacted]",
    },
    Pattern {
        name: "passwords in the short flags of well-known commands (curl -u name:x, mysql -px, sshpass -p x)",
        needles: &["curl", "mysql", "mariadb", "sshpass"],
        regex: r#"(?-u)\b(curl\s(?:[^\n|;&]*?\s)?(?:-[A-Za-z]*[uU]|--(?:proxy-)?user)[=\s]*\\?["']?[^\s:"'\\]+:|(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\s(?:[^\n|;&]*?\s)?-p\\?["']?|sshpass\s+-p\s*\\?["']?)[^\s"'\\]+"#,
        replacement: "${1}[redacted]",
    },
];

const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "clientkey",
    "client_key",
    "client-key",
];

/// Applied as well when a `.env` file is named: there every value may be a secret.
pub const DOTENV: Pattern = Pattern {
    name: "every NAME=value where a `.env` file is read, written or printed",
    needles: &["="],
    regex: r#"(?m-u)(^|\\n|\\t|["'\s])((?:export )?[A-Za-z_][A-Za-z0-9_]*=)(?:\\"[^"]*"|'[^']*'|[^\n"'\\]+)"#,
    replacement: "${1}${2}[redacted]",
};

/// Finds the needles of all patterns in one pass. Compiling the patterns themselves costs milliseconds, which a hook
/// without a daemon would pay every time; so each is compiled when its first needle is found.
static NEEDLES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let all = PATTERNS.iter().flat_map(|pattern| pattern.needles);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(all)
        .expect("a few short words make a small automaton")
});

static COMPILED: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];
static DOTENV_COMPILED: OnceLock<Regex> = OnceLock::new();

/// Whether the text names a `.env` file.
pub(crate) fn names_dotenv(text: &str) -> bool {
    text.match_indices(".env").any(|(at, found)| {
        let next = text.as_bytes().get(at + found.len());
        !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    })
}

/// The beginning of `text`, at most `max` bytes of it, without its secrets.
pub(crate) fn redacted(text: &str, max: usize, is_dotenv: bool) -> Cow<'_, str> {
    let window = cut(text, max + BEYOND_THE_CUT);
    let mut out = Cow::Borrowed(window.as_bytes());
    let suspected = suspected(window);
    for (n, pattern) in PATTERNS.iter().enumerate().filter(|(n, _)| suspected & (1 << n) != 0) {
        replace(&mut out, &COMPILED[n], pattern);
    }
    if is_dotenv {
        replace(&mut out, &DOTENV_COMPILED, &DOTENV);
    }
    let out = match out {
        Cow::Borrowed(_) => Cow::Borrowed(window),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    };
    if out.len() <= max && window.len() == text.len() {
        return out;
    }
    Cow::Owned(format!("{}…", cut(&out, max)))
}

/// The patterns whose words are in the text, one bit each.
fn suspected(text: &str) -> u32 {
    let mut found = 0;
    for hit in NEEDLES.find_overlapping_iter(text) {
        found |= pattern_of(hit.pattern().as_usize());
    }
    found
}

/// The bit of the pattern that a needle belongs to.
fn pattern_of(needle: usize) -> u32 {
    let mut first = 0;
    for (n, pattern) in PATTERNS.iter().enumerate() {
        first += pattern.needles.len();
        if needle < first {
            return 1 << n;
        }
    }
    0
}

fn replace(text: &mut Cow<'_, [u8]>, compiled: &OnceLock<Regex>, pattern: &Pattern) {
    let regex = compiled.get_or_init(|| {
        Regex::new(pattern.regex).expect("a pattern of our own compiles; a test compiles them all")
    });
    if let Cow::Owned(changed) = regex.replace_all(text, pattern.replacement.as_bytes()) {
        *text = Cow::Owned(changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing("ls -la src", "ls -la src")]
    #[case::anthropic("export K=sk-ant-REDACTED", "export K=[key]")]
    #[case::curl("curl -u bob:hunter2 https://x.org", "curl -u bob:[redacted] https://x.org")]
    #[case::curl_glued("curl -sSu'bob:hun2' x", "curl -sSu'bob:[redacted]' x")]
    #[case::curl_long("curl -f --user \\\"bob:h\\\" x", "curl -f --user \\\"bob:[redacted]\\\" x")]
    #[case::curl_without("curl -u bob https://x.org:80/a", "curl -u bob https://x.org:80/a")]
    #[case::mysql("mysql -h db -u root -psecretpw app", "mysql -h db -u root -p[redacted] app")]
    #[case::mysql_asks("mysql -u root -p app --port 3", "mysql -u root -p app --port 3")]
    #[case::sshpass("sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x")]
    #[case::aws("AKIAIOSFODNN7EXAMPLE", "[key]")]
    #[case::github(
        "git clone https://ghp_0123456789abcdefghijklmnopqrstuvwxyz@host/x",
        "git clone https://[key]@host/x"
    )]
    #[case::slack("xoxb-123456789012-abcdef", "[key]")]
    #[case::jwt("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[token]")]
    #[case::header(
        r#"{"command":"curl -H \"Authorization: Bearer abc.def-123\" x"}"#,
        r#"{"command":"curl -H \"Authorization: Bearer [redacted]\" x"}"#
    )]
    #[case::url("psql postgres://u:hunter2@db/x", "psql postgres://u:[redacted]@db/x")]
    #[case::json(r#"{"password":"hunter2","a":1}"#, r#"{"password":[redacted],"a":1}"#)]
    #[case::escaped_json(
        r#"{"content":"{\"api_key\": \"abc123\"}"}"#,
        r#"{"content":"{\"api_key\": [redacted]}"}"#
    )]
    #[case::shell("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=[redacted] ./run")]
    #[case::flag("mysql -u root --password hunter2", "mysql -u root --password [redacted]")]
    #[case::harmless("the token count is 12", "the token count is 12")]
    #[case::pem(
        "a -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY----- b",
        "a [private key] b"
    )]
    #[case::pem_without_end("-----BEGIN PRIVATE KEY-----\nMIIE", "[private key]")]
    fn a_secret_is_taken_out(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redacted(text, 4_096, false), expected);
    }

    #[rstest]
    #[case(
        r#"{"content":"A=1\nB_C=two words\n"}"#,
        r#"{"content":"A=[redacted]\nB_C=[redacted]\n"}"#
    )]
    #[case("FOO=bar", "FOO=[redacted]")]
    fn in_a_dotenv_file_every_value_is_taken_out(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(redacted(text, 4_096, true), expected);
    }

    #[rstest]
    #[case("/app/.env", true)]
    #[case("cat .env.local", true)]
    #[case("process.environment", false)]
    #[case("os.env_var", false)]
    fn a_dotenv_file_is_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(names_dotenv(text), expected);
    }

    #[test]
    fn a_secret_across_the_cut_does_not_survive() {
        let text = format!("{}sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "x ".repeat(50));
        assert!(!redacted(&text, 110, false).contains("sk-ant"));
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in PATTERNS.iter().chain([&DOTENV]) {
            assert!(Regex::new(pattern.regex).is_ok(), "{}", pattern.name);
        }
    }

    proptest! {
        #[test]
        fn any_text_stays_text(text in ".{0,200}", is_dotenv in any::<bool>()) {
            let out = redacted(&text, 150, is_dotenv);
            let broken = out.contains(char::REPLACEMENT_CHARACTER) && !text.contains(char::REPLACEMENT_CHARACTER);
            prop_assert!(!broken);
        }

        #[test]
        fn any_text_is_bounded_and_any_key_is_gone(before in ".{0,60}", after in " .{0,60}", max in 1usize..200) {
            let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz";
            let text = format!("{before} {key}{after}");
            let out = redacted(&text, max, false);
            prop_assert!(out.len() <= max + '…'.len_utf8());
            prop_assert!(!out.contains(&key[..12]));
        }
    }
}
