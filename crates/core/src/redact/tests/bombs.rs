//! Texts that a slow reader would choke on.

use crate::redact::clean;

/// A shape that repeats up to the wanted size.
const SHAPES: &[&str] = &[
    "a",
    "password: a ",
    "password='a ",
    " ",
    "=",
    ":",
    "-",
    "\\",
    "\"",
    "'",
    "password=\"",
    "token='$",
    "a://a:",
    "a://a:@",
    "a://a:b@c ",
    "eyJ-",
    "eyJ.",
    "sk-",
    "ghp_",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "mysql -p ",
    "curl -u a ",
    "docker login ",
    "cookie: a=",
    "cookie: a=b; ",
    "authorization: ",
    "authorization: x ",
    "bearer ",
    "bearer a",
    "basic aGk6aGk=",
    "password ",
    "password x ",
    "machine login password ",
    "--password ",
    "--token=$a ",
    "\\\\\\\"",
    "token=\\\"",
    "a=",
    "key: a\n",
    ".env:",
    ".env:1:A=",
    "1:1:a:a:",
    "\u{1b}[",
    "\\u001b[",
    "identified by ",
    "é",
    "M",
    "SK",
    "-us1",
    "12345678:A",
    "password: \\",
    "secret_",
    "pat.",
    "AAAAAAAAAAAAAAAAAAAAA",
    "{\"token\":",
    "[\"--password\",",
    "|echo --password-stdin ",
];

/// No clock: a quadratic reader would need minutes for this, and the runner ends a test long before.
#[test]
fn a_large_text_of_any_shape_is_read_in_linear_time() {
    for shape in SHAPES {
        std::hint::black_box(clean(&shape.repeat(60_000 / shape.len())));
    }
}
