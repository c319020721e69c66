//! Performs register writes over a debug port, whatever port it is, and sees that they took
//! effect.

use std::time::Duration;

use super::registers::RegisterWrite;
use strobe_decode::trace_settings::TraceSettings;

use super::link::Error;
use super::registers::to_check;

/// Words of the target's memory.
pub trait Registers {
    /// Reads a word.
    ///
    /// # Errors
    /// If the port or the target does not answer.
    fn read_word(&mut self, address: u32) -> Result<u32, Error>;

    /// Writes a word.
    ///
    /// # Errors
    /// If the port or the target does not answer.
    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error>;

    /// Reads words from `address` on; a port that can does so at once.
    ///
    /// # Errors
    /// If the port or the target does not answer.
    fn read_words(&mut self, address: u32, into: &mut [u32]) -> Result<(), Error> {
        // The last word may be that at the end of the address space.
        let mut at = address;
        for word in into {
            *word = self.read_word(at)?;
            at = at.wrapping_add(4);
        }
        Ok(())
    }
}

const DEMCR: u32 = 0xe000_edfc;
const TRCENA: u32 = 1 << 24;
const DWT_CTRL: u32 = 0xe000_1000;

/// How often a register is read until it is as it should be: ITM_TCR waits until what is under way
/// is sent.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(2);

/// Writes everything, then reads it back.
pub fn program(port: &mut dyn Registers, writes: &[RegisterWrite]) -> Result<(), Error> {
    for write in writes {
        let old = if write.keeps_others() { port.read_word(write.address)? } else { 0 };
        port.write_word(write.address, write.over(old))?;
    }
    to_check(writes).try_for_each(|write| check(port, write))
}

fn check(port: &mut dyn Registers, write: &RegisterWrite) -> Result<(), Error> {
    let wanted = write.value & write.check;
    let mut found = 0;
    for _ in 0..TRIES {
        found = port.read_word(write.address)? & write.check;
        if found == wanted {
            return Ok(());
        }
        std::thread::sleep(BETWEEN);
    }
    let (register, address) = (write.register.clone(), write.address);
    let advice = advice(&register);
    Err(Error::ReadBack { register, address, wanted, found, mask: write.check, advice })
}

/// What a register that does not hold its value may mean.
fn advice(register: &str) -> &'static str {
    match register {
        "DEMCR" => "is the debug port locked, or another debugger at work?",
        "TPIU_ACPR" | "SWO_CODR" => {
            "the divider has fewer bits here; choose a higher --baud or a lower --trace-clock"
        }
        "TPIU_SPPR" | "TPIU_CSPSR" | "TPIU_FFCR" => "the chip has no such TPIU; is --target right?",
        "ITM_TCR" => "the ITM lacks one of these, often global timestamps; leave them out",
        _ if register.starts_with("DWT_MASK") => "the comparator covers no such range; watch less",
        _ if register.starts_with("DWT") => "the DWT lacks one of these; leave it out of the plan",
        _ if register.starts_with("ITM") => "the chip has no such ITM",
        _ => "is --target the chip's family?",
    }
}

/// Whether the chip's DWT can do what the settings want; it shows that in DWT_CTRL's upper bits.
pub fn capable(port: &mut dyn Registers, settings: &TraceSettings) -> Result<(), Error> {
    let demcr = port.read_word(DEMCR)?;
    port.write_word(DEMCR, demcr | TRCENA)?;
    let ctrl = port.read_word(DWT_CTRL)?;
    let lacks = |bit: u32| ctrl >> bit & 1 == 1;
    let comparators = ctrl >> 28;
    let watches = settings.watches.iter().map(|watch| u32::from(watch.comparator()) + 1);
    let wanted = watches.max().unwrap_or(0);
    let packets = settings.sampling.is_some() || settings.exceptions || wanted > 0;
    let why = if packets && lacks(27) {
        "its DWT sends no packets (NOTRCPKT): sample with --pcsr or --halt instead".to_owned()
    } else if settings.sampling.is_some() && lacks(25) {
        "its DWT has no cycle counter (NOCYCCNT), so it cannot sample: use --period none".to_owned()
    } else if settings.counters.any() && lacks(24) {
        "its DWT has no event counters (NOPRFCNT)".to_owned()
    } else if wanted > comparators {
        format!("its DWT has {comparators} comparators, and {wanted} are needed")
    } else {
        return Ok(());
    };
    Err(Error::open("the trace of this chip", why))
}
