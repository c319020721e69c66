//! What each kind of packet takes of the pin, and what the pin carries.
//!
//! Packet sizes are those of DDI 0403 appendix D4. Whatever is lost is lost in whole packets, each
//! time with a packet that marks it, which takes room too.

use crate::plan::report::{PlanPart, Verdict};
use strobe_decode::trace_settings::{
    Encoding, EventCounters, GlobalTimestamps, Line, TraceSettings, Watch, WatchWhat,
};
use strobe_model::Bounds;

use super::{PortLoad, Workload};

/// What a set-up needs and has.
pub(super) struct Budget {
    pub(super) parts: Vec<PlanPart>,
    /// Bytes per second that the packets take.
    pub(super) required: Bounds,
    /// Bytes per second that the pin carries.
    pub(super) available: u64,
}

impl Budget {
    pub(super) fn of(settings: &TraceSettings, load: &Workload) -> Budget {
        let core_hz = u64::from(settings.core_hz.get());
        let mut parts = Vec::new();
        parts.extend(sampling_part(settings, load));
        parts.extend(exceptions_part(settings, load));
        parts.extend(counters_part(&settings.counters, core_hz));
        parts.extend(load.ports.iter().map(port_part));
        let rates = load.watches.iter().copied().chain(std::iter::repeat(0));
        parts.extend(settings.watches.iter().zip(rates).map(|(watch, n)| watch_part(watch, n)));
        let packets = sum(&parts, |part| part.packets);
        parts.extend(local_part(settings, load, packets));
        parts.extend(global_part(settings, packets));
        parts.extend(sync_part(settings));
        if settings.formatter {
            parts.push(frames_part(sum(&parts, |part| part.bytes)));
        }
        let required = sum(&parts, |part| part.bytes);
        Budget { parts, required, available: available(&settings.line) }
    }

    pub(super) fn verdict(&self) -> Verdict {
        if self.required.likely > self.available {
            Verdict::Loses
        } else if self.required.high > self.available {
            Verdict::Tight
        } else {
            Verdict::Fits
        }
    }

    /// How much is lost all the time. At least what does not fit; at most what does not fit while
    /// each packet that comes through has an overflow packet of one byte behind it, as
    /// recordings of hopelessly full pins show.
    pub(super) fn loss_ppm(&self) -> Bounds {
        let packets = sum(&self.parts, |part| part.packets);
        let lost = |required: u64, marks: f64| {
            let carried = self.available as f64 / (required.max(1) as f64 * marks);
            ((1.0 - carried).max(0.0) * 1e6).round() as u64
        };
        let marks = |required: u64, packets: u64| 1.0 + packets as f64 / required.max(1) as f64;
        let Bounds { low, likely, high } = self.required;
        let fits = |required: u64| required <= self.available;
        Bounds {
            low: lost(low, 1.0),
            likely: if fits(likely) { 0 } else { lost(likely, marks(likely, packets.likely)) },
            high: if fits(high) { 0 } else { lost(high, marks(high, packets.high)) },
        }
    }
}

fn sum(parts: &[PlanPart], of: impl Fn(&PlanPart) -> Bounds) -> Bounds {
    parts.iter().map(of).fold(Bounds::default(), |sum, part| sum + part)
}

/// Bytes per second that the pin carries.
fn available(line: &Line) -> u64 {
    // NRZ: start bit, eight bits, stop bit. Manchester packs up to eight bytes between start and
    // rest; one by one they cost the same.
    match line.encoding() {
        Encoding::Nrz | Encoding::Manchester => (line.actual_baud() / 10.0) as u64,
    }
}

fn part(name: &str, packets: Bounds, bytes: Bounds, how: impl Into<String>) -> PlanPart {
    PlanPart { name: name.to_owned(), packets, bytes, how: how.into() }
}

fn times(n: Bounds, low: u64, likely: u64, high: u64) -> Bounds {
    Bounds {
        low: n.low.saturating_mul(low),
        likely: n.likely.saturating_mul(likely),
        high: n.high.saturating_mul(high),
    }
}

fn sampling_part(settings: &TraceSettings, load: &Workload) -> Option<PlanPart> {
    let period = settings.sampling?.period_cycles();
    let rate = settings.samples_per_second()?;
    let packets = Bounds::exact(rate.round() as u64);
    let asleep = f64::from(load.asleep_percent.min(100)) / 100.0;
    let bytes = Bounds::exact((rate * (5.0 - 3.0 * asleep)).round() as u64);
    let how = if load.asleep_percent == 0 {
        format!("one for {period} cycles, 5 bytes")
    } else {
        format!("one for {period} cycles, 5 bytes, asleep 2")
    };
    Some(part("PC samples", packets, bytes, how))
}

fn exceptions_part(settings: &TraceSettings, load: &Workload) -> Option<PlanPart> {
    let n = Bounds::exact(load.exceptions);
    let packets = times(n, 2, 3, 3);
    let how = "enter, exit, return: 3 bytes each; fewer where one follows another";
    settings.exceptions.then(|| part("exceptions", packets, times(packets, 3, 3, 3), how))
}

