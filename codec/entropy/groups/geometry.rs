//! Which nodes of a tile make which groups of which runs of which streams. See `FORMAT.md`, "Groups coder".

/// Places of a group.
pub const GROUP: usize = 8;
/// A place without a node.
pub const NO_NODE: u16 = u16::MAX;
/// Groups of a run.
pub const RUN: usize = 32;

/// Indices on the walk axis (from the first of a slab) and on the row axis (from the first of a quad) of the places of each kind of
/// group, walk slowest.
const KINDS: [(&[usize], &[usize]); 4] =
    [(&[0, 2, 4, 6], &[0, 2]), (&[0, 2, 4, 6], &[1, 3]), (&[1, 3], &[0, 1, 2, 3]), (&[5, 7], &[0, 1, 2, 3])];
/// Indices of a slab on the walk axis.
const SLAB: usize = 8;
/// Indices of a quad on the row axis.
const QUAD: usize = 4;

/// The streams of one shape of tile. Each list holds the ends of its parts in the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileGroups {
    /// Ends of the streams in `runs`.
    streams: Vec<u32>,
    /// Ends of the runs in `groups`.
    runs: Vec<u32>,
    /// Ends of the groups in `nodes`. A dead group has no places.
    groups: Vec<u32>,
    /// The node at each place, counted in the coding order of its tile, or [`NO_NODE`].
    nodes: Vec<u16>,
}

/// One shape of tile, as far as streams depend on it.
#[derive(Clone, Copy, Debug)]
pub struct TileShape<'a> {
    /// Extents in nodes.
    pub dims: [usize; 3],
    /// Raster position of each coded node, in coding order.
    pub order: &'a [u32],
    /// How many of them belong to steps above 0: they come first.
    pub coarse: usize,
}

impl TileGroups {
    /// All `nodes` in stream 0, without bands: tiles of fewer than three axes, and the last array.
    pub fn without_bands(nodes: usize) -> Self {
        let mut streams = Self::default();
        streams.add_in_order(nodes);
        streams
    }

    /// Steps above 0 in stream 0, step 0 in bands. `walk`: the axis w of the format, 0 or 1.
    pub fn with_bands(tile: TileShape, walk: usize) -> Self {
        let mut streams = Self::default();
        streams.add_in_order(tile.coarse);
        let mut coded = vec![NO_NODE; tile.dims.iter().product()];
        for (i, &position) in tile.order.iter().enumerate().skip(tile.coarse) {
            coded[position as usize] = i as u16;
        }
        let row = 1 - walk;
        let quads = tile.dims[row].div_ceil(QUAD);
        let of_band = (RUN / tile.dims[2]).max(1);
        for first in (0..quads).step_by(of_band) {
            for slab in 0..tile.dims[walk].div_ceil(SLAB) {
                for kind in KINDS {
                    for quad in first..(first + of_band).min(quads) {
                        streams.add_quad(&tile, walk, [slab * SLAB, quad * QUAD], kind, &coded);
                    }
                    streams.end_run();
                }
            }
            streams.end_stream();
        }
        streams
    }

    /// The groups of a quad in a slab, which begin at `first` on the walk axis and the row axis.
    fn add_quad(
        &mut self,
        tile: &TileShape,
        walk: usize,
        first: [usize; 2],
        (walks, rows): (&[usize], &[usize]),
        coded: &[u16],
    ) {
        for x in 0..tile.dims[2] {
            let node = |w: usize, r: usize| {
                let [z, y] = if walk == 0 { [w, r] } else { [r, w] };
                let inside = z < tile.dims[0] && y < tile.dims[1];
                if inside { coded[(z * tile.dims[1] + y) * tile.dims[2] + x] } else { NO_NODE }
            };
            let places = walks.iter().flat_map(|w| rows.iter().map(move |r| node(first[0] + w, first[1] + r)));
            self.add_group(places);
        }
    }

    /// Stream 0: the first `nodes` nodes in coding order.
    fn add_in_order(&mut self, nodes: usize) {
        for run in (0..nodes).step_by(GROUP * RUN) {
            for group in (run..nodes.min(run + GROUP * RUN)).step_by(GROUP) {
                self.add_group((group..group + GROUP).map(|i| if i < nodes { i as u16 } else { NO_NODE }));
            }
            self.end_run();
        }
        self.end_stream();
    }

    /// A group of these places; a dead one if none has a node.
    fn add_group(&mut self, places: impl Iterator<Item = u16>) {
        let start = self.nodes.len();
        self.nodes.extend(places);
        if self.nodes[start..].iter().all(|node| *node == NO_NODE) {
            self.nodes.truncate(start);
        }
        self.groups.push(self.nodes.len() as u32);
    }

    fn end_run(&mut self) {
        self.runs.push(self.groups.len() as u32);
    }
    fn end_stream(&mut self) {
        self.streams.push(self.runs.len() as u32);
    }

    /// Number of streams, at least 1.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }
    /// The runs of a stream.
    pub fn runs_of(&self, stream: usize) -> std::ops::Range<usize> {
        part(&self.streams, stream)
    }
    /// The groups of a run, dead ones among them: at most [`RUN`].
    pub fn groups_of(&self, run: usize) -> std::ops::Range<usize> {
        part(&self.runs, run)
    }
    /// The node at each of the [`GROUP`] places of a group, counted in the coding order of the tile, or [`NO_NODE`]; nothing for a
    /// dead group.
    pub fn places_of(&self, group: usize) -> &[u16] {
        &self.nodes[part(&self.groups, group)]
    }
    /// Those of all groups of a stream.
    pub fn places_of_stream(&self, stream: usize) -> impl Iterator<Item = &u16> {
        self.runs_of(stream).flat_map(|run| self.groups_of(run)).flat_map(|group| self.places_of(group))
    }
}

/// Part `i` of a list of ends.
fn part(ends: &[u32], i: usize) -> std::ops::Range<usize> {
    let start = if i == 0 { 0 } else { ends[i - 1] };
    start as usize..ends[i] as usize
}
