//! Slices and labels on screen: what is wanted, what has been asked for, what is there.

use crate::studio::data::gradient::slice_gradient;
use crate::studio::data::labels::{LabelInput, Labels, label_slice};
use crate::studio::data::slice::{Geometry, Layer, SliceImage};
use crate::studio::worker::Worker;
use blockmgard::volume::{NodeSteps, Values};
use std::collections::HashMap;
use std::sync::Arc;

/// A view's layer: (axis, slot); slot 1 is the second layer of a comparison.
pub type Slot = (usize, usize);

#[derive(Clone, Copy, PartialEq)]
pub enum LoadKey {
    Slice(Slot),
    Labels(usize),
}

pub enum LoadedItem {
    Slice(Result<Arc<SliceImage>, String>),
    Labels(Result<Labels, String>),
}

/// What makes an uploaded slice stale.
#[derive(Clone, PartialEq)]
struct Wanted {
    geometry: Geometry,
    layer: u64,
    gradient: bool,
}

/// Slices and labels of all views.
pub struct Slices {
    worker: Worker<LoadKey, LoadedItem>,
    asked: HashMap<Slot, Wanted>,
    asked_labels: HashMap<usize, (Geometry, u64)>,
    pub images: HashMap<Slot, Arc<SliceImage>>,
    pub labels: HashMap<usize, Labels>,
}

impl Slices {
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self {
            worker: Worker::new("slices", wake),
            asked: HashMap::new(),
            asked_labels: HashMap::new(),
            images: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    /// Forgets everything, for another volume.
    pub fn clear(&mut self) {
        self.asked.clear();
        self.asked_labels.clear();
        self.images.clear();
        self.labels.clear();
    }

    /// Values have changed: what is on screen stays until it is read anew.
    pub fn ask_again(&mut self) {
        self.asked.clear();
        self.asked_labels.clear();
    }

    /// Asks for a slice unless it is there or on its way. `layer_id` changes when the layer's content does.
    pub fn want(
        &mut self,
        slot: Slot,
        geometry: Geometry,
        layer_id: u64,
        layer: Layer,
        gradient_of: Option<(Values, NodeSteps)>,
    ) {
        let wanted = Wanted { geometry, layer: layer_id, gradient: gradient_of.is_some() };
        if self.asked.get(&slot) == Some(&wanted) {
            return;
        }
        self.asked.insert(slot, wanted);
        self.worker.request(LoadKey::Slice(slot), move || {
            let load = || {
                let mut image = layer.image(geometry)?;
                if let Some((values, steps)) = gradient_of {
                    image.aux = Some(slice_gradient(&values, &steps, &geometry)?.iter().map(|&g| g as f32).collect());
                }
                Ok(Arc::new(image))
            };
            LoadedItem::Slice(load().map_err(|e: blockmgard::Error| e.to_string()))
        });
    }

    /// The slice whose labels view `axis` lacks at `version` of the ROI.
    pub fn labels_wanted(&self, axis: usize, version: u64) -> Option<Geometry> {
        let geometry = self.asked.get(&(axis, 0))?.geometry;
        (self.asked_labels.get(&axis) != Some(&(geometry, version))).then_some(geometry)
    }

    pub fn ask_labels(&mut self, axis: usize, geometry: Geometry, version: u64, input: LabelInput) {
        self.asked_labels.insert(axis, (geometry, version));
        self.worker.request(LoadKey::Labels(axis), move || {
            LoadedItem::Labels(label_slice(&input, &geometry).map_err(|e| e.to_string()))
        });
    }

    /// Takes in what the worker finished; returns error messages.
    pub fn poll(&mut self) -> Vec<String> {
        let mut errors = vec![];
        for (key, item) in self.worker.finished() {
            match (key, item) {
                (LoadKey::Slice(slot), LoadedItem::Slice(Ok(image))) => {
                    self.images.insert(slot, image);
                }
                (LoadKey::Labels(axis), LoadedItem::Labels(Ok(labels))) => {
                    self.labels.insert(axis, labels);
                }
                (_, LoadedItem::Slice(Err(error)) | LoadedItem::Labels(Err(error))) => errors.push(error),
                _ => {}
            }
        }
        errors
    }

    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }
}
