//! Settings as writes to registers, in the order in which the hardware wants them.
//!
//! DEMCR (DDI 0403 C1.6.5), TPIU (C1.10), DWT (C1.8) and ITM (C1.7); of ARMv8-M the comparators
//! differ (DDI 0553 D1.2.66). The blocks are switched off before they are set up, since fields of
//! DWT_CTRL and ITM_TCR may not be changed while they are on.

use strobe_decode::trace_settings::{
    Encoding, EventCounters, GlobalTimestamps, TraceSettings, Watch, WatchAccess, WatchWhat,
};
use strobe_decode::trace_settings::{SyncPeriod, TimestampPrescaler};

use super::target::{Architecture, Output, Target, UNLOCK};

mod write;

pub use self::write::{RegisterField, RegisterWrite};

/// A set-up that this target cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The trace clock is selected from a few.
    #[error("{target} has no trace clock of {trace_hz} Hz; it has {choices}")]
    TraceClock {
        /// The family.
        target: &'static str,
        /// What was wanted.
        trace_hz: u32,
        /// What there is.
        choices: String,
    },
    /// The divider of the trace clock makes another bit rate.
    #[error(
        "{asked} baud cannot be made: the divider makes {made}, {percent} % off, and no byte \
         arrives{advice}"
    )]
    RateOff {
        /// Bits per second that were wanted.
        asked: u32,
        /// Bits per second that there would be.
        made: u64,
        /// How far off, in percent.
        percent: String,
        /// What can be made.
        advice: String,
    },
    /// Its pin has no TPIU.
    #[error("{target} has no formatter before the pin: leave out the frames")]
    NoFormatter {
        /// The family.
        target: &'static str,
    },
    /// ARMv8-M's comparators do less.
    #[error(
        "watching {name}: {what} on ARMv8-M; there 1, 2 or 4 bytes are watched, and reported as \
         pc, value or both"
    )]
    Watch {
        /// The watch.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
}

const DEMCR: u32 = 0xe000_edfc;
const TPIU: u32 = 0xe004_0000;
const DWT: u32 = 0xe000_1000;
const ITM: u32 = 0xe000_0000;

/// Builds a write field by field.
struct Register {
    write: RegisterWrite,
}

impl Register {
    /// All bits are written; those of the fields must read back.
    fn new(name: impl Into<String>, address: u32) -> Self {
        let (register, fields) = (name.into(), Vec::new());
        let write = RegisterWrite { register, address, value: 0, mask: u32::MAX, check: 0, fields };
        Register { write }
    }

    fn field(
        mut self,
        name: &str,
        (high, low): (u8, u8),
        value: u32,
        meaning: impl Into<String>,
    ) -> Self {
        let bits = (u32::MAX >> (31 - (high - low))) << low;
        self.write.value |= value << low & bits;
        self.write.check |= bits;
        let (field, meaning) = (name.to_owned(), meaning.into());
        self.write.fields.push(RegisterField { field, bits: (high, low), value, meaning });
        self
    }

    fn flag(self, name: &str, bit: u8, on: bool, meaning: &str) -> Self {
        self.field(name, (bit, bit), on.into(), meaning)
    }

    /// Bits beside those of the fields are kept.
    fn keeping_others(mut self) -> RegisterWrite {
        self.write.mask = self.write.check;
        self.write
    }

    /// The register cannot be read back.
    fn unchecked(mut self) -> RegisterWrite {
        self.write.check = 0;
        self.write
    }

    fn done(self) -> RegisterWrite {
        self.write
    }
}

/// Every write that the settings need, in order.
pub fn writes(settings: &TraceSettings, target: &Target) -> Result<Vec<RegisterWrite>, Error> {
    let trcena = "trace blocks on; the other bits, vector catch among them, are kept";
    let mut all =
        vec![Register::new("DEMCR", DEMCR).flag("TRCENA", 24, true, trcena).keeping_others()];
    routes(settings, target, &mut all)?;
    all.push(unlock("ITM_LAR", ITM));
    all.push(off("ITM_TCR", ITM + 0xe80, "ITMENA", 0));
    all.push(unlock("DWT_LAR", DWT));
    all.push(off("DWT_CTRL", DWT, "PCSAMPLENA", 12));
    output(settings, target, &mut all)?;
    for watch in settings.watches.iter() {
        match target.architecture {
            Architecture::V7m => all.extend(watch_v7(watch)),
            Architecture::V8m => all.extend(watch_v8(watch)?),
        }
    }
    all.push(dwt_ctrl(settings));
    all.extend(itm(settings));
    Ok(all)
}

