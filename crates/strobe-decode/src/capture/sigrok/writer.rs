//! Writes sessions: a sample for each tick of the capture, in members of some megabytes.

use std::io::{Cursor, Write};

use strobe_model::visible::is_obeyed;
use zip::write::SimpleFileOptions;

use super::super::{Capture, Error, Level, vcd};
use super::{MAX_CHANNELS, zip_error};

/// Samples per member, as sigrok writes them.
const CHUNK_BYTES: usize = 4 << 20;

/// Maximum size of written samples, in bytes before packing.
const MAX_WRITTEN_BYTES: u64 = 4 << 30;

/// Writes a session, with a sample for each tick of the capture's resolution, and returns it as
/// bytes, because a zip file is not written from front to back. Unknown levels are written as low,
/// with a note.
///
/// # Errors
/// Time bases that are not a whole number of hertz, and captures too long for samples.
pub fn write(capture: &Capture) -> Result<(Vec<u8>, Vec<String>), Error> {
    let advice = "write a VCD file instead";
    let refuse = |why: &str| Error::Unwritable(format!("{why}; {advice}"));
    let hz = capture
        .resolution
        .hz()
        .ok_or_else(|| refuse("the sampling clock is not a whole number of hertz"))?;
    if capture.channels.is_empty() || capture.channels.len() > MAX_CHANNELS {
        return Err(refuse("a session needs 1 to 512 channels"));
    }
    let unit = capture.channels.len().div_ceil(8);
    let sample = |at: u64| capture.tick.convert(at, capture.resolution);
    let total = sample(capture.end).and_then(|n| n.checked_add(1));
    let total =
        total.filter(|n| n.checked_mul(unit as u64).is_some_and(|b| b <= MAX_WRITTEN_BYTES));
    let total = total.ok_or_else(|| refuse("more than 4 GiB of samples"))?;

    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    put(&mut zip, "version", b"2")?;
    put(&mut zip, "metadata", metadata(capture, hz, unit).as_bytes())?;
    let mut chunk = Vec::new();
    let mut number = 0;
    let mut now = vec![0u8; unit];
    let mut unknown =
        capture.channels.iter().filter(|c| c.initial == Level::Unknown).count() as u64;
    for (n, channel) in capture.channels.iter().enumerate() {
        now[n / 8] |= u8::from(channel.initial.is_high()) << (n % 8);
    }
    let mut at = 0;
    // A member in which nothing changes, and what it repeats.
    let mut still: Option<(String, Vec<u8>)> = None;
    let mut fill = |now: &[u8], from: &mut u64, to: u64| -> Result<(), Error> {
        while *from < to {
            let is_still = chunk.is_empty() && to - *from >= (CHUNK_BYTES / unit) as u64;
            if is_still && let Some((name, _)) = still.as_ref().filter(|(_, same)| same == now) {
                // Copied as it is compressed: a pause of hours takes no time to write.
                number += 1;
                zip.deep_copy_file(name, &format!("logic-1-{number}"))
                    .map_err(|e| zip_error(name, 0, e))?;
                *from += (CHUNK_BYTES / unit) as u64;
                continue;
            }
            let room = ((CHUNK_BYTES / unit - chunk.len() / unit) as u64).min(to - *from);
            (0..room).for_each(|_| chunk.extend_from_slice(now));
            *from += room;
            if chunk.len() / unit >= CHUNK_BYTES / unit || *from == total {
                number += 1;
                let name = format!("logic-1-{number}");
                put(&mut zip, &name, &chunk)?;
                if is_still {
                    still = Some((name, now.to_vec()));
                }
                chunk.clear();
            }
        }
        Ok(())
    };
    for (tick, channel, level) in vcd::changes(&capture.channels) {
        fill(&now, &mut at, sample(tick).unwrap_or(total).min(total))?;
        unknown += u64::from(level == Level::Unknown);
        let bit = 1 << (channel % 8);
        now[channel / 8] = now[channel / 8] & !bit | if level.is_high() { bit } else { 0 };
    }
    fill(&now, &mut at, total)?;
    let bytes = zip.finish().map_err(|e| zip_error("", 0, e))?.into_inner();
    let notes = match unknown {
        0 => Vec::new(),
        n => vec![format!(
            "a session knows low and high only: {n} stretches of unknown level were written as low"
        )],
    };
    Ok((bytes, notes))
}

type Archive = zip::ZipWriter<Cursor<Vec<u8>>>;

/// Adds a member. It has no date: the same capture gives the same bytes.
fn put(zip: &mut Archive, name: &str, bytes: &[u8]) -> Result<(), Error> {
    zip.start_file(name, SimpleFileOptions::default()).map_err(|e| zip_error(name, 0, e))?;
    Ok(zip.write_all(bytes)?)
}

fn metadata(capture: &Capture, hz: u64, unit: usize) -> String {
    let n = capture.channels.len();
    let mut text = format!(
        "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes={n}\n\
         samplerate={hz} Hz\ntotal analog=0\n"
    );
    for (n, channel) in capture.channels.iter().enumerate() {
        // What a terminal obeys is no part of a name; a newline would end it.
        let name: String =
            channel.name.chars().map(|c| if is_obeyed(c) { '?' } else { c }).collect();
        text += &format!("probe{}={name}\n", n + 1);
    }
    text + &format!("unitsize={unit}\n")
}
