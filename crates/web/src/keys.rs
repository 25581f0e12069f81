//! The keys of browsers. A key is shown once and kept as a digest, so the file that keeps them opens no page.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use substrate_core::Timestamp;

/// How long a key in a URL may be exchanged.
const ONCE_MS: i64 = 5 * 60_000;

/// How long a browser of this machine stays signed in.
const BROWSER_MS: i64 = 30 * 86_400_000;

/// At most this many keys are kept; the ones that were used longest ago go first.
const MAX_KEYS: usize = 200;

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// In a URL: it is exchanged once, for one of the other two.
    Once,
    /// A browser on this machine.
    Browser,
    /// Another device, such as a phone.
    Device,
}

/// Every key, and the secret of the nonces. This is what the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Keys {
    pub(crate) secret: String,
    next: i64,
    keys: Vec<Key>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Key {
    #[serde(flatten)]
    info: KeyInfo,
    digest: String,
    /// What a key in a URL becomes, and how long that lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    becomes: Option<(Kind, i64)>,
}

/// What may be told about a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyInfo {
    pub id: i64,
    pub kind: Kind,
    pub name: String,
    pub made_ms: i64,
    pub expires_ms: i64,
    pub used_ms: i64,
    /// Whether it may change something. Otherwise it only reads.
    pub may_act: bool,
}

/// A new key, for the one who gets it.
#[derive(Clone, Debug)]
pub struct Issued {
    pub key: String,
    pub info: KeyInfo,
}

impl Keys {
    /// Reads the file. What can't be read is no key: browsers sign in again.
    pub fn read(text: &str, random: [u8; 16]) -> Self {
        let mut keys: Self = serde_json::from_str(text).unwrap_or_default();
        if keys.secret.is_empty() {
            keys.secret = hex(&random);
        }
        keys
    }

    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A key for the URL of a browser here.
    pub fn for_browser(&mut self, now: Timestamp, random: [u8; 16]) -> Issued {
        self.once(now, random, "browser", (Kind::Browser, BROWSER_MS), true)
    }

    /// A key for the URL of another device.
    pub fn for_device(
        &mut self,
        now: Timestamp,
        random: [u8; 16],
        name: &str,
        lasts_ms: i64,
        may_act: bool,
    ) -> Issued {
        self.once(now, random, name, (Kind::Device, lasts_ms), may_act)
    }

    fn once(
        &mut self,
        now: Timestamp,
        random: [u8; 16],
        name: &str,
        becomes: (Kind, i64),
        may_act: bool,
    ) -> Issued {
        let expires = now.plus_ms(ONCE_MS);
        self.add(now, random, (Kind::Once, name.to_owned()), expires, may_act, Some(becomes))
    }

    fn add(
        &mut self,
        now: Timestamp,
        random: [u8; 16],
        (kind, name): (Kind, String),
        expires: Timestamp,
        may_act: bool,
        becomes: Option<(Kind, i64)>,
    ) -> Issued {
        self.forget_expired(now);
        self.next += 1;
        let key = hex(&random);
        let (id, expires_ms) = (self.next, expires.0);
        let info = KeyInfo { id, kind, name, made_ms: now.0, expires_ms, used_ms: now.0, may_act };
        self.keys.push(Key { info: info.clone(), digest: digest(&key), becomes });
        if self.keys.len() > MAX_KEYS {
            self.keys.sort_by_key(|key| key.info.used_ms);
            self.keys.remove(0);
        }
        Issued { key, info }
    }

    /// Exchanges the key of a URL for one that lasts. It works once.
    pub fn exchange(&mut self, given: &str, now: Timestamp, random: [u8; 16]) -> Option<Issued> {
        let digest = digest(given);
        let at = self.keys.iter().position(|key| key.digest == digest && key.becomes.is_some())?;
        let Key { info, becomes, .. } = self.keys.remove(at);
        let (kind, lasts_ms) = becomes?;
        if info.expires_ms <= now.0 {
            return None;
        }
        Some(self.add(now, random, (kind, info.name), now.plus_ms(lasts_ms), info.may_act, None))
    }

