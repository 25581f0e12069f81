//! Bytes that are a bit different from others. The same seed gives the same bytes.

/// A long input finds little that a short one does not, and takes longer.
const MAX_LEN: usize = 4 << 10;

/// What readers stumble over.
const TOKENS: &[&[u8]] = &[
    b"$(",
    b")",
    b"`",
    b"'",
    b"\"",
    b"\\",
    b"\n",
    b"{",
    b"}",
    b",",
    b"<<E\n",
    b"<<-'E'\n",
    b"E\n",
    b"((",
    b"))",
    b"${",
    b"$",
    b";",
    b"&&",
    b"||",
    b"|",
    b"&",
    b">",
    b"<(",
    b"case x in a) ",
    b"esac",
    b"[[ ",
    b" ]]",
    b"sh -c '",
    b"eval ",
    b"xargs ",
    b"find . -exec ",
    b"~",
    b"*",
    b"**/",
    b"?",
    b"[",
    b"]",
    b"!",
    b"/",
    b"..",
    b"#",
    b"=",
    b"\"\"\"",
    b"[[",
    b"[",
    b"[[guards.rules]]\n",
    b"\0",
    b"\xff",
    b"\xf0\x9f\xa6\x8a",
    b"\\u0000",
    b"null",
    b"true",
    b"1e999",
    b"-1",
    b"\r\n",
    b"\t",
    b"{\"a\":",
    b"[1,",
    b"\xef\xbb\xbf",
];

/// Small, quick and always the same: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n.max(1)).unwrap_or(1);
        usize::try_from(self.next() % n).unwrap_or(0)
    }
}

/// One of the corpus, changed a few times.
pub(crate) fn mutated(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut out = corpus.get(rng.below(corpus.len())).cloned().unwrap_or_default();
    for _ in 0..=rng.below(6) {
        change(&mut out, corpus, rng);
    }
    out.truncate(MAX_LEN);
    out
}

fn change(out: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(out.len() + 1);
    match rng.below(7) {
        0 => {
            if let Some(byte) = out.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        1 => out.insert(at, u8::try_from(rng.below(256)).unwrap_or(0)),
        2 => {
            let end = (at + 1 + rng.below(8)).min(out.len());
            out.drain(at.min(end)..end);
        }
        // A part once more, maybe often.
        3 => {
            let end = (at + 1 + rng.below(16)).min(out.len());
            let part = out[at.min(end)..end].repeat(1 + rng.below(40));
            out.splice(at..at, part);
        }
        // The beginning of one, the end of another.
        4 => {
            let other = &corpus[rng.below(corpus.len())];
            out.truncate(at);
            out.extend_from_slice(&other[rng.below(other.len() + 1)..]);
        }
        _ => {
            let token = TOKENS[rng.below(TOKENS.len())];
            out.splice(at..at, token.iter().copied());
        }
    }
}
