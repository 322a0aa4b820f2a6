//! Pictures of slices and of the 3-D view, and the report that carries some.

use super::State;
use super::compare::LayerChoice;
use super::display::Overlay;
use super::export::Writer;
use super::files::write_beside;
use super::layers::LayerLook;
use crate::studio::command::{PictureForm, PictureView};
use crate::studio::data::labels::label_slice;
use crate::studio::data::slice::{Geometry, Layer};
use crate::studio::gpu::raycast::RayCallback;
use crate::studio::gpu::snapshot::volume_picture;
use crate::studio::picture::{self, PictureOverlay};
use crate::studio::report::{self, Figure};
use crate::studio::theme;
use crate::studio::views::volume_view;
use anyhow::Context as _;
use eframe::egui::{Pos2, Rect, vec2};

/// Sides of the 3-D view's picture at scale 1.
const VOLUME_PIXELS: [u32; 2] = [400, 300];

impl State {
    /// What the export dialog starts from: what is on screen.
    pub fn picture_form(&self) -> PictureForm {
        PictureForm {
            view: PictureView::Slice(self.focus_axis()),
            layer: self.compare.a,
            overlay: self.display.overlay != Overlay::Off,
            scale: 4,
        }
    }

    pub(super) fn picture_writer(&self, form: PictureForm) -> anyhow::Result<Writer> {
        let scale = form.scale.clamp(1, 16);
        match form.view {
            PictureView::Slice(axis) => self.slice_writer(form.layer, axis, form.overlay, scale),
            PictureView::Volume => self.volume_writer(form.overlay, scale),
        }
    }

    fn slice_writer(&self, choice: LayerChoice, axis: usize, overlay: bool, scale: u32) -> anyhow::Result<Writer> {
        let (layer, geometry) = self.picture_source(choice, axis)?;
        let (look, input) = (self.layer_look(choice), self.label_input().filter(|_| overlay));
        let colors: Vec<[u8; 3]> = self.roi.tiers.iter().map(|t| t.color).collect();
        let opacity = self.display.opacity;
        Ok(Box::new(move |path| {
            let slice = layer.image(geometry)?;
            let labels = input.map(|i| label_slice(&i, &geometry)).transpose()?;
            let overlay = labels.as_ref().map(|labels| PictureOverlay { labels, colors: &colors, opacity });
            write_beside(path, &picture::png(&picture::draw(&slice, &look, overlay.as_ref(), scale))?)
        }))
    }

    fn volume_writer(&self, shells: bool, scale: u32) -> anyhow::Result<Writer> {
        let gpu = self.gpu.clone().context("the 3-D picture needs the window's graphics adapter")?;
        let volume = self.volume3d.volume.clone().context("show the 3-D view first, so that its volume is loaded")?;
        let size = VOLUME_PIXELS.map(|p| p * scale);
        let mut camera = self.camera;
        if !shells {
            camera.shells = 0.0;
        }
        let uniforms = volume_view::uniforms(self, &camera, size[0] as f32 / size[1] as f32, volume.size);
        let lut = self.display.color_map.table();
        let callback = RayCallback { uniforms, size, volume, tiers: self.shell_tiers(), lut };
        let frame = Rect::from_min_size(Pos2::ZERO, vec2(size[0] as f32, size[1] as f32));
        let (edges, places) = volume_view::box_lines(self, &camera, frame);
        let names = self.document.as_ref().context("open a volume first")?.axis_names();
        let ink = if self.dark { [120; 3] } else { [130; 3] };
        let inks = theme::AXIS_COLORS.map(|color| if self.dark { color } else { [40; 3] });
        Ok(Box::new(move |path| {
            let mut picture = volume_picture(&gpu, &callback)?;
            for [a, b] in edges {
                picture::line(&mut picture, a.into(), b.into(), scale, ink, 0.6);
            }
            for ((name, at), ink) in names.iter().zip(places).zip(inks) {
                for (i, letter) in name.chars().enumerate() {
                    let x = at.x + (i as f32 - (name.chars().count() as f32 - 1.0) / 2.0) * 8.0 * scale as f32;
                    picture::letter(&mut picture, letter, [x, at.y], scale, ink);
                }
            }
            write_beside(path, &picture::png(&picture)?)
        }))
    }

    fn picture_source(&self, choice: LayerChoice, axis: usize) -> anyhow::Result<(Layer, Geometry)> {
        let n = self.extents().context("open a volume first")?;
        let layer = self.layer(choice).context("the run has no reconstruction")?;
        let most = n.iter().copied().max().unwrap_or(1);
        Ok((layer, Geometry::covering(n, axis, self.crosshair[axis], [0; 2], [most; 2])))
    }

    /// The HTML report: tables, pictures of the slice in focus, command lines.
    pub(super) fn report_writer(&self) -> anyhow::Result<Writer> {
        let document = self.document.as_ref().context("open a volume first")?;
        let runs = self.runs.sorted();
        let commands: Vec<String> = runs.iter().map(|r| self.command_line(&r.request, r.id)).collect();
        let axis = self.focus_axis();
        let mut layers = vec![LayerChoice::Original];
        layers.extend(runs.iter().flat_map(|r| [LayerChoice::Run(r.id), LayerChoice::ErrorOverTau(r.id)]));
        let mut sources: Vec<(String, Layer, LayerLook)> = vec![];
        for choice in layers {
            sources.push((self.layer_name(choice), self.picture_source(choice, axis)?.0, self.layer_look(choice)));
        }
        let geometry = self.picture_source(LayerChoice::Original, axis)?.1;
        let caption = format!("Slice {} across {}", geometry.index, document.axis_names()[axis]);
        let labels = self.label_input().context("open a volume first")?;
        let colors: Vec<[u8; 3]> = self.roi.tiers.iter().map(|t| t.color).collect();
        let title = format!("BlockMGARD report: {}", document.title());
        let page = report::page(&title, &report::facts(document), &self.tier_facts(), &runs, &commands);
        Ok(Box::new(move |path| {
            let mut figures = vec![];
            let labels = label_slice(&labels, &geometry)?;
            let overlay = PictureOverlay { labels: &labels, colors: &colors, opacity: 0.5 };
            for (i, (title, layer, look)) in sources.iter().enumerate() {
                let slice = layer.image(geometry)?;
                let scale = (680 / slice.size[0].max(1)).clamp(1, 4) as u32;
                figures.push(Figure {
                    title: title.clone(),
                    png: picture::png(&picture::draw(&slice, look, None, scale))?,
                });
                if i == 0 {
                    let png = picture::png(&picture::draw(&slice, look, Some(&overlay), scale))?;
                    figures.push(Figure { title: "Original with the regions".to_owned(), png });
                }
            }
            write_beside(path, page.with_figures(&caption, &figures).as_bytes())
        }))
    }

    /// Tier, tolerance, and share of the blocks, for the report.
    fn tier_facts(&self) -> Vec<report::TierFact> {
        let counts = self.mapping.result.as_ref().map(|r| r.counts[0].clone()).unwrap_or_default();
        let total = counts.iter().sum::<usize>().max(1) as f64;
        let tiers = self.roi.tiers.iter().zip(self.absolute_tiers()).enumerate();
        tiers
            .map(|(i, (tier, absolute))| report::TierFact {
                name: tier.name.clone(),
                color: tier.color,
                tau: absolute.tau,
                share: counts.get(i).copied().unwrap_or(0) as f64 / total,
            })
            .collect()
    }
}
