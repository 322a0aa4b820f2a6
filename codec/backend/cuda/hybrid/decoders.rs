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

/// Nanoseconds that a lane takes for a segment, and for each byte of it: 1.01, 1.15 and 1.30 ms for the segments of 512^3
/// values at 1e-2, 1e-4 and 1e-6, which an H200 holds all at a time (kernels/NOTES.md).
const LANE: [f64; 2] = [1.0e6, 33.0];
/// The same of a warp: 0.52 and 1.52 ms for 8 and 71 MB of that frame's 20,500 segments, 1,452 of them at a time. (Long
/// segments take more, 4.5 ms for 186 MB; those are the lanes' anyway.)
const WARP: [f64; 2] = [27.5e3, 24.0];

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

    #[test]
    fn the_faster_decoder_is_chosen_where_both_were_measured() {
        // 512^3 at 1e-2, 1e-4 and 1e-6; 100x500x500 and 256x384x384 (f64) at 1e-4
        let measured =
            [(20_500, 8, true), (20_500, 71, false), (20_500, 186, false), (4_000, 18, true), (5_800, 9, true)];
        for (segments, megabytes, warps) in measured {
            assert_eq!(work(segments, megabytes * 1_000_000).suits_warps(), warps, "{segments}, {megabytes} MB");
        }
    }

    #[test]
    fn times_are_near_those_measured() {
        let near = |ns: f64, ms: f64| assert!((ns / 1e6 - ms).abs() < 0.05, "{ns} ns, {ms} ms");
        for (megabytes, lanes, warps) in [(8, 1.009, 0.515), (71, 1.146, 1.515)] {
            let work = work(20_500, megabytes * 1_000_000);
            near(work.time(LANE, work.by_lanes), lanes);
            near(work.time(WARP, work.by_warps), warps);
        }
        near(work(20_500, 186_000_000).time(LANE, 132 * 7 * 32), 1.30);
    }

    #[test]
    fn frames_without_payloads_suit_warps() {
        assert!(work(0, 0).suits_warps() && work(1, 0).suits_warps());
    }
}
