//! A board file from an SVD file: memories to fill in, and a placeholder for each peripheral, with
//! its registers' addresses and interrupts.
//!
//! An SVD file has no memories, and its peripherals overlap (one view of a timer for each
//! mode) or share interrupts; what a board file cannot have is left out, with a comment.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::svd::{Cpu, Svd};
use super::{Board, BoardError};

/// A device of a board file needs a number of its own below this; parts have the rest.
const MOST_DEVICES: usize = 200;
/// Interrupts that every core can have, and the most.
const LINES: (u16, u16) = (32, 240);

/// The text of a board file for the chip, which loads as it is.
///
/// # Errors
/// When the file would not load: a chip that no board can describe.
pub fn from_svd(svd: &Svd) -> Result<String, BoardError> {
    if let Some(cpu) = svd.cpu.as_ref().filter(|cpu| cpu.is_foreign()) {
        let problem = format!("no core that can be simulated has the instructions of {}", cpu.name);
        return Err(BoardError::value("core", problem));
    }
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(svd, &mut out);
    Board::parse(&out)?;
    Ok(out)
}

fn write(svd: &Svd, out: &mut String) -> std::fmt::Result {
    let cpu = svd.cpu.as_ref();
    let Core { model, cpuid, doubt } = core(cpu);
    let v6m = model.starts_with("cortex-m0");
    let name = plain(&svd.device).to_lowercase();
    let last = svd.interrupts().keys().next_back().map_or(0, |n| n.saturating_add(1));
    let lines = if v6m { LINES.0 } else { last.clamp(LINES.0, LINES.1) };
    writeln!(
        out,
        "# {}: made from its SVD file, which describes registers and nothing else.",
        plain(&svd.device)
    )?;
    writeln!(
        out,
        "# Fill in clock and memories from the data sheet; a device does something once `model`"
    )?;
    writeln!(
        out,
        "# names one (crates/strobe-devices/boards/README.md). Until then it keeps what is \
         written.\n"
    )?;
    writeln!(out, "name = \"{name}\"\ndescription = \"{}\"", plain(&svd.device))?;
    writeln!(out, "# The clock at reset.\nclock_hz = 16_000_000\n")?;
    if let Some(doubt) = doubt {
        writeln!(out, "# {doubt}")?;
    }
    writeln!(out, "[core]\nmodel = \"{model}\"\nirq_lines = {lines}\ncpuid = {cpuid:#x}")?;
    if model != "cortex-m0" {
        writeln!(out, "vtor_mask = 0xffff_ff80")?;
    }
    if !v6m {
        let bits = cpu.and_then(|cpu| cpu.priority_bits).unwrap_or(4).clamp(3, 8);
        writeln!(out, "priority_bits = {bits}")?;
    }
    let flash = flash(svd);
    writeln!(out, "# Where the vector table is at reset.\nvectors = {flash:#x}\n")?;
    writeln!(out, "# To be set: first address and size.")?;
    writeln!(
        out,
        "[[memory]]\nname = \"flash\"\nkind = \"flash\"\nbase = {flash:#x}\nsize = 0x10_0000\n"
    )?;
    writeln!(
        out,
        "[[memory]]\nname = \"ram\"\nkind = \"ram\"\nbase = 0x2000_0000\nsize = 0x2_0000"
    )?;
    devices(svd, lines, flash, out)
}

/// Where the flash begins. Most makers put it at 0; ST does not, nor do those who follow it, and
/// their names for what switches clocks are nobody else's.
fn flash(svd: &Svd) -> u32 {
    let is_clock = |name: &str| {
        let name = name.strip_prefix("SEC_").unwrap_or(name);
        ["RCC", "RCU", "CRM"].iter().any(|clock| name.eq_ignore_ascii_case(clock))
    };
    if svd.peripherals().iter().any(|p| is_clock(&p.name)) { 0x0800_0000 } else { 0 }
}

