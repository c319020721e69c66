//! Time lines in the formats of viewers: [`chrome`] for Perfetto and Chrome, [`ctf`] for Trace Compass and babeltrace2.
//!
//! Both begin with a [`TraceEvents`](strobe_model::TraceEvents) and keep all of it, nanoseconds included.

pub mod chrome;
pub mod ctf;
