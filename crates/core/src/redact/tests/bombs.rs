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

/// `cargo test --release -p substrate-core -- --ignored --nocapture a_megabyte` prints the figures.
#[test]
#[ignore = "a measurement, for release builds"]
fn a_megabyte_of_any_shape_is_read_within_tens_of_milliseconds() {
    let mut worst = (0.0, "");
    for shape in SHAPES {
        let text = shape.repeat(1_000_000 / shape.len());
        let began = std::time::Instant::now();
        std::hint::black_box(clean(&text));
        let ms = began.elapsed().as_secs_f64() * 1e3;
        println!("{ms:8.2} ms  {shape:?}");
        if ms > worst.0 {
            worst = (ms, shape);
        }
    }
    println!("worst: {worst:?}");
    assert!(worst.0 < 100.0);
}
