//! What the name of a raw file says: `CLOUDf48_100x500x500.f32`, `density.d64`, `T_50x100x100_bigendian.f32`.

use super::StoredType;

/// Facts read from a file name; each may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFacts {
    /// Extents, slowest first.
    pub dims: Option<Vec<usize>>,
    pub stored: Option<StoredType>,
    pub big_endian: Option<bool>,
}

/// Reads dims (`91x91x91`), type (`f32`, `d64`, `uint16`, ...) and byte order (`bigendian`, `be`, ...) from the words
/// of a file name. The last word wins, so that the ending outranks what stands before it.
pub fn facts_from_name(name: &str) -> NameFacts {
    let mut facts = NameFacts::default();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let stem = words.next();
    // The first word is the variable's own name (`be_91x91x91.f32`), unless it is nothing but dims.
    facts.dims = stem.and_then(dims_from_word);
    for word in words {
        if let Some(dims) = dims_from_word(word) {
            facts.dims = Some(dims);
        } else if let Ok(stored) = word.parse() {
            facts.stored = Some(stored);
        } else {
            match word.to_ascii_lowercase().as_str() {
                "bigendian" | "big" | "be" | "msb" => facts.big_endian = Some(true),
                "littleendian" | "little" | "le" | "lsb" => facts.big_endian = Some(false),
                _ => {}
            }
        }
    }
    facts
}

/// `100x500x500` as extents: two or more numbers above zero.
pub fn dims_from_word(word: &str) -> Option<Vec<usize>> {
    let dims: Vec<usize> = word.split(['x', 'X']).map(|d| d.parse().ok().filter(|&n| n > 0)).collect::<Option<_>>()?;
    (dims.len() >= 2).then_some(dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_known_sets() {
        let f = facts_from_name("CLOUDf48_100x500x500.f32");
        assert_eq!((f.dims, f.stored), (Some(vec![100, 500, 500]), Some(StoredType::F32)));
        let f = facts_from_name("CLOUDf48.bin.f32");
        assert_eq!((f.dims, f.stored), (None, Some(StoredType::F32)));
        assert_eq!(facts_from_name("density.d64").stored, Some(StoredType::F64));
        let f = facts_from_name("mitgcm_theta_12x15x40x90_bigendian.f32");
        assert_eq!((f.dims, f.big_endian), (Some(vec![12, 15, 40, 90]), Some(true)));
        assert_eq!(facts_from_name("bonsai_256x256x256_uint8.raw").stored, Some(StoredType::U8));
        assert_eq!(facts_from_name("0x12x3.f32").dims, None);
        assert_eq!(facts_from_name("run_99999999999999999999x2.f32").dims, None);
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "\\PC*") {
            facts_from_name(&name);
        }
    }
}
