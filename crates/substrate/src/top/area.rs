//! Where things are on the screen.

use ratatui::layout::Rect;

/// From this width on, the detail stands beside the list and not below it.
const BESIDE: u16 = 140;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) tabs: Rect,
    /// The titles of the columns.
    pub(super) head: Rect,
    pub(super) list: Rect,
    /// The line above the detail.
    pub(super) rule: Rect,
    pub(super) detail: Rect,
    pub(super) foot: Rect,
}

impl Areas {
    /// The parts of that screen. In a tiny one, the detail goes first, then the titles.
    pub(super) fn of(all: Rect) -> Self {
        let Rect { x, y, width, height } = all;
        let body = height.saturating_sub(2);
        let row = |top: u16, height: u16| Rect { x, y: y + top, width, height };
        let (tabs, foot) =
            (row(0, height.min(1)), row(height.saturating_sub(1), u16::from(height > 1)));
        if width >= BESIDE {
            let left = width - width * 2 / 5;
            let half = |from: u16, width: u16, top: u16, height: u16| Rect {
                x: x + from,
                y: y + top,
                width,
                height,
            };
            let head = u16::from(body >= 4);
            let rows = body - head;
            return Self {
                tabs,
                head: half(0, left - 1, 1, head),
                list: half(0, left - 1, 1 + head, rows),
                rule: half(left + 1, width - left - 1, 1, head),
                detail: half(left + 1, width - left - 1, 1 + head, rows),
                foot,
            };
        }
        let low = if body >= 8 { body * 9 / 20 } else { 0 };
        let head = u16::from(body >= 4);
        let list = body - low - head;
        Self {
            tabs,
            head: row(1, head),
            list: row(1 + head, list),
            rule: row(1 + head + list, low.min(1)),
            detail: row(2 + head + list, low.saturating_sub(1)),
            foot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_any_screen_and_never_overlap() {
        for width in (1..=220).step_by(3).chain([80, 139, 140, 200]) {
            for height in 1..=70 {
                let all = Rect { x: 0, y: 3, width, height };
                let areas = Areas::of(all);
                let parts =
                    [areas.tabs, areas.head, areas.list, areas.rule, areas.detail, areas.foot];
                for (n, one) in parts.iter().enumerate() {
                    assert!(
                        one.is_empty() || all.intersection(*one) == *one,
                        "{width}x{height}: {areas:?}"
                    );
                    let is_apart = |other: &Rect| one.intersection(*other).is_empty();
                    assert!(parts[n + 1..].iter().all(is_apart), "{width}x{height}: {areas:?}");
                }
                assert!(height < 3 || areas.list.height > 0, "{width}x{height}: {areas:?}");
            }
        }
    }
}
