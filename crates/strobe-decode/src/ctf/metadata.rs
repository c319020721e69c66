//! Parses the bytes of the metadata to a [`Trace`]: packets, tokens, types, blocks, and a check of
//! all references.
//!
//! Hand-written, because the meaning of a name depends on earlier definitions, and because errors
//! must have line and column.

mod attributes;
mod blocks;
mod check;
mod packets;
mod parser;
mod specifier;
mod token;

use super::error::MetadataError;
use super::trace::Trace;

pub(super) use check::below;

pub(super) fn parse(metadata: &[u8]) -> Result<Trace, MetadataError> {
    let text = packets::text(metadata)?;
    let text = String::from_utf8_lossy(&text);
    let mut trace = blocks::trace(parser::Parser::new(token::tokens(&text)?))?;
    trace.has_references = check::references(&trace)?;
    Ok(trace)
}
