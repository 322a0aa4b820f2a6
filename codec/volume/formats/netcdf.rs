//! NetCDF-3, CDF-5, NetCDF-4 and any other HDF5 file, through `netcdf-reader`: values come as hyperslabs on demand.

use super::cf::CfAttributes;
use super::netcdf_boxes::{NcBoxes, error};
use super::packing::Packing;
use super::spacing::{Axis, axis_attributes, place};
use super::tiled::tiled_values;
use crate::volume::{
    DType, Dataset, FileMap, Format, OpenHints, StoredType, VariableInfo, Volume, default_axes, missing_bits,
};
use crate::{Error, Result};
use netcdf_reader::{NcAttrValue, NcFile, NcGroup, NcMetadataMode, NcOpenOptions, NcType, NcVariable};
use std::path::Path;
use std::sync::Arc;

/// NetCDF and HDF5; see the module.
pub struct NetCdf;

/// Decoded chunks that the reader keeps; tiles are kept above it.
const CHUNK_CACHE_BYTES: usize = 16 << 20;
/// Most bytes of one read: a tile, or the coordinates of an axis.
const MAX_READ_BYTES: usize = 2 << 30;
/// Longest coordinate variable that is read for spacing and origin.
const MAX_COORDINATES: u64 = 1 << 20;
/// A file may claim this many times its size: chunks never written and constant data take next to nothing.
const MAX_EXPANSION: u64 = 1 << 16;
/// What the NetCDF library fills values with that were never written, where a variable does not name another.
const DEFAULT_FILL_F32: f64 = 9.969_209_968_386_869e36;

impl Format for NetCdf {
    fn name(&self) -> &'static str {
        "NetCDF and HDF5"
    }
    fn extensions(&self) -> &'static [&'static str] {
        &["nc", "nc4", "cdf", "h5", "hdf5", "he5"]
    }
    fn sniff(&self, _path: &Path, head: &[u8]) -> bool {
        let classic = head.starts_with(b"CDF") && matches!(head.get(3), Some(1 | 2 | 5));
        // HDF5 may start after a user block of a power of two.
        let hdf5 =
            [0, 512, 1024, 2048].iter().any(|&at| head.get(at..).is_some_and(|h| h.starts_with(b"\x89HDF\r\n\x1a\n")));
        classic || hdf5
    }
    fn open(&self, path: &Path, hints: &OpenHints) -> Result<Box<dyn Dataset>> {
        let fail = |e: netcdf_reader::Error| error(e).in_file(path);
        let file_bytes = std::fs::metadata(path).map_err(|e| Error::io(path, &e))?.len();
        let map = FileMap::open(path)?;
        let map = Some(map).filter(|map| map.as_ref().starts_with(b"CDF"));
        let file = open_file(path, map.clone(), NcMetadataMode::Strict).map_err(fail)?;
        let file = match file.root_group() {
            Ok(_) => file,
            // Some writers break the rules of NetCDF-4 in ways that do not matter for reading.
            Err(_) => open_file(path, map.clone(), NcMetadataMode::Lossy).map_err(fail)?,
        };
        let mut found = Vec::new();
        collect(file.root_group().map_err(fail)?, "", &mut found);
        if found.is_empty() {
            return Err(Error::invalid(format!("{} holds no numeric variable", path.display())));
        }
        let chunks = ChunkShapes::of(path, &file);
        let mut infos = Vec::new();
        let mut variables = Vec::new();
        for (name, scope, var, stored) in found {
            let packing = cf_attributes(var).packing(stored);
            infos.push(describe(&file, &name, &scope, var, stored, &packing, hints));
            let default_fill = !var.attributes.iter().any(|a| a.name == "_FillValue");
            variables.push(Variable { chunk: chunks.get(&name), path: name, stored, packing, default_fill });
        }
        Ok(Box::new(NcDataset {
            source: path.display().to_string(),
            file_bytes,
            infos,
            variables,
            file: Arc::new(file),
            map,
        }))
    }
}

/// The classic formats are read from `map`; HDF5 is read piece by piece from the file.
fn open_file(path: &Path, map: Option<FileMap>, metadata_mode: NcMetadataMode) -> netcdf_reader::Result<NcFile> {
    let options = NcOpenOptions {
        metadata_mode,
        chunk_cache_bytes: CHUNK_CACHE_BYTES,
        max_read_bytes: MAX_READ_BYTES,
        ..Default::default()
    };
    match map {
        Some(map) => NcFile::from_owner(map, options),
        None => NcFile::open_with_options(path, options),
    }
}

struct Variable {
    path: String,
    stored: StoredType,
    packing: Packing,
    /// Extents of the chunks, where there are any.
    chunk: Option<Vec<usize>>,
    /// The variable names no fill value, so the library's own counts.
    default_fill: bool,
}

