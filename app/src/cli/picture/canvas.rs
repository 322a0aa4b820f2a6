//! Panels and words on one picture.

use super::Panel;
use anyhow::Result;
use blockmgard::Error;
use blockmgard::stream::PartFile;
use font8x8::UnicodeFonts;
use image::{Rgb, RgbImage};
use std::io::BufWriter;
use std::path::Path;

const PAPER: Rgb<u8> = Rgb([250; 3]);
const INK: Rgb<u8> = Rgb([20; 3]);
/// Width and height of a letter in pixels.
pub const LETTER: usize = 8;

pub struct Canvas {
    image: RgbImage,
}

impl Canvas {
    /// An empty sheet, in pixels.
    pub fn new(width: usize, height: usize) -> Self {
        Self { image: RgbImage::from_pixel(width as u32, height as u32, PAPER) }
    }
    fn put(&mut self, x: usize, y: usize, color: Rgb<u8>) {
        if let Some(pixel) = self.image.get_pixel_mut_checked(x as u32, y as u32) {
            *pixel = color;
        }
    }
    /// Draws a panel, each node a square of `scale` pixels.
    pub fn panel(&mut self, x: usize, y: usize, panel: &Panel, scale: usize) {
        for (i, &color) in panel.pixels.iter().enumerate() {
            let (left, top) = (x + i % panel.width * scale, y + i / panel.width * scale);
            for dy in 0..scale {
                for dx in 0..scale {
                    self.put(left + dx, top + dy, Rgb(color));
                }
            }
        }
    }
    /// Writes words with their upper left corner at (x, y); letters outside the font are shown as `?`.
    pub fn text(&mut self, x: usize, y: usize, words: &str) {
        let unknown = font8x8::BASIC_FONTS.get('?').unwrap_or_default();
        for (i, letter) in words.chars().enumerate() {
            let rows = font8x8::BASIC_FONTS.get(letter).unwrap_or(unknown);
            for (dy, row) in rows.into_iter().enumerate() {
                for dx in (0..LETTER).filter(|dx| row >> dx & 1 == 1) {
                    self.put(x + i * LETTER + dx, y + dy, INK);
                }
            }
        }
    }
    /// A coloured square and a name; returns where the name ends.
    pub fn legend(&mut self, x: usize, y: usize, name: &str, color: [u8; 3]) -> usize {
        for dy in 0..LETTER {
            for dx in 0..LETTER {
                self.put(x + dx, y + dy, Rgb(color));
            }
        }
        self.text(x + LETTER + 4, y, name);
        x + LETTER + 4 + name.chars().count() * LETTER
    }
    /// Writes a PNG, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut file = PartFile::create(path)?;
        let writer = BufWriter::new(file.file());
        let encoder = image::codecs::png::PngEncoder::new(writer);
        let written = self.image.write_with_encoder(encoder);
        written.map_err(|e| Error::new(blockmgard::ErrorKind::Io, format!("{}: {e}", path.display())))?;
        Ok(file.commit()?)
    }
}
