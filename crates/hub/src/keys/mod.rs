//! Who a machine is, how it joins, and bodies that only the far machine can read.

mod invitation;
mod machine;
mod seal;

pub(crate) use invitation::is_loopback;
pub use invitation::{Invitation, InvitationError};
pub use machine::{MachineKeys, NONCE_BYTES, Proof, random, verify};
pub use seal::{open, seal};

/// The SHA-256 of a certificate.
pub type Fingerprint = [u8; 32];

/// The hash of anything, for fingerprints and tokens.
pub fn sha256(bytes: &[u8]) -> Fingerprint {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
