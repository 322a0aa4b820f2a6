//! A volume file inside zstd or gzip (`density.f32.zst`, `climatology.nc.gz`): unpacked beside the system's temporary
//! files, opened by its inner name, and removed again.

use crate::volume::{Dataset, Format, OpenHints, VariableInfo, Volume, open};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Compressed files; see the module.
pub struct Wrapped;

/// A file may unpack to this many times its size, and to [`SLACK_BYTES`] in any case; more is taken for a bomb.
const MAX_EXPANSION: u64 = 256;
const SLACK_BYTES: u64 = 64 << 20;
/// Bytes unpacked at a time.
const PIECE_BYTES: usize = 1 << 20;
/// A larger file beside the data is something else.
const SIDECAR_BYTES: u64 = 1 << 20;

impl Format for Wrapped {
    fn name(&self) -> &'static str {
        "compressed file"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["zst", "gz"]
    }
    fn sniff(&self, path: &Path, head: &[u8]) -> bool {
        let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        // NIfTI has a way of its own to read these.
        let nifti = name.ends_with(".nii.gz") || name.ends_with(".hdr.gz");
        let zstd = head.starts_with(b"\x28\xb5\x2f\xfd") && name.ends_with(".zst");
        zstd || (head.starts_with(b"\x1f\x8b") && name.ends_with(".gz") && !nifti)
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let folder = TempDir::new().map_err(|e| Error::io(&std::env::temp_dir(), &e))?;
        let inner = folder.path().join(path.file_stem().unwrap_or_default());
        copy_sidecars(path, &inner)?;
        unpack(path, &inner)?;
        let dataset = open(&inner, hints).map_err(|e| {
            // The user knows the file by its own name only.
            let shown = inner.display().to_string();
            Error { message: e.message.replace(&shown, &path.display().to_string()), ..e }
        })?;
        Ok(Box::new(Unpacked { dataset, source: path.display().to_string(), _folder: folder }))
    }
}

/// Puts what stands beside the compressed file, under its own name or the inner one, beside the unpacked one.
fn copy_sidecars(path: &Path, inner: &Path) -> Result<()> {
    let beside = path.with_extension("");
    for ending in ["toml", "json"] {
        let appended = |p: &Path| PathBuf::from(format!("{}.{ending}", p.display()));
        let pairs = [
            (appended(path), appended(inner)),
            (appended(&beside), appended(inner)),
            (beside.with_extension(ending), inner.with_extension(ending)),
        ];
        for (from, to) in pairs {
            let small = std::fs::metadata(&from).is_ok_and(|m| m.is_file() && m.len() <= SIDECAR_BYTES);
            if small && !to.exists() {
                std::fs::copy(&from, &to).map_err(|e| Error::io(&from, &e))?;
            }
        }
    }
    Ok(())
}

fn unpack(path: &Path, to: &Path) -> Result<()> {
    let file = File::open(path).map_err(|e| Error::io(path, &e))?;
    let bytes = file.metadata().map_err(|e| Error::io(path, &e))?.len();
    let limit = bytes.saturating_mul(MAX_EXPANSION).saturating_add(SLACK_BYTES);
    let damaged = |e: std::io::Error| Error::corrupt(format!("{}: compressed data are damaged: {e}", path.display()));
    let zstd = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("zst"));
    let full =
        |e: std::io::Error| Error::io(to, &e).remedy("is the folder of temporary files full? TMPDIR names another");
    let mut reader: Box<dyn Read> = if zstd {
        Box::new(zstd::Decoder::new(file).map_err(damaged)?)
    } else {
        Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file)))
    };
    let mut out = File::create(to).map_err(full)?;
    let (mut piece, mut written) = (vec![0; PIECE_BYTES], 0);
    loop {
        let count = reader.read(&mut piece).map_err(damaged)?;
        written += count as u64;
        match count {
            0 => return Ok(()),
            _ if written > limit => {
                return Err(Error::corrupt(format!("{} unpacks to more than {limit} bytes", path.display()))
                    .remedy("if that is right, unpack it with zstd or gunzip first"));
            }
            _ => out.write_all(&piece[..count]).map_err(full)?,
        }
    }
}

/// The data set inside, under the name of the compressed file.
struct Unpacked {
    dataset: Box<dyn Dataset>,
    source: String,
    /// Removed with its file when the data set is dropped; volumes opened from it keep their bytes.
    _folder: TempDir,
}

impl Dataset for Unpacked {
    fn variables(&self) -> &[VariableInfo] {
        self.dataset.variables()
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let mut volume = self.dataset.open(variable, step)?;
        volume.meta.source.clone_from(&self.source);
        Ok(volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::Values;

    #[test]
    fn inner_name_tells_the_shape_and_volumes_outlive_the_data_set() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a_2x3x4.f32.zst");
        let raw: Vec<u8> = (0..24).flat_map(|i| (i as f32).to_le_bytes()).collect();
        std::fs::write(&path, zstd::encode_all(&raw[..], 3).unwrap()).unwrap();
        let dataset = open(&path, &OpenHints::default()).unwrap();
        let volume = dataset.open(0, 0).unwrap();
        drop(dataset);
        assert_eq!(volume.meta.source, path.display().to_string());
        let Values::F32(f) = volume.values else { panic!("f32 was stored") };
        let mut row = [0.0; 4];
        f.read_row(1, 2, 0, &mut row).unwrap();
        assert_eq!(row, [20.0, 21.0, 22.0, 23.0]);
    }

    #[test]
    fn sidecars_are_found_beside_the_compressed_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.f32.zst");
        let raw: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
        std::fs::write(&path, zstd::encode_all(&raw[..], 3).unwrap()).unwrap();
        for name in ["a.f32.toml", "a.f32.zst.toml", "a.json"] {
            let text = if name.ends_with("json") { r#"{"dims": [2, 3]}"# } else { "dims = [2, 3]" };
            std::fs::write(dir.path().join(name), text).unwrap();
            assert_eq!(open(&path, &OpenHints::default()).unwrap().variables()[0].extents, [2, 3], "{name}");
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
        assert!(open(&path, &OpenHints::default()).is_err());
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a_100x1024x1024.u8.zst");
        std::fs::write(&path, zstd::encode_all(std::io::repeat(0).take(100 << 20), 3).unwrap()).unwrap();
        let e = open(&path, &OpenHints::default()).err().unwrap();
        assert!(e.remedy.contains("unpack it"), "{e}");
        std::fs::write(&path, b"\x28\xb5\x2f\xfdnothing of sense").unwrap();
        assert!(open(&path, &OpenHints::default()).is_err());
    }
}
