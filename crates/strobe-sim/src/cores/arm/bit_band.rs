//! Bit-banding (ARMv7-M B3.1, DDI 0337 3.7): a word of an alias region is one bit of memory or of a
//! register.
//!
//! The core does it, so only the core's accesses see the aliases; for other bus masters those
//! addresses are as in the rest of the memory map. A read gives the bit as 0 or 1. A write
//! reads the target, changes the bit and writes the target back, with an access of the same width;
//! nothing comes between, and a device sees both accesses with all that they cause.

use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::memory::BusFault;

/// (alias region, the region whose bits it shows).
const REGIONS: [(std::ops::Range<u32>, u32); 2] =
    [(0x2200_0000..0x2400_0000, 0x2000_0000), (0x4200_0000..0x4400_0000, 0x4000_0000)];

/// Where a bit lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    /// Address of the access, aligned to its size.
    address: u32,
    /// Bit number in the value.
    bit: u32,
}

fn target(alias: u32, size: Size) -> Option<Target> {
    let (range, region) = REGIONS.iter().find(|(range, _)| range.contains(&alias))?;
    let bits = (alias - range.start) / 4;
    let per_access = 8 * size.bytes();
    Some(Target { address: region + bits / per_access * size.bytes(), bit: bits % per_access })
}

/// Whether the core sees the aliases.
#[derive(Debug, Clone, Copy)]
pub(super) struct BitBand(pub(super) bool);

impl BitBand {
    fn target(self, alias: u32, size: Size) -> Option<Target> {
        if self.0 { target(alias, size) } else { None }
    }

    /// The address that an access of a word at `address` goes to in the end.
    pub(super) fn behind(self, address: u32) -> u32 {
        self.target(address, Size::Word).map_or(address, |target| target.address)
    }

    /// A naturally aligned read by the core at the bus's present cycle.
    pub(super) fn read(self, bus: &mut Bus, address: u32, size: Size) -> Result<u32, BusFault> {
        match self.target(address, size) {
            Some(Target { address, bit }) => Ok(bus.read(address, size)? >> bit & 1),
            None => bus.read(address, size),
        }
    }

