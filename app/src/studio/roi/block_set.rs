//! A set of 8^3 blocks, one bit each.

/// Which blocks of a volume a region touches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockSet {
    words: Vec<u64>,
}

impl BlockSet {
    /// An empty set over `len` blocks.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }
    pub fn contains(&self, block: usize) -> bool {
        self.words[block / 64] >> (block % 64) & 1 == 1
    }
    pub fn set(&mut self, block: usize, on: bool) {
        let bit = 1 << (block % 64);
        if on {
            self.words[block / 64] |= bit;
        } else {
            self.words[block / 64] &= !bit;
        }
    }
    /// Number of blocks in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    i * 64 + bit
                })
            })
        })
    }
}

/// Which blocks a region holds in part, and which in full.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Blocks with at least one voxel of the region.
    pub touched: BlockSet,
    /// Blocks whose every voxel is in the region.
    pub full: BlockSet,
}

impl Coverage {
    /// Nothing covered, over `len` blocks.
    pub fn new(len: usize) -> Self {
        Self { touched: BlockSet::new(len), full: BlockSet::new(len) }
    }
    pub fn set(&mut self, block: usize, touched: bool, full: bool) {
        self.touched.set(block, touched);
        self.full.set(block, full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_returns_what_was_put_in() {
        let mut set = BlockSet::new(200);
        for b in [0, 63, 64, 199] {
            set.set(b, true);
        }
        set.set(63, false);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 64, 199]);
        assert_eq!(set.count(), 3);
        assert!(set.contains(199) && !set.contains(63));
    }
}
