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
    /// `estimated`: whether warps should be faster.
    pub(super) fn takes_warps(self, estimated: bool) -> bool {
        match self {
            Self::Estimated => estimated,
            Self::Lanes => false,
            Self::Warps => true,
        }
    }
}

/// Nanoseconds that a warp whose lanes decode a segment each takes, and for each byte of its longest segment. An H200 holds all
/// segments of 512^3 values at a time (kernels/NOTES.md, "Both Huffman decoders").
const LANES: [f64; 2] = [0.86e6, 24.5];
/// The same of a block whose warps decode a segment each; each multiprocessor of an H200 holds one.
const WARPS: [f64; 2] = [20.0e3, 19.0];

/// The segments that a warp or a block decodes together: all wait for the longest one.
pub struct Groups<'a> {
    /// First segment of each group, then the number of all segments.
    pub first: &'a [u32],
    /// Groups that the device holds at a time.
    pub at_a_time: u64,
}

impl Groups<'_> {
    /// Nanoseconds for segments of so many bytes.
    fn time(&self, bytes: &[u32], [fixed, byte]: [f64; 2]) -> f64 {
        let time = |group: &[u32]| {
            let longest = bytes[group[0] as usize..group[1] as usize].iter().max();
            fixed + byte * longest.copied().unwrap_or(0) as f64
        };
        let (sum, longest) =
            self.first.windows(2).map(time).fold((0.0, 0.0), |(sum, longest), t| (sum + t, t.max(longest)));
        f64::max(sum / self.at_a_time as f64, longest)
    }
}

/// Whether a warp a segment should be faster for segments of so many bytes, in groups for lanes and for warps.
pub fn suits_warps(bytes: &[u32], lanes: &Groups, warps: &Groups) -> bool {
    warps.time(bytes, WARPS) < lanes.time(bytes, LANES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an H200 takes warps, for blocks of 11 segments, the longest of each `of_block` bytes long, and one of `longest`.
    fn suits(segments: u32, of_block: u32, longest: u32) -> bool {
        let mut bytes = vec![of_block; segments as usize];
        bytes[0] = longest;
        let first = |step| (0..segments).step_by(step).chain([segments]).collect::<Vec<u32>>();
        let (blocks, warps) = (first(11), first(32));
        let by_lanes = Groups { first: &warps, at_a_time: 132 * 7 };
        suits_warps(&bytes, &by_lanes, &Groups { first: &blocks, at_a_time: 132 })
    }

    /// Mean over blocks of their longest segment, the longest of all, milliseconds by lanes and by warps of an H200: 512^3 f32 at
    /// 1e-2, 1e-3, 1e-4 and 1e-6.
    const MEASURED: [(u32, u32, f64, f64); 4] = [
        (548, 7158, 1.025, 0.482),
        (1639, 9779, 1.026, 0.650),
        (4052, 12320, 1.142, 1.307),
        (9397, 17615, 1.295, 3.465),
    ];

    #[test]
    fn the_faster_decoder_is_chosen_where_both_were_measured() {
        for (of_block, longest, lanes, warps) in MEASURED {
            assert_eq!(suits(21_700, of_block, longest), warps < lanes, "{of_block} bytes");
        }
    }

    #[test]
    fn small_frames_and_those_without_payloads_suit_warps() {
        assert!(suits(4_000, 11_000, 15_000) && suits(1, 0, 0));
        let none = Groups { first: &[0], at_a_time: 132 };
        assert!(!suits_warps(&[], &none, &none));
    }
}
