//! The file formats that volumes come in, beside raw and .npy.

mod cf;
mod netcdf;
mod packing;
mod spacing;
mod tiled;

pub(super) use netcdf::NetCdf;
