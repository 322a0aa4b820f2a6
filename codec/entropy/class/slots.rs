//! Where a unit stands among the units of a tile, so that classes find their contexts.

use super::symbols::{ChunkLayout, Unit};
use super::tables::{CLASS_GROUPS, TABLES, Table, class_group};

/// The slots of a chunk: all steps and cells that occur in its tiles, coarse steps first.
pub(crate) struct Slots {
    /// By step: cells per axis.
    extent: Vec<[usize; 3]>,
    /// By step: first slot.
    base: Vec<usize>,
    pub(crate) count: usize,
}

impl Slots {
    pub(crate) fn of(layout: &ChunkLayout) -> Self {
        let mut extent: Vec<[usize; 3]> = Vec::new();
        for unit in layout.shapes.iter().flat_map(|s| &s.units) {
            let step = unit.step as usize;
            extent.resize(extent.len().max(step + 1), [0; 3]);
            for (extent, &cell) in extent[step].iter_mut().zip(&unit.cell) {
                *extent = (*extent).max(cell as usize + 1);
            }
        }
        let (mut base, mut count) = (vec![0; extent.len()], 0);
        for step in (0..extent.len()).rev() {
            base[step] = count;
            count += extent[step].iter().product::<usize>();
        }
        Self { extent, base, count }
    }

    fn at(&self, step: usize, cell: [u8; 3]) -> Option<usize> {
        let extent = self.extent.get(step)?;
        let inside = (0..3).all(|a| (cell[a] as usize) < extent[a]);
        let [z, y, x] = cell.map(usize::from);
        inside.then(|| self.base[step] + (z * extent[1] + y) * extent[2] + x)
    }

    /// The slots of a unit and, where there is one, of its parent: the unit of the next coarser step around it.
    pub(crate) fn of_unit(&self, unit: &Unit) -> (usize, Option<usize>) {
        let own = self.at(unit.step as usize, unit.cell).expect("the layout names every unit");
        (own, self.at(unit.step as usize + 1, unit.cell.map(|c| c / 2)))
    }
}

/// The class last seen in each slot.
pub(crate) struct Contexts<'a> {
    slots: &'a Slots,
    last: Vec<Option<u8>>,
}

impl<'a> Contexts<'a> {
    pub(crate) fn new(slots: &'a Slots) -> Self {
        Self { slots, last: vec![None; slots.count] }
    }

    /// The table for the class of a unit.
    pub(crate) fn table(&self, unit: &Unit) -> &'static Table {
        let (own, parent) = self.slots.of_unit(unit);
        let parent = parent.and_then(|p| self.last[p]);
        &TABLES.classes[class_group(self.last[own]) * CLASS_GROUPS + class_group(parent)]
    }

    pub(crate) fn set(&mut self, unit: &Unit, class: u8) {
        self.last[self.slots.of_unit(unit).0] = Some(class);
    }
}

/// The class rounds of a tile: runs of at most `lanes` units of one step.
pub(crate) fn class_rounds(units: &[Unit], lanes: usize) -> impl DoubleEndedIterator<Item = std::ops::Range<usize>> {
    let mut rounds = Vec::new();
    let mut start = 0;
    for end in 1..=units.len() {
        if end == units.len() || units[end].step != units[start].step || end - start == lanes {
            rounds.push(start..end);
            start = end;
        }
    }
    rounds.into_iter()
}
