//! A volume in memory as a data set of one variable.

use blockmgard::volume::{Dataset, VariableInfo, Volume};
use blockmgard::{Error, Result};

/// One volume that is already open.
pub struct MemoryDataset {
    variables: [VariableInfo; 1],
    volume: Volume,
}

impl MemoryDataset {
    /// `stored` says where the values came from, such as "bmg".
    pub fn new(volume: Volume, stored: &str) -> Self {
        let meta = &volume.meta;
        let variable = VariableInfo {
            name: if meta.variable.is_empty() { "values".into() } else { meta.variable.clone() },
            extents: volume.shape.extents().to_vec(),
            axes: meta.axes.clone(),
            stored: stored.to_owned(),
            dtype: volume.values.dtype(),
            units: meta.units.clone(),
            long_name: meta.long_name.clone(),
            missing: vec![],
            valid: volume.missing.valid,
            spacing: meta.spacing.clone(),
            origin: meta.origin.clone(),
            coordinates: meta.coordinates.clone(),
            axis_units: meta.axis_units.clone(),
            axis_attributes: meta.axis_attributes.clone(),
            notes: vec![],
        };
        Self { variables: [variable], volume }
    }
}

impl Dataset for MemoryDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.variables
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        if variable > 0 || step > 0 {
            return Err(Error::invalid("there is one volume only"));
        }
        Ok(self.volume.clone())
    }
}
