//! sigrok sessions (`.sr`): a zip file of `version`, an INI file `metadata`, and the samples in
//! `logic-1-1`, `logic-1-2`, ... (<https://sigrok.org/wiki/File_format:Sigrok/v2>). Version 1 has
//! all samples in one member, `logic-1`.

mod writer;

use std::io::{Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use super::build::Builder;
use super::{Capture, Edge, Error, Level, Options, Place, Tick, parse_frequency};

pub use writer::write;

/// Maximum size of `metadata`; real ones have a few hundred bytes.
const MAX_METADATA_BYTES: u64 = 1 << 20;

/// Maximum number of channels: 64 bytes for each sample.
const MAX_CHANNELS: usize = 512;

const DAMAGED: &str = "the file is damaged; record or export it again";

/// Reads a session. Samples are unpacked as a stream and not stored.
///
/// # Errors
/// Files that are not a zip file or not a session, samples that do not fit `metadata`, and more
/// than the options allow.
pub fn read<R: Read + Seek>(input: &mut R, options: &Options) -> Result<Capture, Error> {
    let mut archive = ZipArchive::new(input).map_err(|e| zip_error("", 0, e))?;
    let version = text(&mut archive, "version")?;
    if !matches!(version.trim(), "1" | "2") {
        let what =
            format!("session version `{}` where 1 and 2 are known", version.trim().escape_debug());
        return Err(Error::in_member("version", 0, what, "save it again with a current sigrok"));
    }
    let metadata = Metadata::parse(&text(&mut archive, "metadata")?)?;
    let members = metadata.members(&archive)?;
    let mut builder = Builder::new(options.max_edges);
    for (name, _) in &metadata.probes {
        builder.channel(name.clone());
    }
    let tick = options.clock.or(metadata.clock).ok_or(Error::NoClock("metadata (samplerate)"))?;
    let mut samples = Samples::new(builder, &metadata, options.max_sample_bytes);
    for name in &members {
        samples.member(&mut archive, name)?;
    }
    let Samples { builder, at, .. } = samples;
    let mut notes = Vec::new();
    if at == 0 {
        notes.push("the session holds no samples".to_owned());
    }
    if metadata.without_bit > 0 {
        notes.push(format!(
            "{} channels were left out: samples of {} bytes (unitsize) do not have them",
            metadata.without_bit, metadata.unit_bytes
        ));
    }
    if metadata.analog {
        notes.push("analogue channels were left out".to_owned());
    }
    Ok(Capture {
        tick,
        resolution: tick,
        resolution_inferred: false,
        start: 0,
        end: at.saturating_sub(1),
        channels: builder.finish(),
        notes,
        cut: false,
        simulated: None,
    })
}

fn zip_error(member: &str, offset: u64, error: ZipError) -> Error {
    match error {
        // The system's errors are about the file; those of the archive's reader, about its bytes.
        ZipError::Io(io) if io.raw_os_error().is_some() => Error::Io(io),
        error if member.is_empty() => {
            Error::in_file(format!("not a complete zip file: {error}"), DAMAGED)
        }
        error => Error::in_member(member, offset, error.to_string(), DAMAGED),
    }
}

/// A small member as text.
fn text<R: Read + Seek>(archive: &mut ZipArchive<R>, name: &str) -> Result<String, Error> {
    let member = archive.by_name(name).map_err(|e| match e {
        ZipError::FileNotFound => {
            Error::in_file(format!("no member `{name}`"), "this zip file is not a sigrok session")
        }
        e => zip_error(name, 0, e),
    })?;
    let mut bytes = Vec::new();
    let read = member.take(MAX_METADATA_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|e| zip_error(name, bytes.len() as u64, e.into()))?;
    if bytes.len() as u64 > MAX_METADATA_BYTES {
        let what = format!("more than {MAX_METADATA_BYTES} bytes");
        return Err(Error::in_member(name, MAX_METADATA_BYTES, what, DAMAGED));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first device in `metadata`. sigrok writes probes of the device that were not recorded, and
/// needs no more than the size of a sample to read it again; so does this.
struct Metadata {
    file: String,
    clock: Option<Tick>,
    unit_bytes: usize,
    /// The recorded channels: name and bit.
    probes: Vec<(String, usize)>,
    analog: bool,
    /// Named probes of which the samples have no bit.
    without_bit: usize,
}

/// What the section of the device has.
#[derive(Default)]
struct Fields {
    file: Option<String>,
    rate: Option<String>,
    unit: Option<usize>,
    total: Option<usize>,
    /// By their numbers, from 1.
    probes: Vec<(usize, String)>,
    analog: bool,
}

impl Fields {
    fn read(text: &str) -> Result<Fields, Error> {
        let mut fields = Fields::default();
        let (mut section, mut device) = (String::new(), None::<String>);
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']').to_owned();
            }
            // There is one device as a rule, whatever its number.
            if section.starts_with("device ") {
                device.get_or_insert_with(|| section.clone());
            }
            let is_device = device.as_ref() == Some(&section);
            let Some((key, value)) = line.split_once('=').filter(|_| is_device) else {
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            let number = || {
                value.parse::<usize>().map_err(|_| bad(format!("`{key}` is `{value}`, no number")))
            };
            match key {
                "capturefile" => fields.file = Some(value.to_owned()),
                "samplerate" => fields.rate = Some(value.to_owned()),
                "unitsize" => fields.unit = Some(number()?),
                "total probes" => fields.total = Some(number()?),
                "total analog" => fields.analog = number()? > 0,
                _ => {
                    if let Some(Ok(n)) = key.strip_prefix("probe").map(str::parse::<usize>) {
                        fields.probes.push((n, value.to_owned()));
                    }
                }
            }
        }
        Ok(fields)
    }
}

/// Metadata that cannot be.
fn bad(what: String) -> Error {
    Error::in_member(
        "metadata",
        0,
        what,
        "metadata must fit the samples; sigrok-cli may still read the session",
    )
}

impl Metadata {
    fn parse(text: &str) -> Result<Metadata, Error> {
        let Fields { file, rate, unit, total, mut probes, analog } = Fields::read(text)?;
        let file = file.unwrap_or_else(|| "logic-1".to_owned());
        let clock = match &rate {
            None => None,
            Some(rate) => Some(
                parse_frequency(rate)
                    .and_then(Tick::from_hz)
                    .ok_or_else(|| bad(format!("`samplerate` is `{rate}`, no frequency")))?,
            ),
        };
        let named = probes.iter().map(|(n, _)| *n).max().unwrap_or(0);
        let total = total.unwrap_or(named);
        if total.max(named) == 0 && analog {
            let what = "the session has analogue channels only";
            let advice =
                "make logic levels of them: sigrok-cli or PulseView convert by a threshold";
            return Err(Error::in_member("metadata", 0, what, advice));
        }
        let total = total.max(named);
        let unit_bytes = unit.unwrap_or(total.div_ceil(8));
        if total == 0 || total > MAX_CHANNELS {
            return Err(bad(format!("{total} probes; 1 to {MAX_CHANNELS} can be")));
        }
        if unit_bytes == 0 || unit_bytes > MAX_CHANNELS / 8 {
            return Err(bad(format!("samples of {unit_bytes} bytes (unitsize)")));
        }
        // Channels without a name were not recorded; if none has one, all were.
        probes.sort();
        probes.dedup_by_key(|(n, _)| *n);
        let named = probes.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| (name, n - 1));
        let mut probes: Vec<(String, usize)> = named.collect();
        if probes.is_empty() {
            probes = (0..total).map(|n| (n.to_string(), n)).collect();
        }
        let all = probes.len();
        probes.retain(|(_, bit)| *bit < unit_bytes * 8);
        if probes.is_empty() {
            let what = format!("samples of {unit_bytes} bytes (unitsize) have no bit of any probe");
            return Err(bad(what));
        }
        let without_bit = all - probes.len();
        Ok(Metadata { file, clock, unit_bytes, probes, analog, without_bit })
    }

    /// The members with samples, in order.
    fn members<R: Read + Seek>(&self, archive: &ZipArchive<R>) -> Result<Vec<String>, Error> {
        if archive.index_for_name(&self.file).is_some() {
            return Ok(vec![self.file.clone()]);
        }
        let name = |n: usize| format!("{}-{n}", self.file);
        let present = |n: &usize| archive.index_for_name(&name(*n)).is_some();
        let found: Vec<String> = (1..).take_while(present).map(name).collect();
        let prefix = format!("{}-", self.file);
        let numbered =
            |member: &str| member.strip_prefix(&prefix).is_some_and(|n| n.parse::<usize>().is_ok());
        let all = archive.file_names().flatten().filter(|member| numbered(member)).count();
        if all > found.len() {
            let what = format!("member {} is missing, and others follow", name(found.len() + 1));
            return Err(Error::in_file(what, DAMAGED));
        }
        Ok(found)
    }
}

