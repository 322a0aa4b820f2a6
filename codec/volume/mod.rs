//! Volumes: shapes, element types, and access to values wherever they live.

mod dataset;
mod element;
mod field;
mod shape;

pub use dataset::{Dataset, Metadata, OpenHints, Values, VariableInfo, Volume};
pub use element::{DType, Element};
pub use field::{Field, SliceField};
pub use shape::{Region, Shape};
