//! VTK image data (.vti) and rectilinear grids (.vtr): XML with the values appended raw.

use super::Payload;
use crate::volume::StoredType;
use quick_xml::escape::escape;

/// What follows the values.
pub const TAIL: &[u8] = b"\n  </AppendedData>\n</VTKFile>\n";

/// Everything before the values, the 8-byte length of the block included.
pub fn head(payload: &Payload, rectilinear: bool) -> Vec<u8> {
    let kind = match payload.stored {
        StoredType::U8 => "UInt8",
        StoredType::F32 => "Float32",
        _ => "Float64",
    };
    let [nz, ny, nx] = payload.shape.n.map(|n| n - 1);
    let name = escape(payload.name());
    let (grid, attributes, coordinates) = if rectilinear {
        ("RectilinearGrid", String::new(), coordinates(payload))
    } else {
        ("ImageData", place(payload), String::new())
    };
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"{grid}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  \
           <{grid} WholeExtent=\"0 {nx} 0 {ny} 0 {nz}\"{attributes}>\n    \
             <Piece Extent=\"0 {nx} 0 {ny} 0 {nz}\">\n      \
               <PointData Scalars=\"{name}\">\n        \
                 <DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"0\"{}/>\n      \
               </PointData>\n{coordinates}    \
             </Piece>\n  \
           </{grid}>\n  \
           <AppendedData encoding=\"raw\">\n   _",
        units(payload),
    )
    .into_bytes();
    out.extend(payload.bytes().to_le_bytes());
    out
}

/// Origin and spacing: x, y, z, of always three axes.
fn place(payload: &Payload) -> String {
    let three = |values: Vec<f64>, fill: f64| {
        let v: Vec<_> = values.iter().rev().copied().chain([fill; 3]).take(3).map(|v| v.to_string()).collect();
        v.join(" ")
    };
    format!(" Origin=\"{}\" Spacing=\"{}\"", three(payload.origin(), 0.0), three(payload.spacing(), 1.0))
}

/// The coordinates of all nodes as text, x, y, z.
fn coordinates(payload: &Payload) -> String {
    let rank = usize::from(payload.shape.rank);
    let axis = |a: usize| {
        let nodes: Vec<_> = if a < rank { payload.nodes(rank - 1 - a) } else { vec![0.0] };
        let words: Vec<_> = nodes.iter().map(f64::to_string).collect();
        let name = ["x", "y", "z"][a];
        format!(
            "        <DataArray type=\"Float64\" Name=\"{name}\" format=\"ascii\">{}</DataArray>\n",
            words.join(" ")
        )
    };
    format!("      <Coordinates>\n{}      </Coordinates>\n", (0..3).map(axis).collect::<String>())
}

/// VTK ignores attributes it does not know; ours keeps the units.
fn units(payload: &Payload) -> String {
    payload.meta.units.as_ref().map(|u| format!(" Units=\"{}\"", escape(u.as_str()))).unwrap_or_default()
}
