//! How large a window is, and how far it is from where the client compacts. Pure.

use substrate_core::Settings;

/// The window of most models.
const USUAL: i64 = 200_000;

/// The window of a model whose name ends in `[1m]`.
const LARGE: i64 = 1_000_000;

/// How full a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Tokens in use, and tokens that there are.
    pub(crate) used: i64,
    pub(crate) size: i64,
    pub(crate) percent_of_window: i64,
    /// 100 is where the client compacts by itself.
    pub(crate) percent_of_compaction: i64,
}

impl Usage {
    pub(super) fn of(used: i64, size: i64, settings: &Settings) -> Self {
        let size = match settings.int("context.window") {
            0 => size.max(1),
            own => own,
        };
        let compacts_at = settings.int("context.compacts_at").clamp(1, 100);
        let percent = used.saturating_mul(100) / size;
        Self {
            used,
            size,
            percent_of_window: percent,
            percent_of_compaction: used.saturating_mul(10_000) / size.saturating_mul(compacts_at),
        }
    }
}

/// The size of a model's window, as its name says it.
pub(super) fn by_name(model: &str) -> i64 {
    if model.to_lowercase().contains("[1m]") { LARGE } else { USUAL }
}

/// The size, if the client did not report it. A window with more tokens than fit the usual one is the larger one.
pub(super) fn guessed(model: &str, used: i64) -> i64 {
    if used > USUAL { LARGE } else { by_name(model) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use substrate_core::settings::{Layer, Scope};

    use super::*;

    #[rstest]
    #[case("claude-opus-5-5", 1, 200_000)]
    #[case("claude-sonnet-4-6[1m]", 1, 1_000_000)]
    #[case("claude-sonnet-4-6[1M]", 1, 1_000_000)]
    #[case("", 1, 200_000)]
    #[case("claude-opus-5-5", 200_001, 1_000_000)]
    fn a_model_has_a_window(#[case] model: &str, #[case] used: i64, #[case] size: i64) {
        assert_eq!(guessed(model, used), size);
    }

    #[rstest]
    #[case::empty("", 0, 0, 0)]
    #[case::eighty("", 132_800, 66, 80)]
    #[case::ninety("", 149_400, 74, 90)]
    #[case::compacts("", 166_000, 83, 100)]
    #[case::own_size("[context]\nwindow = 100_000\n", 83_000, 83, 100)]
    #[case::own_point("[context]\ncompacts_at = 50\n", 50_000, 25, 50)]
    #[case::nonsense("[context]\ncompacts_at = 0\n", 2_000, 1, 100)]
    fn usage_is_counted(
        #[case] toml: &str,
        #[case] used: i64,
        #[case] of_window: i64,
        #[case] of_compaction: i64,
    ) {
        let keys = crate::keys();
        let settings = Settings::resolve(&keys, &[&Layer::read(Scope::User, "t", toml, &keys)]);
        assert!(settings.problems.is_empty(), "{:?}", settings.problems);
        let usage = Usage::of(used, 200_000, &settings);
        assert_eq!(
            (usage.percent_of_window, usage.percent_of_compaction),
            (of_window, of_compaction)
        );
    }
}
