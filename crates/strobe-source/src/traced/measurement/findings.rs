//! What the reader should know of a stream before believing its figures.

use crate::defmt::message::Decoded;
use crate::traced::kit::model::Kit;
use crate::traced::record::StreamRecord;
use crate::traced::totals::Traced;
use strobe_model::measurement::{Finding, Loss, Measurement, Severity};

/// All of it, what concerns everything first.
pub(super) fn findings(record: &StreamRecord, traced: &Traced, out: &mut Measurement) {
    doubtful(traced, out);
    out.findings.extend(record.warnings.iter().cloned());
    for (note, n) in traced.recording.iter().flat_map(|recording| &recording.notes) {
        add(out, "recording", note, *n);
    }
    lost(traced, out);
    undecodable(traced, out);
    if let Some(kit) = &traced.kit {
        records(kit, out);
    }
    for channel in &traced.channels {
        if channel.interrupted > 0 {
            let text = format!("something may be missing from port {}", channel.port);
            add(out, "port-interrupted", &text, channel.interrupted);
        }
        if let Some(decoded) = &channel.decoded {
            messages(channel.port, decoded, out);
        }
    }
}

fn add<'a>(out: &'a mut Measurement, code: &str, text: &str, count: u64) -> &'a mut Finding {
    let finding = Finding { count, ..Finding::new(Severity::Warning, code, text) };
    out.findings.push(finding);
    let last = out.findings.len() - 1;
    &mut out.findings[last]
}

/// Share of the packets in doubt from which on it is a warning, in parts of a hundred.
const MATTERS_PERCENT: u64 = 1;

/// What is in no figure, and what that does to those that are there.
fn doubtful(traced: &Traced, out: &mut Measurement) {
    let stream = &traced.stream;
    if stream.damage > 0 {
        let text = "places of the stream are damaged, and a wrong bit within a packet leaves no \
                    sign: no time or loss is exact, \
                    and what was seen only a few times is in doubt";
        let finding = add(out, "damaged", text, stream.damage);
        let advice =
            "look for the cause of wrong bits: the baud rate, the wiring, the pin's slew rate";
        finding.advice = Some(advice.to_owned());
    }
    if stream.packets_in_doubt > 0 {
        let text = "packets near bytes of no packet may be wrong; they are in no figure";
        let finding = add(out, "in-doubt", text, stream.packets_in_doubt);
        if stream.packets_in_doubt * 100 < stream.packets * MATTERS_PERCENT {
            finding.severity = Severity::Note;
        }
    }
}

fn lost(traced: &Traced, out: &mut Measurement) {
    let overflows = traced.stream.overflows;
    if overflows > 0 {
        let text = "overflow packets: each stands for one lost packet or more";
        add(out, "overflow", text, overflows);
    }
    let samples = traced.sampling.lost.as_ref().map_or(0, Loss::known);
    if samples > 0 || overflows > 0 && traced.sampling.taken > 0 {
        let text = "samples were lost, and not at random: a full FIFO takes the next packet as \
                    soon as there is room, at fixed distances, \
                    which no interval covers";
        let finding = add(out, "samples-lost", text, samples.max(1));
        finding.advice = Some("use a plan that the link can carry (strobe plan)".to_owned());
    }
    if let Some(Loss::Unknown(why)) = &traced.sampling.lost {
        let text = format!("how many samples were lost is not known: {why}");
        out.findings.push(Finding::new(Severity::Note, "loss-unknown", text));
    }
}

fn undecodable(traced: &Traced, out: &mut Measurement) {
    let stream = &traced.stream;
    let evidence = |name: &str, n: u64| (name.to_owned(), n.to_string());
    if stream.undecodable_bytes > 0 {
        let text = "bytes belong to no packet; packets near them may be wrong and are left out";
        let finding = add(out, "undecodable-bytes", text, stream.undecodable_bytes);
        let counts = vec![
            evidence("places", stream.disruptions),
            evidence("packets that may be wrong", stream.packets_in_doubt),
        ];
        finding.evidence.push(("stream".to_owned(), counts));
    }
    let framed = stream.frames.as_ref().map_or(0, |frames| frames.undecodable_bytes);
    if framed > 0 {
        add(out, "unframed-bytes", "bytes belong to no frame of the trace port", framed);
    }
}

fn records(kit: &Kit, out: &mut Measurement) {
    if kit.lost > 0 {
        let places = if kit.losses == 1 { "place" } else { "places" };
        let text = format!("records of the kit are missing, in {} {places}", kit.losses);
        add(out, "records-lost", &text, kit.lost);
    }
    if kit.restarts > 0 {
        add(out, "restarted", "the target began anew", kit.restarts);
    }
    if kit.unusable > 0 {
        add(out, "unusable-records", "writes or frames of the kit are no records", kit.unusable);
    }
}

fn messages(port: u8, decoded: &Decoded, out: &mut Measurement) {
    if decoded.malformed > 0 {
        let rest = if decoded.stopped {
            "; the encoding has no marks to go on from, so nothing behind the first is \
             understood"
        } else {
            ""
        };
        let text =
            format!("frames at port {port} that this firmware cannot have sent like that{rest}");
        add(out, "malformed-messages", &text, decoded.malformed);
    }
    if decoded.doubtful > 0 {
        let text =
            format!("messages at port {port} with a loss in them or before them may be wrong");
        add(out, "doubtful-messages", &text, decoded.doubtful);
    }
}
