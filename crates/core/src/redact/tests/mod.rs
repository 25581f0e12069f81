//! The gate, case by case, and what holds for any text.

mod bombs;
mod corpus;

use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[rstest]
#[case::nothing("ls -la src", "ls -la src")]
#[case::anthropic("export K=sk-ant-api03-Zx81kQwe7bRt5yUiOp0a", "export K=[key]")]
#[case::curl("curl -u bob:hunter2 https://x.org", "curl -u bob:[redacted] https://x.org")]
#[case::curl_glued("curl -sSu'bob:hun2' x", "curl -sSu'bob:[redacted]' x")]
#[case::curl_long("curl -f --user \\\"bob:h\\\" x", "curl -f --user \\\"bob:[redacted]\\\" x")]
#[case::curl_without("curl -u bob https://x.org:80/a", "curl -u bob https://x.org:80/a")]
#[case::mysql("mysql -h db -u root -psecretpw app", "mysql -h db -u root -p[redacted] app")]
#[case::mysql_asks("mysql -u root -p app --port 3", "mysql -u root -p app --port 3")]
#[case::sshpass("sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x")]
#[case::docker("docker login -u bob -p hunter2 host", "docker login -u bob -p [redacted] host")]
#[case::docker_port("docker run -p 80:80 nginx", "docker run -p 80:80 nginx")]
#[case::redis("redis-cli -h db -a hunter2 PING", "redis-cli -h db -a [redacted] PING")]
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
#[case::another_scheme("Authorization: ApiKey a1b2c3d4e5", "Authorization: ApiKey [redacted]")]
#[case::second_cookie(
    "Cookie: a=1x; sid=2y; lang=en",
    "Cookie: a=[redacted]; sid=[redacted]; lang=[redacted]"
)]
#[case::url("psql postgres://u:hunter2@db/x", "psql postgres://u:[redacted]@db/x")]
#[case::url_signs("postgres://u:p@ss/w0rd@db/x", "postgres://u:[redacted]@db/x")]
#[case::url_port("http://host:8080/a@b", "http://host:8080/a@b")]
#[case::json(r#"{"password":"hunter2","a":1}"#, r#"{"password":"[redacted]","a":1}"#)]
#[case::escaped_json(
    r#"{"content":"{\"api_key\": \"abc123\"}"}"#,
    r#"{"content":"{\"api_key\": \"[redacted]\"}"}"#
)]
#[case::escaped_quote(r#"{"password":"hun\"ter2","a":1}"#, r#"{"password":"[redacted]","a":1}"#)]
#[case::shell("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=[redacted] ./run")]
#[case::after_a_line_break(
    r#"{"content":"x\nDB_PASS=hunter2\n"}"#,
    r#"{"content":"x\nDB_PASS=[redacted]\n"}"#
)]
#[case::token_after_a_line_break(
    r#"{"stdout":"x\nghp_0123456789abcdefghijklmnopqrstuvwxyz\n"}"#,
    r#"{"stdout":"x\n[key]\n"}"#
)]
#[case::coloured(
    "\u{1b}[32mghp_0123456789abcdefghijklmnopqrstuvwxyz\u{1b}[0m",
    "\u{1b}[32m[key]\u{1b}[0m"
)]
#[case::flag("mysql -u root --password hunter2", "mysql -u root --password [redacted]")]
#[case::flag_quoted("tool --password 'hunter 2' x", "tool --password '[redacted]' x")]
#[case::flag_in_a_list(r#"["--password", "hunter2"]"#, r#"["--password", "[redacted]"]"#)]
#[case::flag_in_prose("use --token to pass it", "use --token to pass it")]
#[case::harmless("the token count is 12", "the token count is 12")]
#[case::grep(".env:3:API_URL=https://x y", ".env:3:API_URL=[redacted]")]
#[case::php("define('DB_PASS', 'hunter2');", "define('DB_PASS', '[redacted]');")]
#[case::netrc("machine h login bob password hunter2", "machine h login bob password [redacted]")]
#[case::pgpass("db.example:5432:app:bob:hunter2", "db.example:5432:app:bob:[redacted]")]
#[case::pem(
    "a -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY----- b",
    "a [private key] b"
)]
#[case::pem_without_end("-----BEGIN PRIVATE KEY-----\nMIIE", "[private key]")]
#[case::pgp(
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----\nb",
    "[private key]\nb"
)]
#[case::certificate("-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE")]
fn a_secret_is_taken_out(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redacted(text, 4_096, false), expected);
    assert_eq!(redacted(expected, 4_096, false), expected, "what was hidden stays as it is");
}

#[rstest]
#[case(r#"{"content":"A=1\nB_C=two words\n"}"#, r#"{"content":"A=[redacted]\nB_C=[redacted]\n"}"#)]
#[case("FOO=bar", "FOO=[redacted]")]
fn in_a_dotenv_file_every_value_is_taken_out(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redacted(text, 4_096, true), expected);
}

#[rstest]
#[case("/app/.env", true)]
#[case("cat .env.local", true)]
#[case("process.environment", false)]
#[case("process.env.TOKEN", false)]
#[case("os.env_var", false)]
fn a_dotenv_file_is_recognised(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(names_dotenv(text), expected);
    // Wherever it stands in a long text.
    for n in 0..40 {
        let text = format!("{}{text}{}", ".e".repeat(n), " ".repeat(40 - n));
        assert_eq!(names_dotenv(&text), expected, "{text}");
    }
}

