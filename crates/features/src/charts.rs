//! What drawings share. The server draws SVG: widths in per cent, heights in pixels, so that a drawing grows with the
//! page and its text does not.

use std::fmt::Write as _;

/// A number of tenths as SVG writes it: `12` is `1.2`.
pub(crate) fn tenths(n: i64) -> String {
    format!("{}{}.{}", if n < 0 { "-" } else { "" }, n.abs() / 10, n.abs() % 10)
}

/// The points of a line over the whole width of 100, as high as `height` where a value is `max`. Where nothing is known,
/// the line goes on to the next point. A single point is a dash, so that it is seen.
pub(crate) fn line(values: &[Option<i64>], max: i64, height: i64) -> String {
    let steps = i64::try_from(values.len()).unwrap_or(1).max(2) - 1;
    let place = |(n, value): (i64, &Option<i64>)| {
        let up = value.as_ref()?.clamp(&0, &max) * height * 10 / max.max(1);
        Some((n * 1_000 / steps, height * 10 - up))
    };
    let mut points: Vec<(i64, i64)> = (0_i64..).zip(values).filter_map(place).collect();
    if let [(x, y)] = points[..] {
        points.push((if x > 980 { x - 20 } else { x + 20 }, y));
    }
    let mut out = String::new();
    for (x, y) in points {
        let gap = if out.is_empty() { "" } else { " " };
        let _infallible = write!(out, "{gap}{},{}", tenths(x), tenths(y));
    }
    out
}

/// One of several bars beside each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The left edge and the middle, in per cent.
    pub(crate) x: String,
    pub(crate) middle: String,
    pub(crate) width: String,
    /// The upper edge and the height, in pixels.
    pub(crate) y: i64,
    pub(crate) height: i64,
    pub(crate) n: i64,
    /// Where its figure stands, above it.
    pub(crate) label_y: i64,
    pub(crate) has_label: bool,
}

/// Bars beside each other on a ground at `ground` pixels, the highest of `height`. The highest and the last one have a label.
pub(crate) fn columns(values: &[i64], ground: i64, height: i64) -> Vec<Column> {
    let n = i64::try_from(values.len()).unwrap_or(1).max(1);
    let max = values.iter().copied().max().unwrap_or(0);
    let top = values.iter().position(|value| *value == max && max > 0);
    let place = |(at, value): (usize, &i64)| {
        let at_i = i64::try_from(at).unwrap_or(0);
        let (slot, x) = (1_000 / n, at_i * 1_000 / n + 6);
        let tall = if *value == 0 { 0 } else { (value * height / max.max(1)).max(1) };
        Column {
            x: tenths(x),
            middle: tenths(x + (slot - 12) / 2),
            width: tenths(slot - 12),
            y: ground - tall,
            height: tall,
            n: *value,
            label_y: ground - tall - 4,
            has_label: Some(at) == top || at + 1 == values.len(),
        }
    };
    values.iter().enumerate().map(place).collect()
}

/// `48210` is `48,210`.
pub(crate) fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = if n < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `950`, `12.3k`, `1.2M`.
pub(crate) fn short(n: i64) -> String {
    let tenths = |unit: i64, letter: char| format!("{}.{}{letter}", n / unit, n % unit * 10 / unit);
    match n {
        ..1_000 => n.to_string(),
        1_000..1_000_000 => tenths(1_000, 'k'),
        _ => tenths(1_000_000, 'M'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reaches_from_edge_to_edge() {
        assert_eq!(
            line(&[Some(0), None, Some(5), Some(99)], 10, 40),
            "0.0,40.0 66.6,20.0 100.0,0.0"
        );
        assert_eq!(line(&[], 10, 40), "");
        assert_eq!(line(&[Some(3)], 0, 40), "0.0,40.0 2.0,40.0");
        assert_eq!(line(&[None, Some(3)], 0, 40), "100.0,40.0 98.0,40.0");
    }

    #[test]
    fn columns_stand_on_the_ground() {
        let found = columns(&[0, 10, 5, 1], 56, 42);
        let places: Vec<_> = found.iter().map(|one| (one.y, one.height, one.has_label)).collect();
        assert_eq!(places, [(56, 0, false), (14, 42, true), (35, 21, false), (52, 4, true)]);
        assert_eq!((found[1].x.as_str(), found[1].width.as_str()), ("25.6", "23.8"));
        assert!(columns(&[], 56, 42).is_empty());
    }

    #[test]
    fn numbers_are_for_people() {
        assert_eq!(
            [0, 999, 1_000, 48_210, -1_234_567].map(grouped),
            ["0", "999", "1,000", "48,210", "-1,234,567"]
        );
        assert_eq!([950, 12_345, 1_250_000].map(short), ["950", "12.3k", "1.2M"]);
    }
}
