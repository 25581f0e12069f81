//! Texts that a slow reader would choke on.

use std::time::Instant;

use rstest::rstest;

use crate::redact::clean;
use crate::redact::commands::{N_PROGRAMS, name};

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

/// Shapes that are too long to write down: what opens without an end, and every program in one command.
fn long_shapes() -> Vec<String> {
    let words = "x ".repeat(8_300);
    let escapes = (1..180).map(|n| format!("token={}\"x y ", "\\".repeat(n)));
    let programs = (0..N_PROGRAMS).map(|n| format!("{} ", name(n)));
    vec![
        format!("token=\"{words}"),
        format!("token=\\\"{words}"),
        format!("token='{words}"),
        escapes.collect(),
        programs.chain(["login -p ".to_owned()]).collect(),
        format!("{}key=", "p".repeat(60)),
        format!("{}=", "secretoken".repeat(6)),
        format!("authorization: {}\n", "x".repeat(240)),
        format!("password: '{}' ", "passwor tokenpleas yo ".repeat(11)),
    ]
}

/// Four times the text takes about four times as long, where a quadratic reader takes sixteen times. What one measurement
/// may get wrong, eight do not.
#[rstest]
fn a_large_text_of_any_shape_is_read_in_linear_time(#[values(0, 1, 2, 3)] quarter: usize) {
    let origin = Instant::now();
    let took = |text: &str| {
        let begun = ran(origin);
        std::hint::black_box(clean(text));
        ran(origin) - begun
    };
    let shapes = SHAPES.iter().map(|shape| (*shape).to_owned()).chain(long_shapes());
    for shape in shapes.skip(quarter).step_by(4) {
        let large = shape.repeat((1 << 20) / shape.len() + 1);
        let small = &large[..large.floor_char_boundary(1 << 18)];
        let is_linear = (0..8).any(|_| took(&large) < 9.0 * took(small));
        assert!(is_linear, "{}", &shape[..shape.floor_char_boundary(40)]);
    }
}

/// For how many seconds this thread ran, so that it does not matter how busy the machine is. Where the system does not tell,
/// the clock does.
fn ran(origin: Instant) -> f64 {
    // The time of a thread is counted when it gives way.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| origin.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}
