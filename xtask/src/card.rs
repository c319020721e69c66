//! `cargo xtask card`: the memory card for the LED cube's player.

use std::path::PathBuf;

use anyhow::{Context, Result};
use strobe_synth::{CardLayout, animation_file, card_image};

/// Write the image of a memory card with an animation for the LED cube (firmware/cube).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of frames, at 50 frames per second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    frames: u16,
    /// Output file
    image: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let image = card_image(CardLayout::PLAIN, "CUBE.ANI", &animation_file(args.frames))?;
    std::fs::write(&args.image, image).with_context(|| format!("writing {}", args.image.display()))
}
