//! What `hub invite` prints and `team join` reads: an address, a secret that counts once, and the hub's fingerprint.

use thiserror::Error;

use super::{Fingerprint, sha256};
use crate::wire::{Bytes, Uid};

const SECRET_BYTES: usize = 18;

/// Where and how to join.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// `host:port`.
    pub address: String,
    /// Plain text, which is for loopback only.
    pub plain: bool,
    pub secret: [u8; SECRET_BYTES],
    pub fingerprint: Fingerprint,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Invitation({})", self.address)
    }
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvitationError {
    #[error("an invitation looks like `https://host:port#TOKEN`")]
    Shape,
    #[error("the token is damaged; copy the whole line")]
    Token,
    #[error("plain text is for loopback only")]
    PlainText,
}

impl Invitation {
    /// As it is pasted.
    pub fn url(&self) -> String {
        let scheme = if self.plain { "http" } else { "https" };
        let bytes = [&[1], self.secret.as_slice(), &self.fingerprint].concat();
        let check = &sha256(&bytes)[..2];
        let token = crate::wire::to_base64(&[&bytes, check].concat());
        format!("{scheme}://{}#{token}", self.address)
    }

    pub fn parse(text: &str) -> Result<Self, InvitationError> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(InvitationError::Shape)?;
        let (address, token) = rest.split_once('#').ok_or(InvitationError::Shape)?;
        let address = address.trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').ok_or(InvitationError::Shape)?;
        let plain = match scheme {
            "https" => false,
            "http" => true,
            _ => return Err(InvitationError::Shape),
        };
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err(InvitationError::Shape);
        }
        if plain && !is_loopback(host) {
            return Err(InvitationError::PlainText);
        }
        let bytes = crate::wire::from_base64(token).ok_or(InvitationError::Token)?;
        let (body, check) =
            bytes.split_at_checked(1 + SECRET_BYTES + 32).ok_or(InvitationError::Token)?;
        if body[0] != 1 || check != &sha256(body)[..2] {
            return Err(InvitationError::Token);
        }
        Ok(Self {
            address: address.to_owned(),
            plain,
            secret: body[1..=SECRET_BYTES].try_into().expect("the length was checked"),
            fingerprint: body[1 + SECRET_BYTES..].try_into().expect("the length was checked"),
        })
    }

    /// What the hub stores instead of the secret.
    pub fn hash(secret: &[u8]) -> Uid {
        let hex: String = sha256(secret).iter().map(|byte| format!("{byte:02x}")).collect();
        Uid::try_from(hex).expect("64 hex digits are an id")
    }

    /// The secret as the join frame carries it.
    pub fn token(&self) -> Bytes {
        Bytes(self.secret.to_vec())
    }
}

/// Whether a host is this machine itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn invitation(address: &str, plain: bool) -> Invitation {
        Invitation { address: address.to_owned(), plain, secret: [3; 18], fingerprint: [4; 32] }
    }

    #[rstest]
    #[case("hub.example:4433", false)]
    #[case("[::1]:4433", true)]
    #[case("127.0.0.1:1", true)]
    fn an_invitation_survives_the_clipboard(#[case] address: &str, #[case] plain: bool) {
        let it = invitation(address, plain);
        assert_eq!(Invitation::parse(&format!(" {}\n", it.url())), Ok(it));
    }

    #[rstest]
    #[case("https://hub.example:4433", InvitationError::Shape)]
    #[case("ftp://hub.example:4433#AAAA", InvitationError::Shape)]
    #[case("https://hub.example#AAAA", InvitationError::Shape)]
    #[case("https://hub.example:4433#AAAA", InvitationError::Token)]
    #[case("http://hub.example:4433#AAAA", InvitationError::PlainText)]
    fn what_is_not_an_invitation(#[case] text: &str, #[case] expected: InvitationError) {
        assert_eq!(Invitation::parse(text), Err(expected));
    }

    #[test]
    fn a_token_that_was_cut_or_changed_is_noticed() {
        let url = invitation("hub.example:4433", false).url();
        assert_eq!(Invitation::parse(&url[..url.len() - 4]), Err(InvitationError::Token));
        let changed = url.replace("#AQMD", "#AQME");
        assert_eq!(Invitation::parse(&changed), Err(InvitationError::Token));
    }
}