/// Bytes that are compared at once.
const WORD_BYTES: usize = 8;

/// Converts samples to edges.
struct Samples {
    builder: Builder,
    unit_bytes: usize,
    /// The channel of each bit of a sample, where it has one.
    channels: Vec<[Option<u16>; 8]>,
    last: Vec<u8>,
    /// Index of the next sample.
    at: u64,
    bytes: u64,
    max_bytes: u64,
}

impl Samples {
    fn new(builder: Builder, metadata: &Metadata, max_bytes: u64) -> Self {
        let unit_bytes = metadata.unit_bytes;
        let mut channels = vec![[None; 8]; unit_bytes];
        for (channel, (_, bit)) in (0..).zip(&metadata.probes) {
            channels[bit / 8][bit % 8] = Some(channel);
        }
        let last = vec![0; unit_bytes];
        Samples { builder, unit_bytes, channels, last, at: 0, bytes: 0, max_bytes }
    }

    fn member<R: Read + Seek>(
        &mut self,
        archive: &mut ZipArchive<R>,
        name: &str,
    ) -> Result<(), Error> {
        let mut member = archive.by_name(name).map_err(|e| zip_error(name, 0, e))?;
        let mut buffer = vec![0; 65_536 / self.unit_bytes * self.unit_bytes];
        let (mut filled, mut offset) = (0, 0u64);
        loop {
            let n = member.read(&mut buffer[filled..]);
            let n = n.map_err(|e| zip_error(name, offset + filled as u64, e.into()))?;
            if n == 0 {
                break;
            }
            self.bytes += n as u64;
            if self.bytes > self.max_bytes {
                let what = format!("more than {} bytes of samples", self.max_bytes);
                return Err(Error::in_member(
                    name,
                    offset,
                    what,
                    "cut the recording into pieces (sigrok-cli --time)",
                ));
            }
            filled += n;
            let whole = filled / self.unit_bytes * self.unit_bytes;
            self.samples(&buffer[..whole], name, offset)?;
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
            offset += whole as u64;
        }
        if filled > 0 {
            let what = format!(
                "{} bytes are not a whole number of samples of {} bytes (unitsize)",
                offset + filled as u64,
                self.unit_bytes
            );
            return Err(Error::in_member(
                name,
                offset,
                what,
                "the file is cut short or metadata is wrong",
            ));
        }
        Ok(())
    }

