//! Boxes of a NetCDF or HDF5 variable, as hyperslabs.

use super::tiled::BoxReader;
use crate::volume::{DType, Element, FileMap, Region, StoredType, intact};
use crate::{Error, ErrorKind, Result};
use netcdf_reader::{NcFile, NcSliceInfo, NcSliceInfoElem};
use std::sync::Arc;

/// The reader's error in our words.
pub fn error(e: netcdf_reader::Error) -> Error {
    use netcdf_reader::Error as E;
    let kind = match &e {
        E::Io(_) => ErrorKind::Io,
        E::UnexpectedEof { .. } => ErrorKind::Truncated,
        E::UnsupportedFeature(_) | E::UnsupportedVersion(_) => ErrorKind::Compatibility,
        _ => ErrorKind::Corruption,
    };
    Error::new(kind, e.to_string())
}

/// Hyperslabs of one step of a variable.
pub struct NcBoxes {
    pub file: Arc<NcFile>,
    pub path: String,
    /// Indices on the axes in front of the last `rank`.
    pub leading: Vec<u64>,
    pub rank: usize,
    pub stored: StoredType,
    /// The whole file, of the classic formats.
    pub map: Option<FileMap>,
}

impl<T: Element> BoxReader<T> for NcBoxes {
    fn read_box(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let leading = self.leading.iter().map(|&i| NcSliceInfoElem::Index(i));
        let slices = (3 - self.rank..3).map(|a| NcSliceInfoElem::Slice {
            start: region.lo[a] as u64,
            end: region.hi[a] as u64,
            step: 1,
        });
        let selection = NcSliceInfo { selections: leading.chain(slices).collect() };
        macro_rules! read {
            ($t:ty, $convert:expr) => {{
                let values = self.file.read_variable_slice_parallel::<$t>(&self.path, &selection).map_err(error)?;
                if values.len() != out.len() {
                    return Err(Error::corrupt(format!(
                        "{}: {} values came for {}",
                        self.path,
                        values.len(),
                        out.len()
                    )));
                }
                for (o, v) in out.iter_mut().zip(values.iter()) {
                    *o = $convert(*v);
                }
            }};
        }
        match (self.stored, T::DTYPE) {
            (StoredType::F32, DType::F32) => read!(f32, |v: f32| T::from_bits64(v.to_bits64())),
            (StoredType::F64, DType::F64) => read!(f64, |v: f64| T::from_bits64(v.to_bits64())),
            (StoredType::F32, _) => read!(f32, |v: f32| T::from_f64(v as f64)),
            (StoredType::F64, _) => read!(f64, T::from_f64),
            (StoredType::I8, _) => read!(i8, |v: i8| T::from_f64(v as f64)),
            (StoredType::U8, _) => read!(u8, |v: u8| T::from_f64(v as f64)),
            (StoredType::I16, _) => read!(i16, |v: i16| T::from_f64(v as f64)),
            (StoredType::U16, _) => read!(u16, |v: u16| T::from_f64(v as f64)),
            (StoredType::I32, _) => read!(i32, |v: i32| T::from_f64(v as f64)),
            (StoredType::U32, _) => read!(u32, |v: u32| T::from_f64(v as f64)),
            (StoredType::I64, _) => read!(i64, |v: i64| T::from_f64(v as f64)),
            (StoredType::U64, _) => read!(u64, |v: u64| T::from_f64(v as f64)),
        }
        self.map.as_ref().map_or(Ok(()), |map| intact(map.as_ref()))
    }
}
