//! Reading logic-analyser captures, for `strobe pins` and `strobe bus`.

use std::io::BufReader;
use std::path::Path;

use strobe_decode::capture::{self, Capture, Error, Format, Options, Tick};

use crate::files::{self, AtomicFile, Kind};
use crate::{exit, interrupt, terminal};

/// Edges that are kept unless somebody asks for more.
pub const MAX_EDGES: usize = 50_000_000;

/// A clock, as an argument.
pub fn frequency(text: &str) -> Result<Tick, String> {
    let hz = capture::parse_frequency(text).and_then(Tick::from_hz);
    hz.ok_or_else(|| "a frequency is a number and a unit, as 24MHz, 500k, 1000000".to_owned())
}

/// Reads the capture.
pub fn open(
    path: &Path,
    clock: Option<Tick>,
    max_edges: usize,
) -> anyhow::Result<(Format, Capture)> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    let file = files::open(path, &Kind::CAPTURE)?;
    let options = Options { max_edges, clock, ..Options::default() };
    let input = &mut BufReader::with_capacity(1 << 16, file);
    let read = interrupt::ends_at_once(|| capture::read(input, &options));
    read.map_err(|error| match error {
        Error::Io(error) => unreadable(error),
        error => exit::data(format!("{shown}: {error}")),
    })
}

/// The channel of that name.
pub fn channel(capture: &Capture, name: &str) -> anyhow::Result<usize> {
    capture.channel(name).map_err(|error| exit::usage(error.to_string()))
}

/// Writes a capture in the format that the file's name asks for.
pub fn export(capture: &Capture, path: &Path) -> anyhow::Result<()> {
    let failed =
        |e: &dyn std::fmt::Display| exit::output(format!("cannot write {}: {e}", path.display()));
    let (bytes, notes) = match path.extension().and_then(|e| e.to_str()) {
        Some("sr") => capture::write_sigrok(capture).map_err(|e| failed(&e))?,
        Some("vcd") => {
            let mut out = AtomicFile::create(path)?;
            capture::write_vcd(capture, &mut out).map_err(|e| failed(&e))?;
            return out.commit();
        }
        _ => {
            let name = path.display();
            return Err(exit::usage(format!("export to {name}: the name must end in .vcd or .sr")));
        }
    };
    notes.iter().for_each(|note| terminal::message(&format!("strobe: {note}")));
    files::write(path, &bytes)
}