/// The writes that stop what [`writes()`] started; what was routed stays.
pub fn writes_off(settings: &TraceSettings) -> Vec<RegisterWrite> {
    let mut all = vec![
        unlock("ITM_LAR", ITM),
        off("ITM_TCR", ITM + 0xe80, "ITMENA", 0),
        Register::new("ITM_TER", ITM + 0xe00).field("STIMENA", (31, 0), 0, "no port").done(),
    ];
    for watch in settings.watches.iter() {
        let n = u32::from(watch.comparator());
        let function = Register::new(format!("DWT_FUNCTION{n}"), DWT + 0x28 + 16 * n);
        all.push(function.field("FUNCTION", (3, 0), 0, "nothing is watched").done());
    }
    let ctrl = trace_fields(Register::new("DWT_CTRL", DWT), &EventCounters::default(), false);
    all.push(ctrl.flag("PCSAMPLENA", 12, false, "no samples").keeping_others());
    all
}

/// The writes that can be read back when all are done: of each register the last.
pub fn to_check(all: &[RegisterWrite]) -> impl Iterator<Item = &RegisterWrite> {
    all.iter().enumerate().filter_map(move |(at, write)| {
        let later = &all[at + 1..];
        // A later write of other bits of the same register does not undo this one.
        let undone = later.iter().any(|l| l.address == write.address && l.mask & write.check != 0);
        (write.check != 0 && !undone).then_some(write)
    })
}

fn unlock(name: &str, base: u32) -> RegisterWrite {
    let key = Register::new(name, base + 0xfb0);
    key.field("KEY", (31, 0), UNLOCK, "lets the registers be written").unchecked()
}

fn off(name: &str, address: u32, flag: &str, bit: u8) -> RegisterWrite {
    let register = Register::new(name, address);
    register.flag(flag, bit, false, "off while it is set up").keeping_others()
}

fn routes(
    settings: &TraceSettings,
    target: &Target,
    all: &mut Vec<RegisterWrite>,
) -> Result<(), Error> {
    for route in target.routes {
        let mask = route.set | route.clear;
        let (high, low) = (31 - mask.leading_zeros() as u8, mask.trailing_zeros() as u8);
        let field = RegisterField {
            field: "routing".to_owned(),
            bits: (high, low),
            value: route.set >> low,
            meaning: route.meaning.to_owned(),
        };
        all.push(RegisterWrite {
            register: route.register.to_owned(),
            address: route.address,
            value: route.set,
            mask,
            check: if route.readable { mask } else { 0 },
            fields: vec![field],
        });
    }
    let Some(clocks) = target.trace_clocks else { return Ok(()) };
    let trace_hz = settings.line.trace_hz();
    let Some((_, value)) = clocks.choices.iter().find(|(hz, _)| *hz == trace_hz) else {
        let each: Vec<String> =
            clocks.choices.iter().map(|(hz, _)| format!("{} MHz", hz / 1_000_000)).collect();
        let choices = each.join(", ");
        return Err(Error::TraceClock { target: target.name, trace_hz, choices });
    };
    let high = 31 - clocks.mask.leading_zeros() as u8;
    let register = Register::new(clocks.register, clocks.address);
    let meaning = format!("a trace clock of {} MHz", trace_hz / 1_000_000);
    all.push(register.field("TRACEPORTSPEED", (high, 0), *value, meaning).keeping_others());
    Ok(())
}

/// What drives the pin.
fn output(
    settings: &TraceSettings,
    target: &Target,
    all: &mut Vec<RegisterWrite>,
) -> Result<(), Error> {
    let line = &settings.line;
    let (divider, baud) = (line.divider(), line.actual_baud());
    let divides = format!("{} Hz / {divider} = {baud:.0} baud", line.trace_hz());
    let (mode, coding) = match line.encoding() {
        Encoding::Nrz => (2, "asynchronous, NRZ: as a UART"),
        Encoding::Manchester => (1, "asynchronous, Manchester"),
    };
    let base = match target.output {
        Output::Tpiu => TPIU,
        Output::Swo(_) if settings.formatter => {
            return Err(Error::NoFormatter { target: target.name });
        }
        Output::Swo(base) => {
            all.push(unlock("SWO_LAR", base));
            let codr = Register::new("SWO_CODR", base + 0x10);
            all.push(codr.field("PRESCALER", (12, 0), divider - 1, divides).done());
            let sppr = Register::new("SWO_SPPR", base + 0xf0);
            all.push(sppr.field("PPROT", (1, 0), mode, coding).done());
            return Ok(());
        }
    };
    let cspsr = Register::new("TPIU_CSPSR", base + 4);
    all.push(cspsr.field("CWIDTH", (31, 0), 1, "a port of one pin").done());
    let acpr = Register::new("TPIU_ACPR", base + 0x10);
    all.push(acpr.field("SWOSCALER", (15, 0), divider - 1, divides).done());
    let sppr = Register::new("TPIU_SPPR", base + 0xf0);
    all.push(sppr.field("TXMODE", (1, 0), mode, coding).done());
    let frames = if settings.formatter { "frames of 16 bytes" } else { "no frames" };
    let ffcr = Register::new("TPIU_FFCR", base + 0x304)
        .flag("TrigIn", 8, true, "triggers are marked")
        .flag("EnFCont", 1, settings.formatter, frames);
    all.push(ffcr.done());
    Ok(())
}

