//! Sixteen bytes at once. Most of a text says nothing to a reader that looks for a few signs, and is passed over in such steps.

use std::ops::BitOr;

#[cfg(not(target_feature = "sse2"))]
use plain as imp;
#[cfg(target_feature = "sse2")]
use sse2 as imp;

/// How many bytes are looked at together.
pub const N: usize = 16;

/// Sixteen bytes of a text.
#[derive(Clone, Copy, Debug)]
pub struct Lanes(imp::Bytes);

/// Which of them are meant: all bits of their byte are set.
#[derive(Clone, Copy, Debug)]
pub struct Marks(imp::Bytes);

impl Lanes {
    /// The bytes from `at` on. `None`: there are fewer.
    #[inline]
    pub fn at(text: &[u8], at: usize) -> Option<Self> {
        text.get(at..)?.first_chunk().map(|bytes| Self(imp::of(bytes)))
    }

    #[inline]
    pub fn equal(self, byte: u8) -> Marks {
        Marks(imp::equal(self.0, imp::all(byte)))
    }

    #[inline]
    pub fn at_most(self, byte: u8) -> Marks {
        Marks(imp::equal(imp::least(self.0, imp::all(byte)), self.0))
    }

    /// Between two bytes, both included. Not all bytes.
    #[inline]
    pub fn between(self, low: u8, high: u8) -> Marks {
        // Moved so that `high` becomes 127, the greatest signed byte: then all of them are above what stands before `low`.
        let moved = imp::plus(self.0, imp::all(127_u8.wrapping_sub(high)));
        Marks(imp::above(moved, imp::all(126_u8.wrapping_sub(high - low))))
    }

    /// With these bits set in each byte.
    #[inline]
    pub fn with(self, bits: u8) -> Self {
        Self(imp::or(self.0, imp::all(bits)))
    }

    /// ASCII letters, digits and `_`.
    #[inline]
    pub fn words(self) -> Marks {
        self.with(0x20).between(b'a', b'z') | self.between(b'0', b'9') | self.equal(b'_')
    }
}

impl BitOr for Marks {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(imp::or(self.0, other.0))
    }
}

impl Marks {
    /// A bit each, the first byte's lowest.
    #[inline]
    pub fn bits(self) -> u32 {
        imp::bits(self.0)
    }

    /// The place of the first, if there is one.
    #[inline]
    pub fn first(self) -> Option<usize> {
        let bits = self.bits();
        (bits != 0).then(|| bits.trailing_zeros() as usize)
    }
}

#[cfg(target_feature = "sse2")]
#[expect(unsafe_code, reason = "it is compiled only for processors that have these instructions")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_min_epu8, _mm_movemask_epi8,
        _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    pub(super) type Bytes = __m128i;

    #[inline]
    pub(super) fn of(bytes: &[u8; 16]) -> Bytes {
        let both = u128::from_le_bytes(*bytes);
        let (low, high) = (both as u64, (both >> 64) as u64);
        // SAFETY: the processor has the instruction, as in all of this module. No pointer is read.
        unsafe { _mm_set_epi64x(high.cast_signed(), low.cast_signed()) }
    }

    #[inline]
    pub(super) fn all(byte: u8) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_set1_epi8(byte.cast_signed()) }
    }

    #[inline]
    pub(super) fn equal(one: Bytes, other: Bytes) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_cmpeq_epi8(one, other) }
    }

    #[inline]
    pub(super) fn least(one: Bytes, other: Bytes) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_min_epu8(one, other) }
    }

    #[inline]
    pub(super) fn plus(one: Bytes, other: Bytes) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_add_epi8(one, other) }
    }

    #[inline]
    pub(super) fn above(one: Bytes, other: Bytes) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_cmpgt_epi8(one, other) }
    }

    #[inline]
    pub(super) fn or(one: Bytes, other: Bytes) -> Bytes {
        // SAFETY: as above.
        unsafe { _mm_or_si128(one, other) }
    }

    #[inline]
    pub(super) fn bits(marks: Bytes) -> u32 {
        // SAFETY: as above.
        unsafe { _mm_movemask_epi8(marks) }.cast_unsigned()
    }
}

