//! Programs flash with the algorithms that probe-rs has for the chip.
//!
//! The library could verify as well, but names no address where it differs: what was written is
//! read back word by word instead.

use ::probe_rs::flashing::{
    DownloadOptions, FlashError, FlashProgress, ProgressEvent, ProgressOperation,
};

use super::{HALT, ProbeRs, chain};
use crate::trace::flash::{Error, Image, Observer, Programmer, Step, compare, failed};

impl Programmer for ProbeRs {
    fn name(&self) -> String {
        "probe-rs".to_owned()
    }

    fn halt(&mut self, _: &mut dyn Observer) -> Result<(), Error> {
        let mut core = self.core().map_err(|e| failed(Step::Halt, &e))?;
        let halted = core.reset_and_halt(HALT).map(|_| ());
        halted.map_err(|e| Error::Step { step: Step::Halt, why: chain(&e) })
    }

    fn write(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error> {
        let mut loader = self.session.target().flash_loader();
        for (address, bytes) in image.pieces() {
            loader.add_data(address.into(), bytes).map_err(refused)?;
        }
        let mut options = DownloadOptions::default();
        // What shares a sector with the firmware stays: settings, a bootloader.
        options.keep_unwritten_bytes = true;
        let mut shown = Shown { observer, total: image.bytes(), left: image.bytes() };
        options.progress = FlashProgress::new(|event| shown.event(&event));
        loader.commit(&mut self.session, options).map_err(refused)
    }

    fn verify(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error> {
        compare(self, image, observer)
    }

    fn start(&mut self, _: &mut dyn Observer) -> Result<(), Error> {
        let mut core = self.core().map_err(|e| failed(Step::Start, &e))?;
        core.reset().map_err(|e| Error::Step { step: Step::Start, why: chain(&e) })
    }
}

/// What the library's progress is for an observer.
struct Shown<'a> {
    observer: &'a mut dyn Observer,
    /// Bytes of the image; the library counts whole pages.
    total: u64,
    left: u64,
}

impl Shown<'_> {
    fn event(&mut self, event: &ProgressEvent) {
        match event {
            ProgressEvent::Started(ProgressOperation::Erase) => {
                self.observer.begin(Step::Erase, None);
            }
            ProgressEvent::Started(ProgressOperation::Program) => {
                self.observer.begin(Step::Write, Some(self.total));
                self.observer.advance(self.total - self.left);
            }
            ProgressEvent::Progress { operation: ProgressOperation::Program, size, .. } => {
                let written = (*size).min(self.left);
                self.left -= written;
                self.observer.advance(written);
            }
            _ => {}
        }
        // The library cannot be stopped in the middle; the next step is not begun then.
        self.observer.goes_on();
    }
}

fn refused(error: FlashError) -> Error {
    match error {
        FlashError::NoSuitableNvm { range, .. } => {
            let why =
                format!("{:#010x}..{:#010x} is in none of its memories", range.start, range.end);
            Error::Elsewhere { why }
        }
        error @ FlashError::EraseFailed { .. } => {
            Error::Step { step: Step::Erase, why: chain(&error) }
        }
        error => Error::Step { step: Step::Write, why: chain(&error) },
    }
}
