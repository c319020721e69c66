//! Makes the record of a stream: what was collected, with the firmware's names.

use std::collections::BTreeMap;

use crate::code_profile::CodeProfile;
use crate::traced::kit::model::Kit;
use crate::traced::totals::{
    FrameTotals, PacketKind, Sampling, StreamTotals, TimeBase, Traced, Watched,
};
use strobe_decode::kit::Transport;
use strobe_decode::swo::reader::Reader;
use strobe_model::measurement::{
    Balance, ClockSpan, Finding, Instrument, Loss, Measurement, Parts, Settings as Environment,
    Subject, Unbalanced, Unit,
};
use strobe_symbols::Firmware;

use crate::measuring::facts;

use super::gaps::TooLong;
use super::{Accumulator, Settings, doubt, gaps, steps, windows};

mod loss;
mod profile;
mod scale;
mod warnings;

use profile::{Sums, profile};
use scale::scale;

/// What measured, where a trace pin did.
const PIN: &str = "trace pin";

/// Share of bytes in no packet from which on something is wrong with the stream as a whole. Of
/// noise it is about 12.
pub const NONSENSE_PERCENT: u64 = 5;

/// What a stream has brought, before it becomes a measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRecord {
    /// What was measured.
    pub subject: Subject,
    /// What measured it, how set.
    pub instrument: Instrument,
    /// What became of every sample.
    pub balance: Balance,
    /// Samples by address.
    pub profile: CodeProfile,
    /// What the user should know, with how often it came up.
    pub warnings: Vec<Finding>,
    /// Reading was stopped by the user.
    pub interrupted: bool,
    /// Everything else that the pin carried.
    pub traced: Traced,
}

impl StreamRecord {
    /// Marks that were asked for and never reached, as the user gave them.
    pub fn unreached(&self) -> Vec<String> {
        self.traced.window.as_ref().map(windows::unreached).unwrap_or_default()
    }

    /// The measurement of the stream.
    pub fn measurement(&self) -> Measurement {
        super::measurement::measurement(self)
    }
}

impl Accumulator {
    /// The record of what was read; `reader` has read it to its end.
    ///
    /// # Errors
    /// When the totals do not balance, which they always do unless a sum overflows.
    pub fn record(
        mut self,
        reader: Option<&Reader>,
        firmware: Option<&Firmware>,
        settings: &Settings,
    ) -> Result<StreamRecord, Unbalanced> {
        let kind = match (&self.frames, self.channel) {
            (Some(_), _) => "records of the firmware's kit",
            (None, Some(_)) => "bytes of a channel",
            (None, None) => PIN,
        };
        let mut traced = Traced {
            stream: reader.map(|reader| self.stream(reader, settings)).unwrap_or_default(),
            recording: settings.recording.clone(),
            times: reader.map(|reader| self.times(reader, settings)).unwrap_or_default(),
            counters: self.counters(),
            ..Traced::default()
        };
        if let Some(bytes) = self.channel {
            let kind = PacketKind { name: "bytes of a channel".to_owned(), packets: 0, bytes };
            let kinds = vec![kind];
            traced.stream =
                StreamTotals { bytes, packet_bytes: bytes, kinds, ..StreamTotals::default() };
        }
        if let Some(wrong) = doubt::silent(&traced) {
            traced.times.ticks = self.steps.at_least(wrong.saturating_add(1));
        }
        let mut last = self.span.map_or(0, |(_, last)| last.ticks);
        if let Some((frames, _)) = &mut self.frames {
            frames.finish();
            (traced.stream, traced.times) = frames.totals(settings);
            last = traced.times.ticks;
        }
        traced.window = self.windows.clone().map(|windows| {
            let mut window = windows.finish(last);
            window.cycles = window.cycles.saturating_mul(settings.tick_cycles.unwrap_or(1).into());
            window
        });
        traced.sampling = self.sampling(&traced, settings);
        if doubt::is_unexplained(&traced) {
            // Without one that may be wrong, and the first, which is no time of the stream.
            traced.times.ticks = self.steps.at_least(2);
        }
        let mut warnings = self.stream_warnings(&traced, kind != PIN, reader, firmware, settings);
        let (mut profile, sums) = profile(&self, firmware, settings);
        traced.sampling.idle_by_name = sums.idle;
        let balance = balance(&self, &traced.sampling, &sums, firmware.is_some())?;
        warnings.extend(firmware.and_then(|_| sums.warning(self.awake)));
        // Times count from the first byte, the span from the first timestamp.
        let end = self.span.map_or(0, |(_, last)| last.ticks);
        traced.threads = self.threads.finish(end);
        name_threads(&mut traced, firmware);
        traced.exceptions = self.exceptions.finish();
        traced.exceptions.iter_mut().for_each(|e| e.name = exception(e.number, firmware));
        scale(&mut traced);
        warnings.extend(steps::warnings(&traced));
        traced.channels = self.channels.finish();
        let comparators = (0u8..).zip(self.comparators.all);
        traced.watched =
            comparators.filter_map(|(n, c)| watched(n, c, settings, firmware)).collect();
        let finish = |totals: super::kit::Totals| {
            totals.finish(firmware, &traced.times, traced.stream.damage > 0)
        };
        traced.kit = match (self.frames, self.kit) {
            (Some((frames, totals)), _) => {
                let way = settings.kit.map_or(Transport::Bytes, |kit| kit.way);
                Some(Kit { way, unusable: frames.unusable(), ..finish(totals) })
            }
            (None, Some((reader, totals))) => {
                let (port, unusable) = (reader.port(), reader.unusable());
                Some(Kit { port, unusable, ..finish(totals) })
            }
            (None, None) => None,
        };
        traced.kit = traced.kit.filter(|kit| kit.records + kit.unusable > 0);
        if traced.stream.damage > 0 {
            doubt::set_apart(&mut traced, &mut profile);
        } else if traced.stream.packets_in_doubt > 0 {
            doubt::set_pages_apart(&mut traced);
        }
        scale::values(&mut traced);
        scale::kit(&mut traced);
        Ok(StreamRecord {
            subject: subject(firmware, settings),
            instrument: Instrument {
                kind: kind.to_owned(),
                tool: format!("strobe {}", env!("CARGO_PKG_VERSION")),
                settings: settings.shown.iter().cloned().collect(),
                environment: environment(&traced),
            },
            balance,
            profile,
            warnings,
            interrupted: false,
            traced,
        })
    }

