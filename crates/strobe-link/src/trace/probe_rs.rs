//! Debug probes that probe-rs knows (CMSIS-DAP, ST-Link, J-Link), as a [`DebugPort`].
//!
//! What the library keeps to itself is not known here either: the bit rate that a probe grants, and
//! whether its buffer overran.

mod flash;

use std::time::Duration;

use ::probe_rs::architecture::arm::{SwoAccess, SwoConfig, SwoMode};
use ::probe_rs::probe::DebugProbeSelector;
use ::probe_rs::probe::list::Lister;
use ::probe_rs::{Core, MemoryInterface, Permissions, Session};
use strobe_decode::trace_settings::{Encoding, Line};

use super::link::Error;
use super::probe::DebugPort;
use super::program::Registers;

/// How long a read of the pin may wait; longer, and other accesses wait as long.
const READ: Duration = Duration::from_millis(10);
/// How long a core may take to halt.
const HALT: Duration = Duration::from_millis(500);

/// A probe with a chip behind it.
pub struct ProbeRs {
    session: Session,
}

impl ProbeRs {
    /// Opens the only probe, or the one of that selector (`VID:PID[:SERIAL]`), and attaches to the
    /// chip without resetting it.
    pub fn open(selector: Option<&str>, chip: &str) -> Result<ProbeRs, Error> {
        let lister = Lister::new();
        let probe = match selector {
            Some(text) => {
                let selector = text.parse::<DebugProbeSelector>();
                let selector = selector.map_err(|e| Error::open(format!("probe {text}"), e))?;
                lister
                    .open(selector)
                    .map_err(|e| Error::open(format!("probe {text}"), chain(&e)))?
            }
            None => {
                let all = lister.list_all();
                let names: Vec<String> = all.iter().map(ToString::to_string).collect();
                match &all[..] {
                    [] => {
                        return Err(Error::open(
                            "a probe",
                            "none is connected, or none may be used by this user",
                        ));
                    }
                    [one] => one.open().map_err(|e| Error::open(&names[0], chain(&e)))?,
                    _ => {
                        let why = format!(
                            "there are several; name one as probe:VID:PID[:SERIAL]: {}",
                            names.join(", ")
                        );
                        return Err(Error::open("a probe", why));
                    }
                }
            }
        };
        let session = probe.attach(chip, Permissions::new());
        let session = session.map_err(|e| Error::open(format!("chip {chip}"), chain(&e)))?;
        Ok(ProbeRs { session })
    }

    /// The chip, as the library calls it.
    pub fn chip(&self) -> String {
        self.session.target().name.clone()
    }

    fn core(&mut self) -> Result<Core<'_>, Error> {
        self.session.core(0).map_err(|e| failed(&e))
    }

    fn swo(&mut self) -> Result<&mut dyn SwoAccess, Error> {
        let interface = self.session.get_arm_interface().map_err(|e| failed(&e))?;
        Ok(interface)
    }
}

/// An error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::failed("the probe", chain(error))
}

impl Registers for ProbeRs {
    fn read_word(&mut self, address: u32) -> Result<u32, Error> {
        self.core()?.read_word_32(address.into()).map_err(|e| failed(&e))
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
        self.core()?.write_word_32(address.into(), value).map_err(|e| failed(&e))
    }

    fn read_words(&mut self, address: u32, into: &mut [u32]) -> Result<(), Error> {
        self.core()?.read_32(address.into(), into).map_err(|e| failed(&e))
    }
}

impl DebugPort for ProbeRs {
    fn swo_start(&mut self, line: &Line) -> Result<u32, Error> {
        let mode = match line.encoding() {
            Encoding::Nrz => SwoMode::Uart,
            Encoding::Manchester => SwoMode::Manchester,
        };
        let config = SwoConfig::new(line.trace_hz()).set_baud(line.baud()).set_mode(mode);
        self.swo()?.enable_swo(&config).map_err(|e| failed(&e))?;
        Ok(line.baud())
    }

    fn swo_read(&mut self, into: &mut Vec<u8>) -> Result<bool, Error> {
        into.extend(self.swo()?.read_swo_timeout(READ).map_err(|e| failed(&e))?);
        Ok(false)
    }

    fn swo_stop(&mut self) -> Result<(), Error> {
        self.swo()?.disable_swo().map_err(|e| failed(&e))
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.core()?.reset().map_err(|e| failed(&e))
    }

    fn halted_pc(&mut self) -> Result<u32, Error> {
        let mut core = self.core()?;
        let halted = core.halt(HALT).map_err(|e| failed(&e));
        // Whatever came of it, the core is to run.
        core.run().map_err(|e| failed(&e))?;
        u32::try_from(halted?.pc).map_err(|e| failed(&e))
    }
}
