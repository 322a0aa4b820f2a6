//! The bundled sample opens as documented and its spec gives each of its tiers a fair share of blocks.

use blockmgard::roi::{RegionShape, RoiSpec};
use blockmgard::volume::{OpenHints, Stats, open};
use blockmgard::{Control, DType, ToleranceMap};
use std::path::Path;

#[test]
fn the_bundled_sample_and_its_spec_fit_each_other() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let set = open(&assets.join("miranda_density_96x72x72.f32"), &OpenHints::default()).unwrap();
    assert_eq!((set.variables()[0].name.as_str(), set.variables()[0].dtype), ("density", DType::F32));
    let volume = set.open(0, 0).unwrap();
    assert_eq!(volume.shape.extents(), [96, 72, 72]);
    let control = Control::default();
    let stats = Stats::of(&volume, &control).unwrap();
    assert!((stats.min - 1.0).abs() < 1e-4 && (stats.max - 3.0).abs() < 1e-4, "{stats:?}");

    let mut spec = RoiSpec::load(&assets.join("sample-roi.toml")).unwrap();
    let map = spec.resolve(&volume, &stats, &control).unwrap();
    let blocks = |map: &ToleranceMap, tier: u8| map.tier_of_block.iter().filter(|t| **t == tier).count();
    let counts = [0, 1, 2].map(|tier| blocks(&map, tier));
    assert!(counts.iter().all(|c| *c > map.tier_of_block.len() / 10), "{counts:?}");

    // The plume that is switched off lies in the volume too.
    spec.regions[2].enabled = true;
    assert!(matches!(spec.regions[2].shape, RegionShape::Ellipsoid(_)));
    let with_plume = spec.resolve(&volume, &stats, &control).unwrap();
    assert!(blocks(&with_plume, 2) > counts[2]);
}
