//! Which file lookups are running, and which of them hang. Where one hangs, few others are started, so a mount that
//! never answers costs a few threads and not all of them.

use std::collections::HashMap;

/// Lookups below one folder at the same time. More would only wait for the same disk, and hang with it.
const MAX_AT_ONCE: usize = 4;

/// The lookups that are running.
#[derive(Debug, Default)]
pub(super) struct Hangs {
    looks: HashMap<u64, Lookup>,
    n_ever: u64,
}

#[derive(Debug)]
struct Lookup {
    folders: Vec<Box<str>>,
    who: Box<str>,
    hangs: bool,
}

/// Whether a lookup may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Begin,
    /// Once another one has ended.
    Wait,
    /// It would hang as well.
    Refuse,
}

impl Hangs {
    /// Whether `who` may look below that folder. An actor whose own lookup hangs there can't start a second one. Others
    /// can, until every slot is taken by a lookup that hangs.
    pub(super) fn may(&self, folder: &str, who: &str) -> Admission {
        let is_here = |look: &&Lookup| look.folders.iter().any(|other| **other == *folder);
        let (mut n, mut n_hang) = (0, 0);
        for look in self.looks.values().filter(is_here) {
            if look.hangs && *look.who == *who {
                return Admission::Refuse;
            }
            n += 1;
            n_hang += usize::from(look.hangs);
        }
        match n {
            n if n < MAX_AT_ONCE => Admission::Begin,
            n if n == n_hang => Admission::Refuse,
            _ => Admission::Wait,
        }
    }

    /// Registers a lookup and returns its number.
    pub(super) fn begin(&mut self, folders: Vec<Box<str>>, who: &str) -> u64 {
        self.n_ever += 1;
        self.looks.insert(self.n_ever, Lookup { folders, who: who.into(), hangs: false });
        self.n_ever
    }

    /// The lookup did not return in time from that folder. Its other folders are free again.
    pub(super) fn hangs(&mut self, id: u64, folder: Option<Box<str>>) {
        if let Some(look) = self.looks.get_mut(&id) {
            look.hangs = true;
            look.folders =
                folder.map_or_else(|| std::mem::take(&mut look.folders), |one| vec![one]);
        }
    }

    /// The lookup returned.
    pub(super) fn end(&mut self, id: u64) {
        self.looks.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(hangs: &mut Hangs, folder: &str, who: &str) -> u64 {
        hangs.begin(vec![folder.into()], who)
    }

    #[test]
    fn who_hangs_begins_no_second_look_and_others_do() {
        let mut table = Hangs::default();
        let id = begin(&mut table, "/p", "lion");
        assert_eq!(table.may("/p", "lion"), Admission::Begin, "it may come back any moment");
        table.hangs(id, None);
        assert_eq!(table.may("/p", "lion"), Admission::Refuse);
        assert_eq!(table.may("/p", "otter"), Admission::Begin, "perhaps only that one file hangs");
        assert_eq!(table.may("/q", "lion"), Admission::Begin);
        table.end(id);
        assert_eq!(table.may("/p", "lion"), Admission::Begin);
    }

    #[test]
    fn a_folder_has_a_few_slots_and_when_all_hang_no_lookup_waits_for_one() {
        let mut table = Hangs::default();
        let ids: Vec<u64> =
            (0..MAX_AT_ONCE).map(|n| begin(&mut table, "/p", &n.to_string())).collect();
        assert_eq!(table.may("/p", "one more"), Admission::Wait);
        assert_eq!(table.may("/q", "one more"), Admission::Begin);
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(table.may("/p", "one more"), Admission::Wait, "{n} hang");
            table.hangs(*id, None);
        }
        assert_eq!(table.may("/p", "one more"), Admission::Refuse);
        table.end(ids[0]);
        assert_eq!(table.may("/p", "one more"), Admission::Begin);
    }

    #[test]
    fn only_the_folder_that_hangs_is_closed() {
        let mut table = Hangs::default();
        let id = table.begin(vec!["/p".into(), "/mnt/dead".into()], "lion");
        table.hangs(id, Some("/mnt/dead".into()));
        assert_eq!(table.may("/p", "lion"), Admission::Begin);
        assert_eq!(table.may("/mnt/dead", "lion"), Admission::Refuse);
    }
}
