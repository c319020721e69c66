//! The protocols of a trace pin: TPIU frames, and packets of ITM and DWT with or without them.
//!
//! Push decoders: they accept bytes in pieces of any size and emit packets as soon as they are
//! complete. The same bytes give the same packets however they are split. Undecodable bytes are
//! counted and their place is reported.
//!
//! - [`packet`] defines the packets, after the Architecture Reference Manuals of ARMv7-M (appendix
//!   D4) and ARMv8-M (appendix F).
//! - [`itm`] finds the packets in a stream of bytes.
//! - [`doubt`] decides which of them can be believed.
//! - [`etm`] recognises what is none of them.
//! - [`timeline`] joins timestamps to packets, [`reader`] combines all stages.
//! - [`tpiu`] unpacks the formatter's frames.

pub mod doubt;
pub mod etm;
pub mod itm;
mod length;
mod marks;
pub mod packet;
pub mod reader;
pub mod timeline;
pub mod tpiu;
