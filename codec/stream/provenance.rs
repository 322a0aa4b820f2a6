//! Where a volume came from and how its stream was asked for: JSON, compressed.

use crate::volume::Metadata;
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
    /// Bit patterns that mean "missing" (see [`crate::volume::Volume::missing`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u64>,
}

/// Content that zstd may refer back to: part of the format, or a small stream would be a tenth JSON keys.
const DICTIONARY: &[u8] = br#"background"},"normal"},"strict"},"lossless"},"ignore"},"regions":[{"kind":"percentile","above":,"tier":"gradient","value","box","lo":[,"hi":[,{"roi":{"tiers":[{"name":","abs":0.0"rel":0.01,"range":1e-3"missing":[],"units":null,"axes":["time","depth","lat","lon"],"spacing":[1.0,1.0,1.0],"origin":[0.0,0.0,0.0],"step":null}},"units":"m s-1","spacing":null,"origin":null,"step":null}{"writer":"blockmgard 0.1.0","command":"blockmgard compress .f32 .f64 .npy .nc -o .bmg --mode pyramid --mode hybrid --roi .toml --dims --abs 1e- --range 1e- --rel 1e-","volume":{"source":".f32","variable":"","units":null,"axes":["z","y","x"],"spacing":null,"origin":null,"step":null}}"#;

/// Longer JSON is refused: an ROI spec with painted voxels is far below.
const MAX_JSON_BYTES: usize = 1 << 30;

/// zstd level: the part is small and written once.
const LEVEL: i32 = 19;

impl Provenance {
    /// The compressed JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(self).map_err(|e| Error::invalid(format!("provenance is no JSON: {e}")))?;
        if json.len() > MAX_JSON_BYTES {
            return Err(Error::invalid("the provenance (ROI spec) is larger than 1 GiB"));
        }
        zstd::bulk::Compressor::with_dictionary(LEVEL, DICTIONARY)
            .and_then(|mut c| c.compress(&json))
            .map_err(|e| Error::invalid(format!("the provenance does not compress: {e}")))
    }
    /// Reads [`Provenance::encode`]'s bytes; unknown keys of later versions are passed over.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        use std::io::Read;
        let bad = |why: String| Error::corrupt(format!("the provenance is damaged: {why}"));
        let mut json = Vec::new();
        zstd::stream::read::Decoder::with_dictionary(payload, DICTIONARY)
            .and_then(|d| d.take(MAX_JSON_BYTES as u64).read_to_end(&mut json))
            .map_err(|e| bad(e.to_string()))?;
        serde_json::from_slice(&json).map_err(|e| bad(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provenance_comes_back_and_costs_little() {
        let p = Provenance {
            writer: "blockmgard 0.1.0".into(),
            command: "blockmgard compress density.f32 -o density.bmg --rel 1e-4".into(),
            volume: Metadata {
                source: "density.f32".into(),
                axes: vec!["z".into(), "y".into(), "x".into()],
                ..Metadata::default()
            },
            roi: None,
            missing: vec![],
        };
        let bytes = p.encode().unwrap();
        assert_eq!(Provenance::decode(&bytes).unwrap(), p);
        assert!(bytes.len() < 100, "{} bytes", bytes.len());
        for cut in 0..bytes.len() {
            assert!(Provenance::decode(&bytes[..cut]).is_err());
        }
    }
}
