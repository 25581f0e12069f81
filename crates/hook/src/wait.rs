//! Where waiting is the job: the daemon has announced how long it may take, and may end before it answers. Then its
//! successor is asked, and the request says how long the hook has waited already.

use std::path::Path;
use std::time::{Duration, Instant};

use ipc::{Conn, ConnError, HookRequest, Kind};

/// How often, and how long, a successor is looked for.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    at: Instant,
}

impl Begun {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now() }
    }

    pub(crate) fn waited_ms(self) -> u32 {
        u32::try_from(self.at.elapsed().as_millis()).unwrap_or(u32::MAX)
    }
}

/// Asks the daemon's successor. An error means that there is none, and the hook goes on without an answer.
pub(crate) fn ask_again(
    home: &Path,
    request: &HookRequest<'_>,
    begun: Begun,
    patience: Duration,
) -> Result<Conn, ConnError> {
    for _ in 0..TRIES {
        std::thread::sleep(PAUSE);
        let request = HookRequest { waited_ms: begun.waited_ms(), repeated: true, ..*request };
        let parts = [&request.fixed()[..], request.args, request.cwd, request.env, request.stdin];
        if let Ok(conn) = Conn::open(home, patience)
            && conn.send(Kind::Hook, parts, patience).is_ok()
        {
            return Ok(conn);
        }
    }
    Err(ConnError::Absent)
}
