//! This machine in a team: what joining left on its disk, and the thread of its link to the hub.

mod envelope;
mod thread;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use substrate_hub::dial::Target;
use substrate_hub::keys::MachineKeys;
use substrate_hub::link::Credentials;
use substrate_hub::wire::{Bytes, Label, Uid};

pub(crate) use self::envelope::{Outgoing, envelope, opened};
pub(crate) use self::thread::{Channels, start};

use crate::config::Home;
use crate::fsx;

/// What joining left on this machine. It has the private keys.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) machine: Uid,
    pub(crate) name: Label,
    pub(crate) team: Uid,
    pub(crate) addresses: Vec<String>,
    pub(crate) plain: bool,
    pub(crate) fingerprint: Bytes,
    pub(crate) seeds: Bytes,
}

impl Membership {
    fn path(home: &Home) -> PathBuf {
        home.root().join("team.json")
    }

    /// `None`: this machine is in no team, or the file can't be read.
    pub(crate) fn read(home: &Home) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(Self::path(home)).ok()?).ok()
    }

    pub(crate) fn keep(&self, home: &Home) -> std::io::Result<()> {
        let text = serde_json::to_string(self).map_err(std::io::Error::other)?;
        fsx::replace(&Self::path(home), text.as_bytes(), 0o600)
    }

    /// Removes what joining left.
    pub(crate) fn forget(home: &Home) -> std::io::Result<()> {
        fsx::remove(&Self::path(home))
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            addresses: self.addresses.clone(),
            plain: self.plain,
            fingerprint: self.fingerprint.0.as_slice().try_into().unwrap_or([0; 32]),
        }
    }

    /// `None` if the keys are damaged.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        let seeds: [u8; 64] = self.seeds.0.as_slice().try_into().ok()?;
        Some(Credentials {
            machine: self.machine.clone(),
            keys: MachineKeys::from_seeds(&seeds),
            hub: self.target().fingerprint,
            join: None,
        })
    }
}