/// Comparators of ARMv7-M (DDI 0403 C1.8.8, C1.8.17, table C1-14).
fn watch_v7(watch: &Watch) -> [RegisterWrite; 4] {
    let at = DWT + 0x20 + 16 * u32::from(watch.comparator());
    let name = |register| format!("DWT_{register}{}", watch.comparator());
    let (emit_range, function, meaning) = match (watch.what(), watch.access()) {
        (WatchWhat::Pc, _) => (false, 1, "the instruction's address"),
        (WatchWhat::Value, WatchAccess::ReadWrite) => (false, 2, "values read and written"),
        (WatchWhat::Value, WatchAccess::Read) => (false, 0xc, "values read"),
        (WatchWhat::Value, WatchAccess::Write) => (false, 0xd, "values written"),
        (WatchWhat::PcAndValue, WatchAccess::ReadWrite) => {
            (false, 3, "instruction and value, read and written")
        }
        (WatchWhat::PcAndValue, WatchAccess::Read) => (false, 0xe, "instruction and value read"),
        (WatchWhat::PcAndValue, WatchAccess::Write) => {
            (false, 0xf, "instruction and value written")
        }
        (WatchWhat::AddressAndValue, WatchAccess::ReadWrite) => {
            (true, 2, "address and value, read and written")
        }
        (WatchWhat::AddressAndValue, WatchAccess::Read) => (true, 0xe, "address and value read"),
        (WatchWhat::AddressAndValue, WatchAccess::Write) => {
            (true, 0xf, "address and value written")
        }
    };
    let ignored = watch.bytes().trailing_zeros();
    let bytes = format!("{ignored} low bits do not matter: {} bytes", watch.bytes());
    let function = Register::new(name("FUNCTION"), at + 8)
        .flag("EMITRANGE", 5, emit_range, "the address is reported")
        .field("FUNCTION", (3, 0), function, meaning);
    [
        Register::new(name("FUNCTION"), at + 8).field("FUNCTION", (3, 0), 0, "off").done(),
        Register::new(name("COMP"), at)
            .field("COMP", (31, 0), watch.address(), watch.name())
            .done(),
        Register::new(name("MASK"), at + 4).field("MASK", (4, 0), ignored, bytes).done(),
        function.done(),
    ]
}

/// Comparators of ARMv8-M (DDI 0553, DWT_FUNCTIONn).
fn watch_v8(watch: &Watch) -> Result<[RegisterWrite; 3], Error> {
    let no = |what| Error::Watch { name: watch.name().to_owned(), what };
    if watch.bytes() > 4 {
        return Err(no("more than four bytes"));
    }
    // With a value in the packet the comparator has to be one of address with value.
    let (action, meaning) = match watch.what() {
        WatchWhat::Value => (2, "the value"),
        WatchWhat::Pc => (3, "the instruction's address"),
        WatchWhat::PcAndValue => (3, "instruction and value"),
        WatchWhat::AddressAndValue => return Err(no("the data's address")),
    };
    let (access, accesses) = match watch.access() {
        WatchAccess::ReadWrite => (4, "reads and writes"),
        WatchAccess::Write => (5, "writes"),
        WatchAccess::Read => (6, "reads"),
    };
    let matches = if watch.what() == WatchWhat::Pc { access } else { access | 8 };
    let at = DWT + 0x20 + 16 * u32::from(watch.comparator());
    let name = |register| format!("DWT_{register}{}", watch.comparator());
    let size = watch.bytes().trailing_zeros();
    let function = Register::new(name("FUNCTION"), at + 8)
        .field("DATAVSIZE", (11, 10), size, format!("{} bytes", watch.bytes()))
        .field("ACTION", (5, 4), action, meaning)
        .field("MATCH", (3, 0), matches, accesses);
    Ok([
        Register::new(name("FUNCTION"), at + 8).field("MATCH", (3, 0), 0, "off").done(),
        Register::new(name("COMP"), at)
            .field("COMP", (31, 0), watch.address(), watch.name())
            .done(),
        function.done(),
    ])
}

