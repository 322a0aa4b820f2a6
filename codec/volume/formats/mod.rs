//! The file formats that volumes come in, beside raw and .npy.

mod blosc;
mod bov;
mod cf;
mod expand;
mod fits;
mod header_text;
mod many_files;
mod metaimage;
mod mrc;
mod netcdf;
mod nifti;
mod npz;
mod nrrd;
mod packing;
mod raw_slices;
mod slice_folder;
mod slices;
mod spacing;
mod strided;
mod suspect;
mod tiff_pages;
mod tiled;
mod vtk_data;
mod vtk_head;
mod vtk_legacy;
mod vtk_xml;
mod wrapped;
mod zarr;
mod zarr_codecs;
mod zarr_meta;

pub use suspect::suspect_missing;

pub(super) use bov::Bov;
pub(super) use fits::Fits;
pub(super) use metaimage::MetaImage;
pub(super) use mrc::Mrc;
pub(super) use netcdf::NetCdf;
pub(super) use nifti::Nifti;
pub(super) use npz::Npz;
pub(super) use nrrd::Nrrd;
pub(super) use slice_folder::{SliceFolder, is_pattern};
pub(super) use tiff_pages::Tiff;
pub(super) use vtk_legacy::VtkLegacy;
pub(super) use vtk_xml::VtkXml;
pub(super) use wrapped::Wrapped;
pub(super) use zarr::Zarr;
