//! How long a run goes on without a limit given.

use strobe_source::simulated::{DEFAULT_LIMIT, Limit, SerialInput, Settings};
use strobe_symbols::{Firmware, Function};

/// Cycles after which a place or an end that may come is not waited for any longer.
pub const PATIENCE: Limit = Limit::Cycles(10_000_000_000);

/// `BKPT 0xab`, by which a firmware asks the debugger for something, its end among it
/// (semihosting).
const SEMIHOSTING: [u8; 2] = [0xab, 0xbe];

/// A second of simulated time, and as much as what is sent later has to be waited for.
pub fn default_limit(inputs: &[SerialInput]) -> Option<Limit> {
    let Limit::Nanoseconds(nanoseconds) = DEFAULT_LIMIT else { return None };
    let later = inputs.iter().map(|input| input.not_before_nanoseconds).max().unwrap_or(0);
    Some(Limit::Nanoseconds(nanoseconds.saturating_add(later)))
}

/// The settings with more patience if one of the firmwares can end by itself: a test that runs for
/// minutes shall not pass because it was cut short.
pub fn extend_limit<'a>(
    settings: &Settings,
    mut firmwares: impl Iterator<Item = &'a Firmware>,
) -> Settings {
    let mut settings = settings.clone();
    let is_default = matches!(settings.default_limit, Some(Limit::Nanoseconds(_)));
    if settings.limit.is_none() && is_default && firmwares.any(can_exit) {
        settings.default_limit = Some(PATIENCE);
    }
    settings
}

/// Whether a firmware has code that ends a run.
fn can_exit(firmware: &Firmware) -> bool {
    firmware.machine().conventions().asks_debugger
        && firmware.functions().iter().any(|function| asks_debugger(firmware, function))
}

fn asks_debugger(firmware: &Firmware, function: &Function) -> bool {
    let end = u32::try_from(function.end()).unwrap_or(u32::MAX);
    let code = firmware.segments().iter().find_map(|segment| {
        let from = function.start.checked_sub(segment.run_address)? as usize;
        let to = end.checked_sub(segment.run_address)? as usize;
        segment.data().get(from..to)
    });
    // Few functions have the bytes at all; in those they may be a constant.
    let has_bytes = code.is_some_and(|code| code.chunks_exact(2).any(|word| word == SEMIHOSTING));
    has_bytes && firmware.instructions(function.start..end).any(|i| i.encoding() == "beab")
}

#[cfg(test)]
mod tests {
    use strobe_synth::ElfBuilder;

    use super::*;

    fn firmware(code: &[u8]) -> Firmware {
        let mut elf = ElfBuilder::new();
        elf.entry = 0x41;
        elf.code(0, &[&[0; 0x40], code].concat());
        elf.function("main", 0x40, code.len() as u32);
        Firmware::parse(elf.build()).expect("a sound ELF file")
    }

    #[test]
    fn firmware_that_can_exit_gets_more_time() {
        let spins = firmware(&[0xfe, 0xe7]);
        let exits = firmware(&[0xab, 0xbe, 0xfe, 0xe7]);
        let settings = Settings::default();
        let limit = |firmware| extend_limit(&settings, [firmware].into_iter()).default_limit;
        assert_eq!(limit(&spins), Some(DEFAULT_LIMIT));
        assert_eq!(limit(&exits), Some(PATIENCE));
        let endless = Settings { default_limit: None, ..Settings::default() };
        assert_eq!(extend_limit(&endless, [&exits].into_iter()).default_limit, None);
    }
}