    fn stream(&self, reader: &Reader, settings: &Settings) -> StreamTotals {
        let packets = reader.packets();
        let frames = reader.frames().map(|frames| FrameTotals {
            bytes: frames.bytes,
            frames: frames.frames,
            sync_bytes: frames.sync_bytes,
            streams: reader.streams(),
            stream: reader.stream(),
            undecodable_bytes: frames.undecodable_bytes,
        });
        let instructions = reader.instructions().unwrap_or(0);
        let (signs, too_long) = (self.signs(reader), self.too_long(settings));
        // Where other bits are wrong, these may be as well.
        let shown = if signs > 0 { too_long.shown } else { 0 };
        StreamTotals {
            frames,
            bytes: packets.bytes + instructions,
            packets: packets.packets,
            packet_bytes: packets.packet_bytes,
            padding_bytes: packets.padding_bytes,
            undecodable_bytes: packets.undecodable_bytes + instructions,
            disruptions: packets.disruptions,
            packets_in_doubt: reader.doubt().packets,
            damage: signs + too_long.alone + shown,
            overflows: self.overflows(),
            kinds: self.packet_kinds(),
        }
    }

    /// Places of wrong bits, by packets and frames alone.
    fn signs(&self, reader: &Reader) -> u64 {
        reader.doubt().damage + self.exceptions.contradictions
    }

    /// Timestamps that samples speak against: these come at a period, unless only parts are
    /// measured.
    fn too_long(&self, settings: &Settings) -> TooLong {
        let tick = settings.tick_cycles.filter(|tick| *tick > 0 && self.windows.is_none());
        let period =
            settings.period_cycles.zip(tick).map(|(cycles, tick)| cycles / u64::from(tick));
        period.map(|period| self.gaps.too_long(period)).unwrap_or_default()
    }

    /// Stretches without a sample, from and to, in cycles; of a damaged stream they are no sign of
    /// anything else.
    fn pauses(&self, traced: &Traced, settings: &Settings) -> Vec<(u64, u64)> {
        let tick = u64::from(settings.tick_cycles.unwrap_or(1));
        let cycles = |ticks: u64| ticks.saturating_mul(tick);
        let pauses = match traced.stream.damage {
            0 => self.too_long(settings).pauses,
            _ => Vec::new(),
        };
        pauses.into_iter().map(|(from, to)| (cycles(from), cycles(to))).collect()
    }

    fn times(&self, reader: &Reader, settings: &Settings) -> TimeBase {
        let times = reader.times();
        // A gap behind the last timestamp is a loss as well, and was counted as what has no time.
        let behind = u64::from(times.unsure == 0 && reader.gaps() > 0);
        TimeBase {
            local: times.local,
            global: times.global,
            ticks: self.span.map_or(0, |(first, last)| last.ticks - first.ticks),
            tick_cycles: settings.tick_cycles,
            core_hz: settings.core_hz,
            exact: times.exact,
            between: times.between,
            unsure: times.unsure + behind,
            untimed: times.untimed.saturating_sub(behind),
            bridged: times.bridged,
        }
    }

