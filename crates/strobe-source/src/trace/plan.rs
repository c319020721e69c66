//! What a set-up needs of its pin, and what there is.
//!
//! Packet sizes are those of DDI 0403 appendix D4. Rates that only the firmware knows the caller
//! brings; what depends on how packets fall together has bounds. Whatever is lost is lost in whole
//! packets, each time with a packet that marks it, which takes room too.

mod measurement;
#[cfg(test)]
mod tests;

use strobe_model::{
    Bounds, Encoding, EventCounters, GlobalTimestamps, Line, PcSampling, PlanLine, PlanPart,
    PlanProposal, PlanReport, PlanSamples, TraceSettings, Verdict, Watch, WatchWhat,
};

use super::registers::{self, Error};
use super::target::Target;

pub use measurement::{measurement, settings_of};

/// What the firmware does, per second: that makes packets beside those that only the clock makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// Exceptions.
    pub exceptions: u64,
    /// What is written to stimulus ports.
    pub ports: Vec<PortLoad>,
    /// Accesses of each watch, in the order of the settings.
    pub watches: Vec<u64>,
    /// Percent of the time that the core is asleep: samples are shorter then.
    pub asleep_percent: u8,
}

/// What is written to a stimulus port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortLoad {
    /// The port, 0 to 31.
    pub port: u8,
    /// Bytes per second.
    pub bytes: u64,
    /// Bytes that are written at once: 1, 2 or 4.
    pub at_once: u8,
}

/// Bit rates that probes and serial adapters usually have.
const BAUDS: &[u32] = &[
    115_200, 230_400, 460_800, 500_000, 921_600, 1_000_000, 1_500_000, 2_000_000, 2_250_000,
    3_000_000, 4_000_000, 6_000_000, 8_000_000, 9_000_000, 10_000_000, 12_000_000, 16_000_000,
    20_000_000, 24_000_000, 32_000_000, 48_000_000,
];

/// How far a bit rate may be off, as a part of one, before bytes are damaged: with a receiver that
/// is as far off the other way the last bit is missed by two fifths of it.
const MAX_BAUD_ERROR: f64 = 0.02;

/// Works out the whole plan.
pub fn plan(
    settings: &TraceSettings,
    load: &Workload,
    target: &Target,
) -> Result<PlanReport, Error> {
    let registers = registers::writes(settings, target)?;
    check_rate(&settings.line)?;
    let budget = Budget::of(settings, load);
    let loss = budget.loss_ppm();
    let verdict = budget.verdict();
    let proposals =
        if verdict == Verdict::Loses { proposals(settings, load, target) } else { Vec::new() };
    Ok(PlanReport {
        settings: settings.clone(),
        target: target.name.to_owned(),
        line: line(&settings.line),
        samples: samples(settings, loss),
        notes: notes(settings, load, target, verdict),
        required: budget.required,
        available: budget.available,
        parts: budget.parts,
        loss_ppm: loss,
        verdict,
        proposals,
        registers,
    })
}

/// How far the middle of a byte's last bit may be off, in bits: there the neighbour begins.
const MAX_BITS_OFF: f64 = 0.5;

/// Refuses a bit rate that the divider misses so far that no byte arrives.
fn check_rate(line: &Line) -> Result<(), Error> {
    let error = line.baud_error();
    if (error * 9.5).abs() < MAX_BITS_OFF {
        return Ok(());
    }
    let nearest = BAUDS.iter().filter_map(|baud| {
        let other = Line::new(line.trace_hz(), *baud, line.encoding()).ok()?;
        (other.baud_error().abs() <= MAX_BAUD_ERROR).then_some(*baud)
    });
    let advice = match nearest.min_by_key(|baud| baud.abs_diff(line.baud())) {
        Some(baud) => format!("; {baud} baud can be made"),
        None => String::new(),
    };
    Err(Error::RateOff {
        asked: line.baud(),
        made: line.actual_baud().round() as u64,
        percent: format!("{:+.1}", error * 100.0),
        advice,
    })
}

fn line(line: &Line) -> PlanLine {
    let error = line.baud_error();
    PlanLine {
        divider: line.divider(),
        actual_baud: line.actual_baud(),
        error_ppm: (error * 1e6).round() as i64,
        // A receiver counts from the start bit's edge to the middle of the stop bit: nine and a
        // half bits.
        last_bit_off_ppm: (error * 9.5e6).round() as i64,
    }
}

fn samples(settings: &TraceSettings, loss: Bounds) -> Option<PlanSamples> {
    let taken = settings.samples_per_second()?;
    let received = |loss_ppm: u64| (taken * (1e6 - loss_ppm as f64) / 1e6).round() as u64;
    Some(PlanSamples {
        period_cycles: settings.sampling?.period_cycles(),
        asked_cycles: None,
        taken_per_second: taken,
        received_per_second: Bounds {
            low: received(loss.high),
            likely: received(loss.likely),
            high: received(loss.low),
        },
    })
}