/// The core that a board file gets.
struct Core {
    model: &'static str,
    cpuid: u32,
    /// Why it may be another one.
    doubt: Option<String>,
}

/// The core that an SVD file names, or else the nearest one that can be simulated.
fn core(cpu: Option<&Cpu>) -> Core {
    let known = |model, cpuid| Core { model, cpuid, doubt: None };
    let (name, nearest) = match cpu.map(|cpu| (cpu.name.as_str(), cpu.fpu)) {
        Some(("CM0", _)) => return known("cortex-m0", 0x410c_c200),
        Some(("CM0PLUS" | "CM0+" | "CM1", _)) => return known("cortex-m0plus", 0x410c_c601),
        Some(("CM3", _)) => return known("cortex-m3", 0x412f_c231),
        Some(("CM4", false)) => return known("cortex-m4", 0x410f_c241),
        Some(("CM4", true)) => return known("cortex-m4f", 0x410f_c241),
        Some((name @ ("CM23" | "SC000"), _)) => (name, known("cortex-m0plus", 0x410c_c601)),
        Some((name, _)) => (name, known("cortex-m4f", 0x410f_c241)),
        None => {
            let doubt = "The SVD file names no core: set the chip's own (strobe boards lists some \
                         of each).";
            return Core { doubt: Some(doubt.to_owned()), ..known("cortex-m4f", 0x410f_c241) };
        }
    };
    let doubt = format!(
        "The SVD file's core is {}, which no model simulates: instructions that only it has stop \
         a run, and its times are not these.",
        plain(name)
    );
    Core { doubt: Some(doubt), ..nearest }
}

fn devices(svd: &Svd, lines: u16, flash: u32, out: &mut String) -> std::fmt::Result {
    let (mut free, mut names, mut count) = (0u64, BTreeSet::new(), 0);
    let memories = [u64::from(flash)..u64::from(flash) + 0x10_0000, 0x2000_0000..0x2002_0000];
    for peripheral in svd.peripherals() {
        let (start, size) = (u64::from(peripheral.base), u64::from(peripheral.size));
        let name = plain(&peripheral.name);
        let in_memory = memories.iter().any(|m| start < m.end && m.start < start + size);
        // The core has its own.
        let private = (0xe000_0000..0xe010_0000).contains(&start);
        if private || in_memory || size == 0 || start + size > 1 << 32 {
            writeln!(out, "\n# left out: {name} at {:#x}", peripheral.base)?;
            continue;
        }
        if start < free || count >= MOST_DEVICES || !names.insert(name.to_lowercase()) {
            writeln!(
                out,
                "\n# left out, another device is in its place: {name} at {:#x}",
                peripheral.base
            )?;
            continue;
        }
        (free, count) = (start + size, count + 1);
        let owns = |(n, owners): (&u16, &String)| {
            let own = owners.split(['/', ',', ' ']).any(|owner| owner == peripheral.name);
            (own && *n < lines).then(|| n.to_string())
        };
        let irq: Vec<String> = svd.interrupts().iter().filter_map(owns).collect();
        writeln!(out, "\n[[device]]\nname = \"{name}\"\nmodel = \"unmodelled\"")?;
        writeln!(out, "base = {:#x}\nsize = {:#x}", peripheral.base, peripheral.size)?;
        if !irq.is_empty() {
            writeln!(out, "irq = [{}]", irq.join(", "))?;
        }
    }
    Ok(())
}

