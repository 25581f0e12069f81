//! A machine's two keys. Ed25519 proves who is connected; X25519 opens what was sealed for it.

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use x25519_dalek::{PublicKey, StaticSecret};

use super::Fingerprint;

pub const NONCE_BYTES: usize = 32;

/// Both private keys of a machine.
#[derive(Clone)]
pub struct MachineKeys {
    signing_seed: [u8; 32],
    sealing_seed: [u8; 32],
}

impl std::fmt::Debug for MachineKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MachineKeys")
    }
}

/// What a machine signs: this hub, this connection, this machine.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    pub nonce: &'a [u8],
    /// Of the hub's certificate, as this side sees it. A relay with another certificate can't pass a proof on.
    pub hub: &'a Fingerprint,
    pub machine: &'a str,
}

impl Proof<'_> {
    fn text(&self) -> Vec<u8> {
        [b"substrate link 1\0", self.nonce, self.hub, self.machine.as_bytes()].concat()
    }
}

impl MachineKeys {
    /// The keys that a file holds: the two seeds, one after the other.
    pub fn from_seeds(seeds: &[u8; 64]) -> Self {
        let (signing, sealing) = seeds.split_at(32);
        Self {
            signing_seed: signing.try_into().expect("half of 64 is 32"),
            sealing_seed: sealing.try_into().expect("half of 64 is 32"),
        }
    }

    pub fn seeds(&self) -> [u8; 64] {
        let mut out = [0; 64];
        out[..32].copy_from_slice(&self.signing_seed);
        out[32..].copy_from_slice(&self.sealing_seed);
        out
    }

    fn pair(&self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&self.signing_seed).expect("any 32 bytes are a seed")
    }

    /// The half that the hub stores.
    pub fn public(&self) -> Vec<u8> {
        self.pair().public_key().as_ref().to_vec()
    }

    pub fn sealing_secret(&self) -> StaticSecret {
        StaticSecret::from(self.sealing_seed)
    }

    /// What others seal for.
    pub fn sealing_public(&self) -> [u8; 32] {
        PublicKey::from(&self.sealing_secret()).to_bytes()
    }

    pub fn sign(&self, proof: Proof<'_>) -> Vec<u8> {
        self.pair().sign(&proof.text()).as_ref().to_vec()
    }
}

/// Whether the holder of a public key signed that.
pub fn verify(public: &[u8], proof: Proof<'_>, signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(&proof.text(), signature).is_ok()
}

/// Bytes that can't be guessed.
///
/// # Panics
/// If the system has no randomness, where no key would be safe.
pub fn random<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    SystemRandom::new().fill(&mut out).expect("the system has randomness");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_one_key_one_hub_one_connection_and_one_machine() {
        let keys = MachineKeys::from_seeds(&[7; 64]);
        let other = MachineKeys::from_seeds(&[8; 64]);
        let proof = Proof { nonce: &[1; 32], hub: &[2; 32], machine: "m-1" };
        let signature = keys.sign(proof);
        assert!(verify(&keys.public(), proof, &signature));
        assert!(!verify(&other.public(), proof, &signature));
        for forged in [
            Proof { nonce: &[9; 32], ..proof },
            Proof { hub: &[9; 32], ..proof },
            Proof { machine: "m-2", ..proof },
        ] {
            assert!(!verify(&keys.public(), forged, &signature), "{forged:?}");
        }
        assert!(!verify(&[0; 5], proof, &signature));
        assert_eq!(MachineKeys::from_seeds(&keys.seeds()).public(), keys.public());
    }
}
