//! Programs flash with OpenOCD's own commands, in the order of its procedure `program` (manual,
//! "Flash Programming"): `reset init`, `flash write_image erase`, `verify_image`, `reset run`.
//!
//! OpenOCD reads the image from a file. It gets a temporary one with the bytes alone, so that no
//! name that a user chose is part of a command, and quoted all the same, since the folder for
//! temporary files has any name. OpenOCD reports why a command failed in its log only: each is
//! wrapped in `capture`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use strobe_decode::container::Flashed;
use tempfile::NamedTempFile;

use super::{ANSWER, Tcl};
use crate::trace::flash::{self, Error, Image, Observer, Programmer, Step, compare, failed};
use crate::trace::link;

/// How long a reset may take: scripts of boards wait for clocks and memories.
const RESET: Duration = Duration::from_secs(30);

/// Connects to the TCL port and programs an image; the target runs it afterwards.
///
/// # Errors
/// If OpenOCD is not there, or what failed at which step. `longest` is how long a step may take.
pub fn program(
    address: &str,
    image: &Image,
    longest: Duration,
    observer: &mut dyn Observer,
) -> Result<Flashed, link::Error> {
    let mut tcl = Tcl::connect(address)?;
    let version = tcl.command("version").map_err(|error| tcl.not_openocd(error))?;
    let name = version.replace("Open On-Chip Debugger", "OpenOCD");
    let mut programmer = OpenOcd { tcl, name, longest, file: None };
    Ok(flash::program(&mut programmer, image, observer)?)
}

struct OpenOcd {
    tcl: Tcl,
    name: String,
    longest: Duration,
    /// The image as a file, for as long as OpenOCD may read it.
    file: Option<NamedTempFile>,
}

impl OpenOcd {
    /// Runs a command and gives what it printed.
    fn run(
        &mut self,
        command: &str,
        step: Step,
        longest: Duration,
        observer: &mut dyn Observer,
    ) -> Result<String, Error> {
        let mut stopped = false;
        let goes_on = &mut || {
            stopped = !observer.goes_on();
            !stopped
        };
        let ran = self.tcl.command_within(&captured(command), longest, goes_on);
        ran.map_err(|error| {
            if stopped {
                Error::Interrupted { step }
            } else {
                failed(step, &shorter(error, command))
            }
        })
    }

    fn file(&mut self, image: &Image) -> Result<String, Error> {
        let failed = |why: String| Error::Step { step: Step::Write, why };
        let written = || {
            let mut file = tempfile::Builder::new().prefix("strobe-").suffix(".hex").tempfile()?;
            file.write_all(image.hex().as_bytes())?;
            file.flush()?;
            Ok(file)
        };
        let file = written()
            .map_err(|e: std::io::Error| failed(format!("a temporary file for OpenOCD: {e}")))?;
        let name = quoted(file.path()).ok_or_else(|| {
            failed("the name of the folder for temporary files (TMPDIR) is not plain text".into())
        })?;
        self.file = Some(file);
        Ok(name)
    }
}

impl Programmer for OpenOcd {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn halt(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.run("reset init", Step::Halt, RESET, observer).map(|_| ())
    }

    fn write(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error> {
        let name = self.file(image)?;
        let command = format!("flash write_image erase {name} 0 ihex");
        let printed = self.run(&command, Step::Write, self.longest, observer);
        let printed = printed.map_err(|error| match error {
            Error::Step { step, why } if why.contains("couldn't open") => {
                let advice = "OpenOCD reads the image itself: it must run on this machine, with \
                    the same folder for temporary files, as this user or root";
                Error::Step { step, why: format!("{why}; {advice}") }
            }
            error => error,
        })?;
        // It counts what it has added up to the borders of flash words and sectors; what lies in
        // no flash it leaves out without an error.
        if let Some(written) = written(&printed).filter(|written| *written < image.bytes()) {
            let why = format!(
                "OpenOCD wrote {written} of {} bytes, the others lie in no flash bank of its \
                 configuration",
                image.bytes()
            );
            return Err(Error::Elsewhere { why });
        }
        observer.advance(image.bytes());
        Ok(())
    }

    fn verify(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error> {
        let name = self.file.as_ref().and_then(|file| quoted(file.path())).unwrap_or_default();
        let command = format!("verify_image {name} 0 ihex");
        match self.run(&command, Step::Verify, self.longest, observer) {
            Ok(_) => {
                observer.advance(image.bytes());
                Ok(())
            }
            Err(Error::Interrupted { step }) => Err(Error::Interrupted { step }),
            // Either it differs, and this finds where, or OpenOCD cannot compare on this target.
            Err(error) => match compare(&mut self.tcl, image, observer) {
                Err(Error::Step { .. }) => Err(error),
                compared => compared,
            },
        }
    }

    fn start(&mut self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.run("reset run", Step::Start, RESET.max(ANSWER), observer).map(|_| ())
    }
}

/// A command whose error has what OpenOCD wrote to its log meanwhile.
fn captured(command: &str) -> String {
    format!(
        "set strobe_log [capture {{set strobe_failed [catch {{{command}}} strobe_output]; \
         format {{}}}}]; \
         if {{$strobe_failed}} {{error \"$strobe_output$strobe_log\"}}; format %s $strobe_output"
    )
}

/// An error that names the command that was asked for and not how it was wrapped.
fn shorter(error: link::Error, command: &str) -> link::Error {
    match error {
        link::Error::Failed { what, why } => {
            let why = why.replace(&captured(command), command).replace('\n', "; ");
            let why = why.replace("auto erase enabled; ", "");
            link::Error::Failed { what, why: why.trim_end_matches([';', ' ', ':']).to_owned() }
        }
        error => error,
    }
}

/// A path as one word of Tcl: every character that Tcl could interpret has a backslash. `None` if
/// the path is not UTF-8 or has control characters, which would end the command or the message.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control))?;
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !"/._-".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}

/// The bytes of `wrote 65536 bytes from file x in 0.1s (640.000 KiB/s)`.
fn written(printed: &str) -> Option<u64> {
    let (_, rest) = printed.split_once("wrote ")?;
    rest.split_once(" bytes")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_path_is_left_to_tcl() {
        let word = |path: &str| quoted(Path::new(path));
        assert_eq!(word("/tmp/a-b_c.hex").as_deref(), Some("/tmp/a-b_c.hex"));
        assert_eq!(
            word("/a b/{x}\"$y[exit];#\\ü").as_deref(),
            Some("/a\\ b/\\{x\\}\\\"\\$y\\[exit\\]\\;\\#\\\\ü")
        );
        assert_eq!(word("~/x").as_deref(), Some("\\~/x"));
        for bad in ["/a\nb", "/a\u{1a}b", "/a\0b", "/a\rb"] {
            assert_eq!(word(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn written_byte_count_is_read_from_the_output() {
        let printed = "auto erase enabled\nwrote 65536 bytes from file a in 0.1s (1.0 KiB/s)";
        assert_eq!(written(printed), Some(65536));
        assert_eq!((written("wrote x bytes"), written("")), (None, None));
    }
}
