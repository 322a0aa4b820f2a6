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

/// Reads dims (`91x91x91`), type (`f32`, `d64`, `uint16`, ...) and byte order (`bigendian`, `big-endian`, ...) from the words
/// of a file name. The last word wins, so that the ending outranks what stands before it.
pub fn facts_from_name(name: &str) -> NameFacts {
    let mut facts = NameFacts::default();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    // The first word is the variable's own name (`double_91x91x91.f32`), unless it is nothing but dims.
    let mut before = words.next().unwrap_or("");
    facts.dims = dims_from_word(before);
    for word in words {
        let order = |s: &str, joined: &str| {
            word.eq_ignore_ascii_case(joined) || (before.eq_ignore_ascii_case(s) && word.eq_ignore_ascii_case("endian"))
        };
        if let Some(dims) = dims_from_word(word) {
            facts.dims = Some(dims);
        } else if let Ok(stored) = word.parse() {
            facts.stored = Some(stored);
        } else if order("big", "bigendian") {
            facts.big_endian = Some(true);
        } else if order("little", "littleendian") {
            facts.big_endian = Some(false);
        }
        before = word;
    }
    facts
}

/// The part of a file name in front of its facts: `mitgcm_T` for `mitgcm_T_50x100x100_bigendian.f32`.
pub fn variable_from_name(name: &str) -> &str {
    let stem = name.split('.').next().unwrap_or(name);
    let is_fact = |word: &str| facts_from_name(&format!("_{word}")) != NameFacts::default();
    let separators =
        stem.char_indices().filter(|(_, c)| !c.is_ascii_alphanumeric()).map(|(i, c)| (i, i + c.len_utf8()));
    let fact = separators.filter(|(i, after)| {
        let word = stem[*after..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        *i > 0 && is_fact(word)
    });
    fact.map(|(i, _)| &stem[..i]).next().unwrap_or(stem)
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
        assert_eq!(facts_from_name("rho_2x2_big-endian.raw").big_endian, Some(true));
        assert_eq!(facts_from_name("rho_big_2x2.raw").big_endian, None);
        assert_eq!(facts_from_name("density.d64").stored, Some(StoredType::F64));
        let f = facts_from_name("mitgcm_theta_12x15x40x90_bigendian.f32");
        assert_eq!((f.dims, f.big_endian), (Some(vec![12, 15, 40, 90]), Some(true)));
        assert_eq!(facts_from_name("bonsai_256x256x256_uint8.raw").stored, Some(StoredType::U8));
        assert_eq!(facts_from_name("0x12x3.f32").dims, None);
        assert_eq!(facts_from_name("run_99999999999999999999x2.f32").dims, None);
    }

    #[test]
    fn variables_are_named_without_the_facts() {
        for (name, variable) in [
            ("mitgcm_T_50x100x100_bigendian.f32", "mitgcm_T"),
            ("CLOUDf48.bin.f32", "CLOUDf48"),
            ("91x91x91.f32", "91x91x91"),
            ("wind_speed.d64", "wind_speed"),
            ("_f32.raw", "_f32"),
        ] {
            assert_eq!(variable_from_name(name), variable);
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "\\PC*") {
            facts_from_name(&name);
            variable_from_name(&name);
        }
    }
}
