//! Programs the firmware into the target's flash before it is traced, and verifies it by reading
//! back.
//!
//! What is programmed are the bytes of the image that names and lines come from. Any debug link
//! that is a [`Programmer`] does it; [`program`] takes it through the steps, and an [`Observer`]
//! sees how far it is. Nothing here knows a file: the link may need one.

mod compare;

use std::time::{Duration, Instant};

use strobe_decode::container::Flashed;
use strobe_symbols::{Firmware, Machine, write_hex};

use super::link;

pub use compare::compare;

/// Bytes at the addresses where they are programmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pieces: Vec<(u32, Vec<u8>)>,
}

impl Image {
    /// The firmware's load image. Pieces that touch are one.
    ///
    /// # Errors
    /// [`Error::Machine`] if it is not for an Arm core.
    pub fn of(firmware: &Firmware) -> Result<Image, Error> {
        if firmware.machine() != Machine::Arm {
            return Err(Error::Machine);
        }
        let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
        for segment in firmware.segments().iter().filter(|segment| !segment.data().is_empty()) {
            let (address, data) = (segment.load_address.0, segment.data());
            match pieces.last_mut() {
                Some((from, bytes))
                    if u64::from(*from) + bytes.len() as u64 == u64::from(address) =>
                {
                    bytes.extend_from_slice(data);
                }
                _ => pieces.push((address, data.to_vec())),
            }
        }
        Ok(Image { pieces })
    }

    /// Its pieces in the order of their addresses.
    pub fn pieces(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pieces.iter().map(|(address, bytes)| (*address, &bytes[..]))
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Its text as Intel HEX.
    pub fn hex(&self) -> String {
        write_hex(self.pieces())
    }

    /// How long a link may take for one step before it is given up: a minute, and a second for
    /// each KiB, a tenth of the rate of the slowest programmers.
    pub fn longest(&self) -> Duration {
        Duration::from_secs(60 + self.bytes() / 1024)
    }
}

/// Why the firmware is not in the flash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The firmware is for another machine.
    #[error("this firmware is not for an Arm core, and trace links program no other")]
    Machine,
    /// Bytes of the firmware lie where the target has no flash.
    #[error(
        "the firmware does not fit this target: {why}. Is it linked for this chip? Code that is \
         loaded into RAM cannot be programmed"
    )]
    Elsewhere {
        /// Which bytes, as the programmer reports it.
        why: String,
    },
    /// The target could not be halted, erased or written.
    #[error("{step} failed: {why}. The flash may hold a part of the firmware only")]
    Step {
        /// What was under way.
        step: Step,
        /// The programmer's report, with the address if it has one.
        why: String,
    },
    /// The flash holds something else than what was written.
    #[error(
        "verification failed at {address:#010x}: {} expected, {} read; {different} of \
         {compared} bytes differ. Is the flash write-protected or worn out, or does the \
         firmware overlap what a bootloader keeps?",
        hex(.expected), hex(.found)
    )]
    Differs {
        /// The first address that differs.
        address: u32,
        /// Bytes of the firmware from there on, a few.
        expected: Vec<u8>,
        /// Bytes that were read there.
        found: Vec<u8>,
        /// Bytes that differ.
        different: u64,
        /// Bytes that were compared.
        compared: u64,
    },
    /// The user has stopped it.
    #[error("interrupted while {step}; the flash may hold a part of the firmware only")]
    Interrupted {
        /// What was under way.
        step: Step,
    },
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The core is reset and halted.
    Halt,
    /// Flash is erased; programmers without this step erase while writing.
    Erase,
    /// Bytes are written.
    Write,
    /// Bytes are read back and compared.
    Verify,
    /// The core is reset and runs.
    Start,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Step::Halt => "halting the core",
            Step::Erase => "erasing flash",
            Step::Write => "writing flash",
            Step::Verify => "verifying flash",
            Step::Start => "starting the core",
        })
    }
}

/// Who watches.
pub trait Observer {
    /// A step begins. It has so many bytes, if that is known.
    fn begin(&mut self, step: Step, bytes: Option<u64>);

    /// So many more bytes of the step are done.
    fn advance(&mut self, bytes: u64);

    /// Called at least a few times a second while something is waited for; `false` to stop.
    fn goes_on(&mut self) -> bool;
}

/// Nobody.
impl Observer for () {
    fn begin(&mut self, _: Step, _: Option<u64>) {}

    fn advance(&mut self, _: u64) {}

    fn goes_on(&mut self) -> bool {
        true
    }
}

/// A debug link that can program flash.
pub trait Programmer {
    /// Its name with its version, for the recording.
    fn name(&self) -> String;

    /// Resets the target and halts it, with its flash accessible.
    ///
    /// # Errors
    /// If it cannot be halted.
    fn halt(&mut self, observer: &mut dyn Observer) -> Result<(), Error>;

    /// Erases what the image needs, and writes it.
    ///
    /// # Errors
    /// If the target has no flash there, or erasing or writing fails.
    fn write(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error>;

    /// Reads back what was written and compares every byte of the image.
    ///
    /// # Errors
    /// [`Error::Differs`] with the first address, or that it cannot be read.
    fn verify(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error>;

    /// Resets the target and lets it run.
    ///
    /// # Errors
    /// If it does not come back.
    fn start(&mut self, observer: &mut dyn Observer) -> Result<(), Error>;
}

/// Programs an image, verifies it, and has the target run it. After an error the target stays as
/// it is: nothing runs that was not verified.
///
/// # Errors
/// What failed at which step.
pub fn program(
    programmer: &mut dyn Programmer,
    image: &Image,
    observer: &mut dyn Observer,
) -> Result<Flashed, Error> {
    begin(Step::Halt, None, observer)?;
    programmer.halt(observer)?;
    begin(Step::Write, Some(image.bytes()), observer)?;
    let begun = Instant::now();
    programmer.write(image, observer)?;
    let write_us = micros(begun);
    begin(Step::Verify, Some(image.bytes()), observer)?;
    let begun = Instant::now();
    programmer.verify(image, observer)?;
    let verify_us = micros(begun);
    begin(Step::Start, None, observer)?;
    programmer.start(observer)?;
    let by = programmer.name();
    Ok(Flashed { by, bytes: image.bytes(), write_us, verified: true, verify_us })
}

fn begin(step: Step, bytes: Option<u64>, observer: &mut dyn Observer) -> Result<(), Error> {
    if !observer.goes_on() {
        return Err(Error::Interrupted { step });
    }
    observer.begin(step, bytes);
    Ok(())
}

fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// A step that the link could not do.
pub(super) fn failed(step: Step, error: &link::Error) -> Error {
    match error {
        link::Error::Flash(error) => error.clone(),
        error => Error::Step { step, why: error.to_string() },
    }
}