struct NcDataset {
    source: String,
    file_bytes: u64,
    infos: Vec<VariableInfo>,
    variables: Vec<Variable>,
    file: Arc<NcFile>,
    /// The whole file, of the classic formats.
    map: Option<FileMap>,
}

impl Dataset for NcDataset {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let (info, var) = self
            .infos
            .get(variable)
            .zip(self.variables.get(variable))
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        let leading = info.leading_indices(step)?;
        let shape = info.shape()?;
        self.check_size(info, var.stored)?;
        let reader = NcBoxes {
            file: self.file.clone(),
            path: var.path.clone(),
            leading: leading.iter().map(|&i| i as u64).collect(),
            rank: shape.rank as usize,
            stored: var.stored,
            map: self.map.clone(),
        };
        let mut chunk = [1; 3];
        if let Some(c) = &var.chunk {
            chunk[3 - shape.rank as usize..].copy_from_slice(&c[leading.len()..]);
        }
        let raw = tiled_values(var.stored.delivered(), shape.n, chunk, reader)?;
        let mut volume = info.volume(&self.source, &info.name, step, var.packing.apply(raw))?;
        if var.default_fill && matches!(var.stored, StoredType::F32 | StoredType::F64) {
            volume.missing.patterns.extend(missing_bits(&volume.values, &[DEFAULT_FILL_F32]));
        }
        Ok(volume)
    }
    fn unread_type(&self, name: &str) -> Option<String> {
        let file = hdf5_reader::Hdf5File::open(&self.source).ok()?;
        Some(match file.dataset(&format!("/{name}")).ok()?.dtype() {
            hdf5_reader::Datatype::FloatingPoint { size, .. } => format!("{}-bit floats", 8 * usize::from(*size)),
            hdf5_reader::Datatype::Compound { .. } => "compounds".into(),
            _ => "neither floats nor integers of 8 to 64 bits".into(),
        })
    }
}

impl NcDataset {
    /// A header alone can claim any size; what it claims must bear some relation to the file.
    fn check_size(&self, info: &VariableInfo, stored: StoredType) -> Result<()> {
        let claimed = info.extents.iter().try_fold(stored.bytes() as u64, |p, &e| p.checked_mul(e as u64));
        if claimed.is_some_and(|c| c <= self.file_bytes.saturating_mul(MAX_EXPANSION)) {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "{}: {} claims {:?} values, too many for a file of {} bytes",
            self.source, info.name, info.extents, self.file_bytes
        )))
    }
}

/// Numeric variables of a group and those below it, as (path, path of the group, variable, type).
fn collect<'a>(group: &'a NcGroup, scope: &str, found: &mut Vec<(String, String, &'a NcVariable, StoredType)>) {
    let join = |name: &str| if scope.is_empty() { name.to_string() } else { format!("{scope}/{name}") };
    for var in &group.variables {
        let Some(stored) = stored_type(&var.dtype) else { continue };
        let has_values = !var.dimensions.is_empty() && var.dimensions.iter().all(|d| d.size > 0);
        let is_bounds = group.variables.iter().any(|v| text(v, "bounds").as_deref() == Some(&var.name));
        if has_values && !var.is_coordinate_variable() && !is_bounds {
            found.push((join(&var.name), scope.to_string(), var, stored));
        }
    }
    for child in &group.groups {
        collect(child, &join(&child.name), found);
    }
}

fn stored_type(t: &NcType) -> Option<StoredType> {
    Some(match t {
        NcType::Byte => StoredType::I8,
        NcType::UByte => StoredType::U8,
        NcType::Short => StoredType::I16,
        NcType::UShort => StoredType::U16,
        NcType::Int => StoredType::I32,
        NcType::UInt => StoredType::U32,
        NcType::Int64 => StoredType::I64,
        NcType::UInt64 => StoredType::U64,
        NcType::Float => StoredType::F32,
        NcType::Double => StoredType::F64,
        _ => return None,
    })
}

fn text(var: &NcVariable, name: &str) -> Option<String> {
    var.attribute(name).and_then(|a| a.value.as_string()).filter(|s| !s.trim().is_empty())
}