fn counters_part(counters: &EventCounters, core_hz: u64) -> Option<PlanPart> {
    if !counters.any() {
        return None;
    }
    // At any cycle one of these four counts at most; folded instructions are counted beside them.
    let cycles = counters.cpi || counters.exc || counters.sleep || counters.lsu;
    let most = (u64::from(cycles) + u64::from(counters.fold)) * core_hz / 256;
    let packets = Bounds { low: 0, likely: most / 2, high: most };
    let how = "2 bytes for 256 events; likely: every other cycle is one";
    Some(part("event counters", packets, times(packets, 2, 2, 2), how))
}

fn port_part(load: &PortLoad) -> PlanPart {
    let at_once = u64::from(load.at_once.max(1));
    let packets = Bounds::exact(load.bytes.div_ceil(at_once));
    let how = format!("{} bytes/s, {at_once} at once, and a header for each", load.bytes);
    let size = at_once + 1;
    part(&format!("port {}", load.port), packets, times(packets, size, size, size), how)
}

fn watch_part(watch: &Watch, accesses: u64) -> PlanPart {
    // Ranges are accessed by words and less.
    let value = u64::from(watch.bytes().min(4)) + 1;
    let (packets, bytes) = match watch.what() {
        WatchWhat::Value => (1, value),
        WatchWhat::Pc => (1, 5),
        WatchWhat::PcAndValue => (2, 5 + value),
        WatchWhat::AddressAndValue => (2, 3 + value),
    };
    let n = Bounds::exact(accesses);
    // A range may be accessed byte by byte.
    let least = if watch.bytes() > 1 && watch.what() != WatchWhat::Pc {
        bytes - (value - 2)
    } else {
        bytes
    };
    let how = format!("{accesses} accesses/s, {bytes} bytes each");
    let packets = times(n, packets, packets, packets);
    part(&format!("watch {}", watch.name()), packets, times(n, least, bytes, bytes), how)
}

/// Local timestamps: one behind each packet, but where packets come together only behind the last.
fn local_part(settings: &TraceSettings, load: &Workload, packets: Bounds) -> Option<PlanPart> {
    let prescale = f64::from(settings.local_timestamps?.value());
    // Of an exception's packets two come together, and both of a watch that has two.
    let of_watches = settings.watches.iter().zip(&load.watches);
    let pairs = of_watches.filter(|(w, _)| packets_of(w) == 2).map(|(_, n)| n).sum::<u64>();
    let together = pairs + if settings.exceptions { load.exceptions } else { 0 };
    let n = Bounds {
        low: packets.low.saturating_sub(together),
        likely: packets.likely.saturating_sub(together),
        high: packets.high,
    };
    let ticks = |n: u64| f64::from(settings.core_hz.get()) / n.max(1) as f64 / prescale;
    let likely = timestamp_bytes(ticks(n.likely));
    // Packets do not come evenly: in a burst each is short, and behind a rest one is long.
    let (least, most) = (likely.min(2), timestamp_bytes(ticks(n.likely) * 8.0));
    let how = format!("behind each packet, {likely} bytes at this rate");
    Some(part("local timestamps", n, times(n, least, likely, most), how))
}

fn packets_of(watch: &Watch) -> u64 {
    match watch.what() {
        WatchWhat::Value | WatchWhat::Pc => 1,
        WatchWhat::PcAndValue | WatchWhat::AddressAndValue => 2,
    }
}

/// Bytes of a local timestamp of so many ticks: one for up to six, else a header and seven bits in
/// each.
fn timestamp_bytes(ticks: f64) -> u64 {
    if ticks < 7.0 {
        return 1;
    }
    let bits = (ticks.log2().floor() as u64 + 1).min(28);
    1 + bits.div_ceil(7)
}

fn global_part(settings: &TraceSettings, packets: Bounds) -> Option<PlanPart> {
    let core_hz = u64::from(settings.core_hz.get());
    let (n, how) = match settings.global_timestamps? {
        GlobalTimestamps::EveryPacket => (packets, "behind each packet"),
        every => {
            let cycles = if every == GlobalTimestamps::Every128Cycles { 128 } else { 8192 };
            let most = core_hz / cycles;
            let n = |packets: u64| packets.min(most);
            let n =
                Bounds { low: n(packets.low), likely: n(packets.likely), high: n(packets.high) };
            (n, "behind a packet, when one is due")
        }
    };
    // Two to five bytes by how many bits have changed; the high half comes once in 2^26 ticks.
    Some(part("global timestamps", n, times(n, 2, 4, 5), how))
}

fn sync_part(settings: &TraceSettings) -> Option<PlanPart> {
    let period = settings.sync?.value();
    let rate = f64::from(settings.core_hz.get()) / f64::from(period);
    let up = |x: f64| x.ceil() as u64;
    let how = format!("6 bytes every {period} cycles");
    Some(part("synchronisation", Bounds::exact(up(rate)), Bounds::exact(up(rate * 6.0)), how))
}

/// What the formatter adds: a byte in sixteen, a byte wherever the stream's number is sent, and
/// synchronisation.
fn frames_part(bytes: Bounds) -> PlanPart {
    let added = Bounds {
        low: bytes.low / 15,
        likely: bytes.likely / 15 + bytes.likely / 240,
        high: bytes.high / 14 + bytes.high / 32,
    };
    part(
        "TPIU frames",
        Bounds::default(),
        added,
        "16 bytes for 14 or 15, and their synchronisation",
    )
}
