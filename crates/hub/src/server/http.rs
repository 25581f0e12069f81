//! The first lines of a connection. Only what the hub needs of HTTP/1.1: a path, and whether it asks for the link.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

/// The name of our frames in `Upgrade`.
const UPGRADE: &str = "substrate-link";

const MAX_HEAD: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);

/// What a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Link,
    Health,
    Metrics,
    Else,
}

/// Reads the head of a request.
pub(super) async fn wanted(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Wanted> {
    let head = timeout(PATIENCE, head(stream)).await??;
    Ok(parse(&head))
}

/// Reads up to an empty line, and not a byte more.
async fn head(stream: &mut (impl AsyncRead + Unpin + ?Sized)) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD {
            return Err(io::Error::other("the head of a request is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

fn parse(head: &str) -> Wanted {
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    if first.next() != Some("GET") {
        return Wanted::Else;
    }
    match first.next() {
        Some("/health") => Wanted::Health,
        Some("/metrics") => Wanted::Metrics,
        Some("/link") => {
            let upgrades = |line: &str| {
                line.split_once(':').is_some_and(|(name, value)| {
                    name.eq_ignore_ascii_case("upgrade") && value.trim() == UPGRADE
                })
            };
            if lines.any(upgrades) { Wanted::Link } else { Wanted::Else }
        }
        _ => Wanted::Else,
    }
}

/// Answers and ends the connection.
pub(super) async fn respond(
    stream: &mut (impl AsyncWrite + Unpin),
    status: &str,
    body: &str,
) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    timeout(PATIENCE, stream.write_all(text.as_bytes())).await??;
    stream.shutdown().await
}

/// From here on, frames.
pub(super) async fn upgrade(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: {UPGRADE}\r\nConnection: Upgrade\r\n\r\n"
    );
    timeout(PATIENCE, stream.write_all(text.as_bytes())).await??;
    stream.flush().await
}

/// The other end of the same: asks for the link and waits until frames may be sent.
pub(crate) async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
) -> io::Result<()> {
    let text = format!(
        "GET /link HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {UPGRADE}\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await?;
    let head = timeout(PATIENCE, head(stream)).await??;
    match head.split(' ').nth(1) {
        Some("101") => Ok(()),
        _ => Err(io::Error::other("the address answers, but not as a hub")),
    }
}

/// Asks for a page. `true`: it was answered well.
pub(crate) async fn get(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin + ?Sized),
    path: &str,
    host: &str,
) -> io::Result<bool> {
    let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await?;
    match head(stream).await?.split(' ').nth(1) {
        Some("200") => Ok(true),
        Some("503") => Ok(false),
        _ => Err(io::Error::other("the address answers, but not as a hub")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("GET /health HTTP/1.1\r\n\r\n", Wanted::Health)]
    #[case("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Wanted::Metrics)]
    #[case("GET /link HTTP/1.1\r\nupgrade: substrate-link\r\n\r\n", Wanted::Link)]
    #[case("GET /link HTTP/1.1\r\n\r\n", Wanted::Else)]
    #[case("POST /health HTTP/1.1\r\n\r\n", Wanted::Else)]
    #[case("\r\n\r\n", Wanted::Else)]
    fn a_request(#[case] head: &str, #[case] expected: Wanted) {
        assert_eq!(parse(head), expected);
    }
}
