//! What a trace pin carries: TPIU frames, and the packets of ITM and DWT in them or without them.
//!
//! Everything is pushed: bytes go in as they come, in pieces of any size, and packets come out as soon as they are whole. The same
//! bytes give the same packets however they are cut. What cannot be decoded is counted, with its place.
//!
//! - [`packet`] is what there is, after the Architecture Reference Manuals of ARMv7-M (appendix D4) and ARMv8-M (appendix F).
//! - [`itm`] finds the packets in a stream of bytes.
//! - [`timeline`] joins timestamps to packets, [`reader`] is all of it together.
//! - [`tpiu`] takes the formatter's frames apart.

pub mod itm;
mod length;
pub mod packet;
pub mod reader;
pub mod timeline;
pub mod tpiu;
