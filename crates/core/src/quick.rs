//! A hash for tables in memory and for telling two payloads apart. It is cheap, and no defence against one who chooses
//! keys that collide: only the user's own processes talk to the daemon.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashed cheaply.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Multiplies each word and folds the product: the high half depends on all bits.
#[derive(Clone, Copy, Debug)]
pub struct Quick(u64);

const START: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Quick {
    fn default() -> Self {
        Self(START)
    }
}

impl Quick {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        // Adding a constant keeps a word that equals the state from leading to zero.
        self.0 = ((product as u64) ^ (product >> 64) as u64).wrapping_add(START);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::Hash;

    use super::*;

    fn hash(value: impl Hash) -> u64 {
        let mut quick = Quick::default();
        value.hash(&mut quick);
        quick.finish()
    }

    #[test]
    fn values_that_differ_little_have_different_hashes() {
        let mut seen = HashSet::new();
        let text = "a".repeat(64);
        for at in 0..64 {
            for bit in 0..7 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(seen.insert(hash(&bytes[..])));
            }
            assert!(seen.insert(hash(&text[..at])));
        }
        let mut seen = HashSet::new();
        for n in 0..100_000_u64 {
            assert!(seen.insert(hash(n)));
        }
        assert_ne!(hash(("ab", "c")), hash(("a", "bc")));
    }

    #[test]
    fn a_table_finds_its_place_by_few_bits() {
        // A map uses the low bits for the place and the highest seven for a first comparison.
        let mut low = vec![0_u32; 256];
        let mut high = vec![0_u32; 128];
        for n in 0..100_000_u64 {
            let hash = hash(format!("session-{n}").as_str());
            low[(hash & 255) as usize] += 1;
            high[(hash >> 57) as usize] += 1;
        }
        assert!(low.iter().all(|n| (250..560).contains(n)), "{low:?}");
        assert!(high.iter().all(|n| (550..1050).contains(n)), "{high:?}");
    }
}
