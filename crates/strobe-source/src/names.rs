//! Puts names to addresses: the record's tables of functions, files and frames.

use std::collections::HashMap;

use crate::code_profile::{AddressSample, CodeProfile, Frame, Function};
use strobe_model::CauseCycles;
use strobe_symbols::Firmware;

/// Functions that do not lie inside another one, sorted and disjoint: what a call tree can
/// distinguish.
#[cfg(feature = "simulator")]
pub(crate) fn outermost(firmware: &Firmware) -> impl Iterator<Item = &strobe_symbols::Function> {
    let mut end = 0u64;
    firmware.functions().iter().filter(move |f| {
        let outside = u64::from(f.start) >= end && f.size > 0;
        if outside {
            end = f.end();
        }
        outside
    })
}

/// What avr-gcc jumps to in the middle of a `switch`, from where one of its cases is jumped to.
#[cfg(feature = "simulator")]
const SWITCH_HELPERS: [&str; 2] = ["__tablejump2__", "__tablejump__"];

/// Where the compiler's switch helpers begin that are jumped to.
#[cfg(feature = "simulator")]
pub(crate) fn switch_helpers(firmware: &Firmware) -> Vec<u32> {
    SWITCH_HELPERS.iter().filter_map(|name| Some(firmware.symbol_if_any(name)?.address)).collect()
}

/// What an instrument has counted at an address.
pub(crate) trait Counted {
    /// Times executed, or samples.
    fn count(&self) -> u64;
    /// Of these, in empty loops that only an interrupt ends.
    fn idle(&self) -> u64 {
        0
    }
    /// Times it changed the flow.
    fn jumped(&self) -> u64;
    /// By cause.
    fn cycles(&self) -> CauseCycles;
}

#[cfg(feature = "simulator")]
impl Counted for strobe_sim::observe::counts::AddressCount {
    fn count(&self) -> u64 {
        self.count
    }

    fn idle(&self) -> u64 {
        self.idle
    }

    fn jumped(&self) -> u64 {
        self.jumped
    }

    fn cycles(&self) -> CauseCycles {
        self.cycles
    }
}

/// Tables under construction.
pub(crate) struct Names<'a> {
    firmware: &'a Firmware,
    functions: HashMap<(String, Option<String>), u32>,
    files: HashMap<String, u32>,
    pub profile: CodeProfile,
}

impl<'a> Names<'a> {
    pub(crate) fn new(firmware: &'a Firmware) -> Self {
        Names {
            firmware,
            functions: HashMap::new(),
            files: HashMap::new(),
            profile: CodeProfile::default(),
        }
    }

    #[cfg(feature = "simulator")]
    pub(crate) fn firmware(&self) -> &'a Firmware {
        self.firmware
    }

    fn file(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.files.get(name) {
            return id;
        }
        let id = self.profile.files.len() as u32;
        self.files.insert(name.to_owned(), id);
        self.profile.files.push(name.to_owned());
        id
    }

    fn function(&mut self, name: &str, address: Option<u32>, file: Option<&str>) -> u32 {
        let address = address.map(|a| format!("{a:#010x}"));
        let key = (name.to_owned(), address.clone());
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let file = file.map(|f| self.file(f));
        let id = self.profile.functions.len() as u32;
        self.functions.insert(key, id);
        self.profile.functions.push(Function { name: name.to_owned(), address, file });
        id
    }

    /// The physical function at an address.
    pub(crate) fn function_at(&mut self, address: u32) -> Option<u32> {
        let function = outermost_at(self.firmware, address)?;
        let file = self.firmware.frames(function.start);
        let file = file.outermost().and_then(|f| f.file).map(str::to_owned);
        Some(self.function(&function.name, Some(function.start), file.as_deref()))
    }

    /// Names every address that ran.
    pub(crate) fn add_samples<C: Counted>(&mut self, counts: &[(u32, C)]) {
        let firmware = self.firmware;
        let addresses: Vec<u32> = counts.iter().map(|(a, _)| *a).collect();
        let batch = firmware.frames_batch(&addresses);
        for (n, (address, count)) in counts.iter().enumerate() {
            let function = self.function_at(*address);
            let mut frames = Vec::new();
            for frame in batch.get(n).map(|f| f.frames.as_slice()).unwrap_or_default() {
                let outer = !frame.inlined;
                let id = match (outer, function, frame.name) {
                    (true, Some(function), _) => function,
                    (_, _, Some(name)) => self.function(name, None, frame.file),
                    _ => continue,
                };
                let file = frame.file.map(|f| self.file(f));
                frames.push(Frame { function: id, file, line: frame.line });
            }
            self.profile.addresses.push(AddressSample {
                address: *address,
                count: count.count(),
                idle: count.idle(),
                jumped: count.jumped(),
                cycles: count.cycles(),
                function,
                frames,
            });
        }
    }

    /// `name at file:line`, innermost inlined frame first, for a fault report.
    #[cfg(feature = "simulator")]
    pub(crate) fn describe(&self, address: u32) -> Vec<String> {
        let found = self.firmware.frames(address);
        if found.frames.is_empty() {
            return vec![format!("{address:#010x} (no symbol)")];
        }
        let describe = |(i, frame): (usize, &strobe_symbols::Frame)| {
            let name = frame.name.unwrap_or("(no name)");
            let place = match (frame.file, frame.line) {
                (Some(file), Some(line)) => format!(" at {file}:{line}"),
                _ => String::new(),
            };
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            let address = if i == 0 { format!("{address:#010x} ") } else { " ".repeat(11) };
            format!("{address}{name}{inlined}{place}")
        };
        found.frames.iter().enumerate().map(describe).collect()
    }
}

pub(crate) fn outermost_at(firmware: &Firmware, address: u32) -> Option<&strobe_symbols::Function> {
    let functions = firmware.functions();
    let inner = firmware.function(firmware.function_at(address)?);
    // Nested entry points belong to the function around them, as in the call tree.
    let upto = functions.partition_point(|f| f.start <= inner.start);
    let around = functions[upto.saturating_sub(64)..upto]
        .iter()
        .find(|f| f.size > 0 && u64::from(address) < f.end());
    Some(around.unwrap_or(inner))
}
