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
    /// Axis order: one axis predicts alone, the favoured one or else the first that the node is new on. Goes without the rule.
    pub in_order: bool,
}

/// The first byte of those of axis order.
const IN_ORDER: u8 = 48;
/// The last byte that names a choice.
const LAST: u8 = 71;

impl Choice {
    pub fn to_byte(self) -> u8 {
        let order = if self.in_order { IN_ORDER } else { 24 * self.rule as u8 };
        self.points + 3 * self.axis + 12 * self.fine as u8 + order
    }
    /// None for a byte that names nothing.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let (points, axis, fine) = (byte % 3, byte / 3 % 4, byte / 12 % 2 == 1);
        let (rule, in_order) = match byte {
            0..24 => (false, false),
            24..IN_ORDER => (true, false),
            IN_ORDER..=LAST => (false, true),
            _ => return None,
        };
        Some(Self { points, axis, fine, rule, in_order })
    }
    /// The axes that predict nodes new on the axes `new` (bit a = axis a).
    pub fn axes(self, new: usize) -> usize {
        let favoured = (1 << self.axis) >> 1;
        match (new & favoured, self.in_order) {
            (0, true) => new & new.wrapping_neg(),
            (0, false) => new,
            _ => favoured,
        }
    }
    /// The axis that the groups coder walks bands along.
    pub fn walk(self) -> usize {
        (self.axis == 2) as usize
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
