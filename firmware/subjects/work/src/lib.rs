//! What each subject computes: one module per crate from crates.io, each a single function that
//! writes its result.
//!
//! The same code runs on the simulated Cortex-M0 and on the host, and the two outputs must be equal
//! byte for byte: that is what makes these programs a proof of the simulated core. Nothing here may
//! know where it runs, hold a pointer-sized value in its output, or depend on time or on random
//! numbers of the host.

#![no_std]
#![forbid(unsafe_code)]

use core::fmt::{self, Write};

pub mod aes;
pub mod blake2;
pub mod chacha20;
pub mod collections;
pub mod dsp;
pub mod fft;
pub mod format;
pub mod frames;
pub mod graphics;
pub mod heatshrink;
pub mod inflate;
pub mod json;
pub mod nmea;
pub mod qrcode;
pub mod sha2;
pub mod x25519;

mod data;

/// A subject: writes its result, one line per finding, and fails only when the writer does.
pub type Work = fn(&mut dyn Write) -> fmt::Result;

/// Every subject by the name of its firmware.
pub const SUBJECTS: &[(&str, Work)] = &[
    ("aes", aes::work),
    ("blake2", blake2::work),
    ("chacha20", chacha20::work),
    ("collections", collections::work),
    ("dsp", dsp::work),
    ("fft", fft::work),
    ("format", format::work),
    ("frames", frames::work),
    ("graphics", graphics::work),
    ("heatshrink", heatshrink::work),
    ("inflate", inflate::work),
    ("json", json::work),
    ("nmea", nmea::work),
    ("qrcode", qrcode::work),
    ("sha2", sha2::work),
    ("x25519", x25519::work),
];
