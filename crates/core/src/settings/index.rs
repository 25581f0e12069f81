//! Finds a setting by its name.

/// Where each name is, by a digest of it: every event asks for dozens of settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The place of a value plus one, or 0. At most a quarter of the slots is taken.
    slots: Vec<u16>,
}

impl Index {
    pub(super) fn of<T>(values: &[(&str, T)]) -> Self {
        let mut slots = vec![0; (4 * values.len() + 1).next_power_of_two()];
        for (place, (name, _)) in (1..).zip(values) {
            let mut at = digest(name) % slots.len();
            while slots[at] != 0 {
                at = (at + 1) % slots.len();
            }
            slots[at] = place;
        }
        Self { slots }
    }

    pub(super) fn find<'a, T>(&self, values: &'a [(&str, T)], name: &str) -> Option<&'a T> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = digest(name) & mask;
        while let Some(place) = usize::from(self.slots[at]).checked_sub(1) {
            let (known, value) = &values[place];
            if *known == name {
                return Some(value);
            }
            at = (at + 1) & mask;
        }
        None
    }
}

/// Names differ in their length, or at one of their ends.
fn digest(name: &str) -> usize {
    let bytes = name.as_bytes();
    let first = bytes.first_chunk::<8>().map_or(0, |it| u64::from_le_bytes(*it));
    let last = bytes.last_chunk::<8>().map_or(0, |it| u64::from_le_bytes(*it));
    let sum = first.rotate_left(21) ^ last ^ name.len() as u64;
    usize::try_from(sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let names: Vec<String> = (0..200).map(|n| format!("same.{n}.ending")).collect();
        let values: Vec<(&str, usize)> = names.iter().map(String::as_str).zip(0..).collect();
        let index = Index::of(&values);
        for (name, n) in &values {
            assert_eq!(index.find(&values, name), Some(n));
            assert_eq!(index.find(&values, &name[1..]), None);
        }
        assert_eq!(Index::default().find(&values, "same.1.ending"), None);
    }
}
