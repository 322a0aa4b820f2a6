//! The header part: what a stream holds and how it was made.

use super::bytes::{Cursor, put_varint};
use crate::params::{Budget, Points};
use crate::volume::DType;
use crate::{Basis, Coder, Entropy, Error, ErrorKind, Mode, Order, Params, Result, Shape, Tier};

/// Everything in the header: enough to lay out the volume, not yet its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub dtype: DType,
    pub shape: Shape,
    pub params: Params,
    /// 1 to 255 tiers, tolerances absolute.
    pub tiers: Vec<Tier>,
}

/// A field of one byte whose values stand for something: `(code, value)`.
fn coded<T: Copy + PartialEq>(table: &[(u8, T)], value: T) -> u8 {
    table.iter().find(|(_, v)| *v == value).expect("the table names every value").0
}

fn decoded<T: Copy>(table: &[(u8, T)], code: u8, what: &str) -> Result<T> {
    table.iter().find(|(c, _)| *c == code).map(|(_, v)| *v).ok_or_else(|| {
        Error::new(
            ErrorKind::Compatibility,
            format!("the header names {what} {code}, which this version does not know"),
        )
        .remedy("open it with a newer BlockMGARD")
    })
}

const DTYPES: [(u8, DType); 2] = [(0, DType::F32), (1, DType::F64)];
const MODES: [(u8, Mode); 2] = [(0, Mode::Hybrid), (1, Mode::Pyramid)];
const BASES: [(u8, Basis); 2] = [(0, Basis::Hierarchical), (1, Basis::Projection)];
const ENTROPIES: [(u8, Entropy); 2] = [(0, Entropy::Huffman), (1, Entropy::Class)];
const BUDGETS: [(u8, Budget); 2] = [(0, Budget::Coefficients), (1, Budget::Uniform)];
const POINTS: [(u8, Points); 4] = [(0, Points::Auto), (2, Points::Two), (4, Points::Four), (6, Points::Six)];
const CODERS: [(u8, Coder); 3] = [(0, Coder::Class), (1, Coder::Planes), (2, Coder::Groups)];
const ORDERS: [(u8, Order); 2] = [(0, Order::Parity), (1, Order::Axis)];
const TILES: [(u8, u8); 3] = [(8, 8), (16, 16), (32, 32)];
/// Values of a frame, written as 0.
const USUAL_FRAME: u64 = 1 << 28;
/// More levels than any volume has halvings.
const MAX_LEVELS: u8 = 48;

