//! The panels around the views. They read the state and send commands.

pub mod compare;
pub mod display;
pub mod help;
pub mod import;
pub mod menu;
pub mod notices;
pub mod open;
pub mod plots;
pub mod question;
pub mod region_edit;
pub mod regions;
pub mod results;
pub mod run;
pub mod save;
pub mod shell;
pub mod status;
pub mod threshold;
pub mod tiers;
pub mod tool_options;
pub mod toolbar;
