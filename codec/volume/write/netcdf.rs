//! NetCDF-4 through `netcdf-writer`: the variable with its axes as coordinate variables, names, units and fill value.

use super::Payload;
use crate::{Error, ErrorKind, Result};
use netcdf_writer::{
    NcAttrValue, NcFileBuilder, NcFillValueType, NcWriteFormat, NcWriteOptions, NcWriteType, VariableId,
};
use std::io::Write;
use std::path::Path;

/// The encoder holds the values about four times for NetCDF-4 and twice for CDF-5, so larger volumes become CDF-5.
const LARGEST_NETCDF4_BYTES: u64 = 2 << 30;

pub fn write(sink: &mut impl Write, path: &Path, payload: &Payload) -> Result<()> {
    let builder = build(payload).map_err(|e| e.in_file(path))?;
    let format = if payload.bytes() <= LARGEST_NETCDF4_BYTES { NcWriteFormat::Nc4 } else { NcWriteFormat::Cdf5 };
    builder.write(sink, NcWriteOptions { format }).map_err(error).map_err(|e| e.in_file(path))?;
    Ok(())
}

fn error(e: netcdf_writer::Error) -> Error {
    match e {
        netcdf_writer::Error::Io(e) => {
            Error::new(ErrorKind::Io, e.to_string()).remedy("check the free space of the disk")
        }
        e => Error::invalid(format!("NetCDF: {e}")),
    }
}

fn build(payload: &Payload) -> Result<NcFileBuilder> {
    let mut b = NcFileBuilder::new();
    let chars = |text: &str| NcAttrValue::Chars(text.to_string());
    b.add_attribute("Conventions", chars("CF-1.8")).map_err(error)?;
    let axes = axis_names(payload);
    let mut dimensions = Vec::new();
    for (name, &n) in axes.iter().zip(payload.shape.extents()) {
        dimensions.push(b.add_dimension(name, n as u64).map_err(error)?);
    }
    if payload.meta.spacing.is_some() || payload.meta.origin.is_some() {
        for (a, name) in axes.iter().enumerate() {
            let id = b.add_variable::<f64>(name, &[dimensions[a]]).map_err(error)?;
            if let Some(units) = payload.meta.axis_units.get(a).filter(|u| !u.is_empty()) {
                b.add_variable_attribute(id, "units", chars(units)).map_err(error)?;
            }
            for (key, text) in payload.meta.axis_attributes.get(a).into_iter().flatten() {
                b.add_variable_attribute(id, key, chars(text)).map_err(error)?;
            }
            b.write_variable(id, &payload.nodes(a)).map_err(error)?;
        }
    }
    let name = variable_name(payload, &axes);
    if let Some(values) = payload.collect_f32() {
        let id = b.add_variable::<f32>(&name, &dimensions).map_err(error)?;
        fill(&mut b, id, payload.missing.first().map(|&m| m as f32))?;
        let others = payload.missing.iter().skip(1).map(|&m| m as f32).collect();
        missing(&mut b, id, others, payload.valid.map(|r| r.map(|v| v as f32)), NcAttrValue::Floats)?;
        store(&mut b, id, payload, &values?)?;
    } else if let Some(values) = payload.collect_f64() {
        let id = b.add_variable::<f64>(&name, &dimensions).map_err(error)?;
        fill(&mut b, id, payload.missing.first().copied())?;
        let others = payload.missing.iter().skip(1).copied().collect();
        missing(&mut b, id, others, payload.valid, NcAttrValue::Doubles)?;
        store(&mut b, id, payload, &values?)?;
    } else if let Some(values) = payload.as_u8() {
        let id = b.add_variable::<u8>(&name, &dimensions).map_err(error)?;
        store(&mut b, id, payload, values)?;
    }
    Ok(b)
}

fn fill<T: NcFillValueType>(b: &mut NcFileBuilder, id: VariableId, value: Option<T>) -> Result<()> {
    value.map_or(Ok(()), |v| b.set_variable_fill_value(id, v).map_err(error))
}

/// What else is missing: more values than the one fill, and a range of those that are not.
fn missing<T: Clone>(
    b: &mut NcFileBuilder,
    id: VariableId,
    others: Vec<T>,
    valid: Option<[T; 2]>,
    list: impl Fn(Vec<T>) -> NcAttrValue,
) -> Result<()> {
    if !others.is_empty() {
        b.add_variable_attribute(id, "missing_value", list(others)).map_err(error)?;
    }
    valid.map_or(Ok(()), |r| b.add_variable_attribute(id, "valid_range", list(r.to_vec())).map_err(error))
}

fn store<T: NcWriteType>(b: &mut NcFileBuilder, id: VariableId, payload: &Payload, values: &[T]) -> Result<()> {
    for (key, text) in [("units", &payload.meta.units), ("long_name", &payload.meta.long_name)] {
        if let Some(text) = text {
            b.add_variable_attribute(id, key, NcAttrValue::Chars(text.clone())).map_err(error)?;
        }
    }
    b.write_variable(id, values).map_err(error)
}

/// The names of the axes where they are distinct names, else `z`, `y`, `x`.
fn axis_names(payload: &Payload) -> Vec<String> {
    let rank = payload.shape.rank as usize;
    let given: Vec<String> = payload.meta.axes.iter().map(|a| plain_name(a)).collect();
    let distinct = (0..given.len()).all(|i| !given[i].is_empty() && !given[..i].contains(&given[i]));
    if given.len() == rank && distinct { given } else { crate::volume::default_axes(rank) }
}

/// Without the path of its group, and never the name of an axis: that would make it a coordinate.
fn variable_name(payload: &Payload, axes: &[String]) -> String {
    let name = plain_name(payload.name());
    if name.is_empty() || axes.contains(&name) { format!("{name}_value") } else { name }
}

fn plain_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default().trim();
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@');
    let name: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_alphanumeric() || c == '_') { name } else { format!("v{name}") }
}
