//! What a chunk may choose: the number of points, the axes to trust, and how fine its coarse steps are quantized.

use super::quantizer::LEVELS;

/// A chunk's choice, one byte in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Index into [`super::stencil::POINTS`].
    pub points: u8,
    /// 0: all axes alike; 1, 2, 3: nodes new on axis 0, 1, 2 are predicted along that axis alone.
    pub axis: u8,
    /// Whether coarse steps are quantized more finely.
    pub fine: bool,
    /// The roughness rule: whether axes that are much rougher than another are left out.
    pub rule: bool,
    /// Axis order: the first axis that a node is new on predicts alone. Goes with none of the above but `points`.
    pub in_order: bool,
}

/// The first byte of those of axis order.
const IN_ORDER: u8 = 48;

impl Choice {
    pub fn to_byte(self) -> u8 {
        if self.in_order {
            return IN_ORDER + self.points;
        }
        self.points + 3 * self.axis + 12 * self.fine as u8 + 24 * self.rule as u8
    }
    /// None for a byte that names nothing.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let points = byte % 3;
        match byte {
            0..IN_ORDER => {
                Some(Self { points, axis: byte / 3 % 4, fine: byte / 12 % 2 == 1, rule: byte >= 24, in_order: false })
            }
            IN_ORDER..=50 => Some(Self { points, in_order: true, ..Self::default() }),
            _ => None,
        }
    }
    /// The axes that predict nodes new on the axes `new` (bit a = axis a).
    pub fn axes(self, new: usize) -> usize {
        let alone = if self.in_order { new & new.wrapping_neg() } else { (1 << self.axis) >> 1 };
        if new & alone != 0 { alone } else { new }
    }
}

/// Which level of quantization the steps of a tile take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// The full step everywhere.
    Full,
    /// Step s of the frame takes level s, the last one from there on.
    ByStep,
    /// Corner arrays take the last level.
    Corners,
}

impl Levels {
    /// The levels in use, as indices into [`LEVELS`].
    pub fn range(self) -> std::ops::Range<usize> {
        match self {
            Levels::Full => 0..1,
            Levels::ByStep => 0..LEVELS.len(),
            Levels::Corners => LEVELS.len() - 1..LEVELS.len(),
        }
    }
    /// Place of the level of a step in [`Levels::range`].
    #[inline(always)]
    pub fn of(self, step: usize) -> usize {
        match self {
            Levels::ByStep => step.min(LEVELS.len() - 1),
            _ => 0,
        }
    }
}
