//! Debouncing. Between two turns a client looks idle for a moment, and two clients may have one session open. Only a
//! state that all of them show for half a second counts, and it is reported once.

use std::collections::{HashMap, HashSet};

use substrate_clients::SessionFile;
use substrate_core::{Activity, SafeId, Timestamp};

/// How long a state has to last. Measured: transient ones last up to 0.3 s.
const LASTS_US: u64 = 500_000;

/// The sessions of one folder.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// By pid.
    files: HashMap<u32, SessionFile>,
    shown: HashMap<SafeId, Shown>,
    /// Sessions with a state that was not reported yet.
    open: HashSet<SafeId>,
}

/// The state that a session shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) session: SafeId,
    pub(super) pid: u32,
    pub(super) cwd: String,
    pub(super) now: Activity,
    /// By the client's clock.
    pub(super) since: Timestamp,
    /// When we first saw it, by our clock.
    seen_us: u64,
}

impl Sessions {
    /// This process has a file now.
    pub(super) fn saw(&mut self, file: SessionFile, now_us: u64) {
        let (pid, session) = (file.pid, file.session.clone());
        let before = self.files.insert(pid, file).map(|before| before.session);
        // After `/clear` the same file describes another session.
        for session in before.into_iter().chain([session]) {
            self.look_at(&session, now_us);
        }
    }

    /// This process's file is gone. From now on the other files of its session decide, however long they have shown what
    /// they show.
    pub(super) fn lost(&mut self, pid: u32, now_us: u64, at: Timestamp) {
        if let Some(lost) = self.files.remove(&pid) {
            for file in self.files.values_mut().filter(|file| file.session == lost.session) {
                file.since = file.since.max(at);
            }
            self.look_at(&lost.session, now_us);
        }
    }

    /// Processes that share a session and show more than the others. If one of them is killed, no file changes.
    pub(super) fn to_look_after(&self) -> Vec<u32> {
        let mut known = HashSet::new();
        let sessions = self.files.values().map(|file| &file.session);
        let several: HashSet<&SafeId> =
            sessions.filter(|session| !known.insert(*session)).collect();
        let shown = several.into_iter().filter_map(|session| self.shown.get(session));
        shown.filter(|shown| rank(shown.now) > 0).map(|shown| shown.pid).collect()
    }

    /// Whether this process has a file.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.files.contains_key(&pid)
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.files.keys().copied().collect()
    }

    /// The states that have lasted and were not reported yet. A killed process leaves its file behind, so each process
    /// is checked once more.
    pub(super) fn settled(
        &mut self,
        now_us: u64,
        at: Timestamp,
        is_alive: impl Fn(u32, Option<i64>) -> bool,
    ) -> Vec<Shown> {
        let is_due = |session: &&SafeId| self.due(session).is_some_and(|due| due <= now_us);
        let due: Vec<SafeId> = self.open.iter().filter(is_due).cloned().collect();
        let is_dead =
            |file: &&SessionFile| due.contains(&file.session) && !is_alive(file.pid, file.began);
        let dead: Vec<u32> = self.files.values().filter(is_dead).map(|file| file.pid).collect();
        for pid in dead {
            self.lost(pid, now_us, at);
        }
        let mut out = Vec::new();
        for session in due {
            // Without the process that is gone, the session may show something new.
            if self.due(&session).is_some_and(|due| due <= now_us) {
                self.open.remove(&session);
                out.extend(self.shown.get(&session).cloned());
            }
        }
        out
    }

    /// When the next state will have lasted long enough.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.open.iter().filter_map(|session| self.due(session)).min()
    }

    fn due(&self, session: &SafeId) -> Option<u64> {
        Some(self.shown.get(session)?.seen_us + LASTS_US)
    }

    /// What all processes of a session show together: the strongest state wins.
    fn look_at(&mut self, session: &SafeId, now_us: u64) {
        let files = self.files.values().filter(|file| file.session == *session);
        let shown = files.filter_map(|file| Some((file, file.activity?)));
        let strongest = shown.max_by_key(|(file, now)| (rank(*now), file.since));
        let Some((file, now)) = strongest else {
            self.shown.remove(session);
            self.open.remove(session);
            return;
        };
        let before = self.shown.get(session);
        if before.is_some_and(|before| (before.now, before.since) == (now, file.since)) {
            return;
        }
        let shown = Shown {
            session: session.clone(),
            pid: file.pid,
            cwd: file.cwd.clone(),
            now,
            since: file.since,
            seen_us: now_us,
        };
        self.shown.insert(session.clone(), shown);
        self.open.insert(session.clone());
    }
}

