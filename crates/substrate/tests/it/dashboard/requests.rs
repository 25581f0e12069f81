//! Every request that is answered or refused, as a table.

use super::{Browser, ask};

/// One request: how it differs from a good one, and the answer.
struct Row {
    name: &'static str,
    line: &'static str,
    /// `{port}` is the port, `{cookie}` the cookie.
    headers: &'static [&'static str],
    body: &'static str,
    expected: u16,
}

const HOST: &str = "Host: 127.0.0.1:{port}";
const COOKIE: &str = "Cookie: {cookie}";
const SAME: &str = "Sec-Fetch-Site: same-origin";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

const fn row(
    name: &'static str,
    line: &'static str,
    headers: &'static [&'static str],
    expected: u16,
) -> Row {
    Row { name, line, headers, body: "", expected }
}

const REQUESTS: &[Row] = &[
    row("a page", "GET /", &[HOST, COOKIE], 200),
    row("by its other name", "GET /", &["Host: localhost:{port}", COOKIE], 200),
    row("a page, head only", "HEAD /", &[HOST, COOKIE], 200),
    row(
        "a link from another site, signed in",
        "GET /",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
        200,
    ),
    row("the stylesheet", "GET /substrate.css", &[HOST], 200),
    row("the script", "GET /substrate.js", &[HOST], 200),
    row("the api", "GET /api/fleet/list", &[HOST, COOKIE], 200),
    row("no host", "GET /", &[COOKIE], 421),
    row("two hosts", "GET /", &[HOST, HOST, COOKIE], 421),
    row("another name that means us", "GET /", &["Host: rebind.example:{port}", COOKIE], 421),
    row("another name, same start", "GET /", &["Host: 127.0.0.1.evil.example:{port}", COOKIE], 421),
    row("a name below ours", "GET /", &["Host: x.localhost:{port}", COOKIE], 421),
    row("without the port", "GET /", &["Host: 127.0.0.1", COOKIE], 421),
    row("another port", "GET /", &["Host: 127.0.0.1:1", COOKIE], 421),
    row("all interfaces", "GET /", &["Host: 0.0.0.0:{port}", COOKIE], 421),
    row("the number as one", "GET /", &["Host: 2130706433:{port}", COOKIE], 421),
    row("IPv6", "GET /", &["Host: [::1]:{port}", COOKIE], 421),
    row("upper case", "GET /", &["Host: LOCALHOST:{port}", COOKIE], 421),
    row("a dot at the end", "GET /", &["Host: localhost.:{port}", COOKIE], 421),
    row("a proxy's form", "GET http://rebind.example/", &[HOST, COOKIE], 421),
    row("a stream by another name", "GET /stream", &["Host: rebind.example:{port}", COOKIE], 421),
    row("a file by another name", "GET /substrate.css", &["Host: rebind.example:{port}"], 421),
    row("no cookie", "GET /", &[HOST], 401),
    row("no cookie, the api", "GET /api/fleet/list", &[HOST], 401),
    row("no cookie, a stream", "GET /stream", &[HOST], 401),
    row("no cookie, a form", "POST /do/fleet/check", &[HOST, SAME, FORM], 401),
    row(
        "another cookie",
        "GET /",
        &[HOST, "Cookie: substrate-{port}=00000000000000000000000000000000"],
        401,
    ),
    row("an empty cookie", "GET /", &[HOST, "Cookie: substrate-{port}="], 401),
    row("the cookie of another port", "GET /", &[HOST, "Cookie: substrate-1=x"], 401),
    row("no key", "GET /enter", &[HOST], 403),
    row("a wrong key", "GET /enter?key=ffffffffffffffffffffffffffffffff", &[HOST], 403),
    row("a key by head", "HEAD /enter?key=x", &[HOST], 403),
    row("a key by prefetch", "GET /enter?key=x", &[HOST, "Sec-Purpose: prefetch"], 403),
    row(
        "another site loads a page",
        "GET /",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        403,
    ),
    row(
        "another port loads the api",
        "GET /api/fleet/list",
        &[HOST, COOKIE, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
        403,
    ),
    row(
        "another site streams",
        "GET /stream",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"],
        403,
    ),
    row(
        "a form of another site",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: cross-site"],
        403,
    ),
    row(
        "a form of another port",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: same-site"],
        403,
    ),
    row("a form without a sender", "POST /do/fleet/check", &[HOST, COOKIE, FORM], 403),
    row(
        "a form of another origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Origin: http://evil.example"],
        403,
    ),
    row("a form of no origin", "POST /do/fleet/check", &[HOST, COOKIE, FORM, "Origin: null"], 403),
    row(
        "both, and one does not fit",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: http://evil.example"],
        403,
    ),
    row("a form without a nonce", "POST /do/fleet/check", &[HOST, COOKIE, FORM, SAME], 403),
    row(
        "our origin, no nonce",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Origin: http://127.0.0.1:{port}"],
        403,
    ),
    row(
        "plain text",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: text/plain"],
        415,
    ),
    row(
        "a file form",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: multipart/form-data; boundary=x"],
        415,
    ),
    row("no type", "POST /do/fleet/check", &[HOST, COOKIE, SAME], 415),
    row("a form to a page", "POST /", &[HOST, COOKIE, SAME, FORM], 405),
    row("PUT", "PUT /", &[HOST, COOKIE, SAME], 405),
    row("DELETE", "DELETE /", &[HOST, COOKIE, SAME], 405),
    row(
        "a question before a request",
        "OPTIONS /api/fleet/list",
        &[HOST, COOKIE, "Origin: http://evil.example", "Access-Control-Request-Method: GET"],
        405,
    ),
    row("TRACE", "TRACE /", &[HOST, COOKIE], 405),
    row("up a folder", "GET /../ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder, encoded", "GET /%2e%2e/ui-keys.json", &[HOST, COOKIE], 400),
    row("an encoded slash", "GET /mail%2f1", &[HOST, COOKIE], 400),
    row("two slashes", "GET //evil.example/", &[HOST, COOKIE], 400),
    row("a zero", "GET /mail%00", &[HOST, COOKIE], 400),
    row("a backslash", "GET /a%5cb", &[HOST, COOKIE], 400),
    row("a file of the state home", "GET /subtrate.db", &[HOST, COOKIE], 404),
    row("no such page", "GET /nowhere", &[HOST, COOKIE], 404),
    row("no such command", "GET /api/no/such", &[HOST, COOKIE], 404),
    row("a hidden command", "GET /api/supervise", &[HOST, COOKIE], 404),
    row("a command that writes, read", "GET /api/send?to=User&body=x", &[HOST, COOKIE], 405),
    row("a field that is not there", "GET /api/fleet/list?nonsense=1", &[HOST, COOKIE], 422),
    row("a value that does not fit", "GET /api/journal/list?limit=many", &[HOST, COOKIE], 422),
    row("a stream from nowhere", "GET /stream?after=x", &[HOST, COOKIE], 400),
    row(
        "our own address as a proxy sends it",
        "GET http://127.0.0.1:{port}/",
        &[HOST, COOKIE],
        200,
    ),
    row("a name before ours", "GET /", &["Host: evil.example@127.0.0.1:{port}", COOKIE], 421),
    row("our name among others", "GET /", &["Host: 127.0.0.1:{port}, evil.example", COOKIE], 421),
    row("an empty host", "GET /", &["Host:", COOKIE], 421),
    row("the number in hex", "GET /", &["Host: 0x7f000001:{port}", COOKIE], 421),
    row("another loopback address", "GET /", &["Host: 127.0.0.2:{port}", COOKIE], 421),
    row("a name of IPv4 in IPv6", "GET /", &["Host: [::ffff:127.0.0.1]:{port}", COOKIE], 421),
    row(
        "a forwarded host does not count",
        "GET /",
        &["Host: rebind.example:{port}", "X-Forwarded-Host: 127.0.0.1:{port}", COOKIE],
        421,
    ),
    row(
        "a form by another name",
        "POST /do/fleet/check",
        &["Host: rebind.example:{port}", COOKIE, SAME, FORM],
        421,
    ),
    row("a key in the address of a page", "GET /?key={cookie}", &[HOST], 401),
    row("a key in another header", "GET /", &[HOST, "Authorization: Bearer {cookie}"], 401),
    row("a cookie of another name", "GET /", &[HOST, "Cookie: session=x; other=y"], 401),
    row(
        "two cookies, the first is wrong",
        "GET /",
        &[HOST, "Cookie: substrate-{port}=x; {cookie}"],
        401,
    ),
    row(
        "another site frames a page",
        "GET /",
        &[
            HOST,
            COOKIE,
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Mode: no-cors",
            "Sec-Fetch-Dest: iframe",
        ],
        403,
    ),
    row(
        "another site loads the script",
        "GET /substrate.js",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        403,
    ),
    row("an unknown word for a site", "GET /", &[HOST, COOKIE, "Sec-Fetch-Site: trusted"], 403),
    row(
        "our other name as the origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: http://localhost:{port}"],
        403,
    ),
    row(
        "our address over TLS as the origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: https://127.0.0.1:{port}"],
        403,
    ),
    row(
        "a sandboxed page of another site",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: cross-site", "Origin: null"],
        403,
    ),
    row(
        "a hidden origin of nowhere",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: none", "Origin: null"],
        403,
    ),
    row(
        "JSON of another origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, "Content-Type: application/json", "Origin: http://evil.example"],
        403,
    ),
    row(
        "JSON that hides its type",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: text/plain; application/json"],
        415,
    ),
    row("a key exchanged by a form", "POST /enter?key=x", &[HOST, SAME, FORM], 403),
    row("a method of its own", "PROPFIND /", &[HOST, COOKIE], 405),
    row("a form to the api", "POST /api/fleet/list", &[HOST, COOKIE, SAME, FORM], 405),
    row("up a folder after a file", "GET /substrate.css/../ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder, encoded twice", "GET /%252e%252e/ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder with a parameter", "GET /..;/ui-keys.json", &[HOST, COOKIE], 400),
    row("a folder of the machine", "GET /etc/passwd", &[HOST, COOKIE], 404),
    row("the socket", "GET /daemon.sock", &[HOST, COOKIE], 404),
    row("a way up in a command", "GET /api/../enter", &[HOST, COOKIE], 400),
];

#[test]
fn every_request_gets_the_answer_of_the_table() {
    let browser = Browser::new();
    let fill = |text: &str| {
        text.replace("{port}", &browser.port.to_string()).replace("{cookie}", &browser.cookie)
    };
    let mut wrong = Vec::new();
    for Row { name, line, headers, body, expected } in REQUESTS {
        let headers: String =
            headers.iter().map(|header| format!("{}\r\n", fill(header))).collect();
        let line = fill(line);
        let answer = ask(browser.port, &format!("{line} HTTP/1.1\r\n{headers}"), body);
        if answer.status != *expected {
            wrong.push(format!("{name}: {} and not {expected}", answer.status));
        }
        let head = answer.head.to_lowercase();
        for needed in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            if !head.contains(needed) {
                wrong.push(format!("{name}: no {needed}"));
            }
        }
        if head.contains("access-control-") || answer.body.contains(" style=") {
            wrong.push(format!("{name}: it has what it must not have"));
        }
    }
    assert!(REQUESTS.len() >= 90, "{}", REQUESTS.len());
    assert_eq!(wrong, Vec::<String>::new());
}