/// For other processors, and to compare with.
#[cfg(any(test, not(target_feature = "sse2")))]
mod plain {
    use std::array::from_fn;

    pub(super) type Bytes = [u8; 16];

    pub(super) const fn of(bytes: &[u8; 16]) -> Bytes {
        *bytes
    }

    pub(super) const fn all(byte: u8) -> Bytes {
        [byte; 16]
    }

    pub(super) fn equal(one: Bytes, other: Bytes) -> Bytes {
        from_fn(|at| u8::from(one[at] == other[at]).wrapping_neg())
    }

    pub(super) fn least(one: Bytes, other: Bytes) -> Bytes {
        from_fn(|at| one[at].min(other[at]))
    }

    pub(super) fn plus(one: Bytes, other: Bytes) -> Bytes {
        from_fn(|at| one[at].wrapping_add(other[at]))
    }

    /// Greater, as numbers with a sign.
    pub(super) fn above(one: Bytes, other: Bytes) -> Bytes {
        from_fn(|at| u8::from(one[at].cast_signed() > other[at].cast_signed()).wrapping_neg())
    }

    pub(super) fn or(one: Bytes, other: Bytes) -> Bytes {
        from_fn(|at| one[at] | other[at])
    }

    pub(super) fn bits(marks: Bytes) -> u32 {
        marks.iter().rev().fold(0, |bits, mark| bits << 1 | u32::from(mark >> 7))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: [u8; N], is: impl Fn(u8) -> bool) -> u32 {
        text.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(is(*byte)))
    }

    #[test]
    fn every_byte_is_marked_as_its_own_look_says() {
        for first in 0..=255_u8 {
            let text: [u8; N] =
                std::array::from_fn(|at| first.wrapping_add((at as u8).wrapping_mul(37)));
            let lanes = Lanes::at(&text, 0).unwrap();
            for byte in [0, b'"', 0x1f, 0x7f, 0x80, 0xff] {
                assert_eq!(lanes.equal(byte).bits(), bits(text, |b| b == byte));
                assert_eq!(lanes.at_most(byte).bits(), bits(text, |b| b <= byte));
                let least = plain::least(plain::of(&text), plain::all(byte));
                assert_eq!(plain::bits(plain::equal(least, text)), bits(text, |b| b <= byte));
            }
            let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            assert_eq!(lanes.words().bits(), bits(text, is_word));
            assert_eq!(
                (lanes.between(b'a', b'z') | lanes.equal(b'-')).bits(),
                bits(text, |b| b.is_ascii_lowercase() || b == b'-')
            );
            for (low, high) in [(0, 0), (1, 255), (b'0', b'9'), (120, 140), (128, 255), (255, 255)]
            {
                let is_between = |b: u8| (low..=high).contains(&b);
                assert_eq!(lanes.between(low, high).bits(), bits(text, is_between));
            }
            assert_eq!(lanes.with(0x10).equal(b'=').bits(), bits(text, |b| b"-=".contains(&b)));
            assert_eq!(plain::plus(text, plain::all(3)), text.map(|b| b.wrapping_add(3)));
            let above = plain::above(text, plain::all(3));
            assert_eq!(plain::bits(above), bits(text, |b| b.cast_signed() > 3));
            assert_eq!(plain::or(text, plain::all(1)), text.map(|b| b | 1));
        }
    }

    #[test]
    fn the_first_is_the_lowest() {
        let first = |text: &[u8; N], byte| Lanes::at(text, 0).unwrap().equal(byte).first();
        assert_eq!(first(b"0123456789abcdef", b'0'), Some(0));
        assert_eq!(first(b"0123456789abcdef", b'f'), Some(15));
        assert_eq!(first(b"0123456789abcdef", b'g'), None);
    }

    #[test]
    fn fewer_bytes_are_none() {
        assert!(Lanes::at(&[0; 15], 0).is_none());
        assert!(Lanes::at(&[0; 20], 4).is_some() && Lanes::at(&[0; 20], 5).is_none());
        assert!(Lanes::at(&[0; 20], usize::MAX).is_none());
    }
}
