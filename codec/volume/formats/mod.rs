//! The file formats that volumes come in, beside raw and .npy.

mod bov;
mod cf;
mod expand;
mod header_text;
mod metaimage;
mod netcdf;
mod nrrd;
mod packing;
mod spacing;
mod strided;
mod tiled;

pub(super) use bov::Bov;
pub(super) use metaimage::MetaImage;
pub(super) use netcdf::NetCdf;
pub(super) use nrrd::Nrrd;
