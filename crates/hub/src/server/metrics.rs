//! What the hub counts, in the text format of Prometheus. No secrets, no names.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::Code;

macro_rules! counters {
    ($($name:ident $kind:literal $help:literal),+ $(,)?) => {
        /// The counters of a hub process.
        #[derive(Debug, Default)]
        pub(super) struct Metrics {
            $(pub(super) $name: AtomicU64,)+
            refused: [AtomicU64; CODES.len()],
        }

        impl Metrics {
            pub(super) fn text(&self) -> String {
                let mut out = String::new();
                $(
                    let name = concat!("substrate_hub_", stringify!($name));
                    let value = self.$name.load(Ordering::Relaxed);
                    let _infallible = writeln!(out, "# HELP {name} {}\n# TYPE {name} {}\n{name} {value}", $help, $kind);
                )+
                let _infallible = writeln!(out, "# TYPE substrate_hub_refused counter");
                for ((_, code), count) in CODES.iter().zip(&self.refused) {
                    let count = count.load(Ordering::Relaxed);
                    let _infallible = writeln!(out, "substrate_hub_refused{{code=\"{code}\"}} {count}");
                }
                out
            }
        }
    };
}

const CODES: &[(Code, &str)] = &[
    (Code::Version, "version"),
    (Code::Stranger, "stranger"),
    (Code::Revoked, "revoked"),
    (Code::Token, "token"),
    (Code::Name, "name"),
    (Code::Forged, "forged"),
    (Code::Frame, "frame"),
    (Code::Flood, "flood"),
];

counters! {
    connected "gauge" "machines connected now",
    connections "counter" "connections that were opened",
    frames "counter" "frames that machines sent",
    messages_taken "counter" "messages taken from machines",
    messages_handed "counter" "messages handed to machines",
    transactions "counter" "transactions",
    database_errors "counter" "transactions that failed",
}

impl Metrics {
    pub(super) fn refused(&self, code: Code) {
        if let Some(n) = CODES.iter().position(|(known, _)| *known == code) {
            self.refused[n].fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(super) fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}