/// What a set-up needs and has.
struct Budget {
    parts: Vec<PlanPart>,
    required: Bounds,
    available: u64,
}

impl Budget {
    fn of(settings: &TraceSettings, load: &Workload) -> Budget {
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

    fn verdict(&self) -> Verdict {
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
    fn loss_ppm(&self) -> Bounds {
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

/// The nearest set-ups that fit: a faster line, a longer period, less that is traced, and if none
/// of these does alone, all together.
fn proposals(settings: &TraceSettings, load: &Workload, target: &Target) -> Vec<PlanProposal> {
    let mut found = Vec::new();
    let mut offer = |change: String, settings: TraceSettings| {
        let budget = Budget::of(&settings, load);
        let fits = budget.verdict() == Verdict::Fits;
        if fits && registers::writes(&settings, target).is_ok() {
            let Budget { required, available, .. } = budget;
            found.push(PlanProposal { change, settings, required, available });
            return true;
        }
        false
    };
    let less = without_extras(settings);
    for start in std::iter::once(settings).chain(less.as_ref().map(|(_, settings)| settings)) {
        let and = match &less {
            Some((what, settings)) if std::ptr::eq(start, settings) => format!(" and {what}"),
            _ => String::new(),
        };
        let faster =
            faster(start).any(|(baud, settings)| offer(format!("{baud} baud{and}"), settings));
        let slower = slower(start).any(|(sampling, settings)| {
            offer(format!("a sample every {} cycles{and}", sampling.period_cycles()), settings)
        });
        if faster && slower {
            break;
        }
    }
    if let Some((what, settings)) = less {
        offer(what, settings);
    }
    found
}

/// The same on faster lines, the slowest first.
fn faster(settings: &TraceSettings) -> impl Iterator<Item = (u32, TraceSettings)> {
    let line = settings.line;
    let bauds = BAUDS.iter().filter(move |baud| **baud > line.baud());
    bauds.filter_map(move |&baud| {
        let line = Line::new(line.trace_hz(), baud, line.encoding()).ok()?;
        let near = line.baud_error().abs() <= MAX_BAUD_ERROR;
        near.then(|| (baud, TraceSettings { line, ..settings.clone() }))
    })
}

/// The same with longer periods, the shortest first.
fn slower(settings: &TraceSettings) -> impl Iterator<Item = (PcSampling, TraceSettings)> {
    let now = settings.sampling.map_or(u32::MAX, |sampling| sampling.period_cycles());
    let longer = PcSampling::all().filter(move |sampling| sampling.period_cycles() > now);
    longer.map(|s| (s, TraceSettings { sampling: Some(s), ..settings.clone() }))
}

/// The same without timestamps and event counters, if it has any.
fn without_extras(settings: &TraceSettings) -> Option<(String, TraceSettings)> {
    let mut less = settings.clone();
    let mut what = Vec::new();
    if less.local_timestamps.take().is_some() || less.global_timestamps.take().is_some() {
        less.global_timestamps = None;
        what.push("no timestamps");
    }
    if less.counters.any() {
        less.counters = EventCounters::default();
        what.push("no event counters");
    }
    (!what.is_empty()).then(|| (what.join(" and "), less))
}

fn notes(
    settings: &TraceSettings,
    load: &Workload,
    target: &Target,
    verdict: Verdict,
) -> Vec<String> {
    let mut notes = Vec::new();
    let error = settings.line.baud_error().abs();
    if error > MAX_BAUD_ERROR {
        notes.push(format!(
            "the divider makes a bit rate that is {:.1} % off: with a receiver that is off the \
             other way, bytes are damaged",
            error * 100.0
        ));
    }
    if settings.line.divider() > 1 << 13 && target.name != "generic-v8m" {
        notes.push("the divider has more than 13 bits, which Cortex-M3 and M4 do not have".into());
    }
    let longest = PcSampling::all().last();
    if verdict == Verdict::Loses && settings.sampling.is_some() && settings.sampling == longest {
        notes.push("a sample every 16384 cycles is the slowest that the DWT offers".into());
    }
    if verdict == Verdict::Loses && settings.sampling.is_some() {
        notes.push(
            "samples are not lost at random: the FIFO frees in a fixed rhythm, so code that runs \
             in step with it is weighed wrongly"
                .into(),
        );
    }
    if settings.exceptions && load.exceptions == 0 {
        notes.push(
            "exceptions are traced, and how many come is not said: none are counted here".into(),
        );
    }
    if target.routes.is_empty() {
        notes.push(
            "trace clock and pin are not routed here: the firmware has to, or name the --target"
                .into(),
        );
    }
    if settings.sync.is_none() {
        notes.push(
            "without synchronisation a decoder that lost its place finds it again by luck alone"
                .into(),
        );
    }
    notes
}