    fn sampling(&self, traced: &Traced, settings: &Settings) -> Sampling {
        let taken = self.samples();
        let mut sampling = Sampling {
            taken,
            awake: self.awake,
            asleep: self.asleep,
            prohibited: self.prohibited,
            period_cycles: settings.period_cycles,
            pauses: self.pauses(traced, settings),
            ..Sampling::default()
        };
        if taken > 0 {
            let parts = traced.window.as_ref().map_or(1, |window| window.parts);
            let expected = loss::expected(self, traced, settings, taken);
            let due = expected.as_ref().map_err(Clone::clone);
            sampling.lost = Some(match gaps::paused(&sampling.pauses) {
                Some(why) => Loss::Unknown(why),
                None => loss::lost(&sampling, due, &traced.stream, parts),
            });
            sampling.expected = expected.ok();
        }
        sampling
    }
}

fn balance(
    accumulator: &Accumulator,
    sampling: &Sampling,
    sums: &Sums,
    has_firmware: bool,
) -> Result<Balance, Unbalanced> {
    let lost = sampling.lost.clone().unwrap_or(Loss::Known(0));
    let outside = if has_firmware { "outside the firmware" } else { "without symbols" };
    let unattributed = [
        ("in no function", sums.nameless),
        (outside, sums.outside),
        ("where tracing was prohibited", sampling.prohibited),
        ("at too many addresses to list", accumulator.places.beyond()),
    ];
    let is_unknown = matches!(lost, Loss::Unknown(_));
    Balance::new(Parts {
        taken_as: if is_unknown { "taken" } else { "due" }.to_owned(),
        taken: sampling.taken + lost.known(),
        attributed: sums.named,
        unattributed: unattributed
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(why, n)| (why.to_owned(), n))
            .collect(),
        idle: sampling.asleep + sums.idle,
        lost,
        ..Parts::new("samples", Unit::SAMPLES)
    })
}

pub(super) fn exception(number: u16, firmware: Option<&Firmware>) -> String {
    let name = crate::exception::exception_name(number);
    let handler = firmware.and_then(|firmware| handler(number, firmware));
    handler.map_or(name.clone(), |handler| format!("{name} ({handler})"))
}

/// The handler's name, from its vector table if there is one.
fn handler(number: u16, firmware: &Firmware) -> Option<String> {
    let vectors = firmware.vector_table()?.address;
    let word = |n: u32| firmware.word_at(vectors.checked_add(4 * n)?);
    if word(1)? | 1 != firmware.entry() | 1 {
        return None;
    }
    let function = firmware.function_at(word(u32::from(number))? & !1)?;
    Some(firmware.function(function).name.clone())
}

/// What a thread is called: the variable that its pointer points to, or the pointer.
pub(super) fn thread_name(pointer: u32, firmware: Option<&Firmware>) -> String {
    let symbol = firmware.and_then(|f| f.data_symbol_at(pointer));
    let symbol = symbol.filter(|symbol| symbol.address == pointer);
    symbol.map_or_else(|| format!("{pointer:#010x}"), |symbol| symbol.name.clone())
}

fn name_threads(traced: &mut Traced, firmware: Option<&Firmware>) {
    for thread in &mut traced.threads {
        thread.name = thread_name(thread.pointer, firmware);
    }
    if traced.threads.is_empty() {
        // Where only exceptions are distinguished, everything else is one thread.
        let name = "(thread mode)".to_owned();
        traced.threads.push(crate::traced::totals::TracedThread { name, ..Default::default() });
    }
}

fn watched(
    comparator: u8,
    from: super::watched::Comparator,
    settings: &Settings,
    firmware: Option<&Firmware>,
) -> Option<Watched> {
    let mut out = from.totals;
    if out.reads + out.writes + out.matches == 0 {
        return None;
    }
    let name = settings.watches.iter().find(|(n, _)| *n == comparator).map(|(_, name)| name);
    out.comparator = comparator;
    out.name = name.cloned().unwrap_or_else(|| format!("comparator {comparator}"));
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    for (pc, n) in from.from {
        let function = firmware.and_then(|f| Some(f.function(f.function_at(pc)?).name.clone()));
        *places.entry(function.unwrap_or_else(|| format!("{pc:#010x}"))).or_default() += n;
    }
    out.from = places.into_iter().collect();
    out.from.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Some(out)
}

/// What the bytes were recorded from.
fn environment(traced: &Traced) -> Environment {
    let source = traced.recording.as_ref().map(|recording| recording.source.clone());
    let source = source.filter(|source| !source.is_empty());
    source.map(|source| ("source".to_owned(), source)).into_iter().collect()
}

fn subject(firmware: Option<&Firmware>, settings: &Settings) -> Subject {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let clock = settings.core_hz.map(|hz| ClockSpan { cycle: 0, hz });
    Subject {
        kind: String::new(),
        name: String::new(),
        sha256: firmware.map(|f| hex(&f.sha256())),
        build_id: firmware.and_then(|f| f.build_id().map(hex)),
        board: Some(settings.target.clone()).filter(|target| !target.is_empty()),
        core: None,
        clock: clock.into_iter().collect(),
        facts: firmware.map(facts).unwrap_or_default(),
    }
}
