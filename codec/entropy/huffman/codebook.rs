//! Canonical Huffman codebooks of at most 12 bits a code, by package-merge.

use super::token::{ACTIONS, ALPHABET};
use crate::stream::bytes::Cursor;
use crate::{Error, Result};

/// Longest code. 4096 table entries stay in the first-level cache and in a GPU's shared memory.
pub const MAX_BITS: u32 = 12;

/// Code lengths by token; 0 = the token does not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codebook {
    lengths: [u8; ALPHABET],
}

/// A code as written: bit-reversed, since streams run from the least significant bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code {
    pub bits: u16,
    pub length: u8,
}

/// What the next bits of a stream begin with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    pub token: u8,
    pub length: u8,
    /// Length of the code and of the raw bits behind it.
    pub with_extra: u8,
}

impl Codebook {
    /// The best lengths for these counts (package-merge; ties go to the smaller token). A token alone gets one bit.
    pub fn from_counts(counts: &[u64; ALPHABET]) -> Self {
        let mut lengths = [0u8; ALPHABET];
        let mut used: Vec<u8> = (0..ALPHABET as u8).filter(|&t| counts[t as usize] > 0).collect();
        used.sort_by_key(|&t| counts[t as usize]);
        if let [only] = used[..] {
            lengths[only as usize] = 1;
            return Self { lengths };
        }
        // Each item is a weight and, for packages, the two items of the row above that it joins. The 2n - 2
        // lightest items of the last row are taken; every time a leaf is taken its code grows by one bit.
        let leaves: Vec<u64> = used.iter().map(|&t| counts[t as usize]).collect();
        let mut rows: Vec<Vec<Item>> = vec![merge(&leaves, &[])];
        for _ in 1..MAX_BITS {
            rows.push(merge(&leaves, rows.last().expect("a first row")));
        }
        let mut take = (2 * leaves.len()).saturating_sub(2);
        for row in rows.iter().rev() {
            let (mut leaf_count, mut packages) = (0, 0);
            for item in &row[..take] {
                if item.leaf { leaf_count += 1 } else { packages += 1 }
            }
            used[..leaf_count].iter().for_each(|&t| lengths[t as usize] += 1);
            take = 2 * packages;
        }
        Self { lengths }
    }

    /// With these lengths, as a device found them by the rule of [`Codebook::from_counts`].
    #[cfg(feature = "cuda")]
    pub fn from_lengths(lengths: [u8; ALPHABET]) -> Self {
        Self { lengths }
    }
    /// Length of the code of each token; 0 where it has none.
    #[cfg(feature = "cuda")]
    pub fn lengths(&self) -> &[u8; ALPHABET] {
        &self.lengths
    }

    /// The code of each token, canonical: shorter first, then by token.
    pub fn codes(&self) -> [Code; ALPHABET] {
        let mut codes = [Code::default(); ALPHABET];
        let mut next = 0u32;
        for length in 1..=MAX_BITS {
            next <<= 1;
            for t in (0..ALPHABET).filter(|&t| self.lengths[t] as u32 == length) {
                codes[t] = Code { bits: (next.reverse_bits() >> (32 - length)) as u16, length: length as u8 };
                next += 1;
            }
        }
        codes
    }

    /// By the next [`MAX_BITS`] bits; length 0 where no code begins so.
    pub fn table(&self) -> Vec<Entry> {
        let mut table = vec![Entry::default(); 1 << MAX_BITS];
        for (t, code) in self.codes().iter().enumerate().filter(|(_, c)| c.length > 0) {
            let with_extra = code.length + ACTIONS[t].extra_bits;
            let entry = Entry { token: t as u8, length: code.length, with_extra };
            table[code.bits as usize..].iter_mut().step_by(1 << code.length).for_each(|e| *e = entry);
        }
        table
    }

