//! The bundled sample: a real volume and a spec with three tiers, ready to paint on.

use super::document::Document;
use super::{Origin, State};
use crate::studio::data::memory::MemoryDataset;
use blockmgard::Shape;
use blockmgard::roi::RoiSpec;
use blockmgard::volume::{Metadata, OpenHints, Values, VecField, Volume};
use std::sync::Arc;

/// Name shown for the sample.
pub const NAME: &str = "miranda_density_96x72x72.f32";
const BYTES: &[u8] = include_bytes!("../../../../assets/miranda_density_96x72x72.f32");
const SPEC: &str = include_str!("../../../../assets/sample-roi.toml");

/// The sample's values; see `assets/README.md` for where they come from.
pub fn volume() -> blockmgard::Result<Volume> {
    let shape = Shape::new(&[96, 72, 72])?;
    let values = BYTES.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let meta = Metadata {
        source: NAME.into(),
        variable: "density".into(),
        axes: ["z", "y", "x"].map(String::from).to_vec(),
        ..Metadata::default()
    };
    Ok(Volume {
        shape,
        values: Values::F32(Arc::new(VecField::new(values, shape.n))),
        meta,
        missing: Default::default(),
    })
}

/// The sample as an open document.
pub fn document() -> anyhow::Result<Document> {
    let dataset = Arc::new(MemoryDataset::new(volume()?, "sample"));
    Document::of_dataset(NAME.into(), OpenHints::default(), dataset, 0, 0)
}

impl State {
    /// Shows the sample with its tiers and regions.
    pub(super) fn open_sample(&mut self) {
        let open = || -> anyhow::Result<(Document, RoiSpec)> { Ok((document()?, RoiSpec::parse(SPEC)?)) };
        match open() {
            Ok((document, spec)) => {
                self.set_document(document);
                self.load_spec(spec, Default::default(), Origin::File);
            }
            Err(error) => self.complain(format!("The sample cannot be opened: {error:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_bytes_fill_the_shape_and_the_spec_parses() {
        assert_eq!(BYTES.len(), volume().unwrap().shape.len() * 4);
        RoiSpec::parse(SPEC).unwrap().check().unwrap();
    }
}
