//! Which version two sides speak.

/// The version of the frames that this program prefers.
pub const VERSION: u32 = 1;

/// The oldest one that it still speaks. One minor version back, always.
pub const OLDEST: u32 = 1;

/// The newest version that both sides speak, each given as (oldest, newest).
pub fn agree(ours: (u32, u32), theirs: (u32, u32)) -> Option<u32> {
    let newest = ours.1.min(theirs.1);
    (newest >= ours.0 && newest >= theirs.0).then_some(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::same((1, 1), (1, 1), Some(1))]
    #[case::machine_is_newer((1, 2), (2, 3), Some(2))]
    #[case::hub_is_newer((2, 3), (1, 2), Some(2))]
    #[case::too_far_apart((3, 4), (1, 2), None)]
    #[case::nonsense((1, 2), (9, 3), None)]
    fn two_sides_agree(
        #[case] ours: (u32, u32),
        #[case] theirs: (u32, u32),
        #[case] on: Option<u32>,
    ) {
        assert_eq!(agree(ours, theirs), on);
        assert_eq!(agree(theirs, ours), on);
    }
}
