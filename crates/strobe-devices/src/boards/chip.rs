//! A board for a chip that no board file describes: a core, memories, nothing else modelled.

use super::file::{
    Aliases, BusSection, CoreEntry, File, FlashSection, Kind, MemoryEntry, no_reference,
};
use super::{Board, BoardError, check};
use strobe_sim::cores::arm::timing::CoreKind;

/// What a run needs to know of a chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// Its name.
    pub name: String,
    /// Its core.
    pub core: CoreKind,
    /// Priority bits of an ARMv7-M's interrupt controller.
    pub priority_bits: u8,
    /// Interrupt lines.
    pub irq_lines: u16,
    /// Core clock for the whole run, in hertz: nobody models what would change it.
    pub clock_hz: u32,
    /// Memories; at least one flash and one RAM.
    pub memories: Vec<Region>,
    /// Where the vector table is at reset.
    pub vectors: u32,
}

/// One memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Flash or RAM.
    pub kind: Kind,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
}

impl MemoryEntry {
    /// A memory without anything of its own.
    pub(super) fn plain(name: String, region: &Region) -> Self {
        MemoryEntry {
            name,
            kind: region.kind,
            base: region.base,
            size: region.size,
            alias: Aliases::default(),
            writable: false,
            core_only: false,
            banks: Vec::new(),
            contents: Vec::new(),
        }
    }
}

impl Chip {
    fn file(&self) -> File {
        let memory = |(n, region): (usize, &Region)| {
            let name = match region.kind {
                Kind::Flash => format!("flash {n}"),
                Kind::Ram => format!("ram {n}"),
            };
            MemoryEntry::plain(name, region)
        };
        let v7m = self.core.architecture().v7m;
        File {
            part: Vec::new(),
            name: self.name.clone(),
            description: format!("{}: core and memories only", self.name),
            clock_hz: self.clock_hz,
            avr: None,
            core: Some(CoreEntry {
                model: self.core,
                multiplier_cycles: 1,
                irq_lines: self.irq_lines,
                priority_bits: v7m.then_some(self.priority_bits),
                cpuid: match self.core {
                    CoreKind::CortexM0 => 0x410c_c200,
                    CoreKind::CortexM0plus => 0x410c_c601,
                    CoreKind::CortexM3 => 0x412f_c231,
                    CoreKind::CortexM4 | CoreKind::CortexM4f => 0x410f_c241,
                },
                systick_calibration: no_reference(),
                systick_reference_divider: 0,
                vectors: self.vectors,
                mpu_regions: None,
                trace_gate: None,
                vtor_mask: if self.core == CoreKind::CortexM0 { 0 } else { 0xffff_ff80 },
                bit_band: None,
                io_port: Vec::new(),
            }),
            memory: self.memories.iter().enumerate().map(memory).collect(),
            flash: FlashSection::default(),
            bus: BusSection::default(),
            device: Vec::new(),
            ready: Vec::new(),
            reset_value: Vec::new(),
            pins: Default::default(),
        }
    }
}

impl Board {
    /// The board for a chip that no board file describes.
    ///
    /// # Errors
    /// What cannot be, as for board files.
    pub fn generic(chip: &Chip) -> Result<Board, BoardError> {
        let file = chip.file();
        check::check(&file)?;
        let board = Board { file, svd: None };
        board.build()?;
        Ok(board)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::boards::svd::Svd;
    use strobe_sim::kernel::bus::Bus;
    use strobe_sim::kernel::device::Size;

    fn chip() -> Chip {
        Chip {
            name: "EXAMPLE407".to_owned(),
            core: CoreKind::CortexM4f,
            priority_bits: 4,
            irq_lines: 82,
            clock_hz: 16_000_000,
            memories: vec![
                Region { kind: Kind::Flash, base: 0x0800_0000, size: 0x1000 },
                Region { kind: Kind::Ram, base: 0x2000_0000, size: 0x1000 },
            ],
            vectors: 0x0800_0000,
        }
    }

    fn bus() -> Bus {
        let svd = Svd::parse(include_str!("../../tests/svd/chip.svd")).unwrap();
        Board::generic(&chip()).unwrap().with_svd(Arc::new(svd)).build().unwrap()
    }

    #[test]
    fn an_impossible_chip_is_refused() {
        let mut chip = chip();
        chip.memories.pop();
        let error = Board::generic(&chip).unwrap_err().to_string();
        assert!(error.contains("one of kind = \"ram\""), "{error}");
    }

    /// What a firmware does that starts a crystal and switches to it.
    #[test]
    fn registers_hold_what_the_svd_file_says() {
        let mut bus = bus();
        let mut read = |at| bus.read(at, Size::Word).unwrap();
        assert_eq!(read(0x4002_3800), 0x83 & !2 | 2, "HSIRDY follows HSION");
        bus.write(0x4002_3800, Size::Word, 0x1_0083).unwrap();
        assert_eq!(bus.read(0x4002_3800, Size::Word), Ok(0x3_0083));
        bus.write(0x4002_3808, Size::Word, 1).unwrap();
        assert_eq!(bus.read(0x4002_3808, Size::Word), Ok(0b101), "SWS follows SW");
        // Read-only, then cleared by writing ones.
        bus.write(0x4001_3000, Size::Half, 9).unwrap();
        assert_eq!(bus.read(0x4001_3000, Size::Word), Ok(0x1234));
        bus.write(0x4001_3004, Size::Word, 3).unwrap();
        assert_eq!(bus.read(0x4001_3004, Size::Word), Ok(0));
        let touched = |at| bus.unmodelled.touched().find(|(a, _)| *a == at).unwrap().1;
        assert_eq!((touched(0x4001_3000).refused, touched(0x4002_3800).refused), (1, 0));
    }

    #[test]
    fn the_file_names_places_and_interrupts() {
        let bus = bus();
        assert_eq!(bus.device_at(0x4002_6010), Some("DMA"));
        assert_eq!(bus.register_at(0x4002_602a), Some("DMA.CH1.CR"));
        assert_eq!(bus.irq_owners(36).as_deref(), Some("SPI2"));
        assert_eq!((bus.device_at(0x4002_7000), bus.irq_owners(1)), (None, None));
    }

    /// Registers outside the peripheral region are there if the file has them, and nothing else is.
    #[test]
    fn only_described_places_outside_the_peripheral_region_answer() {
        let text = include_str!("../../tests/svd/chip.svd").replace("0x40013000", "0xd0000000");
        let svd = Arc::new(Svd::parse(&text).unwrap());
        let mut bus = Board::generic(&chip()).unwrap().with_svd(svd).build().unwrap();
        assert_eq!(bus.read(0xd000_0000, Size::Word), Ok(0x1234));
        assert!(bus.read(0xd000_0010, Size::Word).is_err());
        assert!(bus.write(0xd000_0010, Size::Word, 0).is_err());
    }
}