const fn rank(activity: Activity) -> u8 {
    match activity {
        Activity::Idle { in_background: false } => 0,
        Activity::Idle { in_background: true } => 1,
        Activity::Working => 2,
        Activity::Asking(_) => 3,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use substrate_core::Dialog;

    use super::*;

    const IDLE: Activity = Activity::Idle { in_background: false };
    const SHELL: Activity = Activity::Idle { in_background: true };
    const ASKS: Activity = Activity::Asking(Dialog::Permission);

    fn file(pid: u32, session: &str, activity: Option<Activity>, since: i64) -> SessionFile {
        SessionFile {
            pid,
            began: Some(7),
            session: SafeId::new(session).unwrap(),
            cwd: "/repo".to_owned(),
            activity,
            since: Timestamp(since),
        }
    }

    fn activity(word: &str) -> Option<Activity> {
        Some(match word {
            "idle" => IDLE,
            "shell" => SHELL,
            "busy" => Activity::Working,
            "asks" => ASKS,
            _ => return None,
        })
    }

    fn word(activity: Activity) -> &'static str {
        match activity {
            Activity::Idle { in_background: false } => "idle",
            Activity::Idle { in_background: true } => "shell",
            Activity::Working => "busy",
            Activity::Asking(_) => "asks",
        }
    }

    /// Steps like `0 10 s1 idle` (time in ms, pid, session, state) lead to reports like `500 s1 idle`. `gone` removes
    /// the file, `killed` leaves it. The test checks every 50 ms.
    fn told(steps: &[&str]) -> Vec<String> {
        let mut sessions = Sessions::default();
        let (mut out, mut killed) = (Vec::new(), Vec::new());
        let steps: Vec<Vec<&str>> = steps.iter().map(|step| step.split(' ').collect()).collect();
        let time = |step: &[&str]| step[0].parse::<u64>().unwrap();
        for now in (0..4_000).step_by(50) {
            let at = Timestamp(i64::try_from(now).unwrap());
            for step in steps.iter().filter(|step| time(step) == now) {
                let pid: u32 = step[1].parse().unwrap();
                match step[3] {
                    "gone" => sessions.lost(pid, now * 1_000, at),
                    "killed" => killed.push(pid),
                    shows => {
                        sessions.saw(file(pid, step[2], activity(shows), at.0), now * 1_000);
                    }
                }
            }
            let is_due = sessions.next_us().is_some_and(|due| due <= now * 1_000);
            let settled = sessions.settled(now * 1_000, at, |pid, _| !killed.contains(&pid));
            assert!(settled.is_empty() || is_due, "nothing is reported without a wake-up");
            for one in settled {
                out.push(format!("{now} {} {}", one.session, word(one.now)));
            }
        }
        assert_eq!(sessions.next_us(), None, "nothing is left to wake for");
        out
    }

    #[rstest]
    #[case::what_lasts_is_told_once(&["0 10 s1 idle"], &["500 s1 idle"])]
    #[case::esc(&["0 10 s1 busy", "1000 10 s1 idle"], &["500 s1 busy", "1500 s1 idle"])]
    #[case::a_blink(&["0 10 s1 busy", "1000 10 s1 idle", "1300 10 s1 busy"], &["500 s1 busy", "1800 s1 busy"])]
    #[case::no_then_idle(&["0 10 s1 asks", "1000 10 s1 busy", "1100 10 s1 idle"], &["500 s1 asks", "1600 s1 idle"])]
    #[case::nothing_yet(&["0 10 s1 -", "200 10 s1 idle"], &["700 s1 idle"])]
    #[case::cleared(&["0 10 s1 idle", "1000 10 s1 busy", "1100 10 s2 idle"], &["500 s1 idle", "1600 s2 idle"])]
    #[case::closed_before_it_lasted(&["0 10 s1 idle", "200 10 s1 gone"], &[])]
    #[case::a_short_turn_between_two_looks(&["0 10 s1 idle", "1000 10 s1 idle"], &["500 s1 idle", "1500 s1 idle"])]
    #[case::two_sessions(&["0 10 s1 idle", "0 11 s2 busy"], &["500 s1 idle", "500 s2 busy"])]
    #[case::two_terminals_one_works(&["0 10 s1 busy", "100 11 s1 idle"], &["500 s1 busy"])]
    #[case::two_terminals_both_idle(&["0 10 s1 busy", "0 11 s1 idle", "1000 10 s1 shell"], &["500 s1 busy", "1500 s1 shell"])]
    #[case::the_one_that_works_is_closed(&["0 10 s1 busy", "0 11 s1 idle", "1000 10 s1 gone"], &["500 s1 busy", "1500 s1 idle"])]
    #[case::killed(&["0 10 s1 busy", "0 10 s1 killed"], &[])]
    #[case::a_killed_one_does_not_delay_others(&["0 10 s1 busy", "0 10 s1 killed", "0 11 s1 idle"], &["1000 s1 idle"])]
    fn it_is_told(#[case] steps: &[&str], #[case] expected: &[&str]) {
        let mut found = told(steps);
        found.sort_by_key(|line| (line.len(), line.clone()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rewritten_file_that_says_the_same_is_nothing_new() {
        let mut sessions = Sessions::default();
        sessions.saw(file(10, "s1", Some(IDLE), 1), 0);
        sessions.saw(file(10, "s1", Some(IDLE), 1), 400_000);
        assert_eq!(sessions.settled(500_000, Timestamp(9), |_, _| true).len(), 1);
        sessions.saw(file(10, "s1", Some(IDLE), 1), 600_000);
        assert_eq!(sessions.next_us(), None);
    }

    #[test]
    fn of_two_terminals_the_one_that_works_is_looked_after() {
        let mut sessions = Sessions::default();
        sessions.saw(file(10, "s1", Some(IDLE), 1), 0);
        sessions.saw(file(12, "s2", Some(Activity::Working), 1), 0);
        assert!(sessions.to_look_after().is_empty(), "one terminal each");
        sessions.saw(file(11, "s1", Some(IDLE), 2), 0);
        assert!(sessions.to_look_after().is_empty(), "both are idle");
        sessions.saw(file(11, "s1", Some(Activity::Working), 3), 0);
        assert_eq!(sessions.to_look_after(), [11]);
        sessions.lost(11, 0, Timestamp(8));
        assert!(sessions.to_look_after().is_empty());
        let told = sessions.settled(LASTS_US, Timestamp(9), |_, _| true);
        let told = told.iter().find(|shown| shown.pid == 10).unwrap();
        assert_eq!((told.now, told.since), (IDLE, Timestamp(8)), "the turn was over then");
    }
}
