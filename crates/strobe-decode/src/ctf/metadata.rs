//! From the metadata's bytes to a [`Trace`]: packets, tokens, types, blocks, and whether everything that is referred to is there.
//!
//! Written by hand, because what a name means depends on what was defined before it, and because errors are to say line and column of what is wrong.

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
    let trace = blocks::trace(parser::Parser::new(token::tokens(&text)?))?;
    check::references(&trace)?;
    Ok(trace)
}