impl Header {
    /// Refuses settings that no stream may carry, with what is allowed.
    pub fn validate(&self) -> Result<()> {
        let p = &self.params;
        if self.tiers.is_empty() || self.tiers.len() > 255 {
            return Err(Error::invalid(format!("{} tiers: a stream carries 1 to 255", self.tiers.len())));
        }
        if let Some(tier) = self.tiers.iter().find(|t| t.tau.is_nan() || t.tau < 0.0) {
            return Err(Error::invalid(format!("tier '{}' has tolerance {}, not a number >= 0", tier.name, tier.tau)));
        }
        if !TILES.iter().any(|t| t.1 == p.tile) {
            return Err(Error::invalid(format!("tile {} is not 8, 16 or 32", p.tile)));
        }
        if p.local_levels > MAX_LEVELS || p.global_levels > MAX_LEVELS {
            return Err(Error::invalid(format!("at most {MAX_LEVELS} local and {MAX_LEVELS} global levels")));
        }
        if p.frame_values == 0 {
            return Err(Error::invalid("a frame holds at least one value"));
        }
        Ok(())
    }
    /// The header's payload (see `FORMAT.md`, "Header").
    pub fn encode(&self) -> Vec<u8> {
        let p = &self.params;
        let mut out = vec![coded(&DTYPES, self.dtype), self.shape.rank];
        for &n in self.shape.extents() {
            put_varint(&mut out, n as u64);
        }
        out.push(coded(&MODES, p.mode));
        match p.mode {
            Mode::Hybrid => out.extend([
                p.local_levels,
                p.global_levels,
                coded(&BASES, p.basis),
                coded(&ENTROPIES, p.entropy),
                coded(&BUDGETS, p.budget),
            ]),
            Mode::Pyramid => out.extend([
                coded(&TILES, p.tile),
                coded(&POINTS, p.points),
                coded(&CODERS, p.coder),
                coded(&ORDERS, p.effective_order()),
            ]),
        }
        put_varint(&mut out, if p.frame_values == USUAL_FRAME { 0 } else { p.frame_values });
        out.push(self.tiers.len() as u8);
        for tier in &self.tiers {
            put_varint(&mut out, tier.name.len() as u64);
            out.extend(tier.name.as_bytes());
            out.extend(tier.tau.to_le_bytes());
        }
        out
    }
    /// Reads a payload; settings of the other mode take their defaults.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut c = Cursor::new(payload, "header");
        let dtype = decoded(&DTYPES, c.u8()?, "element type")?;
        let rank = c.u8()?;
        if !(1..=3).contains(&rank) {
            return Err(c.bad("it claims an impossible number of axes"));
        }
        let extents = (0..rank).map(|_| c.length()).collect::<Result<Vec<_>>>()?;
        let shape = Shape::new(&extents).map_err(|_| c.bad("it claims an impossible shape"))?;
        let mut params = Params { mode: decoded(&MODES, c.u8()?, "mode")?, ..Params::default() };
        match params.mode {
            Mode::Hybrid => {
                params.local_levels = c.u8()?;
                params.global_levels = c.u8()?;
                params.basis = decoded(&BASES, c.u8()?, "basis")?;
                params.entropy = decoded(&ENTROPIES, c.u8()?, "entropy coder")?;
                params.budget = decoded(&BUDGETS, c.u8()?, "budget rule")?;
            }
            Mode::Pyramid => {
                params.tile = decoded(&TILES, c.u8()?, "tile side")?;
                params.points = decoded(&POINTS, c.u8()?, "prediction")?;
                params.coder = decoded(&CODERS, c.u8()?, "coder")?;
                params.order = decoded(&ORDERS, c.u8()?, "order of prediction")?;
                if params.order != params.effective_order() {
                    return Err(c.bad("it names the planes coder without axis order"));
                }
            }
        }
        params.frame_values = match c.varint()? {
            0 => USUAL_FRAME,
            USUAL_FRAME => return Err(c.bad("it spells out the usual number of values of a frame")),
            other => other,
        };
        let tiers = (0..c.u8()?).map(|_| decode_tier(&mut c)).collect::<Result<Vec<_>>>()?;
        c.finish()?;
        let header = Self { dtype, shape, params, tiers };
        header.validate().map_err(|e| Error::corrupt(format!("the header is damaged: {e}")))?;
        Ok(header)
    }
}

fn decode_tier(c: &mut Cursor) -> Result<Tier> {
    let length = c.length()?;
    let name = std::str::from_utf8(c.take(length)?).map_err(|_| c.bad("a tier's name is not UTF-8"))?.to_owned();
    Ok(Tier { name, tau: c.f64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mode: Mode) -> Header {
        Header {
            dtype: DType::F64,
            shape: Shape::new(&[7, 300, 9]).unwrap(),
            params: Params { mode, ..Params::default() },
            tiers: vec![
                Tier { name: "background".into(), tau: 0.1 },
                Tier { name: "exact".into(), tau: 0.0 },
                Tier { name: "ignore".into(), tau: f64::INFINITY },
            ],
        }
    }

    #[test]
    fn headers_come_back_and_every_truncation_is_refused() {
        for mode in [Mode::Hybrid, Mode::Pyramid] {
            let header = sample(mode);
            let bytes = header.encode();
            assert_eq!(Header::decode(&bytes).unwrap(), header);
            for cut in 0..bytes.len() {
                assert!(Header::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn impossible_settings_are_refused_in_words() {
        let with = |change: fn(&mut Header)| {
            let mut header = sample(Mode::Pyramid);
            change(&mut header);
            header.validate().unwrap_err().to_string()
        };
        assert!(with(|h| h.tiers.clear()).contains("1 to 255"));
        assert!(with(|h| h.tiers[0].tau = f64::NAN).contains("background"));
        assert!(with(|h| h.params.tile = 12).contains("8, 16 or 32"));
        assert!(with(|h| h.params.global_levels = 200).contains("48"));
        assert!(with(|h| h.params.frame_values = 0).contains("frame"));
    }
}
