//! The dashboard as a browser meets it: over HTTP, with a cookie, and with streams.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::sandbox::Sandbox;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A dashboard, and a browser's key to it.
pub(crate) struct Site {
    pub(crate) port: u16,
    cookie: String,
}

/// One answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) first_byte: Duration,
    pub(crate) text: String,
}

impl Site {
    /// Turns the dashboard on, and signs in.
    pub(crate) fn open(sandbox: &Sandbox) -> Result<Self> {
        let url = address(sandbox)?;
        let rest = url.strip_prefix("http://127.0.0.1:").context("it is not on loopback")?;
        let (port, path) = rest.split_once('/').context("it has no path")?;
        let mut site = Self { port: port.parse()?, cookie: String::new() };
        let entered = site.get(&format!("/{path}"))?;
        let cookie = entered.text.split("set-cookie: ").nth(1).context("there is no cookie")?;
        site.cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Ok(site)
    }

    fn ask(&self, path: &str, more: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (port, cookie) = (self.port, &self.cookie);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes())?;
        Ok(stream)
    }

    /// A page, head included, on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        let begun = Instant::now();
        let mut stream = self.ask(path, "Connection: close\r\n")?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        let first_byte = begun.elapsed();
        let mut bytes = first.to_vec();
        stream.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Ok(Answer { status, first_byte, text })
    }

    /// The views of the header, and one address for each kind of page that they lead to.
    pub(crate) fn addresses(&self) -> Result<Vec<String>> {
        let front = self.get("/")?.text;
        let views = front.split("id=\"views\"").nth(1).unwrap_or_default();
        let mut out = links(views.split("</ul>").next().unwrap_or_default());
        ensure!(out.len() >= 3, "the header has no views");
        let mut kinds: BTreeSet<String> = out.iter().map(|address| kind(address)).collect();
        let mut at = 0;
        while let Some(address) = out.get(at).cloned() {
            at += 1;
            let page = self.get(&address)?.text;
            let main = page.split("<main").nth(1).unwrap_or_default();
            out.extend(links(main).into_iter().filter(|link| kinds.insert(kind(link))));
        }
        Ok(out)
    }

    /// The entries after that number, until there are `n`: how long they took.
    pub(crate) fn replay(&self, after: i64, n: usize) -> Result<Duration> {
        let begun = Instant::now();
        let mut stream = self.ask("/stream", &format!("Last-Event-ID: {after}\r\n"))?;
        let (mut n_seen, mut rest, mut chunk) = (0, String::new(), vec![0; 256 << 10]);
        while n_seen < n {
            let read = stream.read(&mut chunk)?;
            ensure!(read > 0, "the stream ended after {n_seen} entries");
            rest.push_str(&String::from_utf8_lossy(&chunk[..read]));
            while let Some((event, after)) = rest.split_once("\n\n") {
                if event.contains("event: entries") {
                    n_seen += event.matches("\"at_ms\":").count();
                }
                rest = after.to_owned();
            }
        }
        Ok(begun.elapsed())
    }

    /// Loads those pages and opens their streams, as tabs do. They read until they are dropped.
    pub(crate) fn tabs(&self, pages: &[String], n: usize) -> Result<Tabs> {
        let n_bytes = Arc::new(AtomicUsize::new(0));
        let mut open = Vec::new();
        for page in pages.iter().cycle().take(n) {
            let loaded = self.get(page)?.text;
            let of = |name: &str| {
                let value = loaded.split(&format!("data-{name}=\"")).nth(1);
                value.and_then(|rest| rest.split('"').next()).context("it is no page of ours")
            };
            let (newest, state) = (of("newest")?, of("state")?);
            let here = page.replace('?', "%3F").replace('&', "%26").replace('=', "%3D");
            let address = format!("/stream?after={newest}&state={state}&page={here}");
            let mut stream = self.ask(&address, "")?;
            stream.set_read_timeout(None)?;
            let (ends, n_bytes) = (stream.try_clone()?, Arc::clone(&n_bytes));
            let read = std::thread::spawn(move || {
                let mut chunk = vec![0; 16 << 10];
                while let Ok(n @ 1..) = stream.read(&mut chunk) {
                    n_bytes.fetch_add(n, Ordering::Relaxed);
                }
            });
            open.push((ends, read));
        }
        Ok(Tabs { open, n_bytes })
    }
}

/// Streams that are open.
pub(crate) struct Tabs {
    open: Vec<(TcpStream, JoinHandle<()>)>,
    n_bytes: Arc<AtomicUsize>,
}

impl Tabs {
    pub(crate) fn n_open(&self) -> usize {
        self.open.iter().filter(|(_, read)| !read.is_finished()).count()
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Tabs {
    fn drop(&mut self) {
        for (stream, read) in self.open.drain(..) {
            let _gone = stream.shutdown(std::net::Shutdown::Both);
            let _panicked = read.join();
        }
    }
}

/// An address that works once.
pub(crate) fn address(sandbox: &Sandbox) -> Result<String> {
    let opened = sandbox.substrate(&["ui", "--no-open", "--format", "json"])?;
    ensure!(opened.status.success(), "no dashboard: {}", String::from_utf8_lossy(&opened.stderr));
    let json: Value = serde_json::from_slice(&opened.stdout)?;
    Ok(json["url"].as_str().context("there is no address")?.to_owned())
}

/// The addresses of our own pages that a text links to.
fn links(html: &str) -> Vec<String> {
    let found = html.split("href=\"/").skip(1).filter_map(|rest| rest.split('"').next());
    let plain = found.map(|link| link.split('#').next().unwrap_or_default().replace("&amp;", "&"));
    plain.filter(|link| !link.contains('.')).map(|link| format!("/{link}")).collect()
}

/// The page and the names of its query's fields. Numbers in paths are one kind.
fn kind(address: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let path: Vec<&str> =
        path.split('/').map(|word| if is_number(word) { "{}" } else { word }).collect();
    let names: BTreeSet<&str> =
        query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    format!("{} {names:?}", path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_kind_are_one() {
        assert_eq!(kind("/mail/4?box=sent"), kind("/mail/12?box=in"));
        assert_ne!(kind("/mail/4"), kind("/mail"));
        assert_ne!(kind("/agent?who=a"), kind("/agent?who=a&span=1h"));
    }

    #[test]
    fn only_pages_of_ours_are_links() {
        let html = r##"<a href="/mail#x"> <a href="/?a=1&amp;b=2"> <link href="/substrate.css"> <a href="#y">"##;
        assert_eq!(links(html), ["/mail", "/?a=1&b=2"]);
    }
}
