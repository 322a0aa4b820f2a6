//! Which of the two Huffman decoders takes a frame: a lane a segment, whose time hardly depends on what a frame holds, or a
//! warp a segment, whose time is that of its segments and bytes.

/// How the Huffman payloads of frames of the hybrid mode are decoded. The values are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HuffmanDecoder {
    /// As should be faster for the frame.
    #[default]
    Estimated,
    /// A lane a segment: for large frames.
    Lanes,
    /// A warp a segment: for small and for sparse frames.
    Warps,
}

impl HuffmanDecoder {
    pub(super) fn takes_warps(self, work: &Work) -> bool {
        match self {
            Self::Estimated => work.suits_warps(),
            Self::Lanes => false,
            Self::Warps => true,
        }
    }
}

/// Nanoseconds that a lane takes for a segment, and for each byte of it. An H200 holds all segments of 512^3 values at a time
/// (kernels/NOTES.md, "Both Huffman decoders").
const LANE: [f64; 2] = [1.0e6, 33.0];
/// The same of a warp, 1,452 of which an H200 holds.
const WARP: [f64; 2] = [27.5e3, 19.0];

/// What a frame gives its decoder to do, and how many segments the device holds at a time.
pub struct Work {
    pub segments: u64,
    /// Of all payloads.
    pub bytes: u64,
    /// With a lane a segment.
    pub by_lanes: u64,
    /// With a warp a segment.
    pub by_warps: u64,
}

impl Work {
    /// Whether a warp a segment should be faster.
    fn suits_warps(&self) -> bool {
        self.time(WARP, self.by_warps) < self.time(LANE, self.by_lanes)
    }

    /// Nanoseconds: of a segment of average length, once for each time that the device is full.
    fn time(&self, [segment, byte]: [f64; 2], at_a_time: u64) -> f64 {
        let segments = self.segments.max(1) as f64;
        (segment + byte * self.bytes as f64 / segments) * (segments / at_a_time as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On an H200.
    fn work(segments: u64, bytes: u64) -> Work {
        Work { segments, bytes, by_lanes: 132 * 7 * 32, by_warps: 132 * 11 }
    }

    /// Segments, megabytes, milliseconds by lanes and by warps of an H200: 512^3 f32 at 1e-2, 1e-3, 1e-4 and 1e-6; 100x500x500
    /// f32 and 256x384x384 f64 at 1e-2, 1e-4 and 1e-6.
    const MEASURED: [(u64, f64, f64, f64); 10] = [
        (20_500, 8.0, 1.025, 0.482),
        (20_500, 24.9, 1.026, 0.650),
        (20_500, 71.2, 1.142, 1.307),
        (20_500, 186.3, 1.295, 3.465),
        (4_000, 2.2, 0.941, 0.168),
        (4_000, 20.5, 1.069, 0.296),
        (4_000, 42.6, 1.096, 0.660),
        (5_800, 1.2, 1.042, 0.173),
        (5_800, 8.6, 1.116, 0.268),
        (5_800, 19.7, 1.294, 0.440),
    ];

    #[test]
    fn the_faster_decoder_is_chosen_where_both_were_measured() {
        for (segments, megabytes, lanes, warps) in MEASURED {
            let chosen = work(segments, (megabytes * 1e6) as u64).suits_warps();
            assert_eq!(chosen, warps < lanes, "{segments}, {megabytes} MB");
        }
    }

    #[test]
    fn frames_without_payloads_suit_warps() {
        assert!(work(0, 0).suits_warps() && work(1, 0).suits_warps());
    }
}