#[test]
fn a_secret_across_the_cut_does_not_survive() {
    let text = format!("{}sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "x ".repeat(50));
    assert!(!redacted(&text, 110, false).contains("sk-ant"));
}

#[test]
fn keys_with_different_secrets_stay_different_and_others_stay_themselves() {
    let one = "/w/ghp_0123456789abcdefghijklmnopqrstuvwxyz/a.rs";
    let other = "/w/ghp_9876543210abcdefghijklmnopqrstuvwxyz/a.rs";
    assert_eq!(key("/w/src/a.rs"), "/w/src/a.rs");
    assert!(!key(one).contains("ghp_"));
    assert_ne!(key(one), key(other));
}

#[rstest]
#[case::name("PreToolUse", true)]
#[case::path("src/lib.rs", true)]
#[case::id("a1b2-c3d4_e5", true)]
#[case::assignment("pw=hunter2", false)]
#[case::url("a://b:c@d", false)]
#[case::shortest_token("xoxb-0a1b2c3d4e", false)]
fn a_short_name_is_clean_at_a_glance(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(is_short_name(text), expected);
    assert_eq!(key(text) == text, expected);
    assert_eq!(is_clean(text), expected);
}

#[rstest]
#[case::plain("password=\"", " hunter2 ", "password=\"[redacted]")]
#[case::long_characters("password='", "é€😀", "password='[redacted]")]
fn a_quote_that_never_ends_hides_its_whole_line(
    #[case] before: &str,
    #[case] value: &str,
    #[case] expected: &str,
) {
    let text = format!("{before}hunter2{}\nnext", value.repeat(8_000));
    assert_eq!(clean(&text), format!("{expected}\nnext"));
}

#[test]
fn a_long_value_with_escaped_quotes_stays_json() {
    let value = format!("hunter2{}\"a\\\"", "x y".repeat(8_000));
    let text = serde_json::json!({"password": value, "z": 1}).to_string();
    let out = clean(&text);
    assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{}", &out[..100]);
    assert!(!out.contains("hunter2") && !out.contains("x y"), "{}", &out[..100]);
}

#[test]
fn the_table_has_many_issuers_and_every_form_is_found() {
    let mut issuers: Vec<&str> = FORMS.iter().map(|form| form.issuer).collect();
    issuers.dedup();
    assert!(issuers.len() >= 60, "{}", issuers.len());
    for form in FORMS {
        let token = made_up(form);
        let text = format!("token is {token} there");
        assert!(!redacted(&text, 4_096, false).contains(&token), "{}: {token}", form.issuer);
        let short: String = token.chars().take(form.prefix.len() + form.at_least / 2).collect();
        let text = format!("see {short} there");
        assert_eq!(redacted(&text, 4_096, false), text, "{}: half a token is a word", form.issuer);
    }
}

/// A token of this form: as long as the issuer says, with digits and letters of its alphabet.
fn made_up(form: &Form) -> String {
    let letters = match form.alphabet {
        Alphabet::Hex => "0a1b2c3d4e5f6789",
        Alphabet::Upper => "A7B2C9D4E1FGH3",
        Alphabet::Lower => "a7b2c9d4e1fgh3",
        _ => "Za7Yb2Xc9Wd4Ve1Uf",
    };
    form.prefix.chars().chain(letters.chars().cycle().take(form.at_least)).collect()
}

/// What our own rules look for, to be mixed.
const PIECES: &[&str] = &[
    "password",
    "=",
    ":",
    " ",
    "\"",
    "'",
    "\\",
    "\\\"",
    "n",
    "é",
    "😀",
    "://",
    "@",
    "/",
    "bearer ",
    "basic ",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "--token",
    "curl -u ",
    "mysql -p",
    "eyJ",
    "ghp_",
    "cookie:",
    ";",
    "authorization: ",
    ".env:",
    "\n",
    "[",
    "]",
    "x1",
    "machine ",
    "login ",
    "$",
    "{",
    "\u{1b}[",
    "us1",
    "SK",
    "identified by '",
    "|",
    ",",
    "echo ",
    "docker login -p ",
    "--password-stdin",
    "AA",
    "12345678",
];

#[test]
fn a_backslash_at_the_end_of_a_value_leaves_json() {
    let text = serde_json::json!({"a": r#"mysql -p""#, "z": r#"mysql -p""#}).to_string();
    assert!(serde_json::from_str::<serde_json::Value>(&clean(&text)).is_ok());
}

proptest! {
    #[test]
    fn any_text_stays_text(text in ".{0,200}", is_dotenv in any::<bool>()) {
        let out = redacted(&text, 150, is_dotenv);
        let broken = out.contains(char::REPLACEMENT_CHARACTER) && !text.contains(char::REPLACEMENT_CHARACTER);
        prop_assert!(!broken);
    }

    #[test]
    fn any_mixture_of_our_words_stays_text(
        pieces in prop::collection::vec(
            prop::sample::select(PIECES),
            0..40,
        ),
        is_dotenv in any::<bool>(),
    ) {
        let text = pieces.concat();
        let out = redacted(&text, 4_096, is_dotenv);
        prop_assert!(!out.contains(char::REPLACEMENT_CHARACTER));
    }

    /// Stored answers and log lines pass the gate again.
    #[test]
    fn any_json_stays_json(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
        name in prop::sample::select(&["password", "a", "cookie", "authorization", "token"][..]),
    ) {
        let text = serde_json::json!({name: pieces.concat(), "z": pieces.concat()}).to_string();
        let out = clean(&text);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{text}\n{out}");
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
