//! Files as sets of variables, and the volumes read from them.

use super::{DType, Field, Missing, Shape, StoredType, missing_bits};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The values of a volume, wherever they live (memory, a memory map, a file read on demand).
#[derive(Clone)]
pub enum Values {
    F32(Arc<dyn Field<f32>>),
    F64(Arc<dyn Field<f64>>),
}

impl Values {
    pub fn dtype(&self) -> DType {
        match self {
            Values::F32(_) => DType::F32,
            Values::F64(_) => DType::F64,
        }
    }
}

/// Runs the same generic code on either element type: `with_values!(values, field => expr)`.
#[macro_export]
macro_rules! with_values {
    ($values:expr, $field:ident => $body:expr) => {
        match $values {
            $crate::volume::Values::F32($field) => $body,
            $crate::volume::Values::F64($field) => $body,
        }
    };
}

/// What else a file says of the coordinates along one axis, in the words of the CF conventions: see [`AXIS_ATTRIBUTES`].
pub type AxisAttributes = BTreeMap<String, String>;

/// The attributes of coordinates that are kept, besides their units: without the calendar a time is another time.
pub const AXIS_ATTRIBUTES: [&str; 5] = ["axis", "calendar", "long_name", "positive", "standard_name"];

/// Names, units and geometry that travel with a volume and are written back on export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// File the volume came from, as the user named it.
    pub source: String,
    /// Variable name inside the file; empty for single-variable files.
    pub variable: String,
    /// What the variable is, in words.
    pub long_name: Option<String>,
    pub units: Option<String>,
    /// Names of the 1 to 3 axes, slowest first.
    pub axes: Vec<String>,
    /// Distance between nodes per axis, slowest first.
    pub spacing: Option<Vec<f64>>,
    /// Coordinates of node 0 per axis, slowest first.
    pub origin: Option<Vec<f64>>,
    /// Step of a series, when there is one.
    pub step: Option<usize>,
    /// Coordinates of the nodes of axes that are not evenly spaced, one list per axis (empty where spacing and origin
    /// say it); no lists at all when every axis is even.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Vec<f64>>,
    /// Units of the axes, one word per axis (empty where there is none); no words at all when no axis has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub axis_units: Vec<String>,
    /// One map per axis; none at all when no axis has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub axis_attributes: Vec<AxisAttributes>,
}

/// One volume ready to look at or to compress.
#[derive(Clone)]
pub struct Volume {
    pub shape: Shape,
    pub values: Values,
    pub meta: Metadata,
    pub missing: Missing,
}

/// What a file says of one of its variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariableInfo {
    pub name: String,
    /// All extents, slowest first; more than three axes make a series over the leading ones.
    pub extents: Vec<usize>,
    /// Axis names, slowest first, one per extent.
    pub axes: Vec<String>,
    /// Type in the file, such as "i16 big-endian, scaled".
    pub stored: String,
    /// Type that a read delivers.
    pub dtype: DType,
    pub units: Option<String>,
    pub long_name: Option<String>,
    /// The values that mean "missing", as the file states them.
    pub missing: Vec<f64>,
    /// Closed range of values that are data, as the file states it; others are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<[f64; 2]>,
    pub spacing: Option<Vec<f64>>,
    pub origin: Option<Vec<f64>>,
    /// As [`Metadata::coordinates`], over all extents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Vec<f64>>,
    /// As [`Metadata::axis_units`], over all extents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axis_units: Vec<String>,
    /// As [`Metadata::axis_attributes`], over all extents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axis_attributes: Vec<AxisAttributes>,
    /// What a reader should know, such as a conversion that is not exact.
    pub notes: Vec<String>,
}

impl VariableInfo {
    /// Number of volumes in the series (1 when the variable has at most three axes).
    pub fn steps(&self) -> usize {
        let lead = self.extents.len().saturating_sub(3);
        self.extents[..lead].iter().product()
    }
    /// The axes of one volume of the series.
    pub fn shape(&self) -> Result<Shape> {
        Shape::new(&self.extents[self.extents.len().saturating_sub(3)..])
    }
    /// Indices along the leading axes of step `step`.
    ///
    /// # Errors
    /// A step that the series does not have.
    pub fn leading_indices(&self, step: usize) -> Result<Vec<usize>> {
        if step >= self.steps() {
            return Err(Error::invalid(format!("step {step} asked for, but {} has {}", self.name, self.steps()))
                .remedy("steps count from 0"));
        }
        let mut rest = step;
        let mut indices: Vec<usize> = Vec::new();
        for &n in self.extents[..self.extents.len().saturating_sub(3)].iter().rev() {
            indices.push(rest % n);
            rest /= n;
        }
        indices.reverse();
        Ok(indices)
    }
    /// Step `step` with its values, named and placed as this variable says.
    pub fn volume(&self, source: &str, variable: &str, step: usize, values: Values) -> Result<Volume> {
        let lead = self.extents.len().saturating_sub(3);
        Ok(Volume {
            shape: self.shape()?,
            missing: Missing { patterns: missing_bits(&values, &self.missing), valid: self.valid },
            values,
            meta: Metadata {
                source: source.to_string(),
                variable: variable.to_string(),
                long_name: self.long_name.clone(),
                units: self.units.clone(),
                axes: self.axes[lead..].to_vec(),
                spacing: self.spacing.as_ref().map(|s| s[lead..].to_vec()),
                origin: self.origin.as_ref().map(|s| s[lead..].to_vec()),
                step: (lead > 0).then_some(step),
                coordinates: some_left(self.coordinates.iter().skip(lead).cloned().collect(), Vec::is_empty),
                axis_units: some_left(self.axis_units.iter().skip(lead).cloned().collect(), String::is_empty),
                axis_attributes: some_left(
                    self.axis_attributes.iter().skip(lead).cloned().collect(),
                    AxisAttributes::is_empty,
                ),
            },
        })
    }
}

/// Lists of which at least one says something, or none.
fn some_left<L>(lists: Vec<L>, is_empty: impl Fn(&L) -> bool) -> Vec<L> {
    if lists.iter().all(is_empty) { Vec::new() } else { lists }
}

/// An opened file.
pub trait Dataset: Send + Sync {
    fn variables(&self) -> &[VariableInfo];
    /// The type of a variable that is there but not listed, since values of this type are not read.
    fn unread_type(&self, _name: &str) -> Option<String> {
        None
    }
    /// Opens one volume; `step` indexes the leading axes of a series, flattened in C order.
    fn open(&self, variable: usize, step: usize) -> Result<Volume>;
}

/// What the user says about a file that cannot say it itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenHints {
    /// Extents, slowest first.
    pub dims: Option<Vec<usize>>,
    /// Type of the values of a raw file.
    pub dtype: Option<StoredType>,
    pub big_endian: Option<bool>,
    /// Bytes to skip at the start of a raw file.
    pub offset: u64,
    /// Values that mean "missing".
    pub missing: Vec<f64>,
}