    /// A naturally aligned write by the core at the bus's present cycle.
    pub(super) fn write(
        self,
        bus: &mut Bus,
        address: u32,
        size: Size,
        value: u32,
    ) -> Result<(), BusFault> {
        let (address, value) = match self.target(address, size) {
            Some(Target { address, bit }) => {
                let old = bus.read(address, size)?;
                (address, old & !(1 << bit) | (value & 1) << bit)
            }
            None => (address, value),
        };
        bus.write(address, size, value)?;
        bus.code_written(address);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::bus::{Slave, Slot};
    use crate::kernel::device::{Context, Device};
    use crate::kernel::memory::{Memory, MemoryKind};

    const ON: BitBand = BitBand(true);
    const OFF: BitBand = BitBand(false);

    const RAM: u32 = 0x2000_0000;
    const DEVICE: u32 = 0x4002_3000;
    /// A register that adds to what is written to it how often it was read.
    const COUNTED: u32 = DEVICE;
    /// Copies the word at the address that is written to it, as a DMA controller does; reads as 1
    /// if the bus had an answer.
    const COPY: u32 = DEVICE + 4;
    /// Where the copy goes.
    const COPIED: u32 = RAM + 0x100;

    #[derive(Default)]
    struct Registers {
        value: u32,
        reads: u32,
        copied: u32,
    }

    impl Device for Registers {
        fn read(&mut self, offset: u32, _: Size, _: &mut Context) -> Option<u32> {
            if offset == COPY - DEVICE {
                return Some(self.copied);
            }
            self.reads += 1;
            Some(self.value)
        }
        fn write(&mut self, offset: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
            if offset == COPY - DEVICE {
                let read = cx.master_read(value, Size::Word);
                self.copied = u32::from(read.is_ok());
                return cx.master_write(COPIED, Size::Word, read.ok()?).ok();
            }
            self.value = value + self.reads;
            Some(())
        }
        fn reset(&mut self, _: &mut Context) {}
    }

    /// RAM and a device with these registers.
    fn bus() -> Bus {
        let flash = Memory::new("flash", MemoryKind::Flash, 0x0800_0000, 0x400);
        let ram = Memory::new("ram", MemoryKind::Ram, RAM, 0x1000);
        let mut bus = Bus::new(flash, ram, 8_000_000);
        bus.add(Slot {
            name: "REGISTERS".to_owned(),
            base: DEVICE,
            size: 0x400,
            slave: Slave::Ahb,
            gate: None,
            gate_name: String::new(),
            reset: None,
            irqs: Vec::new(),
            is_part: false,
            is_network: false,
            device: Some(Box::new(Registers::default())),
            unclocked: 0,
            unclocked_pc: 0,
        });
        bus
    }

    fn read(bus: &mut Bus, address: u32) -> u32 {
        bus.read(address, Size::Word).expect("no bus fault")
    }

    fn write(bus: &mut Bus, address: u32, value: u32) {
        bus.write(address, Size::Word, value).expect("no bus fault");
    }

    fn alias(region: u32, byte: u32, bit: u32) -> u32 {
        region + 0x0200_0000 + byte * 32 + bit * 4
    }

    /// DDI 0337, figure 3-2: 0x23ffffe0 is bit 0 of 0x200fffff, 0x2200001c bit 7 of 0x20000000.
    #[test]
    fn the_manuals_examples() {
        let at = |alias| target(alias, Size::Byte).unwrap();
        assert_eq!(at(0x23ff_ffe0), Target { address: 0x200f_ffff, bit: 0 });
        assert_eq!(at(0x23ff_fffc), Target { address: 0x200f_ffff, bit: 7 });
        assert_eq!(at(0x2200_001c), Target { address: 0x2000_0000, bit: 7 });
        assert_eq!(target(0x23ff_fffc, Size::Word).unwrap().bit, 31);
        assert_eq!(target(0x2400_0000, Size::Word), None);
    }

    #[test]
    fn without_bit_banding_the_aliases_are_ordinary_addresses() {
        let mut bus = bus();
        assert!(OFF.read(&mut bus, 0x2200_0000, Size::Word).is_err(), "no memory there");
        let register = OFF.read(&mut bus, 0x4200_0000, Size::Word);
        assert_eq!(register, Ok(0), "an unmodelled register");
        assert_eq!(bus.unmodelled.touched().count(), 1);
    }

    /// Each write is one read and one write of the device.
    #[test]
    fn a_device_sees_a_read_and_a_write() {
        let mut bus = bus();
        ON.write(&mut bus, alias(0x4000_0000, COUNTED - 0x4000_0000, 6), Size::Word, 1).unwrap();
        assert_eq!(read(&mut bus, COUNTED), (1 << 6) + 1, "one read before the write");
        ON.write(&mut bus, alias(0x4000_0000, COUNTED - 0x4000_0000, 6), Size::Word, 0).unwrap();
        assert_eq!(read(&mut bus, COUNTED), 1 + 3, "the two reads here and the write's own");
    }

    /// A transfer from an alias address meets no bit and no memory, as AHB masters other than the
    /// core do.
    #[test]
    fn dma_does_not_see_the_aliases() {
        let mut bus = bus();
        write(&mut bus, RAM, 1);
        assert_eq!(ON.read(&mut bus, alias(RAM, 0, 0), Size::Word), Ok(1));
        write(&mut bus, COPY, RAM);
        assert_eq!((read(&mut bus, COPY), read(&mut bus, COPIED)), (1, 1));
        write(&mut bus, COPIED, 0);
        write(&mut bus, COPY, alias(RAM, 0, 0));
        assert_eq!(read(&mut bus, COPY), 0, "a transfer error");
        assert_eq!(read(&mut bus, COPIED), 0);
    }

    proptest! {
        #[test]
        fn a_bit_is_what_its_alias_says(
            word in any::<u32>(),
            offset in 0u32..64,
            bit in 0u32..32,
            value in any::<u32>(),
            size in prop_oneof![Just(Size::Byte), Just(Size::Half), Just(Size::Word)],
        ) {
            let mut bus = bus();
            let at = RAM + 4 * offset;
            write(&mut bus, at, word);
            let alias = alias(RAM, 4 * offset, bit);
            prop_assert_eq!(ON.read(&mut bus, alias, size), Ok(word >> bit & 1));
            ON.write(&mut bus, alias, size, value).unwrap();
            prop_assert_eq!(read(&mut bus, at), word & !(1 << bit) | (value & 1) << bit);
            prop_assert_eq!(ON.read(&mut bus, alias, size), Ok(value & 1));
        }
    }
}
