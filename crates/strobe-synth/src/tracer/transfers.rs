//! Packets in and out over interfaces, some without a begin or an end in the stream.

use std::collections::{BTreeMap, BTreeSet};

use super::{Label, Number, Stream, Text, Tracer};

/// Transfers over an interface in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Durations of complete ones, in nanoseconds.
    pub durations: Vec<u64>,
    /// Begins without an end.
    pub unmatched_starts: u64,
    /// Ends without a begin.
    pub unmatched_ends: u64,
    /// Bytes of all that ended.
    pub bytes: u64,
}

/// A stream of so many transfers, and its totals by interface and direction.
pub fn transfers(
    seed: u64,
    transfers: u32,
) -> Stream<BTreeMap<(&'static str, &'static str), Transfers>> {
    let mut tracer = Tracer::new(seed, 130);
    let mut truth: BTreeMap<_, Transfers> = BTreeMap::new();
    let mut open = BTreeSet::new();
    for _ in 0..transfers {
        tracer.wait(3_000_000);
        let interface = tracer.rng.pick(&["eth", "eth", "eth", "wpan0"]);
        let (label, number) = tracer.rng.pick(&[("COM_TX", 0), ("COM_RX", 1)]);
        let seen = truth.entry((interface, label)).or_default();
        let mut torn = tracer.rng.below(25);
        if open.contains(&(interface, label)) && torn == 0 {
            // Otherwise this end could belong to the begin whose end was lost.
            torn = 2;
        }
        open.remove(&(interface, label));
        if torn != 0 {
            tracer.event(
                "com_start",
                &[("interface", Text(interface)), ("recvorsend", Label(label, number))],
            );
        }
        let from = tracer.now;
        tracer.wait(120_000);
        match torn {
            1 => {
                seen.unmatched_starts += 1;
                open.insert((interface, label));
                continue;
            }
            0 => seen.unmatched_ends += 1,
            _ => seen.durations.push(tracer.now - from),
        }
        let size = 40 + tracer.rng.below(1460);
        tracer.event(
            "com_finish",
            &[
                ("interface", Text(interface)),
                ("pkt_size", Number(size)),
                ("recvorsend", Label(label, number)),
            ],
        );
        seen.bytes += u64::from(size);
    }
    tracer.finish(9, truth)
}
