use super::geometry::{GROUP, NO_NODE};
use crate::transform::pyramid::geometry::arrays;
use crate::transform::pyramid::plan::ArrayPlan;

/// Every coded node of every tile of some frames is in one group of one stream, in both directions of walking.
#[test]
fn every_coded_node_is_in_one_group() {
    for (n, tile) in [([40, 70, 33], 32), ([64, 64, 64], 8), ([19, 2, 50], 16), ([3, 66, 5], 32), ([2, 2, 90], 8)] {
        for array in arrays(n, tile).unwrap().into_iter().filter(|array| !array.is_last()) {
            let plan = ArrayPlan::<f32>::new(array);
            for tile in plan.tile_plans() {
                for walk in [None, Some(0), Some(1)] {
                    let groups = tile.groups(walk);
                    let mut seen = vec![0; tile.layout.nodes];
                    for group in (0..groups.streams()).flat_map(|s| groups.runs_of(s)).flat_map(|r| groups.groups_of(r))
                    {
                        let places = groups.places_of(group);
                        let nodes = places.iter().filter(|node| **node != NO_NODE);
                        assert!(places.is_empty() || places.len() == GROUP && nodes.clone().count() > 0);
                        nodes.for_each(|node| seen[*node as usize] += 1);
                    }
                    assert!(seen.iter().all(|count| *count == 1), "{n:?} {:?} {walk:?}", tile.dims);
                    assert!(
                        (0..groups.streams()).flat_map(|s| groups.runs_of(s)).all(|r| groups.groups_of(r).len() <= 32)
                    );
                }
            }
        }
    }
}
