//! Between what the database has and what travels: envelopes, sealed for the machine that they are for.

use serde::Deserialize;
use substrate_hub::keys::{MachineKeys, open, seal};
use substrate_hub::wire::{Bytes, Envelope, Kind, MailId, Uid};

/// A message as the outbox has it.
#[derive(Debug, Deserialize)]
pub(crate) struct Outgoing {
    pub(crate) serial: i64,
    uid: String,
    machine: String,
    n: i64,
    kind: String,
    agent: String,
    body: String,
    /// The key of the far machine, in base64.
    seal: Option<Bytes>,
}

/// A message as the hub carries it. `None` if it can't travel: there is no key to seal it for.
pub(crate) fn envelope(from: &Uid, one: Outgoing) -> Option<(i64, Envelope)> {
    let envelope = Envelope {
        id: MailId::try_from(one.uid).ok()?,
        from: from.clone(),
        to: Uid::try_from(one.machine).ok()?,
        n: one.n,
        kind: Kind::named(&one.kind),
        agent: Uid::try_from(one.agent).ok()?,
        sealed: false,
        body: Bytes(one.body.into_bytes()),
    };
    Some((one.serial, seal(envelope, &one.seal?.0)?))
}

/// The text of a message that came. `None` if it was sealed for another key, changed, or is not text. A body that is not
/// sealed is refused too: the hub, or anyone who writes to its database, could have made it.
pub(crate) fn opened(envelope: &Envelope, keys: &MachineKeys) -> Option<String> {
    if !envelope.sealed {
        return None;
    }
    String::from_utf8(open(envelope, &keys.sealing_secret())?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_sealed_for_its_machine_and_opened_there() {
        let keys = MachineKeys::from_seeds(&[5; 64]);
        let key = serde_json::to_value(Bytes(keys.sealing_public().to_vec())).unwrap();
        let out = json!({"serial": 7, "uid": "018bcfe5-6800-7fff-bfff-ffffffffffff", "machine": "m-2", "n": 1,
                         "kind": "mail", "agent": "CalmOtter", "body": "the eagle", "seal": key});
        let from = Uid::try_from("m-1").unwrap();
        let out = |seal: bool| {
            let mut out = out.clone();
            if !seal {
                out["seal"] = json!(null);
            }
            envelope(&from, serde_json::from_value(out).unwrap())
        };
        let (serial, sent) = out(true).unwrap();
        assert_eq!((serial, sent.sealed), (7, true));
        assert_eq!(opened(&sent, &keys).as_deref(), Some("the eagle"));
        assert_eq!(opened(&sent, &MachineKeys::from_seeds(&[6; 64])), None);
        assert_eq!(opened(&Envelope { sealed: false, ..sent }, &keys), None);
        assert!(out(false).is_none());
    }
}