fn cf_attributes(var: &NcVariable) -> CfAttributes {
    let value = |name: &str| var.attribute(name).map(|a| &a.value);
    let number = |name: &str| value(name).and_then(NcAttrValue::as_f64);
    let typed = |name: &str| {
        let v = value(name)?;
        let dtype = if matches!(v, NcAttrValue::Floats(_)) { DType::F32 } else { DType::F64 };
        Some((v.as_f64()?, dtype))
    };
    let range = value("valid_range").and_then(NcAttrValue::as_f64_vec).filter(|r| r.len() == 2).map(|r| [r[0], r[1]]);
    let (min, max) = (number("valid_min"), number("valid_max"));
    let limits =
        (min.is_some() || max.is_some()).then(|| [min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY)]);
    let range_value = value("valid_range").or(value("valid_min")).or(value("valid_max"));
    let floating = matches!(range_value, Some(NcAttrValue::Floats(_) | NcAttrValue::Doubles(_)));
    CfAttributes {
        scale: typed("scale_factor"),
        offset: typed("add_offset"),
        fill: number("_FillValue"),
        missing: value("missing_value").and_then(NcAttrValue::as_f64_vec).unwrap_or_default(),
        valid: range.or(limits),
        valid_is_packed: floating == matches!(var.dtype, NcType::Float | NcType::Double),
        unsigned: text(var, "_Unsigned").and_then(|s| s.to_ascii_lowercase().parse().ok()),
    }
}

fn describe(
    file: &NcFile,
    name: &str,
    scope: &str,
    var: &NcVariable,
    stored: StoredType,
    packing: &Packing,
    hints: &OpenHints,
) -> VariableInfo {
    let plain = default_axes(var.dimensions.len());
    let dims = || var.dimensions.iter().zip(&plain);
    // Plain HDF5 has no names for its axes; the reader calls them by their size.
    let nameless = |name: &str, size: u64| name.starts_with(&format!("dim_{size}"));
    let axes: Vec<String> =
        dims().map(|(d, plain)| if nameless(&d.name, d.size) { plain.clone() } else { d.name.clone() }).collect();
    let placed = var.dimensions.iter().zip(&axes).map(|(d, axis)| match coordinates(file, scope, &d.name, d.size) {
        Some((nodes, var)) => Axis {
            name: axis.clone(),
            nodes: Some(nodes),
            units: text(var, "units"),
            attributes: axis_attributes(|name| text(var, name)),
        },
        None => Axis::new(axis, None),
    });
    let placed = placed.collect();
    let mut missing = packing.delivered_fills();
    missing.extend(&hints.missing);
    let mut info = VariableInfo {
        name: name.to_string(),
        extents: var.dimensions.iter().map(|d| d.size as usize).collect(),
        axes,
        stored: packing.describe(stored),
        dtype: packing.dtype,
        units: text(var, "units"),
        long_name: ["long_name", "standard_name", "description", "title"].iter().find_map(|a| text(var, a)),
        missing,
        valid: packing.delivered_valid(),
        spacing: None,
        origin: None,
        coordinates: Vec::new(),
        axis_units: Vec::new(),
        axis_attributes: Vec::new(),
        notes: packing.notes(stored),
    };
    place(&mut info, placed);
    info
}

/// Values of the coordinate variable of a dimension, and the variable, looked for in the group and those around it.
fn coordinates<'a>(file: &'a NcFile, scope: &str, dimension: &str, size: u64) -> Option<(Vec<f64>, &'a NcVariable)> {
    if size > MAX_COORDINATES {
        return None;
    }
    let mut scope = Some(scope);
    while let Some(group) = scope {
        let path = if group.is_empty() { dimension.to_string() } else { format!("{group}/{dimension}") };
        if let Ok(var) = file.variable(&path)
            && var.is_coordinate_variable()
        {
            // HDF5 dimension scales without values are stored as such: they have no coordinates to tell.
            let bare = text(var, "NAME")
                .is_some_and(|n| n.starts_with("This is a netCDF dimension but not a netCDF variable"));
            let values = stored_type(&var.dtype).filter(|_| !bare && var.dimensions[0].size == size);
            let nodes = values.and_then(|_| file.read_variable_unpacked(&path).ok())?;
            return Some((nodes.iter().copied().collect(), var));
        }
        scope = match group.rsplit_once('/') {
            Some((parent, _)) => Some(parent),
            None if !group.is_empty() => Some(""),
            None => None,
        };
    }
    None
}

/// Chunk shapes by variable; the NetCDF view of a file does not tell them.
struct ChunkShapes(Option<hdf5_reader::Hdf5File>);

impl ChunkShapes {
    fn of(path: &Path, file: &NcFile) -> Self {
        let classic = file.as_classic().is_some();
        Self(if classic { None } else { hdf5_reader::Hdf5File::open(path).ok() })
    }
    fn get(&self, name: &str) -> Option<Vec<usize>> {
        let dataset = self.0.as_ref()?.dataset(&format!("/{name}")).ok()?;
        let chunks = dataset.chunks()?;
        (chunks.len() == dataset.ndim()).then(|| chunks.iter().map(|&c| c as usize).collect())
    }
}
