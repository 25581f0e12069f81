//! What to do with a message of another machine: each once, and in the order of its sender.

/// What the receiver does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is here already. Say so again, and do nothing else.
    Duplicate,
    /// Hand it over. If it was the expected one, the next of its sender is expected now.
    Deliver,
    /// Keep it on disk until the earlier ones are here.
    Hold,
}

/// `next` is the number that is expected from this sender, `known` says that a message with this id was stored before.
///
/// A lower number with a new id comes from a machine that was restored from a backup and counts again: its order is lost,
/// but its message is not.
pub const fn arrival(next: i64, n: i64, known: bool) -> Arrival {
    if known {
        Arrival::Duplicate
    } else if n > next {
        Arrival::Hold
    } else {
        Arrival::Deliver
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::expected(5, 5, false, Arrival::Deliver)]
    #[case::again(5, 4, true, Arrival::Duplicate)]
    #[case::held_and_again(5, 9, true, Arrival::Duplicate)]
    #[case::too_early(5, 6, false, Arrival::Hold)]
    #[case::restored_sender(5, 2, false, Arrival::Deliver)]
    #[case::without_order(5, 0, false, Arrival::Deliver)]
    fn a_message(
        #[case] next: i64,
        #[case] n: i64,
        #[case] known: bool,
        #[case] expected: Arrival,
    ) {
        assert_eq!(arrival(next, n, known), expected);
    }
}
