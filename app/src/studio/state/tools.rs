//! The tool in hand and its settings.

use crate::studio::roi::model::Measure;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tool {
    Navigate,
    Window,
    Pick,
    Brush,
    Erase,
    Flood,
    Box,
    Ellipsoid,
    Polygon,
    Threshold,
}

impl Tool {
    pub const ALL: [Tool; 10] = [
        Tool::Navigate,
        Tool::Window,
        Tool::Pick,
        Tool::Brush,
        Tool::Erase,
        Tool::Flood,
        Tool::Box,
        Tool::Ellipsoid,
        Tool::Polygon,
        Tool::Threshold,
    ];
    /// Name, key and what it does.
    pub fn describe(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Tool::Navigate => ("Navigate", "Z", "Click to place the crosshair, drag to pan"),
            Tool::Window => ("Window/level", "W", "Drag sideways for width, up and down for level"),
            Tool::Pick => ("Pick tier", "L", "Click a voxel to take up its tier"),
            Tool::Brush => ("Brush", "P", "Drag to paint the chosen tier; right-drag erases"),
            Tool::Erase => ("Eraser", "E", "Drag to take voxels out of painted regions"),
            Tool::Flood => ("Flood fill", "F", "Click to fill connected voxels of similar value"),
            Tool::Box => ("Box", "B", "Drag a rectangle; it spans the given depth"),
            Tool::Ellipsoid => ("Ellipsoid", "O", "Drag the outline of an ellipsoid"),
            Tool::Polygon => {
                ("Polygon", "G", "Click corners; Enter or double-click closes, Backspace deletes one, Esc cancels")
            }
            Tool::Threshold => ("Threshold", "T", "Select voxels by value, percentile or gradient"),
        }
    }
    pub fn paints(self) -> bool {
        matches!(self, Tool::Brush | Tool::Erase)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BrushShape {
    Disc,
    Ball,
    /// A ball grown to whole 8^3 blocks.
    Blocks,
}

/// What a threshold looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThresholdOf {
    Value,
    Gradient,
}

/// Settings of all tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tools {
    pub tool: Tool,
    pub previous: Tool,
    /// Tier that new regions and strokes get.
    pub tier: usize,
    pub brush: BrushShape,
    /// Diameter in voxels.
    pub brush_size: f64,
    /// Painting a looser tier leaves stricter voxels alone.
    pub protect: bool,
    /// Paint only voxels inside the threshold interval.
    pub masked: bool,
    pub threshold_of: ThresholdOf,
    pub measure: Measure,
    pub lo: f64,
    pub hi: f64,
    /// Depth in voxels of boxes and polygons along the view's axis.
    pub depth: usize,
    /// Half width of the flood's interval, in percent of the data range.
    pub flood_percent: f64,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            tool: Tool::Brush,
            previous: Tool::Navigate,
            tier: 2,
            brush: BrushShape::Ball,
            brush_size: 12.0,
            protect: true,
            masked: false,
            threshold_of: ThresholdOf::Value,
            measure: Measure::Percentile,
            lo: 85.0,
            hi: 100.0,
            depth: 16,
            flood_percent: 5.0,
        }
    }
}

impl Tools {
    /// Whether the threshold interval is still the one that the program starts with.
    pub fn has_first_interval(&self) -> bool {
        let first = Self::default();
        (self.measure, self.lo, self.hi) == (first.measure, first.lo, first.hi)
    }
    pub fn pick(&mut self, tool: Tool) {
        if tool != self.tool {
            self.previous = self.tool;
            self.tool = tool;
        }
    }
}