    /// Whose key that is. A key of a URL opens nothing by itself.
    pub fn holder(&mut self, given: &str, now: Timestamp) -> Option<KeyInfo> {
        let digest = digest(given);
        let key = self.keys.iter_mut().find(|key| key.digest == digest)?;
        if key.becomes.is_some() || key.info.expires_ms <= now.0 {
            return None;
        }
        key.info.used_ms = now.0;
        Some(key.info.clone())
    }

    /// Whether a key still opens pages: a stream asks again and again.
    pub fn is_valid(&self, id: i64, now: Timestamp) -> bool {
        self.keys.iter().any(|key| key.info.id == id && key.info.expires_ms > now.0)
    }

    /// Withdraws one key, or all. Returns how many.
    pub fn revoke(&mut self, id: Option<i64>) -> usize {
        let before = self.keys.len();
        self.keys.retain(|key| id.is_some_and(|id| key.info.id != id));
        before - self.keys.len()
    }

    pub fn all(&mut self, now: Timestamp) -> Vec<KeyInfo> {
        self.forget_expired(now);
        self.keys.iter().map(|key| key.info.clone()).collect()
    }

    fn forget_expired(&mut self, now: Timestamp) {
        self.keys.retain(|key| key.info.expires_ms > now.0);
    }
}

fn digest(key: &str) -> String {
    hex(&Sha256::digest(key))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn keys() -> Keys {
        Keys::read("", [9; 16])
    }

    #[test]
    fn a_key_of_a_url_works_once_and_opens_nothing_itself() {
        let mut keys = keys();
        let once = keys.for_browser(NOW, [1; 16]);
        assert_eq!(keys.holder(&once.key, NOW), None);
        let lasting = keys.exchange(&once.key, NOW, [2; 16]).unwrap();
        assert!(keys.exchange(&once.key, NOW, [3; 16]).is_none());
        assert!(keys.exchange(&lasting.key, NOW, [3; 16]).is_none());
        let holder = keys.holder(&lasting.key, NOW).unwrap();
        assert_eq!((holder.kind, holder.may_act), (Kind::Browser, true));
    }

    #[test]
    fn keys_end() {
        let mut keys = keys();
        let once = keys.for_browser(NOW, [1; 16]);
        assert!(keys.exchange(&once.key, NOW.plus_ms(ONCE_MS), [2; 16]).is_none());
        let once = keys.for_device(NOW, [3; 16], "phone", 1_000, false);
        let phone = keys.exchange(&once.key, NOW, [4; 16]).unwrap();
        assert!(!keys.holder(&phone.key, NOW).unwrap().may_act);
        assert_eq!(keys.holder(&phone.key, NOW.plus_ms(1_000)), None);
        assert!(keys.all(NOW.plus_ms(1_000)).is_empty());
    }

    #[test]
    fn a_revoked_key_opens_nothing_and_the_file_holds_none() {
        let mut keys = keys();
        let once = keys.for_browser(NOW, [1; 16]);
        let one = keys.exchange(&once.key, NOW, [2; 16]).unwrap();
        let once = keys.for_browser(NOW, [3; 16]);
        let two = keys.exchange(&once.key, NOW, [4; 16]).unwrap();
        assert!(!keys.text().contains(&one.key));
        let mut keys = Keys::read(&keys.text(), [8; 16]);
        assert_eq!(keys.secret, hex(&[9; 16]));
        assert_eq!(keys.revoke(Some(one.info.id)), 1);
        assert_eq!(keys.holder(&one.key, NOW), None);
        assert!(keys.holder(&two.key, NOW).is_some());
        assert_eq!(keys.revoke(None), 1);
        assert_eq!(keys.holder(&two.key, NOW), None);
        assert!(!keys.is_valid(two.info.id, NOW));
    }
}
