//! NRRD with attached raw values (<https://teem.sourceforge.net/nrrd/format.html>).

use super::Payload;
use crate::volume::StoredType;

pub fn header(payload: &Payload) -> Vec<u8> {
    let kind = match payload.stored {
        StoredType::U8 => "uint8",
        StoredType::F32 => "float",
        _ => "double",
    };
    let rank = payload.shape.rank as usize;
    // NRRD lists the fastest axis first.
    let backwards = || (0..rank).rev();
    let join = |items: Vec<String>| items.join(" ");
    let (spacing, origin) = (payload.spacing(), payload.origin());
    let direction = |axis: usize| {
        let components: Vec<_> =
            backwards().map(|a| if a == axis { spacing[a].to_string() } else { "0".into() }).collect();
        format!("({})", components.join(","))
    };
    let origin: Vec<_> = backwards().map(|a| origin[a].to_string()).collect();
    let mut text = format!(
        "NRRD0005\n\
         content: {}\n\
         type: {kind}\n\
         dimension: {rank}\n\
         space dimension: {rank}\n\
         sizes: {}\n\
         space directions: {}\n\
         space origin: ({})\n\
         endian: little\n\
         encoding: raw\n",
        one_line(payload.name()),
        join(backwards().map(|a| payload.shape.extents()[a].to_string()).collect()),
        join(backwards().map(direction).collect()),
        origin.join(","),
    );
    if payload.meta.axes.len() == rank {
        let labels = backwards().map(|a| format!("\"{}\"", one_line(&payload.meta.axes[a]).replace('"', "'")));
        text += &format!("labels: {}\n", join(labels.collect()));
    }
    if let Some(units) = &payload.meta.units {
        text += &format!("sample units: \"{}\"\n", one_line(units).replace('"', "'"));
    }
    if let Some(name) = &payload.meta.long_name {
        text += &format!("long_name:={}\n", one_line(name));
    }
    text.push('\n');
    text.into_bytes()
}

/// A header field ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
