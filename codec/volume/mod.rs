//! Volumes: shapes, element types, and access to values wherever they live.

mod array;
mod dataset;
mod element;
mod field;
mod filename;
mod formats;
mod mapped;
mod missing;
mod npy;
mod quantiles;
mod raw;
mod registry;
mod scan;
mod shape;
mod sidecar;
mod standin;
mod stats;
mod stored;
mod suggest;
pub mod write;

pub use array::{ArrayDataset, MappedArray, default_axes, missing_bits};
pub use dataset::{Dataset, Metadata, OpenHints, Values, VariableInfo, Volume};
pub use element::{DType, Element};
pub use field::{Field, SliceField, VecField};
pub use filename::{NameFacts, dims_from_word, facts_from_name};
pub use formats::suspect_missing;
pub use mapped::{ByteLayout, MappedField, SharedBytes, map_file};
pub use missing::Missing;
pub use npy::NpyHeader;
pub use registry::{Format, detect, formats, open};
pub(crate) use scan::{RowReader, Segment, Units};
pub use shape::{Region, Shape};
pub use standin::standin;
pub use stats::{Stats, Validity};
pub use stored::StoredType;
pub use suggest::suggest_shapes;
