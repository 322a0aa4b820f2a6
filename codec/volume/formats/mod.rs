//! The file formats that volumes come in, beside raw and .npy.

mod bov;
mod cf;
mod expand;
mod fits;
mod header_text;
mod metaimage;
mod mrc;
mod netcdf;
mod nifti;
mod nrrd;
mod packing;
mod spacing;
mod strided;
mod tiled;
mod vtk_data;
mod vtk_legacy;
mod vtk_xml;

pub(super) use bov::Bov;
pub(super) use fits::Fits;
pub(super) use metaimage::MetaImage;
pub(super) use mrc::Mrc;
pub(super) use netcdf::NetCdf;
pub(super) use nifti::Nifti;
pub(super) use nrrd::Nrrd;
pub(super) use vtk_legacy::VtkLegacy;
pub(super) use vtk_xml::VtkXml;