/// DWT_CTRL's bits that make packets, but for samples.
fn trace_fields(register: Register, c: &EventCounters, exceptions: bool) -> Register {
    let flag = |register: Register, name, bit, on, what: &str| {
        register.flag(name, bit, on, if on { what } else { "off" })
    };
    let register = flag(register, "CYCEVTENA", 22, false, "");
    let register = flag(register, "FOLDEVTENA", 21, c.fold, "folded instructions are counted");
    let register = flag(register, "LSUEVTENA", 20, c.lsu, "cycles of loads, stores are counted");
    let register = flag(register, "SLEEPEVTENA", 19, c.sleep, "cycles asleep are counted");
    let register = flag(register, "EXCEVTENA", 18, c.exc, "exceptions' overhead is counted");
    let register = flag(register, "CPIEVTENA", 17, c.cpi, "additional cycles are counted");
    flag(register, "EXCTRCENA", 16, exceptions, "exceptions are traced")
}

fn dwt_ctrl(settings: &TraceSettings) -> RegisterWrite {
    let register = Register::new("DWT_CTRL", DWT);
    let register = trace_fields(register, &settings.counters, settings.exceptions);
    let sampled = settings.sampling.map(|sampling| {
        let period = sampling.period_cycles();
        let count = u32::from(sampling.count()) - 1;
        (u32::from(sampling.tap().value() == 1024), count, period)
    });
    let (tap, preset, period) = sampled.unwrap_or((0, 0, 0));
    let samples = match sampled {
        Some(_) => format!("a sample every {period} cycles"),
        None => "no samples".to_owned(),
    };
    let sync = match settings.sync {
        None => (0, "no synchronisation"),
        Some(SyncPeriod::Pow24) => (1, "synchronisation every 2^24 cycles"),
        Some(SyncPeriod::Pow26) => (2, "synchronisation every 2^26 cycles"),
        Some(SyncPeriod::Pow28) => (3, "synchronisation every 2^28 cycles"),
    };
    let counts = sampled.is_some() || settings.sync.is_some();
    let register = register
        .flag("PCSAMPLENA", 12, sampled.is_some(), &samples)
        .field("SYNCTAP", (11, 10), sync.0, sync.1)
        .field("CYCTAP", (9, 9), tap, if tap == 1 { "tap at bit 10" } else { "tap at bit 6" })
        .field("POSTINIT", (8, 5), 0, "the first sample comes with the first tap")
        .field("POSTPRESET", (4, 1), preset, format!("every {} taps", preset + 1));
    if counts {
        return register.flag("CYCCNTENA", 0, true, "the cycle counter runs").keeping_others();
    }
    // The firmware may use the cycle counter.
    register.keeping_others()
}

fn itm(settings: &TraceSettings) -> [RegisterWrite; 3] {
    let dwt = settings.sampling.is_some()
        || settings.exceptions
        || settings.counters.any()
        || !settings.watches.is_empty();
    let prescale = match settings.local_timestamps {
        None | Some(TimestampPrescaler::By1) => (0, "local timestamps count cycles"),
        Some(TimestampPrescaler::By4) => (1, "they count every 4th cycle"),
        Some(TimestampPrescaler::By16) => (2, "they count every 16th cycle"),
        Some(TimestampPrescaler::By64) => (3, "they count every 64th cycle"),
    };
    let global = match settings.global_timestamps {
        None => (0, "no global timestamps"),
        Some(GlobalTimestamps::Every128Cycles) => (1, "global timestamps every 128 cycles"),
        Some(GlobalTimestamps::Every8192Cycles) => (2, "global timestamps every 8192 cycles"),
        Some(GlobalTimestamps::EveryPacket) => (3, "global timestamps after each packet"),
    };
    let id = u32::from(settings.bus_id.value());
    let ports = format!("{} of 32 stimulus ports", settings.ports.count_ones());
    let tcr = Register::new("ITM_TCR", ITM + 0xe80)
        .field("TraceBusID", (22, 16), id, format!("stream {id}"))
        .field("GTSFREQ", (11, 10), global.0, global.1)
        .field("TSPrescale", (9, 8), prescale.0, prescale.1)
        .flag("SWOENA", 4, false, "timestamps count the core's clock, not the pin's")
        .flag("TXENA", 3, dwt, "the DWT's packets are passed on")
        .flag("SYNCENA", 2, settings.sync.is_some(), "synchronisation packets")
        .flag("TSENA", 1, settings.local_timestamps.is_some(), "local timestamps")
        .flag("ITMENA", 0, true, "on");
    [
        Register::new("ITM_TPR", ITM + 0xe40)
            .field("PRIVMASK", (3, 0), 0, "unprivileged code may write all ports")
            .done(),
        Register::new("ITM_TER", ITM + 0xe00)
            .field("STIMENA", (31, 0), settings.ports, ports)
            .done(),
        tcr.done(),
    ]
}
