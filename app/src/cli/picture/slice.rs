//! One plane of a volume.

use super::Panel;
use anyhow::Result;
use blockmgard::volume::Volume;
use blockmgard::{Element, Error, Region, Shape, with_values};

/// The plane `index` across `axis` (0 to 2, of the three axes a [`Shape`] holds).
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    axis: usize,
    index: usize,
    pub region: Region,
    pub width: usize,
    pub height: usize,
}

impl Slice {
    /// `axis` counts the volume's own axes; volumes of one or two axes are drawn whole. The middle plane is the default.
    pub fn new(shape: &Shape, axis: usize, index: Option<usize>) -> Result<Self> {
        let rank = usize::from(shape.rank);
        if axis >= rank {
            Err(Error::invalid(format!("axis {axis} of a volume of {shape}")).remedy(format!("use 0 to {}", rank - 1)))?;
        }
        let axis = if rank == 3 { axis } else { 0 };
        let index = index.unwrap_or(shape.n[axis] / 2);
        if index >= shape.n[axis] {
            Err(Error::invalid(format!("slice {index} of an axis of {} nodes", shape.n[axis])))?;
        }
        let mut region = shape.region();
        (region.lo[axis], region.hi[axis]) = (index, index + 1);
        let sides: Vec<usize> = (0..3).filter(|&a| a != axis).map(|a| shape.n[a]).collect();
        Ok(Self { axis, index, region, width: sides[1], height: sides[0] })
    }
    /// The node that pixel `i` shows.
    pub fn node(&self, i: usize) -> [usize; 3] {
        let (row, column) = (i / self.width, i % self.width);
        match self.axis {
            0 => [self.index, row, column],
            1 => [row, self.index, column],
            _ => [row, column, self.index],
        }
    }
    pub fn read(&self, volume: &Volume) -> Result<Vec<f64>> {
        Ok(with_values!(&volume.values, field => read(&**field, &self.region))?)
    }
    pub fn panel(&self, color: impl Fn(usize) -> [u8; 3]) -> Panel {
        let pixels = (0..self.width * self.height).map(color).collect();
        Panel { width: self.width, pixels }
    }
    /// Such as "z = 45".
    pub fn title(&self, volume: &Volume) -> String {
        let rank = usize::from(volume.shape.rank);
        let name = (self.axis + rank).checked_sub(3).and_then(|a| volume.meta.axes.get(a));
        name.map_or(String::new(), |name| format!("{name} = {}", self.index))
    }
}

fn read<T: Element>(field: &dyn blockmgard::volume::Field<T>, region: &Region) -> blockmgard::Result<Vec<f64>> {
    let mut values = vec![T::ZERO; region.len()];
    field.read_region(region, &mut values)?;
    Ok(values.into_iter().map(T::to_f64).collect())
}
