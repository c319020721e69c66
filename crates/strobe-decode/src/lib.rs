//! Byte streams to events: captures of logic analysers, the widths on their pins, the bytes on
//! their buses, and traces.
//!
//! Takes bytes and returns plain values. It must not know where bytes come from: the caller opens
//! files and prints results. Measurements have the types of `strobe_model`.
//!
//! - [`archive`] reads archived results of other trace tools.
//! - [`capture`] reads VCD files, sigrok sessions (`.sr`) and Saleae's CSV exports into a
//!   [`capture::Capture`], and writes the first two.
//! - [`container`] is a recording of a trace pin, written and read.
//! - [`orbflow`] splits orbuculum's connections into frames.
//! - [`pins`] measures widths, periods and times between edges.
//! - [`bus`] decodes UART, SPI and I2C.
//! - [`ctf`] reads Common Trace Format: metadata and streams.
//! - [`kit`] finds the frames of the target kit, where its records are sent as bytes.
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
pub mod pairing;
pub mod pins;
pub mod summary;
pub mod swo;
pub mod trace_settings;
