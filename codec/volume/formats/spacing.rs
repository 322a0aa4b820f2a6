//! Spacing and origin of axes that list their coordinates.

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

/// Spacing and origin of all axes from the coordinates of those that have some, with a note for each uneven one.
/// An axis without even coordinates counts its nodes: spacing 1, origin 0. Both are `None` when all axes do.
pub fn geometry(axes: &[(String, Option<Vec<f64>>)]) -> (Option<Vec<f64>>, Option<Vec<f64>>, Vec<String>) {
    let (mut spacing, mut origin, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new(), false);
    for (name, coordinates) in axes {
        let even = coordinates.as_deref().and_then(even_spacing);
        if even.is_none()
            && let Some([first, .., last]) = coordinates.as_deref()
        {
            notes.push(format!("axis {name} is not evenly spaced ({first} to {last}): its nodes are counted instead"));
        }
        found |= even.is_some();
        let (s, o) = even.unwrap_or((1.0, 0.0));
        spacing.push(s);
        origin.push(o);
    }
    if found { (Some(spacing), Some(origin), notes) } else { (None, None, notes) }
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
}
