//! Sealed bodies: the hub carries them and can't read them.
//!
//! A fresh X25519 key per message and the receiver's key make a secret, HKDF makes a cipher key of it, and
//! ChaCha20-Poly1305 encrypts. The envelope is authenticated too, so a body can't be moved to another one.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use x25519_dalek::{PublicKey, StaticSecret};

use super::machine::random;
use crate::wire::Envelope;

/// Replaces the body of an envelope with one that only the holder of that key's secret can read. `None` if the key is not
/// one.
pub fn seal(mut envelope: Envelope, receiver: &[u8]) -> Option<Envelope> {
    let receiver = PublicKey::from(<[u8; 32]>::try_from(receiver).ok()?);
    let once = StaticSecret::from(random::<32>());
    let once_public = PublicKey::from(&once);
    let key = cipher(&once, &receiver, &once_public, &receiver)?;
    envelope.sealed = true;
    let mut body = std::mem::take(&mut envelope.body.0);
    key.seal_in_place_append_tag(zero(), Aad::from(context(&envelope)), &mut body).ok()?;
    envelope.body.0 = [once_public.as_bytes().as_slice(), &body].concat();
    Some(envelope)
}

/// The body that was sealed. `None` if it was sealed for another key, or was changed.
pub fn open(envelope: &Envelope, secret: &StaticSecret) -> Option<Vec<u8>> {
    if !envelope.sealed {
        return Some(envelope.body.0.clone());
    }
    let (once_public, body) = envelope.body.0.split_first_chunk::<32>()?;
    let once_public = PublicKey::from(*once_public);
    let key = cipher(secret, &once_public, &once_public, &PublicKey::from(secret))?;
    let mut body = body.to_vec();
    let n = key.open_in_place(zero(), Aad::from(context(envelope)), &mut body).ok()?.len();
    body.truncate(n);
    Some(body)
}

fn cipher(
    mine: &StaticSecret,
    theirs: &PublicKey,
    once: &PublicKey,
    receiver: &PublicKey,
) -> Option<LessSafeKey> {
    let shared = mine.diffie_hellman(theirs);
    if !shared.was_contributory() {
        return None;
    }
    let salt = [once.as_bytes().as_slice(), receiver.as_bytes()].concat();
    let secret = Salt::new(HKDF_SHA256, &salt).extract(shared.as_bytes());
    let key = secret.expand(&[b"substrate seal 1"], &CHACHA20_POLY1305).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(key)))
}

/// Each key encrypts one message, so its nonce may be fixed.
fn zero() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

fn context(envelope: &Envelope) -> Vec<u8> {
    let Envelope { id, from, to, n, kind, agent, .. } = envelope;
    format!("{id} {from} {to} {n} {} {agent}", kind.name()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::MachineKeys;
    use crate::wire::{Bytes, Kind, MailId, Uid};

    fn envelope() -> Envelope {
        let uid = |text: &str| Uid::try_from(text).unwrap();
        Envelope {
            id: MailId::v7(1, [1; 16]),
            from: uid("m-1"),
            to: uid("m-2"),
            n: 4,
            kind: Kind::Mail,
            agent: uid("a-1"),
            sealed: false,
            body: Bytes(b"the eagle has landed".to_vec()),
        }
    }

    #[test]
    fn only_the_receiver_opens_it_and_only_as_it_was_sent() {
        let keys = MachineKeys::from_seeds(&[5; 64]);
        let sealed = seal(envelope(), &keys.sealing_public()).unwrap();
        let secret = keys.sealing_secret();
        assert!(!sealed.body.0.windows(5).any(|part| part == b"eagle"));
        assert_eq!(open(&sealed, &secret).unwrap(), envelope().body.0);
        assert_eq!(open(&sealed, &MachineKeys::from_seeds(&[6; 64]).sealing_secret()), None);
        assert_eq!(open(&Envelope { n: 5, ..sealed.clone() }, &secret), None);
        let mut cut = sealed;
        cut.body.0.truncate(20);
        assert_eq!(open(&cut, &secret), None);
        assert_eq!(seal(envelope(), &[0; 32]), None, "a key of zeros shares no secret");
        assert_eq!(seal(envelope(), b"short"), None);
    }
}