    /// Appends the lengths as nibbles: 1 to 12 a length, 0 and n a gap of n + 1 tokens, 15 the end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut nibbles = Vec::new();
        let mut t = 0;
        let end = self.lengths.iter().rposition(|&l| l > 0).map_or(0, |last| last + 1);
        while t < end {
            let gap = self.lengths[t..end].iter().take(16).take_while(|&&l| l == 0).count();
            if gap > 0 {
                nibbles.extend([0, gap as u8 - 1]);
                t += gap;
            } else {
                nibbles.push(self.lengths[t]);
                t += 1;
            }
        }
        nibbles.push(15);
        nibbles.resize(nibbles.len().next_multiple_of(2), 0);
        out.extend(nibbles.chunks(2).map(|p| p[0] | p[1] << 4));
    }

    /// Reads what [`Codebook::write`] wrote.
    pub fn read(cursor: &mut Cursor) -> Result<Self> {
        let bad = |why: &str| Error::corrupt(format!("Huffman codebook: {why}"));
        let mut lengths = [0u8; ALPHABET];
        let input = { *cursor }.rest();
        let mut at = 0usize;
        let mut nibble = || {
            let byte = *input.get(at / 2).ok_or_else(|| Error::truncated("Huffman codebook: ends early"))?;
            at += 1;
            Ok::<u8, Error>(if at % 2 == 1 { byte & 15 } else { byte >> 4 })
        };
        let mut t = 0;
        loop {
            match nibble()? {
                15 => break,
                0 => t += nibble()? as usize + 1,
                length if t < ALPHABET && length as u32 <= MAX_BITS => {
                    lengths[t] = length;
                    t += 1;
                }
                _ => return Err(bad("a code is too long or there are too many")),
            }
        }
        cursor.take(at.div_ceil(2))?;
        let used = lengths.iter().filter(|&&l| l > 0).count();
        let kraft: u32 = lengths.iter().filter(|&&l| l > 0).map(|&l| 1 << (MAX_BITS - l as u32)).sum();
        match used {
            0 => {}
            1 if kraft == 1 << (MAX_BITS - 1) => {}
            _ if kraft == 1 << MAX_BITS => {}
            _ => return Err(bad("its lengths are not those of a prefix code")),
        }
        Ok(Self { lengths })
    }
}

/// An item of a package-merge row.
struct Item {
    weight: u64,
    leaf: bool,
}

/// Merges the leaves with the pairs of the row above, lightest first, leaves first among equals.
fn merge(leaves: &[u64], above: &[Item]) -> Vec<Item> {
    let mut packages = above.chunks_exact(2).map(|p| p[0].weight + p[1].weight).peekable();
    let mut row = Vec::with_capacity(leaves.len() + above.len() / 2);
    for &weight in leaves {
        while let Some(package) = packages.next_if(|&p| p < weight) {
            row.push(Item { weight: package, leaf: false });
        }
        row.push(Item { weight, leaf: true });
    }
    row.extend(packages.map(|weight| Item { weight, leaf: false }));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(usize, u64)]) -> [u64; ALPHABET] {
        let mut c = [0; ALPHABET];
        of.iter().for_each(|&(t, n)| c[t] = n);
        c
    }

    #[test]
    fn lengths_are_optimal_and_limited() {
        let book = Codebook::from_counts(&counts(&[(0, 8), (1, 4), (2, 2), (3, 1), (4, 1)]));
        assert_eq!(book.lengths[..5], [1, 2, 3, 4, 4]);
        let fibonacci = (0..40).scan((1u64, 1u64), |s, t| {
            *s = (s.1, s.0 + s.1);
            Some((t, s.0))
        });
        let book = Codebook::from_counts(&counts(&fibonacci.collect::<Vec<_>>()));
        let kraft: f64 = book.lengths.iter().filter(|&&l| l > 0).map(|&l| 0.5f64.powi(l as i32)).sum();
        assert_eq!((book.lengths.iter().max(), kraft), (Some(&12), 1.0));
    }

    #[test]
    fn codebooks_come_back_and_damage_is_refused() {
        for of in [&[][..], &[(7, 3)], &[(0, 1), (247, 1)], &[(3, 5), (60, 5), (61, 1), (200, 9)]] {
            let book = Codebook::from_counts(&counts(of));
            let mut bytes = Vec::new();
            book.write(&mut bytes);
            let read = |bytes: &[u8]| Codebook::read(&mut Cursor::new(bytes, "codebook"));
            assert_eq!(read(&bytes).unwrap(), book);
            assert!(read(&bytes[..bytes.len() - 1]).is_err());
        }
        assert!(Codebook::read(&mut Cursor::new(&[0x11, 0xf1], "codebook")).is_err(), "three codes of one bit");
    }
}