    /// A sample of which some bit differs from the last one, or the first.
    fn sample(&mut self, sample: &[u8], place: impl Fn() -> Place) -> Result<(), Error> {
        let each = sample.iter().zip(&mut self.last).zip(&self.channels);
        for ((&byte, last), channels) in each {
            let mut changed = if self.at == 0 { u8::MAX } else { byte ^ *last };
            *last = byte;
            while changed != 0 {
                let bit = changed.trailing_zeros() as usize;
                changed &= changed - 1;
                if let Some(channel) = channels[bit] {
                    let level = Level::of(byte >> bit & 1 != 0);
                    self.builder.set(channel.into(), self.at, level, &place)?;
                }
            }
        }
        Ok(())
    }

    fn samples(&mut self, bytes: &[u8], name: &str, offset: u64) -> Result<(), Error> {
        let unit = self.unit_bytes;
        let mut rest = bytes;
        while !rest.is_empty() {
            // Most samples equal the one before.
            let same = if self.at > 0 { repeated(rest, &self.last) } else { 0 };
            self.at += same as u64;
            rest = &rest[same * unit..];
            let Some(sample) = rest.get(..unit) else { break };
            if self.at > Edge::MAX_TICK {
                return Err(Error::in_member(name, offset, "too many samples", DAMAGED));
            }
            let done = bytes.len() - rest.len();
            self.sample(sample, || Place::Member(name.to_owned(), offset + done as u64))?;
            self.at += 1;
            rest = &rest[unit..];
        }
        Ok(())
    }
}

/// The number of samples at the beginning that equal `last`.
fn repeated(bytes: &[u8], last: &[u8]) -> usize {
    let unit = last.len();
    let done = if WORD_BYTES.is_multiple_of(unit) { repeated_words(bytes, last) } else { 0 };
    let rest = bytes[done..].chunks_exact(unit).take_while(|sample| *sample == last);
    done / unit + rest.count()
}

/// The number of bytes at the beginning that are whole words of samples that equal `last`.
fn repeated_words(bytes: &[u8], last: &[u8]) -> usize {
    let mut pattern = [0; WORD_BYTES];
    pattern.chunks_exact_mut(last.len()).for_each(|sample| sample.copy_from_slice(last));
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    let is_other = |word: &[u8; WORD_BYTES]| *word != pattern;
    // The next change is often near; if not, eight words at once are compared at memory speed.
    if words.first().is_none_or(is_other) {
        return 0;
    }
    let (blocks, _) = words.as_chunks::<8>();
    let is_same = |block: &[[u8; WORD_BYTES]; 8]| *block == [pattern; 8];
    let same = blocks.iter().take_while(|block| is_same(block)).count() * 8;
    let after = words[same..].iter().take_while(|word| !is_other(word)).count();
    (same + after) * WORD_BYTES
}
