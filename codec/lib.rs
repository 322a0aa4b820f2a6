//! BlockMGARD: error-bounded compression of scientific volumes with region-of-interest (ROI) tolerances.
//!
//! Data flows one way, and the modules are named after the stations:
//!
//! ```text
//! file -> volume -> roi -> transform (hybrid | pyramid) -> entropy -> stream -> metrics
//! ```
//!
//! Every finite value `u` of a block with tolerance `tau` is rebuilt as `v` with `|u - v| <= tau`
//! in exact arithmetic; NaN and infinities come back bit for bit.

pub mod backend;
pub mod control;
pub mod entropy;
pub mod error;
pub mod job;
pub mod metrics;
pub mod params;
pub mod roi;
mod simd;
pub mod stream;
pub mod transform;
pub mod volume;

pub use control::Control;
pub use error::{Error, ErrorKind, Result};
pub use params::{Basis, Budget, Coder, Entropy, Mode, Order, Params};
pub use roi::{Tier, ToleranceMap};
pub use volume::{DType, Element, Region, Shape};
