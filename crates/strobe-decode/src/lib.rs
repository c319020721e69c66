//! Byte streams to events: what a logic analyser recorded, the widths on its pins, the bytes on its buses.
//!
//! Gets bytes and gives plain values. It must not know where bytes come from: whoever calls opens files and
//! prints results. What is measured ends in the types of `strobe_model`.
//!
//! - [`archive`] reads what tools of others have kept of trace pins.
//! - [`capture`] reads VCD files, sigrok sessions (`.sr`) and Saleae's CSV exports into a [`capture::Capture`], and
//!   writes the first two.
//! - [`container`] is a recording of a trace pin, written and read.
//! - [`orbflow`] takes the frames of orbuculum apart.
//! - [`pins`] takes widths, periods and times between edges.
//! - [`bus`] decodes UART, SPI and I2C.
//! - [`ctf`] reads Common Trace Format: metadata and streams.
//! - [`kit`] finds the frames of the kit for the target, where its records come as bytes.
//! - [`swo`] decodes what a trace pin carries: TPIU frames, packets of ITM and DWT.
//!
//! ```
//! use strobe_decode::{capture, pins};
//!
//! let csv = b"Time [s],LED\n0.000000,0\n0.000010,1\n0.000055,0\n0.000100,1\n";
//! let (_, capture) = capture::read(&mut std::io::Cursor::new(csv), &capture::Options::default())?;
//! let led = pins::statistics(&capture, 0, None);
//! assert_eq!(led.high_ps.map(|high| high.max), Some(45_000_000));
//! # Ok::<(), capture::Error>(())
//! ```

pub mod archive;
pub mod bus;
pub mod capture;
pub mod container;
pub mod ctf;
pub mod kit;
#[cfg(test)]
mod measured_tests;
pub mod orbflow;
pub mod pins;
pub mod swo;
