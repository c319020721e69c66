//! The balances: what became of every sample, of every byte, and of the bytes of channels with
//! messages.

use crate::traced::record::StreamRecord;
use crate::traced::totals::Traced;
use strobe_model::measurement::{Balance, Finding, Loss, Measurement, Parts, Severity, Unit};

use super::coverage::NOT_NUMBERED;

/// All of them.
pub(super) fn balances(record: &StreamRecord, traced: &Traced, out: &mut Measurement) {
    if traced.sampling.taken > 0 {
        out.balances.push(record.balance.clone());
    }
    let stream = &traced.stream;
    if let Some(frames) = &stream.frames {
        let others =
            [("synchronisation", frames.sync_bytes), ("undecodable", frames.undecodable_bytes)];
        bytes("framed bytes", frames.bytes, 16 * frames.frames, &others, out);
    }
    if stream.bytes > 0 {
        let others = [("padding", stream.padding_bytes), ("undecodable", stream.undecodable_bytes)];
        bytes("bytes", stream.bytes, stream.packet_bytes, &others, out);
    }
    for channel in &traced.channels {
        let Some(decoded) = &channel.decoded else { continue };
        let others = [
            ("between messages", decoded.separator_bytes),
            ("malformed", decoded.malformed_bytes),
            ("of a message without end", decoded.trailing_bytes),
        ];
        let what = format!("bytes of port {}", channel.port);
        bytes(&what, channel.bytes, decoded.message_bytes, &others, out);
    }
}

/// Bytes received. How many never arrived nobody knows.
fn bytes(what: &str, taken: u64, attributed: u64, others: &[(&str, u64)], out: &mut Measurement) {
    let others = others.iter().filter(|(_, n)| *n > 0);
    let parts = Parts {
        what: what.to_owned(),
        unit: Unit::BYTES,
        taken_as: "received".to_owned(),
        attributed_as: String::new(),
        taken,
        attributed,
        unattributed: others.map(|(why, n)| ((*why).to_owned(), *n)).collect(),
        idle: 0,
        lost: Loss::Unknown(NOT_NUMBERED.to_owned()),
    };
    add(parts, out);
}

fn add(parts: Parts, out: &mut Measurement) {
    match Balance::new(parts) {
        Ok(balance) => out.balances.push(balance),
        Err(error) => {
            out.findings.push(Finding::new(Severity::Fault, "unbalanced", error.to_string()));
        }
    }
}
