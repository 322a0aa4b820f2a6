//! What is seen of the volume: slice views with their gestures, the 3-D view.

pub mod geometry;
pub mod gestures;
pub mod marks;
pub mod slice_view;
pub mod volume_view;
