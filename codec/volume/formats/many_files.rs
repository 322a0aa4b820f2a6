//! Values that a header spreads over several files, one slice (or slab) each: `LIST` and `slice_%03d.raw 1 93 1`.

use crate::volume::{SharedBytes, map_file};
use crate::{Error, ErrorKind, Result};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A header of more files is no header.
const MOST_FILES: usize = 1 << 20;

/// The files that a data file entry names; `None` when it names one. `list` is what follows the header, where names may
/// stand one a line.
///
/// # Errors
/// A pattern without numbers, or one that never ends.
pub fn slice_names(entry: &str, list: Option<&[u8]>) -> Result<Option<Vec<String>>> {
    if let Some(list) = list {
        let text = String::from_utf8_lossy(list);
        let names: Vec<String> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
        return if names.is_empty() || names.len() > MOST_FILES {
            Err(Error::corrupt(format!("the header lists {} data files", names.len())))
        } else {
            Ok(Some(names))
        };
    }
    if !entry.contains('%') {
        return Ok(None);
    }
    let mut words = entry.split_whitespace();
    let pattern = words.next().unwrap_or_default();
    let numbers: Vec<i64> = words.map_while(|w| w.parse().ok()).collect();
    let bad = || Error::corrupt(format!("data files \"{entry}\": a pattern such as slice_%03d.raw 1 93 1 is due"));
    let (first, last, step) = match numbers[..] {
        [first, last] => (first, last, 1),
        [first, last, step, ..] if step != 0 => (first, last, step),
        _ => return Err(bad()),
    };
    let count = (i128::from(last) - i128::from(first)) / i128::from(step) + 1;
    if !(1..=MOST_FILES as i128).contains(&count) {
        return Err(bad());
    }
    let name = |i: i128| numbered(pattern, i128::from(first) + i * i128::from(step));
    (0..count).map(|i| name(i).ok_or_else(bad)).collect::<Result<Vec<_>>>().map(Some)
}

/// `slice_%03d.raw` with a number in place of its one placeholder.
fn numbered(pattern: &str, number: i128) -> Option<String> {
    let (before, rest) = pattern.split_once('%')?;
    let (width, after) = rest.split_once('d').or_else(|| rest.split_once('i'))?;
    let digits = width.parse().ok().or(width.is_empty().then_some(0)).filter(|w: &usize| *w < 20)?;
    let padded = if width.starts_with('0') { format!("{number:0digits$}") } else { format!("{number:digits$}") };
    Some(format!("{before}{padded}{after}"))
}

/// The content of all files, one after the other, `total` bytes in equal parts: in a temporary file that is mapped.
///
/// # Errors
/// A file that is absent or has another size than its part.
pub fn join_beside(header: &Path, names: &[String], total: usize) -> Result<SharedBytes> {
    let part = total / names.len();
    if part * names.len() != total {
        return Err(Error::corrupt(format!("{total} bytes do not come in {} equal files", names.len())));
    }
    let broken = |e| Error::io(&std::env::temp_dir(), &e).remedy("TMPDIR names another folder for temporary files");
    let mut joined = tempfile::tempfile().map_err(broken)?;
    let folder = header.parent().unwrap_or(Path::new(""));
    for name in names {
        let path = folder.join(name);
        let file = map_file(&path)?;
        let bytes = (*file).as_ref();
        if bytes.len() != part {
            let message = format!("{} has {} bytes, {part} are due", path.display(), bytes.len());
            return Err(Error::new(ErrorKind::Truncated, message));
        }
        joined.write_all(bytes).map_err(broken)?;
    }
    // SAFETY: nobody else knows the unnamed file.
    let map = unsafe { memmap2::Mmap::map(&joined) }.map_err(broken)?;
    Ok(Arc::new(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{OpenHints, Values, open};

    #[test]
    fn patterns_and_lists_name_their_files() {
        let of = |entry: &str| slice_names(entry, None).unwrap().unwrap();
        assert_eq!(of("s_%03d.raw 9 11 1"), ["s_009.raw", "s_010.raw", "s_011.raw"]);
        assert_eq!(of("q.%d 5 1 -2 2"), ["q.5", "q.3", "q.1"]);
        assert_eq!(slice_names("LIST", Some(b"a.raw\n b.raw\n\n")).unwrap().unwrap(), ["a.raw", "b.raw"]);
        assert!(slice_names("one.raw", None).unwrap().is_none());
        for bad in ["s%d", "s%d 1 2 0", "s%d 1 99999999999 1", "s%s 1 2 1", "s%d 5 1 1", "s%99d 1 2 1"] {
            assert!(slice_names(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn slices_named_by_nrrd_and_metaimage_headers_are_one_volume() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &[u8]| std::fs::write(dir.path().join(name), content).unwrap();
        for z in 0..3u8 {
            put(&format!("s{z}.raw"), &(0..6).map(|i| 10 * z + i).collect::<Vec<_>>());
        }
        let nrrd = "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 3 2 3\nencoding: raw\ndata file: ";
        let meta = "NDims = 3\nDimSize = 3 2 3\nElementType = MET_UCHAR\nElementDataFile = ";
        let list = "s0.raw\ns1.raw\ns2.raw\n";
        put("pattern.nhdr", format!("{nrrd}s%d.raw 0 2 1\n").as_bytes());
        put("list.nhdr", format!("{nrrd}LIST\n{list}").as_bytes());
        put("pattern.mhd", format!("{meta}s%d.raw 0 2 1\n").as_bytes());
        put("list.mhd", format!("{meta}LIST\n{list}").as_bytes());
        for name in ["pattern.nhdr", "list.nhdr", "pattern.mhd", "list.mhd"] {
            let dataset = open(&dir.path().join(name), &OpenHints::default()).unwrap();
            let Values::F32(f) = dataset.open(0, 0).unwrap().values else { panic!("bytes fit f32") };
            let mut row = [0.0; 3];
            f.read_row(2, 1, 0, &mut row).unwrap();
            assert_eq!(row, [23.0, 24.0, 25.0], "{name}");
        }
        put("s1.raw", b"short");
        let cut = open(&dir.path().join("list.mhd"), &OpenHints::default()).err().unwrap();
        assert!(cut.message.contains("s1.raw"), "{cut}");
    }
}
