//! Decoded values kept in memory.

use blockmgard::volume::Field;
use blockmgard::{Element, Result};

/// A field that owns its values, C order.
pub struct Owned<T> {
    values: Vec<T>,
    n: [usize; 3],
}

impl<T: Element> Owned<T> {
    /// `values` holds `n[0] * n[1] * n[2]` of them.
    pub fn new(values: Vec<T>, n: [usize; 3]) -> Self {
        assert_eq!(values.len(), n.iter().product::<usize>());
        Self { values, n }
    }
}

impl<T: Element> Field<T> for Owned<T> {
    fn extents(&self) -> [usize; 3] {
        self.n
    }
    fn read_row(&self, z: usize, y: usize, x0: usize, out: &mut [T]) -> Result<()> {
        let start = (z * self.n[1] + y) * self.n[2] + x0;
        out.copy_from_slice(&self.values[start..start + out.len()]);
        Ok(())
    }
    fn as_slice(&self) -> Option<&[T]> {
        Some(&self.values)
    }
}
