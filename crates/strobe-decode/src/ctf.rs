//! Common Trace Format 1.8: binary streams of events whose layout is described by a text, the
//! metadata.
//!
//! Takes bytes and returns named values; it does not interpret the events. [`Trace::parse`] reads
//! the metadata (TSDL, plain or in packets), [`Reader`] splits a stream into packets, events,
//! losses and undecodable bytes, and [`merge`] merges the events of several streams by time.
//!
//! Section numbers are those of the "Common Trace Format (CTF) Specification (v1.8.3)". Not
//! supported: compressed and encrypted metadata packets, integers of more than 64 bits, and
//! floating-point numbers other than binary32 and binary64. We know no 1.8 reader that supports
//! more.
//!
//! ```
//! use strobe_decode::ctf::{Item, Options, Reader, Trace};
//!
//! let metadata = b"/* CTF 1.8 */
//!     typealias integer { size = 8; } := u8;
//!     trace { major = 1; minor = 8; byte_order = le; };
//!     stream { event.header := struct { u8 id; u8 timestamp; }; };
//!     clock { name = c; freq = 1000; };
//!     event { name = tick; id = 7; fields := struct { u8 n; }; };";
//! let trace = Trace::parse(metadata)?;
//! let mut reader = Reader::new(&trace, &[7, 100, 1, 7, 200, 2], &Options::default());
//! let events = std::iter::from_fn(|| reader.next()).filter_map(|item| match item {
//!     Item::Event(event) => Some((event.class.name.as_str(), event.nanoseconds()?)),
//!     _ => None,
//! });
//! assert_eq!(events.collect::<Vec<_>>(), [("tick", 100_000_000), ("tick", 200_000_000)]);
//! # Ok::<(), strobe_decode::ctf::MetadataError>(())
//! ```

mod bits;
mod decode;
mod error;
mod merge;
mod metadata;
mod show;
mod stream;
mod trace;
mod types;
mod value;

pub use error::{DecodeError, MetadataError, Position, Problem};
pub use merge::{Merged, merge};
pub use stream::{Event, Item, Lost, Options, Packet, Reader, Stats, Undecodable};
pub use trace::{Clock, EnvValue, EventClass, StreamClass, Trace};
pub use types::{
    Array, Base, ByteOrder, Enumeration, Field, Float, Integer, Path, Sequence, Struct, Type,
    Variant,
};
pub use value::{Number, Value};