/// A name without what ends a string or a line.
fn plain(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || "_-. []".contains(c);
    text.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn svd_board_loads_with_peripherals_and_interrupts() {
        let svd = Svd::parse(include_str!("../../tests/svd/chip.svd")).unwrap();
        let text = from_svd(&svd).unwrap();
        let board = Board::parse(&text).unwrap();
        assert_eq!((board.name(), board.core_name()), ("example407", "Cortex-M4F"));
        let bus = board.build().unwrap();
        assert_eq!(bus.device_at(0x4002_3800), Some("RCC"));
        assert_eq!(bus.irq_owners(36).as_deref(), Some("SPI2"));
        assert!(bus.memory_at(0x2000_0000).is_some() && bus.memory_at(0x0800_0000).is_some());
    }

    #[test]
    fn a_core_that_is_not_simulated_is_named() {
        let made = |cpu: &str| {
            let text = format!("<device><name>X</name>{cpu}<peripherals/></device>");
            from_svd(&Svd::parse(&text).unwrap()).unwrap()
        };
        let core = |name: &str| {
            made(&format!("<cpu><name>{name}</name><fpuPresent>true</fpuPresent></cpu>"))
        };
        let m7 = core("CM7");
        assert!(m7.contains("core is CM7, which no model") && m7.contains("cortex-m4f"), "{m7}");
        let m23 = core("CM23");
        assert!(m23.contains("core is CM23, which") && m23.contains("cortex-m0plus"), "{m23}");
        assert!(made("").contains("names no core"));
        assert!(!core("CM4").contains("core is"));
    }

    /// A chip of another maker has something else where an STM32 has its clocks.
    #[test]
    fn flash_is_where_the_makers_parts_have_it() {
        let flash = |peripheral: &str, base: u32| {
            let text = format!(
                "<device><name>X</name><cpu><name>CM4</name></cpu><peripherals><peripheral>\
                 <name>{peripheral}</name><baseAddress>{base:#x}</baseAddress><addressBlock>\
                 <offset>0</offset><size>0x400</size><usage>registers</usage></addressBlock>\
                 </peripheral></peripherals></device>"
            );
            let made = from_svd(&Svd::parse(&text).unwrap()).unwrap();
            Board::parse(&made).unwrap().build().unwrap().flash.base
        };
        for (peripheral, base) in [
            ("RCC", 0x4002_1000),
            ("RCC", 0x5802_4400),
            ("SEC_RCC", 0x5602_0c00),
            ("RCU", 0x4002_1000),
            ("CRM", 0x4002_3800),
        ] {
            assert_eq!(flash(peripheral, base), 0x0800_0000, "{peripheral}");
        }
        for (peripheral, base) in [("PWM1", 0x4002_1000), ("DMAMUX0", 0x4002_1000)] {
            assert_eq!(flash(peripheral, base), 0, "{peripheral}");
        }
    }

    #[test]
    fn a_chip_with_another_instruction_set_is_no_board() {
        for name in ["RV32IMC", "Xtensa LX6", "CA7"] {
            let cpu = format!("<cpu><name>{name}</name></cpu>");
            let text = format!("<device><name>X</name>{cpu}<peripherals/></device>");
            let refused = from_svd(&Svd::parse(&text).unwrap()).unwrap_err().to_string();
            assert!(refused.contains(name), "{refused}");
        }
    }

    #[test]
    fn quotes_in_names_and_overlapping_blocks_are_harmless() {
        let block = |name: &str, base: u32| {
            format!(
                "<peripheral><name>{name}</name><baseAddress>{base:#x}</baseAddress>\
                 <addressBlock><offset>0</offset><size>0x400</size>\
                 <usage>registers</usage></addressBlock></peripheral>"
            )
        };
        let all = [
            block("A&quot;\nB", 0x4000_0000),
            block("VIEW", 0x4000_0200),
            block("FLASHLIKE", 0x2000_0000),
            block("NVIC", 0xe000_e000),
        ];
        let text = format!(
            "<device><name>X&quot;</name><peripherals>{}</peripherals></device>",
            all.concat()
        );
        let made = from_svd(&Svd::parse(&text).unwrap()).unwrap();
        assert!(made.contains("left out, another device is in its place: VIEW"), "{made}");
        assert!(made.contains("# left out: NVIC"), "{made}");
        assert_eq!(made.matches("[[device]]").count(), 1, "{made}");
    }
}
