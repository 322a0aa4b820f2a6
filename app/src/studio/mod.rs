//! The studio: paint regions, see the tolerance map, run, compare, export.
//!
//! [`state::State`] holds everything; panels and views read it and send [`command::Command`]s; work
//! runs on threads of its own ([`jobs`], [`worker`]) and never in a frame.

pub mod app;
pub mod bench;
pub mod command;
pub mod data;
pub mod gpu;
pub mod jobs;
pub mod keys;
pub mod luts;
pub mod panels;
pub mod picture;
pub mod report;
pub mod roi;
pub mod state;
pub mod theme;
pub mod views;
pub mod worker;

use blockmgard::volume::OpenHints;
use eframe::egui;

/// What the command line says to the studio.
#[derive(Clone, Debug, Default)]
pub struct StudioArgs {
    /// A volume, `.bmg`, project or ROI spec; the bundled sample when there is none.
    pub file: Option<String>,
    /// What a raw file cannot say itself.
    pub hints: OpenHints,
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// When no window or graphics adapter is available; the message says what to install.
pub fn run(args: StudioArgs) -> anyhow::Result<()> {
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("BlockMGARD studio")
            .with_app_id("blockmgard")
            .with_inner_size([1480.0, 920.0])
            .with_min_inner_size([900.0, 600.0])
            .with_drag_and_drop(true),
        wgpu_options: eframe::egui_wgpu::WgpuConfiguration { wgpu_setup: gpu::adapter::setup(), ..Default::default() },
        ..Default::default()
    };
    let unset = |name| std::env::var_os(name).is_none_or(|v| v.is_empty());
    if cfg!(target_os = "linux") && unset("DISPLAY") && unset("WAYLAND_DISPLAY") && unset("WAYLAND_SOCKET") {
        anyhow::bail!(
            "no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window; `blockmgard demo` runs the \
             same job without one, `blockmgard --help` lists all commands"
        );
    }
    let result = eframe::run_native(
        "BlockMGARD studio",
        options,
        Box::new(move |cc| Ok(Box::new(app::Studio::new(cc, args.file, args.hints)))),
    );
    result.map_err(|error| match error {
        eframe::Error::Wgpu(_) => anyhow::anyhow!("{} ({error})", gpu::adapter::NO_ADAPTER),
        error => {
            let text = error.to_string();
            // in front of the reason stand places in sources
            let reason = text.rsplit(": ").next().unwrap_or(&text);
            anyhow::anyhow!(
                "the window cannot be opened ({reason}); `blockmgard demo` runs the same job without one, `blockmgard \
                 --help` lists all commands"
            )
        }
    })
}
