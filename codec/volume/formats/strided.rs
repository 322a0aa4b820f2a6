//! Data sets whose variables are arrays with any stride inside some bytes: interleaved components, axes in any order.

use super::packing::Packing;
use crate::volume::{
    ByteLayout, Dataset, MappedField, OpenHints, SharedBytes, StoredType, VariableInfo, Volume, default_axes,
};
use crate::{Error, Result};

/// One variable inside some bytes.
pub struct StridedArray {
    pub bytes: SharedBytes,
    /// Byte of the first value.
    pub offset: usize,
    /// Bytes between neighbours per axis, slowest axis first; one per extent.
    pub strides: Vec<usize>,
    pub stored: StoredType,
    pub big_endian: bool,
    pub packing: Packing,
}

impl StridedArray {
    /// Values of shape `extents` one after the other from byte `offset` on, the last axis fastest, `components`
    /// of them per node: this is the array of component `component`.
    pub fn component(
        bytes: SharedBytes,
        offset: usize,
        extents: &[usize],
        (component, components): (usize, usize),
        stored: StoredType,
        big_endian: bool,
    ) -> Self {
        let mut strides = vec![0; extents.len()];
        let mut step = stored.bytes().saturating_mul(components);
        for (stride, n) in strides.iter_mut().zip(extents).rev() {
            *stride = step;
            step = step.saturating_mul(*n);
        }
        let offset = offset.saturating_add(component * stored.bytes());
        Self { bytes, offset, strides, stored, big_endian, packing: Packing::plain(stored) }
    }
    /// Checks that every value lies inside the bytes.
    fn check_size(&self, info: &VariableInfo) -> Result<()> {
        if info.extents.contains(&0) {
            return Err(Error::invalid(format!("{}: an array of shape {:?} holds no values", info.name, info.extents)));
        }
        let have = (*self.bytes).as_ref().len();
        let last = info
            .extents
            .iter()
            .zip(&self.strides)
            .try_fold(self.offset, |at, (n, stride)| at.checked_add((n - 1).checked_mul(*stride)?));
        match last.and_then(|l| l.checked_add(self.stored.bytes())) {
            Some(end) if end <= have => Ok(()),
            _ => Err(Error::truncated(format!(
                "{}: {:?} {} values from byte {} on do not fit into {have} bytes",
                info.name, info.extents, self.stored, self.offset
            ))
            .remedy("the file was cut short, or its header is wrong")),
        }
    }
    /// [`StridedArray::open`] for an array whose bytes were not there when the file was opened.
    pub fn open_checked(&self, info: &VariableInfo, source: &str, variable: &str, step: usize) -> Result<Volume> {
        self.check_size(info)?;
        self.open(info, source, variable, step)
    }
    fn open(&self, info: &VariableInfo, source: &str, variable: &str, step: usize) -> Result<Volume> {
        let leading = info.leading_indices(step)?;
        let shape = info.shape()?;
        let mut stride = [self.stored.bytes() * shape.len(); 3];
        stride[3 - shape.rank as usize..].copy_from_slice(&self.strides[leading.len()..]);
        let offset = self.offset + leading.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<usize>();
        let layout = ByteLayout { n: shape.n, offset, stride, stored: self.stored, big_endian: self.big_endian };
        let raw = MappedField::new(self.bytes.clone(), layout)?.into_values();
        info.volume(source, variable, step, self.packing.apply(raw))
    }
}

/// A file of [`StridedArray`]s.
pub struct StridedDataset {
    source: String,
    infos: Vec<VariableInfo>,
    arrays: Vec<StridedArray>,
}

impl StridedDataset {
    /// # Errors
    /// [`crate::ErrorKind::Truncated`] when an array reaches beyond its bytes.
    pub fn new(source: String, variables: Vec<(VariableInfo, StridedArray)>) -> Result<Self> {
        for (info, array) in &variables {
            array.check_size(info)?;
        }
        let (infos, arrays) = variables.into_iter().unzip();
        Ok(Self { source, infos, arrays })
    }
}

impl Dataset for StridedDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, array) = self
            .infos
            .get(variable)
            .zip(self.arrays.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let name = if self.infos.len() > 1 { info.name.as_str() } else { "" };
        array.open(info, &self.source, name, step)
    }
}

/// What a header usually says of a variable: the rest is filled with defaults for the caller to replace.
pub fn describe(name: &str, extents: Vec<usize>, array: &StridedArray, hints: &OpenHints) -> VariableInfo {
    let order = match (array.stored.bytes(), array.big_endian) {
        (1, _) => "",
        (_, true) => " big-endian",
        (_, false) => " little-endian",
    };
    let mut missing = array.packing.delivered_fills();
    missing.extend(&hints.missing);
    VariableInfo {
        name: name.to_string(),
        axes: default_axes(extents.len()),
        extents,
        stored: format!("{}{order}", array.packing.describe(array.stored)),
        dtype: array.packing.dtype,
        units: None,
        long_name: None,
        missing,
        valid: array.packing.delivered_valid(),
        spacing: None,
        origin: None,
        coordinates: Vec::new(),
        axis_units: Vec::new(),
        axis_attributes: Vec::new(),
        notes: array.packing.notes(array.stored),
    }
}

/// `name` itself, or `name.0`, `name.1`, ... for the components of a vector.
pub fn component_name(name: &str, component: usize, components: usize) -> String {
    if components > 1 { format!("{name}.{component}") } else { name.to_string() }
}
