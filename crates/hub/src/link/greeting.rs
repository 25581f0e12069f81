//! How a machine proves itself, or joins.

use crate::keys::{Fingerprint, MachineKeys, Proof};
use crate::wire::{Bytes, Hello, Join, Label, OLDEST, ToHub, Uid, VERSION};

/// Who this machine is.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub machine: Uid,
    pub keys: MachineKeys,
    /// Of the hub's certificate.
    pub hub: Fingerprint,
    /// The first connection brings a token. The ones after it don't.
    pub join: Option<JoinAs>,
}

/// What a machine joins with.
#[derive(Clone, Debug)]
pub struct JoinAs {
    pub token: Bytes,
    pub name: Label,
    pub person: Label,
}

impl Credentials {
    /// The answer to a challenge.
    pub(super) fn greet(&self, nonce: &[u8]) -> ToHub {
        let machine = self.machine.clone();
        let proof = Proof { nonce, hub: &self.hub, machine: machine.as_str() };
        let signature = Bytes(self.keys.sign(proof));
        match &self.join {
            None => ToHub::Hello(Hello { v: VERSION, oldest: OLDEST, machine, signature }),
            Some(JoinAs { token, name, person }) => ToHub::Join(Join {
                v: VERSION,
                oldest: OLDEST,
                machine,
                token: token.clone(),
                name: name.clone(),
                person: person.clone(),
                key: Bytes(self.keys.public()),
                seal: Bytes(self.keys.sealing_public().to_vec()),
                signature,
            }),
        }
    }
}
