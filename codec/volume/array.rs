//! Data sets whose variables are plain arrays inside some bytes: raw, .npy, and headers in front of raw data.

use super::mapped::{ByteLayout, MappedField, SharedBytes};
use super::{Dataset, Element, Shape, StoredType, Values, VariableInfo, Volume};
use crate::{DType, Error, Result};

/// One array of any rank inside some bytes.
#[derive(Clone)]
pub struct MappedArray {
    pub bytes: SharedBytes,
    /// Byte of the first value.
    pub offset: u64,
    pub stored: StoredType,
    pub big_endian: bool,
    /// Axis 0 of the extents is the fastest in the bytes, instead of the slowest.
    pub fortran_order: bool,
}

/// A file whose variables are [`MappedArray`]s.
pub struct ArrayDataset {
    source: String,
    variables: Vec<VariableInfo>,
    arrays: Vec<MappedArray>,
}

impl ArrayDataset {
    /// One array per variable; `source` is the file as the user named it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Truncated`] when an array reaches beyond its bytes.
    pub fn new(source: String, arrays: Vec<(VariableInfo, MappedArray)>) -> Result<Self> {
        for (info, array) in &arrays {
            array.check_size(info)?;
        }
        let (variables, arrays) = arrays.into_iter().unzip();
        Ok(Self { source, variables, arrays })
    }
}

impl MappedArray {
    fn check_size(&self, info: &VariableInfo) -> Result<()> {
        if info.extents.contains(&0) {
            return Err(Error::invalid(format!("{}: an array of shape {:?} holds no values", info.name, info.extents)));
        }
        let have = (*self.bytes).as_ref().len() as u64;
        let need = info
            .extents
            .iter()
            .try_fold(self.stored.bytes() as u64, |p, &e| p.checked_mul(e as u64))
            .and_then(|b| b.checked_add(self.offset));
        match need {
            Some(need) if need <= have => Ok(()),
            _ => Err(Error::truncated(format!(
                "{}: {:?} {} values from byte {} on do not fit into {have} bytes",
                info.name, info.extents, self.stored, self.offset
            ))
            .remedy("the file was cut short, or its header is wrong")),
        }
    }
    /// Bytes between neighbours, per axis of `extents`.
    fn strides(&self, extents: &[usize]) -> Vec<usize> {
        let mut strides = vec![0; extents.len()];
        let mut step = self.stored.bytes();
        let mut set = |a: usize| {
            strides[a] = step;
            step *= extents[a];
        };
        if self.fortran_order {
            (0..extents.len()).for_each(&mut set);
        } else {
            (0..extents.len()).rev().for_each(&mut set);
        }
        strides
    }
    /// The volume at `leading` indices along the axes before the last three.
    fn layout(&self, extents: &[usize], shape: &Shape, leading: &[usize]) -> ByteLayout {
        let strides = self.strides(extents);
        let lead = leading.len();
        let offset = self.offset as usize + leading.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>();
        // Axes that the array lacks have one node: any step does, as long as C order is seen as such.
        let mut stride = [self.stored.bytes() * shape.len(); 3];
        stride[3 - shape.rank as usize..].copy_from_slice(&strides[lead..]);
        ByteLayout { n: shape.n, offset, stride, stored: self.stored, big_endian: self.big_endian }
    }
}

impl Dataset for ArrayDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.variables
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, array) = self
            .variables
            .get(variable)
            .zip(self.arrays.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let leading = info.leading_indices(step)?;
        let shape = info.shape()?;
        let values =
            MappedField::new(array.bytes.clone(), array.layout(&info.extents, &shape, &leading))?.into_values();
        let variable = if self.variables.len() > 1 { info.name.as_str() } else { "" };
        info.volume(&self.source, variable, step, values)
    }
}

/// The bit patterns, in the element type, of values that mean "missing".
pub fn missing_bits(values: &Values, missing: &[f64]) -> Vec<u64> {
    let bits = |v: &f64| match values.dtype() {
        DType::F32 => f32::from_f64(*v).to_bits64(),
        DType::F64 => v.to_bits64(),
    };
    missing.iter().map(bits).collect()
}

/// Names for axes that have none: `z`, `y`, `x` for the last three, `t` and then `t2`, `t3`, ... before them.
pub fn default_axes(rank: usize) -> Vec<String> {
    const LAST: [&str; 4] = ["t", "z", "y", "x"];
    (0..rank)
        .map(|a| match (rank - a).cmp(&5) {
            std::cmp::Ordering::Less => LAST[a + 4 - rank].to_string(),
            _ => format!("t{}", rank - a - 3),
        })
        .collect()
}
