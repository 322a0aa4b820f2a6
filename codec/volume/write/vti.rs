//! VTK image data (.vti): XML with the values appended raw.

use super::Payload;
use crate::volume::StoredType;
use quick_xml::escape::escape;

/// What follows the values.
pub const TAIL: &[u8] = b"\n  </AppendedData>\n</VTKFile>\n";

/// Everything before the values, the 8-byte length of the block included.
pub fn head(payload: &Payload) -> Vec<u8> {
    let kind = match payload.stored {
        StoredType::U8 => "UInt8",
        StoredType::F32 => "Float32",
        _ => "Float64",
    };
    // x, y, z; VTK images always have three axes.
    let three = |values: Vec<f64>, fill: f64| {
        let v: Vec<_> = values.iter().rev().copied().chain([fill; 3]).take(3).map(|v| v.to_string()).collect();
        v.join(" ")
    };
    let [nz, ny, nx] = payload.shape.n.map(|n| n - 1);
    let name = escape(payload.name());
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  \
           <ImageData WholeExtent=\"0 {nx} 0 {ny} 0 {nz}\" Origin=\"{}\" Spacing=\"{}\">\n    \
             <Piece Extent=\"0 {nx} 0 {ny} 0 {nz}\">\n      \
               <PointData Scalars=\"{name}\">\n        \
                 <DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"0\"{}/>\n      \
               </PointData>\n    \
             </Piece>\n  \
           </ImageData>\n  \
           <AppendedData encoding=\"raw\">\n   _",
        three(payload.origin(), 0.0),
        three(payload.spacing(), 1.0),
        units(payload),
    )
    .into_bytes();
    out.extend(payload.bytes().to_le_bytes());
    out
}

/// VTK ignores attributes it does not know; ours keeps the units.
fn units(payload: &Payload) -> String {
    payload.meta.units.as_ref().map(|u| format!(" Units=\"{}\"", escape(u.as_str()))).unwrap_or_default()
}
