//! What the options ask of a run, as its settings.

use std::path::Path;

use strobe_link::network;
use strobe_link::serial::Target;
use strobe_model::spelling;
use strobe_sim::device::analog::Analog;
use strobe_sim::device::ethernet::Backend;
use strobe_source::simulated::trace::Programme;
use strobe_source::simulated::{Description, HeapSettings, Limit, SerialInput, Settings, Systems};

use super::{Options, PathFor, Setup, Threads};
use crate::files::{self, Kind};
use crate::{analog, ending, exit, input, serial_ports};

/// The settings of a run with its memory allocators watched; `marks` are where windows begin and
/// end.
pub fn heap_settings(
    setup: &Setup,
    wanted: HeapSettings,
    (from, to): (Option<String>, Option<String>),
) -> anyhow::Result<Settings> {
    Ok(Settings { heap: Some(wanted), from, to, ..common_settings(setup)? })
}

/// The settings of a run whose pins are recorded, from a place on, if one is named.
pub fn recording(setup: &Setup, from: Option<String>) -> anyhow::Result<Settings> {
    Ok(Settings { from, record_pins: true, ..common_settings(setup)? })
}

/// The settings of a chip of a rig whose places are not asked for: it runs as long as the others.
pub fn elsewhere(asked: &Settings) -> Settings {
    Settings {
        limit: asked.limit,
        default_limit: asked.default_limit,
        strict: asked.strict,
        run_on_after_fault: asked.run_on_after_fault,
        interpret: asked.interpret,
        execute_waits: asked.execute_waits,
        ..Settings::default()
    }
}

/// What the options ask of a run.
pub fn settings(options: &Options, threads: Threads) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        from: options.from.clone(),
        to: options.to.clone(),
        marks: options.mark.clone(),
        calls: options.calls.clone(),
        idle: options.idle.clone(),
        timeline: threads.timeline,
        only: threads.only,
        apart: threads.apart,
        phase: options.phase,
        ..common_settings(&options.setup)?
    };
    shift_inputs(&mut settings);
    if settings.to.is_some() && settings.from.is_none() {
        return Err(exit::usage("--to needs --from: where does measuring start?"));
    }
    Ok(settings)
}

/// What is sent to serial devices comes later by the same part of a millisecond.
fn shift_inputs(settings: &mut Settings) {
    let Some(phase) = settings.phase else { return };
    let later = u64::from(phase.part) * 1_000_000 / u64::from(phase.of.max(1));
    for input in &mut settings.inputs {
        input.not_before_nanoseconds = input.not_before_nanoseconds.saturating_add(later);
    }
}

/// What is asked of a run whatever is measured.
pub fn common_settings(setup: &Setup) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        networks: setup.world.ethernet.iter().map(end_of).collect(),
        serial: setup.world.uart.iter().map(|spec| spec.device.clone()).collect(),
        inputs: inputs(setup)?,
        media: media(setup)?,
        analog: analog(setup)?,
        fuses: setup.world.fuses.clone(),
        strict: setup.world.strict,
        run_on_after_fault: setup.world.run_on,
        interpret: setup.world.interpret,
        execute_waits: setup.world.execute_waits,
        trace: Programme { writes: setup.world.trace_write.clone() },
        systems: systems(setup.world.rtos.as_deref())?,
        ..Settings::default()
    };
    for until in &setup.until {
        match limit(until) {
            Some(limit) if settings.limit.is_none() => settings.limit = Some(limit),
            None if until == "exit" => settings.default_limit = None,
            None if spelling::lacks_unit(until) => {
                return Err(exit::usage(format!(
                    "--until {until}: a number needs a unit, as in 1000c (cycles), 20us, 20ms or 2s"
                )));
            }
            None if settings.until.is_none() => settings.until = Some(until.clone()),
            _ => {
                return Err(exit::usage(format!(
                    "--until {until}: one time and one symbol at most"
                )));
            }
        }
    }
    if setup.until.is_empty() {
        // Where somebody types or other machines are, Ctrl-C ends it.
        let limit = ending::default_limit(&settings.inputs);
        settings.default_limit = limit.filter(|_| !setup.world.is_open());
    } else if settings.until.is_some() {
        settings.default_limit = settings.default_limit.and(Some(ending::PATIENCE));
    }
    Ok(settings)
}

fn media(setup: &Setup) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let read = |insert: &PathFor| Ok((insert.name.clone(), input::medium(&insert.path)?));
    setup.world.insert.iter().map(read).collect()
}

fn analog(setup: &Setup) -> anyhow::Result<Vec<(String, Analog)>> {
    let one = |spec: &analog::Spec| Ok((spec.channel.clone(), spec.read()?));
    setup.world.adc.iter().map(one).collect()
}

fn end_of(spec: &network::Spec) -> (String, Backend) {
    let backend = match spec.target {
        network::Target::None => Backend::None,
        network::Target::Loopback => Backend::Loopback,
        network::Target::Tap(_) => Backend::Host,
    };
    (spec.device.clone(), backend)
}

fn inputs(setup: &Setup) -> anyhow::Result<Vec<SerialInput>> {
    let not_before_nanoseconds = match setup.world.uart_input_after.as_deref() {
        None => 0,
        Some(text) => match limit(text) {
            Some(Limit::Nanoseconds(nanoseconds)) => nanoseconds,
            _ => {
                return Err(exit::usage(format!(
                    "--uart-input-after {text}: a time such as 500ms or 2s"
                )));
            }
        },
    };
    let mut inputs: Vec<SerialInput> = Vec::new();
    for spec in &setup.world.uart_input {
        let device = spec.device.clone();
        let is_same = |other: &str| other.eq_ignore_ascii_case(&device);
        let typed = setup.world.uart.iter().any(|u| u.target == Target::Pty && is_same(&u.device));
        if typed || inputs.iter().any(|input| is_same(&input.device)) {
            return Err(exit::usage(format!("--uart-input {device}: it has an input already")));
        }
        let bytes = serial_ports::input(spec)?;
        inputs.push(SerialInput { device, bytes, not_before_nanoseconds });
    }
    Ok(inputs)
}

fn systems(named: Option<&str>) -> anyhow::Result<Systems> {
    let path = match named {
        None => return Ok(Systems::BuiltIn),
        Some("none") => return Ok(Systems::None),
        Some(path) => path,
    };
    let toml = files::text(Path::new(path), &Kind::RTOS)?;
    // The parser's messages show the line in question: indented, they stay one message.
    let parsed = Description::parse(&toml)
        .map_err(|e| exit::data(format!("{path}: {}", e.to_string().replace('\n', "\n  "))))?;
    Ok(Systems::This(Box::new(parsed)))
}

/// `1000000c`, `20ms`: a number with a unit; anything else is a place.
pub fn limit(text: &str) -> Option<Limit> {
    let cycles = spelling::cycles(text).map(Limit::Cycles);
    cycles.or_else(|| spelling::time(text).map(Limit::Nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_with_a_unit() {
        assert_eq!(limit("1_000c"), Some(Limit::Cycles(1000)));
        assert_eq!(limit("1.5ms"), Some(Limit::Nanoseconds(1_500_000)));
        assert_eq!(limit("main"), None);
        assert_eq!(limit("2parsecs"), None);
        assert_eq!(limit("12"), None);
    }
}
