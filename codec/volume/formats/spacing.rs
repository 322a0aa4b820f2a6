//! Spacing and origin of axes that list their coordinates, and the coordinates themselves where spacing cannot say them.

use crate::volume::{AXIS_ATTRIBUTES, AxisAttributes, VariableInfo};

/// Coordinates of a longer uneven axis are not kept: every stream of the volume would carry them.
const MAX_KEPT: usize = 1 << 16;

/// What a file says of one axis.
pub struct Axis {
    pub name: String,
    /// Where its nodes are, when the file tells.
    pub nodes: Option<Vec<f64>>,
    pub units: Option<String>,
    pub attributes: AxisAttributes,
}

/// The attributes of coordinates that are kept, of those that `text` finds.
pub fn axis_attributes(text: impl Fn(&str) -> Option<String>) -> AxisAttributes {
    AXIS_ATTRIBUTES.iter().filter_map(|&name| Some((name.to_owned(), text(name)?))).collect()
}

impl Axis {
    pub fn new(name: &str, nodes: Option<Vec<f64>>) -> Self {
        Self { name: name.to_owned(), nodes, units: None, attributes: AxisAttributes::new() }
    }
    /// The axis of the cells between its nodes.
    pub fn centres(mut self) -> Self {
        if let Some(nodes) = self.nodes.as_mut().filter(|n| n.len() > 1) {
            *nodes = nodes.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
        }
        self
    }
}

/// Spacing and origin of coordinates that are evenly spaced; `None` where they are not.
///
/// Coordinates are often stored in f32, so each may be off by a few of its last digits.
pub fn even_spacing(coordinates: &[f64]) -> Option<(f64, f64)> {
    let (&first, &last) = (coordinates.first()?, coordinates.last()?);
    if coordinates.len() < 2 {
        return Some((1.0, first));
    }
    let step = (last - first) / (coordinates.len() - 1) as f64;
    let largest = first.abs().max(last.abs());
    let slack = (step.abs() * 1e-4).max(largest * 4.0 * f32::EPSILON as f64);
    let even = coordinates.iter().enumerate().all(|(i, c)| (first + step * i as f64 - c).abs() <= slack);
    (even && step != 0.0 && step.is_finite()).then_some((step, first))
}

/// Places a variable by its axes, slowest first: spacing and origin where the nodes are even; else the coordinates are
/// kept as they are, with a note, and spacing counts the nodes. Neither is set when no axis has coordinates.
pub fn place(info: &mut VariableInfo, axes: Vec<Axis>) {
    let count = axes.len();
    let (mut spacing, mut origin, mut found) = (vec![1.0; count], vec![0.0; count], false);
    let (mut coordinates, mut units) = (vec![Vec::new(); count], vec![String::new(); count]);
    let mut attributes = vec![AxisAttributes::new(); count];
    for (a, axis) in axes.into_iter().enumerate() {
        units[a] = axis.units.unwrap_or_default();
        attributes[a] = axis.attributes;
        let Some(nodes) = axis.nodes.filter(|n| !n.is_empty()) else { continue };
        if let Some(even) = even_spacing(&nodes) {
            (spacing[a], origin[a]) = even;
            found = true;
            continue;
        }
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        if nodes.len() > MAX_KEPT || !nodes.iter().all(|c| c.is_finite()) {
            info.notes
                .push(format!("axis {} is not evenly spaced ({first} to {last}): its nodes are counted", axis.name));
            continue;
        }
        info.notes.push(format!("axis {} is not evenly spaced ({first} to {last})", axis.name));
        coordinates[a] = nodes;
    }
    let uneven = coordinates.iter().any(|c| !c.is_empty());
    if found || uneven {
        (info.spacing, info.origin) = (Some(spacing), Some(origin));
    }
    info.coordinates = if uneven { coordinates } else { Vec::new() };
    info.axis_units = if units.iter().any(|u| !u.is_empty()) { units } else { Vec::new() };
    info.axis_attributes = if attributes.iter().any(|a| !a.is_empty()) { attributes } else { Vec::new() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_coordinates_are_even_and_pressure_levels_are_not() {
        let lon: Vec<f64> = (0..3600).map(|i| (0.1f32 * i as f32) as f64).collect();
        let (step, first) = even_spacing(&lon).unwrap();
        assert!((step - 0.1).abs() < 1e-6 && first == 0.0);
        assert_eq!(even_spacing(&[1000.0, 850.0, 500.0]), None);
        assert_eq!(even_spacing(&[3.0, 3.0]), None);
        assert_eq!(even_spacing(&[f64::NAN, 1.0]), None);
        assert_eq!(even_spacing(&[5.0]), Some((1.0, 5.0)));
    }

    #[test]
    fn cells_lie_between_nodes() {
        let centres = |nodes: &[f64]| Axis::new("x", Some(nodes.to_vec())).centres().nodes.unwrap();
        assert_eq!(centres(&[0.0, 1.0, 4.0]), [0.5, 2.5]);
        assert_eq!(centres(&[7.0]), [7.0]);
    }
}
