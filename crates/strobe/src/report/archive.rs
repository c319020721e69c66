//! Lists of samples and of allocations, with what was published of them.

use std::path::Path;
use std::process::ExitCode;

use strobe_decode::archive::{allocations, profile, samples, symbols};
use strobe_model::measurement::{Fact, Finding, Measurement};
use strobe_source::archive::allocations::{About, beside, of_text, of_tree};
use strobe_source::archive::{NoNames, measurement, published};
use strobe_source::traced::StreamRecord;
use strobe_source::traced::{Accumulator, Places};
use strobe_symbols::Firmware;

use super::Args;
use crate::{events, exit, input};

/// The most that such a file may have.
const MAX_BYTES: u64 = 512 << 20;

/// Names of functions, from the firmware or from a list.
pub fn names(args: &Args) -> anyhow::Result<Option<Firmware>> {
    if let Some(path) = &args.symbols {
        let list = symbols::parse(&events::read(path, MAX_BYTES)?).map_err(|e| wrong(path, &e))?;
        return Ok(Some(Firmware::of_functions(with_gaps(list))));
    }
    args.elf.as_deref().map(input::firmware).transpose()
}

/// Between functions there may be such as have no size in the symbol table, of assembly, which
/// lists leave out: no more bytes than this.
const MOST_BETWEEN: u32 = 1024;

/// A list with entries for what lies between its functions: code, but nobody knows whose.
fn with_gaps(mut list: Vec<(String, u32, u32)>) -> Vec<(String, u32, u32)> {
    list.sort_by_key(|(_, start, size)| (*start, *size));
    let mut gaps = Vec::new();
    let mut last: Option<(&str, u32)> = None;
    for (name, start, size) in &list {
        if let Some((before, end)) = last
            && (1..=MOST_BETWEEN).contains(&start.saturating_sub(end))
        {
            gaps.push((format!("(between {before} and {name})"), end, start - end));
        }
        let end = start.saturating_add(*size);
        // A function without a size reaches to the next one by itself.
        let begun = if *size == 0 { u32::MAX } else { end };
        if last.is_none_or(|(_, before)| before == u32::MAX || end >= before) {
            last = Some((name, begun));
        }
    }
    list.extend(gaps);
    list
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    exit::data(format!("{}: {error}", path.display()))
}

/// A list of samples as a profile.
pub fn samples(args: &Args, firmware: Option<&Firmware>) -> anyhow::Result<ExitCode> {
    let bytes = events::read(&args.path, MAX_BYTES)?;
    let list = samples::parse(&bytes).map_err(|e| wrong(&args.path, &e))?;
    let record = record(args, &list, firmware)?;
    let published = match (&args.published, firmware) {
        (None, _) => None,
        (Some(_), None) => {
            let text = "--published needs the names of functions: --elf FILE or --symbols FILE";
            return Err(exit::usage(text));
        }
        (Some(path), Some(firmware)) => {
            let profile = profile::parse(&events::read(path, MAX_BYTES)?);
            let profile = profile.map_err(|e| wrong(path, &e))?;
            Some(published(&input::file_name(path), &profile, &list.pcs, firmware))
        }
    };
    let mut samples = record.measurement();
    if let Some(published) = published {
        samples = measurement::published(samples, &published);
    }
    super::measured(args, samples)
}

fn record(
    args: &Args,
    list: &samples::Samples,
    firmware: Option<&Firmware>,
) -> anyhow::Result<StreamRecord> {
    let mut settings = args.stream().settings(None, firmware)?;
    settings.shown.extend(list.about.iter().cloned());
    for (kind, count) in &list.others {
        let text = format!("packets of kind `{kind}` are in the list and not looked at");
        settings.warnings.push(Finding::warning("other-packets", text).times(*count));
    }
    if list.unusable > 0 {
        let text = "entries of the list are no packet or have no address";
        settings.warnings.push(Finding::warning("unusable-entries", text).times(list.unusable));
    }
    let mut accumulator = Accumulator::new(None);
    let places = Places::of(list.pcs.iter().map(|pc| (*pc, 1)));
    accumulator.add_places(places, list.pcs.len() as u64);
    let mut record = accumulator.record(None, firmware, &settings)?;
    if record.subject.name.is_empty() {
        record.subject.name = input::file_name(&args.path);
    }
    if let Some(symbols) = &args.symbols {
        // There is no firmware to have a hash or debug information.
        record.subject.sha256 = None;
        let text = format!("functions as {} lists them", input::file_name(symbols));
        record.subject.facts = vec![Fact::text("symbols", text)];
    }
    Ok(record)
}

/// Allocations, as a text or a tree.
pub fn allocations(args: &Args, firmware: Option<&Firmware>) -> anyhow::Result<ExitCode> {
    let published = args.published.as_deref();
    super::measured(args, of_allocations(&args.path, args.big_above, published, firmware)?)
}

/// The measurement of a text or a tree of allocations; blocks of more bytes than `big_above` are
/// big.
///
/// # Errors
/// When it, or what was `published` of it, cannot be read.
pub fn of_allocations(
    path: &Path,
    big_above: u64,
    published: Option<&Path>,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Measurement> {
    let bytes = events::read(path, MAX_BYTES)?;
    let file = input::file_name(path);
    let about = About {
        file: &file,
        big_above,
        names: firmware.map_or(&NoNames, |firmware| firmware),
        has_names: firmware.is_some(),
    };
    let mut report = if bytes.trim_ascii_start().starts_with(b"{") {
        let tree = allocations::parse_tree(&bytes).map_err(|e| wrong(path, &e))?;
        of_tree(&about, &tree)
    } else {
        let not_utf8 = bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum();
        let text = allocations::parse(&bytes);
        if text.allocations.is_empty() {
            return Err(wrong(path, &"there is no line `alloc SIZE ADDRESS` in it"));
        }
        of_text(&about, &text, not_utf8)
    };
    if let Some(path) = published {
        let tree = allocations::parse_tree(&events::read(path, MAX_BYTES)?);
        let tree = tree.map_err(|e| wrong(path, &e))?;
        report.published = Some(beside(&input::file_name(path), &report, &tree));
    }
    Ok(measurement::allocations(&report))
}
