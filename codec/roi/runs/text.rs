//! Painted masks as text inside a spec: base64 of zstd-compressed gaps and lengths, or a plain list for people.

use super::{MaskRuns, Run};
use crate::Shape;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

/// Most runs that a spec may hold: beyond that the mask belongs into a file of its own.
const MAX_RUNS: usize = 1 << 24;

/// As it stands in the text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    shape: Vec<usize>,
    runs: Runs,
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "runs are a base64 string or a list of [z, y, from, to] (with as many positions as axes, to excluded)"
)]
enum Runs {
    Packed(String),
    Plain(Vec<Vec<usize>>),
}

impl Serialize for MaskRuns {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let packed = pack(self).map_err(ser::Error::custom)?;
        Text { shape: self.shape.extents().to_vec(), runs: Runs::Packed(packed) }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for MaskRuns {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(d)?;
        let shape = Shape::new(&text.shape).map_err(de::Error::custom)?;
        let mask = match text.runs {
            Runs::Packed(packed) => unpack(shape, &packed),
            Runs::Plain(list) => from_list(shape, &list),
        };
        mask.map_err(|e| de::Error::custom(format!("painted runs: {e}")))
    }
}

impl JsonSchema for MaskRuns {
    fn schema_name() -> Cow<'static, str> {
        "PaintedVoxels".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Painted voxels. `runs` is base64 of a zstd frame of LEB128 numbers (gap, length, gap, length, ... over all voxels in C order), or a list of [z, y, from, to].",
            "type": "object",
            "properties": {
                "shape": { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1, "maxItems": 3 },
                "runs": {
                    "anyOf": [
                        { "type": "string", "contentEncoding": "base64" },
                        { "type": "array", "items": { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 2, "maxItems": 4 } },
                    ]
                }
            },
            "required": ["shape", "runs"],
            "additionalProperties": false
        })
    }
}

fn pack(mask: &MaskRuns) -> Result<String, String> {
    let [_, ny, nx] = mask.shape.n;
    let (mut numbers, mut at, mut count) = (Vec::new(), 0u64, 0);
    for (z, y, runs) in mask.rows() {
        let row = (z * ny + y) as u64 * nx as u64;
        for &[a, b] in runs {
            put_number(&mut numbers, row + a as u64 - at);
            put_number(&mut numbers, (b - a) as u64);
            at = row + b as u64;
        }
        count += runs.len();
    }
    if count > MAX_RUNS {
        return Err(format!("a painted mask of {count} runs is too fragmented for a spec: save it as a mask file"));
    }
    let packed = zstd::bulk::compress(&numbers, 9).map_err(|e| e.to_string())?;
    Ok(BASE64.encode(packed))
}

fn unpack(shape: Shape, text: &str) -> Result<MaskRuns, String> {
    let packed = BASE64.decode(text.trim()).map_err(|e| e.to_string())?;
    let decoder = zstd::stream::read::Decoder::new(&packed[..]).map_err(|e| e.to_string())?;
    // Numbers are taken from the stream one by one, so what a small text can claim is bounded by MAX_RUNS.
    let mut numbers = BufReader::new(decoder);
    let mut fill = Filler::new(shape)?;
    let (mut at, total) = (0u64, shape.len() as u64);
    while !numbers.fill_buf().map_err(|e| e.to_string())?.is_empty() {
        let (gap, length) = (take_number(&mut numbers)?, take_number(&mut numbers)?);
        let start = at.checked_add(gap).filter(|_| gap > 0 || at == 0 || at.is_multiple_of(shape.n[2] as u64));
        let end = start.and_then(|s| s.checked_add(length)).filter(|&e| length > 0 && e <= total);
        let (Some(start), Some(end)) = (start, end) else { return Err("they leave the shape or overlap".into()) };
        fill.span(start, end)?;
        at = end;
    }
    Ok(fill.finish())
}

fn from_list(shape: Shape, list: &[Vec<usize>]) -> Result<MaskRuns, String> {
    let mut mask = MaskRuns::new(shape).map_err(|e| e.to_string())?;
    for entry in list {
        let wrong = || format!("[{}] is no run of a volume of shape {shape}", join(entry));
        if entry.len() != shape.rank as usize + 1 {
            return Err(wrong());
        }
        let mut place = [0; 4];
        place[4 - entry.len()..].copy_from_slice(entry);
        let [z, y, from, to] = place;
        if z >= shape.n[0] || y >= shape.n[1] || from >= to || to > shape.n[2] {
            return Err(wrong());
        }
        mask.add_row(z, y, &[[from as u32, to as u32]]);
    }
    Ok(mask)
}

fn join(entry: &[usize]) -> String {
    entry.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Gathers the runs of one row after the other.
struct Filler {
    mask: MaskRuns,
    row: usize,
    runs: Vec<Run>,
    count: usize,
}

impl Filler {
    fn new(shape: Shape) -> Result<Self, String> {
        Ok(Self { mask: MaskRuns::new(shape).map_err(|e| e.to_string())?, row: 0, runs: Vec::new(), count: 0 })
    }
    /// Adds the voxels `start .. end` of the whole volume, which may cross rows.
    fn span(&mut self, mut start: u64, end: u64) -> Result<(), String> {
        let nx = self.mask.shape.n[2] as u64;
        while start < end {
            let row = start / nx;
            let stop = end.min((row + 1) * nx);
            if row as usize != self.row {
                self.flush();
                self.row = row as usize;
            }
            self.runs.push([(start - row * nx) as u32, (stop - row * nx) as u32]);
            self.count += 1;
            if self.count > MAX_RUNS {
                return Err(format!("there are more than {MAX_RUNS}"));
            }
            start = stop;
        }
        Ok(())
    }
    fn flush(&mut self) {
        let ny = self.mask.shape.n[1];
        let (z, y) = (self.row / ny, self.row % ny);
        self.mask.add_row(z, y, &self.runs);
        self.runs.clear();
    }
    fn finish(mut self) -> MaskRuns {
        self.flush();
        self.mask
    }
}

/// LEB128: 7 bits a byte, low first, the top bit set on all but the last.
fn put_number(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn take_number(from: &mut impl Read) -> Result<u64, String> {
    let (mut v, mut shift) = (0u64, 0);
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte).map_err(|_| "they end in the middle of a number".to_string())?;
        if shift > 56 {
            return Err("a number is too large".into());
        }
        v |= ((byte[0] & 0x7f) as u64) << shift;
        shift += 7;
        if byte[0] & 0x80 == 0 {
            return Ok(v);
        }
    }
}
