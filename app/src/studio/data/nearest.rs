//! Which of some nodes of an axis is nearest to each.

/// For each of `n` nodes, the place of the nearest one of `kept` (ascending, not empty) in that list.
pub fn nearest_of(kept: &[usize], n: usize) -> Vec<u32> {
    let mut at = 0;
    let closer = |at: usize, node: usize| kept.get(at + 1).is_some_and(|k| k.abs_diff(node) < kept[at].abs_diff(node));
    (0..n)
        .map(|node| {
            while closer(at, node) {
                at += 1;
            }
            at as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::nearest_of;

    #[test]
    fn every_node_has_its_nearest() {
        assert_eq!(nearest_of(&[0, 2, 4, 6, 7, 8], 10), [0, 0, 1, 1, 2, 2, 3, 4, 5, 5]);
        assert_eq!(nearest_of(&[0], 1), [0]);
    }
}
