//! A volume as it is shown: the file's "missing" patterns read as NaN.

use blockmgard::volume::{Field, Missing, Validity, Values, Volume};
use blockmgard::{Element, Result};
use std::sync::Arc;

struct NanForMissing<T: Element> {
    field: Arc<dyn Field<T>>,
    missing: Missing,
}

impl<T: Element> Field<T> for NanForMissing<T> {
    fn extents(&self) -> [usize; 3] {
        self.field.extents()
    }
    fn check(&self) -> Result<()> {
        self.field.check()
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        self.field.read_row(z, y, x0, out)?;
        let valid = Validity::new(&self.missing);
        for v in out.iter_mut().filter(|v| valid.is_missing(**v)) {
            *v = T::from_f64(f64::NAN);
        }
        Ok(())
    }
}

/// The volume's values, with missing ones as NaN.
pub fn shown(volume: &Volume) -> Values {
    let missing = volume.missing.clone();
    match &volume.values {
        values if missing.is_empty() => values.clone(),
        Values::F32(field) => Values::F32(Arc::new(NanForMissing { field: field.clone(), missing })),
        Values::F64(field) => Values::F64(Arc::new(NanForMissing { field: field.clone(), missing })),
    }
}
