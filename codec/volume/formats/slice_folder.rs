//! A volume in many files: a folder of PNG, TIFF or raw slices, or a pattern such as `quarter.*` or `slice_%03d.raw`.

use super::raw_slices::raw_shape;
use super::slices::{PlaneShape, Planes, SliceStack};
use super::tiff_pages::Pages;
use crate::volume::{Dataset, Format, OpenHints, StoredType, map_file};
use crate::{Error, ErrorKind, Result};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of slices; see the module.
pub struct SliceFolder;

/// A folder of more files is no volume.
const MAX_SLICES: usize = 1 << 20;
/// PNG never grows by more than about this (deflate's own limit).
const MAX_EXPANSION: usize = 1100;

impl Format for SliceFolder {
    fn name(&self) -> &'static str {
        "slices"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["png"]
    }
    fn sniff(&self, path: &Path, head: &[u8]) -> bool {
        head.starts_with(b"\x89PNG\r\n\x1a\n") || is_pattern(path) || (path.is_dir() && find(path).is_ok())
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let files = find(path)?;
        let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
        let name = name.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut note = None;
        let planes: Arc<dyn Planes> = match Kind::of(&files[0]) {
            Kind::Png => Arc::new(Files { shape: png_shape(&files[0])?, files, decode: read_png }),
            Kind::Tiff => Arc::new(Files { shape: tiff_shape(&files[0])?, files, decode: read_tiff }),
            Kind::Raw => {
                let (shape, guess) = raw_shape(&files, hints)?;
                note = guess;
                Arc::new(RawSlices { files, shape, offset: hints.offset as usize })
            }
        };
        let stack = SliceStack::new(path.display().to_string(), &name, planes, None, hints)?;
        Ok(Box::new(stack.with_note(note)))
    }
}

/// Whether a path that need not exist stands for several files.
pub fn is_pattern(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    (name.contains('*') || name.contains('%')) && !path.exists()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Tiff,
    Raw,
}

impl Kind {
    fn of(path: &Path) -> Self {
        match path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).as_deref() {
            Some("png") => Kind::Png,
            Some("tif" | "tiff") => Kind::Tiff,
            _ => Kind::Raw,
        }
    }
}

/// The slices in the order of the numbers in their names.
fn find(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let (folder, pattern) =
        if path.is_dir() { (path, None) } else { (path.parent().unwrap_or(Path::new("")), path.file_name()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let pattern = pattern.map(|p| p.to_string_lossy().into_owned());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, &e))? {
        let entry = entry.map_err(|e| Error::io(folder, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let wanted = pattern.as_ref().is_none_or(|p| matches(p, &name));
        if wanted && !name.starts_with('.') && entry.path().is_file() {
            files.push(entry.path());
        }
        if files.len() > MAX_SLICES {
            return Err(Error::invalid(format!("{} holds more than {MAX_SLICES} files", folder.display())));
        }
    }
    // Images win over whatever lies beside them; raw slices must be numbered and alike.
    for kind in [Kind::Png, Kind::Tiff] {
        if files.iter().any(|f| Kind::of(f) == kind) {
            files.retain(|f| Kind::of(f) == kind);
            files.sort_by_key(|f| natural(f));
            return Ok(files);
        }
    }
    files.sort_by_key(|f| natural(f));
    let alike = files.windows(2).all(|w| without_digits(&w[0]) == without_digits(&w[1]));
    if files.is_empty() || !alike || (pattern.is_none() && files.len() < 2) {
        return Err(Error::invalid(format!("{} is no stack of slices", path.display()))
            .remedy("its files must have the same name but for a number, or be PNG or TIFF images"));
    }
    Ok(files)
}

/// `*` stands for anything, `%d` and `%03d` for digits.
fn matches(pattern: &str, name: &str) -> bool {
    let Some(at) = pattern.find(['*', '%']) else { return pattern == name };
    let Some(rest) = name.strip_prefix(&pattern[..at]) else { return false };
    let tail = &pattern[at + 1..];
    if pattern.as_bytes()[at] == b'*' {
        return rest.strip_suffix(tail).is_some_and(|middle| !middle.is_empty());
    }
    let Some(tail) = tail.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('d') else { return false };
    rest.strip_suffix(tail).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The parts of a name, numbers by value: `slice10` comes after `slice9`.
fn natural(path: &Path) -> Vec<(String, u128)> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut parts = Vec::new();
    let mut rest = name.as_str();
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[text..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - text);
        parts.push((rest[..text].to_string(), rest[text..text + digits].parse().unwrap_or(0)));
        rest = &rest[text + digits..];
    }
    parts
}

fn without_digits(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().chars().filter(|c| !c.is_ascii_digit()).collect()).unwrap_or_default()
}

