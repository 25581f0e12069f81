//! Durations as people type them in commands.

use substrate_core::VerbError;
use substrate_core::text::one_line;
use substrate_core::time::parse_span;

/// A typed duration in milliseconds: `30s`, `10m`, `1h30m`.
pub(crate) fn typed_ms(text: &str) -> Result<i64, VerbError> {
    parse_span(text).ok_or_else(|| {
        VerbError::user(
            format!("`{}` is not a duration", one_line(&text.replace('`', "'"), 40)),
            "write it like `30s`, `10m` or `1h`",
        )
    })
}
