//! Where a volume came from and how its stream was asked for: JSON, compressed.

use super::header::Header;
use crate::volume::{AxisAttributes, DType, Metadata, Missing};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Travels with the stream and changes nothing about its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Program and version that wrote the stream.
    pub writer: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    pub volume: Metadata,
    /// The ROI spec as it was given (its JSON form), when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roi: Option<serde_json::Value>,
    /// See [`crate::volume::Volume::missing`]; its keys are `missing` and `valid`.
    #[serde(flatten)]
    pub missing: Missing,
}

/// What is written of a provenance: nothing that reads back as it is anyway.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    writer: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    command: &'a str,
    volume: WrittenVolume<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roi: &'a Option<serde_json::Value>,
    #[serde(flatten)]
    missing: &'a Missing,
}

#[derive(Serialize)]
struct WrittenVolume<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    source: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    variable: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    long_name: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: &'a Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    axes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    spacing: &'a Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: &'a Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: &'a Option<usize>,
    #[serde(skip_serializing_if = "<[Vec<f64>]>::is_empty")]
    coordinates: &'a [Vec<f64>],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    axis_units: &'a [String],
    #[serde(skip_serializing_if = "<[AxisAttributes]>::is_empty")]
    axis_attributes: &'a [AxisAttributes],
}

impl<'a> Written<'a> {
    fn of(p: &'a Provenance) -> Self {
        let Metadata {
            source,
            variable,
            long_name,
            units,
            axes,
            spacing,
            origin,
            step,
            coordinates,
            axis_units,
            axis_attributes,
        } = &p.volume;
        let volume = WrittenVolume {
            source,
            variable,
            long_name,
            units,
            axes,
            spacing,
            origin,
            step,
            coordinates,
            axis_units,
            axis_attributes,
        };
        Self { writer: &p.writer, command: &p.command, volume, roi: &p.roi, missing: &p.missing }
    }
}

/// Content that zstd may refer back to: part of the format, or a small stream would be a tenth JSON keys.
const DICTIONARY: &str = r#"background"},"normal"},"strict"},"lossless"},"ignore"},"regions":[{"kind":"percentile","above":,"tier":"gradient","value","box","lo":[,"hi":[,{"roi":{"tiers":[{"name":","abs":0.0"rel":0.01,"range":1e-3"missing":[],"long_name":"","units":"m s-1","axes":["time","depth","lat","lon"],"spacing":[1.0,1.0,1.0],"origin":[0.0,0.0,0.0],"step":0}},"variable":" .npy .nc --mode hybrid --roi .toml --range 1e- --points 6 --rel 1e- --mode pyramid --tile 32 --abs {"writer":"blockmgard 0.1.0","command":"blockmgard compress .f64 --mode pyramid","volume":{"source":".f32","axes":["z","y","x"]}}"#;

/// [`DICTIONARY`], and words of a command that follow from the header.
fn dictionary(header: &Header) -> Vec<u8> {
    let mut text = DICTIONARY.to_owned();
    for tier in &header.tiers {
        text += &format!(" {}", tier.tau);
    }
    let extents: Vec<String> = header.shape.extents().iter().map(usize::to_string).collect();
    text += &format!(" -{}", extents.len());
    extents.iter().rev().for_each(|n| text += &format!(" {n}"));
    let dtype = if header.dtype == DType::F32 { "f32" } else { "f64" };
    text += &format!(" --dims {} --{dtype} --abs", extents.join("x"));
    text.into_bytes()
}

/// Longer JSON is refused: an ROI spec with painted voxels is far below.
const MAX_JSON_BYTES: usize = 1 << 30;

/// A zstd frame starts with this; it is left out of the stream.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// zstd level: the part is small and written once.
const LEVEL: i32 = 19;

impl Provenance {
    /// The compressed JSON, for a stream with this header.
    pub fn encode(&self, header: &Header) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(&Written::of(self))
            .map_err(|e| Error::invalid(format!("provenance is no JSON: {e}")))?;
        if json.len() > MAX_JSON_BYTES {
            return Err(Error::invalid("the provenance (ROI spec) is larger than 1 GiB"));
        }
        zstd::bulk::Compressor::with_dictionary(LEVEL, &dictionary(header))
            .and_then(|mut c| c.compress(&json))
            .map(|frame| frame[ZSTD_MAGIC.len()..].to_vec())
            .map_err(|e| Error::invalid(format!("the provenance does not compress: {e}")))
    }
    /// Reads [`Provenance::encode`]'s bytes; unknown keys of later versions are passed over.
    pub fn decode(payload: &[u8], header: &Header) -> Result<Self> {
        use std::io::Read;
        let bad = |why: String| Error::corrupt(format!("the provenance is damaged: {why}"));
        let mut json = Vec::new();
        let frame = std::io::BufReader::new(ZSTD_MAGIC.chain(payload));
        zstd::stream::read::Decoder::with_dictionary(frame, &dictionary(header))
            .and_then(|d| d.take(MAX_JSON_BYTES as u64).read_to_end(&mut json))
            .map_err(|e| bad(e.to_string()))?;
        serde_json::from_slice(&json).map_err(|e| bad(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Shape, Tier};

    fn header() -> Header {
        Header {
            dtype: DType::F32,
            shape: Shape::new(&[50, 100, 100]).unwrap(),
            params: Params::default(),
            tiers: vec![Tier { name: "all".into(), tau: 0.298_765_432_1 }],
        }
    }

    #[test]
    fn provenance_comes_back_and_costs_little() {
        let header = header();
        let p = Provenance {
            writer: "blockmgard 0.1.0".into(),
            command: "blockmgard compress density.f32 --dims 50x100x100 --f32 --abs 0.2987654321 --mode pyramid".into(),
            volume: Metadata {
                source: "density.f32".into(),
                axes: vec!["z".into(), "y".into(), "x".into()],
                ..Metadata::default()
            },
            roi: None,
            missing: Missing::default(),
        };
        let bytes = p.encode(&header).unwrap();
        assert_eq!(Provenance::decode(&bytes, &header).unwrap(), p);
        assert!(bytes.len() < 50, "{} bytes", bytes.len());
        for cut in 0..bytes.len() {
            assert!(Provenance::decode(&bytes[..cut], &header).is_err());
        }
    }

    #[test]
    fn coordinates_come_back_to_the_last_bit() {
        let header = header();
        let nodes: Vec<f64> =
            (0..200).map(|i| 88.572_168_514_007_27 - f64::from(i) * 0.943_253_968_253_968_3).collect();
        let volume = Metadata {
            coordinates: vec![nodes, vec![], vec![]],
            axis_units: vec!["degrees_north".into(), String::new(), String::new()],
            axis_attributes: vec![
                [("positive".to_owned(), "up".to_owned())].into(),
                Default::default(),
                Default::default(),
            ],
            ..Metadata::default()
        };
        let missing = Missing { patterns: vec![7], valid: Some([-0.1, f64::MAX]) };
        let p = Provenance { volume, missing, ..Provenance::default() };
        assert_eq!(Provenance::decode(&p.encode(&header).unwrap(), &header).unwrap(), p);
    }
}
