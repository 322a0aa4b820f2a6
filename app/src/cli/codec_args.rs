//! The settings of the codec as arguments.

use anyhow::Result;
use blockmgard::params::{Budget, Points};
use blockmgard::{Basis, Coder, Entropy, Error, Mode, Order, Params};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    Hybrid,
    Pyramid,
}

#[derive(Clone, Copy, ValueEnum)]
enum BasisArg {
    Hierarchical,
    Projection,
}

#[derive(Clone, Copy, ValueEnum)]
enum EntropyArg {
    Huffman,
    Class,
}

#[derive(Clone, Copy, ValueEnum)]
enum CoderArg {
    /// Class tables and rANS: mostly the best ratios
    Class,
    /// Bit planes, always in axis order: the most speed
    Planes,
    /// Magnitudes and signs of groups of 8: nearly the ratios of class, faster
    Groups,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum OrderArg {
    /// Along all axes that a node is new on: mostly the best ratios
    Parity,
    /// Along one axis a node: faster, and for some data smaller too
    Axis,
}

#[derive(Clone, Copy, ValueEnum)]
enum BudgetArg {
    Coefficients,
    Uniform,
}

/// Settings of the codec; those left out take the defaults of [`Params`].
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Codec")]
pub struct Codec {
    /// Decomposition [default: pyramid]
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// Hybrid: local levels [default: 1]
    #[arg(short = 'L', long, value_name = "L")]
    local_levels: Option<u8>,
    /// Hybrid: global levels [default: 2]
    #[arg(short = 'M', long, value_name = "M")]
    global_levels: Option<u8>,
    /// Hybrid: basis [default: hierarchical]
    #[arg(long, value_enum)]
    basis: Option<BasisArg>,
    /// Hybrid: entropy coder [default: huffman]
    #[arg(long, value_enum)]
    entropy: Option<EntropyArg>,
    /// Hybrid: how levels share a tolerance [default: coefficients]
    #[arg(long, value_enum)]
    budget: Option<BudgetArg>,
    /// Pyramid: tile side, 8, 16 or 32 [default: 32]
    #[arg(long)]
    tile: Option<u8>,
    /// Pyramid: points of prediction, auto, 2, 4 or 6 [default: auto]
    #[arg(long, value_parser = points)]
    points: Option<Points>,
    /// Pyramid: entropy coder [default: class]
    #[arg(long, value_enum)]
    coder: Option<CoderArg>,
    /// Pyramid: along which axes nodes are predicted [default: parity; axis with --coder planes]
    #[arg(long, value_enum)]
    order: Option<OrderArg>,
    /// The most speed, on a GPU above all: short for --mode pyramid --tile 8 --coder planes. Files come out larger: a little for
    /// rough data at strict tolerances, several times for smooth data or loose ones. Tolerances are kept all the same
    #[arg(long, conflicts_with_all = ["mode", "tile", "coder", "order"])]
    fast: bool,
    /// Between the best ratio and the most speed, for GPUs: short for --mode pyramid --tile 32 --coder groups --order axis
    #[arg(long, conflicts_with_all = ["fast", "mode", "tile", "coder", "order"])]
    balanced: bool,
    /// Most values in one frame; recorded in the stream [default: 268435456]
    #[arg(long, value_name = "VALUES")]
    pub frame: Option<u64>,
}

fn points(text: &str) -> blockmgard::Result<Points> {
    match text {
        "auto" => Ok(Points::Auto),
        "2" => Ok(Points::Two),
        "4" => Ok(Points::Four),
        "6" => Ok(Points::Six),
        _ => Err(Error::invalid(format!("points {text:?}")).remedy("use auto, 2, 4 or 6")),
    }
}

impl Codec {
    /// Whether the hierarchy of the hybrid mode, or another mode, is given.
    pub fn fixes_hierarchy(&self) -> bool {
        let other_mode = self.fast || self.balanced || self.mode.is_some_and(|m| matches!(m, ModeArg::Pyramid));
        other_mode || self.local_levels.is_some() || self.global_levels.is_some()
    }
    /// Options given that the chosen mode does not know.
    pub fn unused(&self) -> Option<Error> {
        let hybrid = matches!(self.mode, Some(ModeArg::Hybrid));
        let of_hybrid = [
            ("-L", self.local_levels.is_some()),
            ("-M", self.global_levels.is_some()),
            ("--basis", self.basis.is_some()),
            ("--entropy", self.entropy.is_some()),
            ("--budget", self.budget.is_some()),
        ];
        let of_pyramid = [
            ("--tile", self.tile.is_some()),
            ("--points", self.points.is_some()),
            ("--coder", self.coder.is_some()),
            ("--order", self.order.is_some()),
        ];
        let (strange, other) = if hybrid { (&of_pyramid[..], "pyramid") } else { (&of_hybrid[..], "hybrid") };
        let names: Vec<&str> = strange.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| {
            Error::invalid(format!("{} changes nothing without --mode {other}", names.join(", ")))
                .remedy(format!("add --mode {other}, or leave it out"))
        })
    }
    pub fn params(&self) -> Result<Params> {
        let mode = |m| match m {
            ModeArg::Hybrid => Mode::Hybrid,
            ModeArg::Pyramid => Mode::Pyramid,
        };
        let basis = |b| match b {
            BasisArg::Hierarchical => Basis::Hierarchical,
            BasisArg::Projection => Basis::Projection,
        };
        let entropy = |e| match e {
            EntropyArg::Huffman => Entropy::Huffman,
            EntropyArg::Class => Entropy::Class,
        };
        let budget = |b| match b {
            BudgetArg::Coefficients => Budget::Coefficients,
            BudgetArg::Uniform => Budget::Uniform,
        };
        let coder = |c| match c {
            CoderArg::Class => Coder::Class,
            CoderArg::Planes => Coder::Planes,
            CoderArg::Groups => Coder::Groups,
        };
        let order = |o| match o {
            OrderArg::Parity => Order::Parity,
            OrderArg::Axis => Order::Axis,
        };
        let default = match (self.fast, self.balanced) {
            (true, _) => Params::fast(),
            (_, true) => Params::balanced(),
            _ => Params::default(),
        };
        let params = Params {
            mode: self.mode.map_or(default.mode, mode),
            local_levels: self.local_levels.unwrap_or(default.local_levels),
            global_levels: self.global_levels.unwrap_or(default.global_levels),
            basis: self.basis.map_or(default.basis, basis),
            entropy: self.entropy.map_or(default.entropy, entropy),
            budget: self.budget.map_or(default.budget, budget),
            tile: self.tile.unwrap_or(default.tile),
            points: self.points.unwrap_or(default.points),
            coder: self.coder.map_or(default.coder, coder),
            order: self.order.map_or(default.order, order),
            frame_values: self.frame.unwrap_or(default.frame_values),
        };
        if params.coder == Coder::Planes && self.order == Some(OrderArg::Parity) {
            Err(Error::invalid("--coder planes goes with axis order only")
                .remedy("leave --order out, or use --coder groups or --coder class"))?;
        }
        Ok(Params { order: params.effective_order(), ..params })
    }
}