/// Reads the plane of one file.
type Decode = fn(&Path) -> Result<(PlaneShape, Vec<u8>)>;

/// One image file per plane.
struct Files {
    files: Vec<PathBuf>,
    shape: PlaneShape,
    decode: Decode,
}

impl Planes for Files {
    fn count(&self) -> usize {
        self.files.len()
    }
    fn shape(&self) -> PlaneShape {
        self.shape
    }
    fn plane(&self, z: usize) -> Result<Vec<u8>> {
        let file = &self.files[z];
        let (shape, bytes) = (self.decode)(file).map_err(|e| e.in_file(file))?;
        if shape == self.shape {
            return Ok(bytes);
        }
        Err(Error::invalid(format!(
            "{} is {}x{} {}, but the first slice is {}x{} {}",
            file.display(),
            shape.height,
            shape.width,
            shape.stored,
            self.shape.height,
            self.shape.width,
            self.shape.stored
        ))
        .remedy("a stack needs slices of one size and type"))
    }
}

fn tiff_shape(path: &Path) -> Result<PlaneShape> {
    Ok(Pages::open(map_file(path)?).map_err(|e| e.in_file(path))?.shape())
}

fn read_tiff(path: &Path) -> Result<(PlaneShape, Vec<u8>)> {
    let pages = Pages::open(map_file(path)?)?;
    Ok((pages.shape(), pages.plane(0)?))
}

fn png_shape(path: &Path) -> Result<PlaneShape> {
    let file = map_file(path)?;
    png_reader((*file).as_ref()).map(|(_, shape)| shape).map_err(|e| e.in_file(path))
}

fn png_error(e: png::DecodingError) -> Error {
    match e {
        png::DecodingError::LimitsExceeded => Error::corrupt("PNG: the image is larger than the file can justify"),
        e => Error::corrupt(format!("PNG: {e}")),
    }
}

fn png_reader(bytes: &[u8]) -> Result<(png::Reader<Cursor<&[u8]>>, PlaneShape)> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    // Palettes become colours, and 1 to 4 bits become 8.
    decoder.set_transformations(png::Transformations::EXPAND);
    let reader = decoder.read_info().map_err(png_error)?;
    let (color, depth) = reader.output_color_type();
    let stored = if depth == png::BitDepth::Sixteen { StoredType::U16 } else { StoredType::U8 };
    let info = reader.info();
    let (height, width) = (info.height as usize, info.width as usize);
    let shape = PlaneShape { height, width, channels: color.samples(), stored, big_endian: true };
    if shape.bytes()? > bytes.len().saturating_mul(MAX_EXPANSION) {
        return Err(Error::corrupt(format!("PNG: {height}x{width} pixels in {} bytes", bytes.len())));
    }
    Ok((reader, shape))
}

fn read_png(path: &Path) -> Result<(PlaneShape, Vec<u8>)> {
    let file = map_file(path)?;
    let (mut reader, shape) = png_reader((*file).as_ref())?;
    let mut out = vec![0; shape.bytes()?];
    reader.next_frame(&mut out).map_err(png_error)?;
    Ok((shape, out))
}

