//! Slices as pictures, drawn on the CPU with the colours of the views; for PNG export and reports.

use super::data::labels::Labels;
use super::data::slice::SliceImage;
use super::gpu::colormap::ColorMap;
use super::state::layers::LayerLook;
use super::theme;
use font8x8::UnicodeFonts as _;
use image::{ImageFormat, RgbImage};
use std::io::Cursor;

/// What lies over the values of a picture.
pub struct PictureOverlay<'a> {
    pub labels: &'a Labels,
    pub colors: &'a [[u8; 3]],
    pub opacity: f32,
}

/// Draws a slice, each texel as `scale` x `scale` pixels.
pub fn draw(slice: &SliceImage, look: &LayerLook, overlay: Option<&PictureOverlay>, scale: u32) -> RgbImage {
    let [width, height] = slice.size;
    let scale = scale.max(1);
    let table: Vec<[u8; 3]> = (0..256).map(|i| look.color_map.color(i as f64 / 255.0)).collect();
    let mut out = RgbImage::new(width as u32 * scale, height as u32 * scale);
    for v in 0..height {
        for u in 0..width {
            let mut rgb = color(slice, look, &table, v * width + u);
            if let Some(o) = overlay
                && let Some(label) = o.labels.texels.get(v * width + u).filter(|l| **l > 0)
            {
                let tint = o.colors.get(*label as usize - 1).copied().unwrap_or([255; 3]);
                rgb = std::array::from_fn(|c| {
                    (rgb[c] as f32 * (1.0 - o.opacity) + tint[c] as f32 * o.opacity).round() as u8
                });
            }
            for y in 0..scale {
                for x in 0..scale {
                    out.put_pixel(u as u32 * scale + x, v as u32 * scale + y, image::Rgb(rgb));
                }
            }
        }
    }
    out
}

fn color(slice: &SliceImage, look: &LayerLook, table: &[[u8; 3]], i: usize) -> [u8; 3] {
    let t = slice.texels[i];
    if t.is_nan() {
        return theme::NAN;
    }
    if t.is_infinite() {
        return theme::INFINITE;
    }
    let value = t as f64 / slice.scale + slice.offset;
    if look.alarm && value.abs() > 1.0 {
        return theme::ALARM;
    }
    let [lo, hi] = look.window;
    let part = if look.log {
        let (a, b) = (lo.max(1e-38).ln(), hi.max(1e-38).ln());
        if value <= lo { 0.0 } else { (value.ln() - a) / (b - a).max(1e-12) }
    } else {
        (value - lo) / (hi - lo)
    };
    table[(part.clamp(0.0, 1.0) * 255.0).round() as usize]
}

/// A straight line over a picture, `width` pixels wide; parts outside are left out.
pub fn line(out: &mut RgbImage, from: [f32; 2], to: [f32; 2], width: u32, ink: [u8; 3], alpha: f32) {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let steps = dx.abs().max(dy.abs()).ceil().clamp(1.0, 1e5);
    let along_x = dx.abs() >= dy.abs();
    for i in 0..=steps as u32 {
        let t = i as f32 / steps;
        let (x, y) = ((from[0] + dx * t).round() as i64, (from[1] + dy * t).round() as i64);
        for w in 0..i64::from(width) {
            let w = w - i64::from(width) / 2;
            let (x, y) = if along_x { (x, y + w) } else { (x + w, y) };
            blend(out, x, y, ink, alpha);
        }
    }
}

/// A letter centred on a point, its dots `scale` pixels a side; letters outside the font are left out.
pub fn letter(out: &mut RgbImage, letter: char, at: [f32; 2], scale: u32, ink: [u8; 3]) {
    let rows = font8x8::BASIC_FONTS.get(letter).unwrap_or_default();
    let (left, top) = (at[0] as i64 - 4 * i64::from(scale), at[1] as i64 - 4 * i64::from(scale));
    for (v, row) in rows.into_iter().enumerate() {
        for u in (0..8).filter(|u| row >> u & 1 == 1) {
            for dot in 0..scale * scale {
                let (dx, dy) = (i64::from(dot % scale), i64::from(dot / scale));
                blend(out, left + u * i64::from(scale) + dx, top + v as i64 * i64::from(scale) + dy, ink, 1.0);
            }
        }
    }
}

fn blend(out: &mut RgbImage, x: i64, y: i64, ink: [u8; 3], alpha: f32) {
    let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
    if let Some(pixel) = out.get_pixel_mut_checked(x, y) {
        pixel.0 = std::array::from_fn(|c| (f32::from(pixel.0[c]) * (1.0 - alpha) + f32::from(ink[c]) * alpha) as u8);
    }
}

/// A PNG file's bytes.
pub fn png(picture: &RgbImage) -> anyhow::Result<Vec<u8>> {
    let mut out = Cursor::new(vec![]);
    picture.write_to(&mut out, ImageFormat::Png)?;
    Ok(out.into_inner())
}

/// The look of plain values in a window.
pub fn plain_look(color_map: ColorMap, window: [f64; 2]) -> LayerLook {
    LayerLook { color_map, window, log: false, alarm: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio::data::slice::Geometry;

    #[test]
    fn special_values_have_their_own_colours_and_scale_repeats_pixels() {
        let geometry = Geometry { axis: 0, index: 0, origin: [0; 2], stride: 1, size: [3, 1] };
        let texels = vec![0.0, f32::NAN, 1.0];
        let slice = SliceImage { geometry, size: [3, 1], texels, aux: None, offset: 0.0, scale: 1.0 };
        let picture = draw(&slice, &plain_look(ColorMap::Gray, [0.0, 1.0]), None, 2);
        assert_eq!(picture.dimensions(), (6, 2));
        assert_eq!(picture.get_pixel(0, 1).0, [0; 3]);
        assert_eq!(picture.get_pixel(3, 0).0, theme::NAN);
        assert_eq!(picture.get_pixel(5, 1).0, [255; 3]);
        assert_eq!(&png(&picture).unwrap()[1..4], b"PNG");
    }
}
