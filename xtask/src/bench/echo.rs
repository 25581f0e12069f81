//! A server that answers every hook with nothing: the baseline for the daemon.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use anyhow::{Context as _, Result};
use ipc::frame::HEADER_LEN;
use ipc::{Header, Kind, Reply};

use crate::args::Args;

/// `xtask __echo FOLDER`, until it is killed.
pub(crate) fn run(mut args: Args) -> Result<bool> {
    let folder = args.word().context("no folder")?;
    let listener = UnixListener::bind(Path::new(&folder).join(ipc::place::SOCKET))?;
    let body = Reply::default().bytes();
    let mut answer = Header::bytes(Kind::Reply, body.len()).to_vec();
    answer.extend_from_slice(&body);
    let mut scratch = vec![0; 64 << 10];
    for stream in listener.incoming() {
        let _caller_gone = serve(stream?, &mut scratch, &answer);
    }
    Ok(true)
}

fn serve(mut stream: UnixStream, scratch: &mut [u8], answer: &[u8]) -> std::io::Result<()> {
    let mut n = 0;
    loop {
        n += match stream.read(&mut scratch[n..])? {
            0 => return Ok(()),
            n => n,
        };
        let header = scratch.first_chunk::<HEADER_LEN>().filter(|_| n >= HEADER_LEN);
        if header.and_then(Header::read).is_some_and(|header| n >= HEADER_LEN + header.len) {
            return stream.write_all(answer);
        }
    }
}
