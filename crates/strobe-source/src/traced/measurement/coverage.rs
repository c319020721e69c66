//! How much there was, of it seen, and how much was lost; never 0 where nobody knows.

use crate::traced::kit::model::Kit;
use crate::traced::totals::Traced;
use strobe_model::measurement::{Coverage, Loss, Quantity, Unit};

use super::super::doubt::why;

/// Why nobody knows how many bytes were lost.
pub(super) const NOT_NUMBERED: &str =
    "nothing numbers the bytes, so what is missing leaves no sign";

/// In samples if there are any, else in the kit's records, else in packets.
pub(super) fn coverage(traced: &Traced) -> Coverage {
    let sampling = &traced.sampling;
    let overhead = traced.kit.as_ref().map(|_| {
        let why = "what the calls of the kit cost is not in the stream; a simulated run shows it";
        Quantity::unknown(Unit::CYCLES, why)
    });
    let (unit, seen, lost) = match (&sampling.lost, &traced.kit) {
        (Some(lost), _) => (Unit::SAMPLES, sampling.taken, lost.clone()),
        (None, Some(kit)) => (Unit::other("records"), kit.records, records(kit, traced)),
        (None, None) if traced.stream.packets == 0 => {
            (Unit::BYTES, traced.stream.bytes, Loss::Unknown(NOT_NUMBERED.to_owned()))
        }
        (None, None) => (Unit::other("packets"), traced.stream.packets, packets(traced)),
    };
    let figure = |loss: &Loss, more: u64| match loss {
        Loss::Known(n) => Quantity::exact(more + n, unit.clone()),
        Loss::AtLeast(n) => Quantity::at_least(more + n, unit.clone()),
        Loss::Unknown(why) => Quantity::unknown(unit.clone(), why.clone()),
    };
    Coverage {
        whole: Some(figure(&lost, seen)),
        seen: Some(Quantity::exact(seen, unit.clone())),
        lost: Some(figure(&lost, 0)),
        overhead,
    }
}

/// Numbers have 16 bits, and a target that began anew does not report what was on its way.
fn records(kit: &Kit, traced: &Traced) -> Loss {
    if traced.stream.damage > 0 {
        return Loss::Unknown(why(traced));
    }
    if kit.restarts > 0 { Loss::AtLeast(kit.lost) } else { Loss::Known(kit.lost) }
}

/// Where the trace blocks have no room they send an overflow packet; each overflow packet stands
/// for one packet or more.
fn packets(traced: &Traced) -> Loss {
    if traced.stream.damage > 0 {
        return Loss::Unknown(why(traced));
    }
    let stream = &traced.stream;
    let framed = stream.frames.as_ref().map_or(0, |frames| frames.undecodable_bytes);
    match (stream.overflows, stream.undecodable_bytes + framed) {
        (0, 0) => Loss::Known(0),
        (0, _) => Loss::Unknown("bytes that belong to no packet may have been some".to_owned()),
        (n, _) => Loss::AtLeast(n),
    }
}