/// Raw slices, one plane a file.
struct RawSlices {
    files: Vec<PathBuf>,
    shape: PlaneShape,
    offset: usize,
}

impl Planes for RawSlices {
    fn count(&self) -> usize {
        self.files.len()
    }
    fn shape(&self) -> PlaneShape {
        self.shape
    }
    fn plane(&self, z: usize) -> Result<Vec<u8>> {
        let file = map_file(&self.files[z])?;
        let all = (*file).as_ref();
        let plane = all.get(self.offset..).filter(|p| Some(p.len()) == self.shape.bytes().ok());
        plane.map(<[u8]>::to_vec).ok_or_else(|| {
            Error::new(
                ErrorKind::Truncated,
                format!("{} has another size than the first slice", self.files[z].display()),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{Values, open};

    #[test]
    fn names_sort_by_number_and_patterns_match() {
        let mut names: Vec<PathBuf> = ["q.10", "q.9", "q.1"].iter().map(PathBuf::from).collect();
        names.sort_by_key(|f| natural(f));
        assert_eq!(names, ["q.1", "q.9", "q.10"].map(PathBuf::from));
        assert!(matches("s_%03d.raw", "s_012.raw") && !matches("s_%03d.raw", "s_x.raw"));
        assert!(matches("q.*", "q.7") && !matches("q.*", "r.7"));
    }

    fn row_of(path: &Path, hints: &OpenHints, z: usize) -> Vec<f32> {
        let v = open(path, hints).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = v.values else { panic!("16 bits fit f32") };
        let mut row = vec![0.0; v.shape.n[2]];
        f.read_row(z, 0, 0, &mut row).unwrap();
        row
    }

    #[test]
    fn raw_slices_need_a_shape_and_come_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for z in [1u16, 2, 10] {
            let plane: Vec<u8> = (0..6).flat_map(|i| (z * 10 + i).to_le_bytes()).collect();
            std::fs::write(dir.path().join(format!("q.{z}")), plane).unwrap();
        }
        let asked = open(dir.path(), &OpenHints::default()).err().unwrap();
        assert!(asked.remedy.contains("3x"), "{asked}");
        let hints = OpenHints { dims: Some(vec![3, 2, 3]), dtype: Some(StoredType::U16), ..Default::default() };
        assert_eq!(row_of(dir.path(), &hints, 2), [100.0, 101.0, 102.0]);
        assert_eq!(row_of(&dir.path().join("q.*"), &hints, 1), [20.0, 21.0, 22.0]);
        let wrong = OpenHints { dims: Some(vec![3, 3, 3]), ..hints };
        assert!(open(dir.path(), &wrong).is_err());
    }

    #[test]
    fn png_slices_of_16_bits() {
        let dir = tempfile::tempdir().unwrap();
        for z in 0..3u16 {
            let file = std::fs::File::create(dir.path().join(format!("s{z}.png"))).unwrap();
            let mut encoder = png::Encoder::new(file, 3, 2);
            encoder.set_color(png::ColorType::Grayscale);
            encoder.set_depth(png::BitDepth::Sixteen);
            let plane: Vec<u8> = (0..6).flat_map(|i| (z * 1000 + i).to_be_bytes()).collect();
            encoder.write_header().unwrap().write_image_data(&plane).unwrap();
        }
        assert_eq!(row_of(dir.path(), &OpenHints::default(), 2), [2000.0, 2001.0, 2002.0]);
        std::fs::write(dir.path().join("s1.png"), b"\x89PNG\r\n\x1a\nnothing").unwrap();
        let v = open(dir.path(), &OpenHints::default()).unwrap().open(0, 0).unwrap();
        let Values::F32(f) = v.values else { panic!("16 bits fit f32") };
        assert!(f.read_row(1, 0, 0, &mut [0.0; 3]).is_err());
    }
}
