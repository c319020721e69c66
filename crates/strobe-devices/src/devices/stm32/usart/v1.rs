//! The older register map of the same port (RM0090 section 30): status and data registers whose
//! flags are cleared by reading one after the other.
//!
//! Everything but the registers is the newer port's: this translates.

use super::{BRR, CLEARABLE, CR1, CR2, CR3, RDR, TDR, Usart, isr};
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, SerialEnd, Size};
use strobe_sim::kernel::signal::SignalId;

/// Offsets in this map; the names without `V1` are the newer map's.
const V1_SR: u32 = 0x00;
const V1_DR: u32 = 0x04;
const V1_BRR: u32 = 0x08;
const V1_CR1: u32 = 0x0c;
const V1_CR2: u32 = 0x10;
const V1_CR3: u32 = 0x14;
const V1_GTPR: u32 = 0x18;

/// CR1: SBK, RWU, UE; the bits between RE and M and OVER8 are where the newer map has them.
const SBK: u32 = 0;
const RWU: u32 = 1;
const UE: u32 = 13;
const CR1_SAME: u32 = 0x9ffc;
/// CR3: EIE and DMAR.
const EIE: u32 = 1 << 0;
const DMAR: u32 = 1 << 6;

/// SR's flags, which are the low ones of ISR.
const SR_FLAGS: u32 = 0x3ff;
/// Flags that the sequence "read SR, then DR" clears.
const BY_SEQUENCE: u32 = isr::PE | isr::FE | isr::NF | isr::ORE | isr::IDLE;
/// Flags that writing 0 to SR clears.
const BY_ZERO: u32 = isr::RXNE | isr::TC;

/// A serial port with the older registers.
struct UsartV1 {
    port: Usart,
    /// CR1 and CR3 as firmware wrote them.
    cr1: u32,
    cr3: u32,
    /// The flags that the last read of SR has shown; a sequence that DR completes.
    seen: u32,
}

/// Makes a port with the registers of STM32F1, F2 and F4.
pub(in crate::devices::stm32) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let port = Usart::create(cx)?;
    Ok(Box::new(UsartV1 { port, cr1: 0, cr3: 0, seen: 0 }))
}

impl UsartV1 {
    fn register(&self, offset: u32, now: u64) -> Option<u32> {
        Some(match offset {
            V1_SR => self.port.isr(now) & SR_FLAGS,
            V1_DR => self.port.rdr.into(),
            V1_BRR => self.port.brr,
            V1_CR1 => self.cr1 | u32::from(self.port.tx.is_breaking()) << SBK,
            V1_CR2 => self.port.cr2,
            V1_CR3 => self.cr3,
            V1_GTPR => self.port.gtpr,
            _ => return None,
        })
    }

    fn write_register(&mut self, offset: u32, value: u32, cx: &mut Context) {
        let port = &mut self.port;
        match offset {
            V1_SR => port.flags &= value | !BY_ZERO,
            V1_DR => self.write_data(value, cx),
            V1_BRR => port.write_register(BRR, value, cx),
            V1_CR1 => {
                self.cr1 = value & (CR1_SAME | 1 << UE | 1 << RWU);
                if bit(value, RWU) {
                    cx.warn_of("not-modelled", format!("{}: mute mode is not modelled", port.name));
                }
                if bit(value, SBK) {
                    port.tx.request_break();
                }
                port.write_register(CR1, value & CR1_SAME | value >> UE & 1, cx);
            }
            V1_CR2 => port.write_register(CR2, value & 0x7fff, cx),
            V1_CR3 => {
                self.cr3 = value & 0xfff;
                // 30.6.6: errors interrupt only during reception by DMA.
                let enabled = if value & DMAR != 0 { self.cr3 } else { self.cr3 & !EIE };
                port.write_register(CR3, enabled, cx);
            }
            _ => port.gtpr = value & 0xffff,
        }
    }

    /// 30.6.1: only a write after a read of SR clears TC, so DMA leaves it.
    fn write_data(&mut self, value: u32, cx: &mut Context) {
        let kept = self.port.flags & isr::TC & !self.seen;
        self.port.write_register(TDR, value, cx);
        self.port.flags |= kept;
        self.seen = 0;
    }

    fn read_data(&mut self) {
        self.port.flags &= !(isr::RXNE | self.seen & BY_SEQUENCE);
        self.seen = 0;
    }
}

impl Device for UsartV1 {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let register = offset & !3;
        let value = self.register(register, cx.now())?;
        match register {
            V1_SR => self.seen = value,
            V1_DR => {
                self.read_data();
                self.port.publish(cx);
            }
            _ => {}
        }
        Some(part(value, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            // Completes the sequence that clears flags.
            V1_DR => Reading::Unknown,
            // Reading SR again, with the same flags, leaves the sequence where it is.
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let old = match offset & !3 {
            // A narrow write clears no flag of the other lanes.
            V1_SR => u32::MAX,
            V1_DR => 0,
            register => self.register(register, cx.now())?,
        };
        self.write_register(offset & !3, merge(old, offset, size, value), cx);
        self.port.run(cx);
        self.port.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.port.event(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        self.port.signal(id, level, cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.port.clock_changed(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr1, self.cr3, self.seen) = (0, 0, 0);
        self.port.reset(cx);
    }

    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        Some(self)
    }

    fn serial_end_mut(&mut self) -> Option<&mut dyn SerialEnd> {
        Some(self)
    }
}

impl SerialEnd for UsartV1 {
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        self.port.host_byte(byte, cx);
    }

    fn host_room(&self) -> usize {
        self.port.host_room()
    }
}

// The flags that both maps have are in the same places.
const _: () =
    assert!(BY_SEQUENCE & SR_FLAGS == BY_SEQUENCE && CLEARABLE & BY_ZERO == isr::TC && RDR != TDR);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RAM, Rig, apb_device};
    use strobe_sim::kernel::device::DeviceId;

    const BASE: u32 = 0x4001_1000;
    const SR: u32 = BASE;
    const DR: u32 = BASE + V1_DR;
    const RE: u32 = 1 << 2;
    const TE: u32 = 1 << 3;
    const ON: u32 = 1 << UE;

    fn port() -> (Rig, DeviceId) {
        let rig = Rig::new(&apb_device(("USART1", "stm32-usart-v1"), BASE, &[27], ""));
        let id = rig.bus.device_named("USART1").unwrap();
        (rig, id)
    }

    /// 100 cycles per bit, 1000 per frame; the idle frame is over at cycle 1000.
    fn on(rig: &mut Rig, cr1: u32) {
        rig.write32(BASE + V1_BRR, 100);
        rig.write32(BASE + V1_CR1, ON | cr1);
    }

    #[test]
    fn reset_values() {
        let (mut rig, _) = port();
        let values: Vec<u32> = (0..7).map(|n| rig.read32(BASE + 4 * n)).collect();
        assert_eq!(values, [0xc0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn transmission_complete_is_cleared_by_sequence_or_by_zero() {
        let (mut rig, _) = port();
        on(&mut rig, TE);
        rig.run_to(1000);
        assert_eq!(rig.read32(SR), isr::TXE | isr::TC);
        rig.write32(DR, 0x41);
        assert_eq!(rig.read32(SR), isr::TXE, "read SR, write DR");
        rig.run_to(2000);
        assert_eq!(rig.read32(SR) & isr::TC, isr::TC);
        rig.write(SR, Size::Half, !isr::TC & 0xffff);
        assert_eq!(rig.read32(SR) & isr::TC, 0);
        assert_eq!((rig.bus.outputs.frames.len(), rig.bus.outputs.frames[0].value), (1, 0x41));
    }

    #[test]
    fn a_write_without_a_look_at_sr_leaves_tc() {
        let (mut rig, _) = port();
        on(&mut rig, TE);
        rig.run_to(1000);
        rig.write32(DR, 0x41);
        assert_eq!(rig.read32(SR) & isr::TC, isr::TC);
    }

    #[test]
    fn received_bytes_and_errors() {
        let (mut rig, id) = port();
        on(&mut rig, RE | 1 << 5);
        b"xy".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
        assert_eq!(rig.run_to_irq(27, 10_000), Some(950));
        rig.run_to(5_000);
        let flags = isr::RXNE | isr::ORE | isr::IDLE;
        assert_eq!(rig.read32(SR) & 0x3f, flags);
        assert_eq!((rig.read32(DR), rig.read32(SR) & 0x3f), (u32::from(b'x'), 0));
        assert!(!rig.irq(27));
    }

    #[test]
    fn reading_data_without_status_keeps_the_errors() {
        let (mut rig, id) = port();
        on(&mut rig, RE);
        b"xy".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
        rig.run_to(5_000);
        rig.read32(DR);
        assert_eq!(rig.read32(SR) & 0x3f, isr::ORE | isr::IDLE);
        rig.write32(SR, 0);
        assert_eq!(rig.read32(SR) & 0x3f, isr::ORE | isr::IDLE, "not by writing");
        rig.read32(DR);
        assert_eq!(rig.read32(SR) & 0x3f, 0);
    }

    /// 30.6.6: EIE counts only together with DMAR.
    #[test]
    fn error_interrupts_need_dma() {
        let (mut rig, id) = port();
        on(&mut rig, RE);
        rig.write32(BASE + V1_CR3, EIE);
        b"xy".iter().for_each(|&byte| rig.bus.host_byte(id, byte));
        rig.run_to(5_000);
        assert!(!rig.irq(27));
        rig.write32(BASE + V1_CR3, EIE | DMAR);
        assert!(rig.irq(27) && rig.level("USART1_RX_DMA"));
    }

    #[test]
    fn a_break_is_sent_once() {
        let (mut rig, _) = port();
        rig.watch("USART1_TX");
        on(&mut rig, TE);
        rig.run_to(1000);
        rig.write32(BASE + V1_CR1, ON | TE | 1 << SBK);
        assert_eq!(rig.read32(BASE + V1_CR1) & 1, 1);
        rig.run_to(10_000);
        assert_eq!(rig.read32(BASE + V1_CR1) & 1, 0);
        assert_eq!(rig.edges("USART1_TX"), [(1000, false), (2000, true)]);
    }

    /// 30.3.4: with OVER8 the fraction has three bits, in eighths.
    #[test]
    fn oversampling_by_8() {
        let (mut rig, _) = port();
        rig.write32(BASE + V1_BRR, 2 << 4 | 1);
        rig.write32(BASE + V1_CR1, ON | TE | 1 << 15);
        rig.write32(DR, 0x55);
        rig.run_to(20 * 17);
        assert_eq!(rig.bus.outputs.frames.iter().map(|f| f.cycle).collect::<Vec<_>>(), [20 * 17]);
    }

    #[test]
    fn the_second_peripheral_bus_has_its_own_clock() {
        let device = apb_device(("USART1", "stm32-usart-v1"), BASE, &[27], "");
        let mut rig = Rig::new(&device.replace("'apb'", "'apb2'"));
        (rig.bus.clocks.apb_divider, rig.bus.clocks.apb2_divider) = (8, 2);
        on(&mut rig, TE);
        rig.write32(DR, 0);
        rig.run_to(5_000);
        assert_eq!(rig.bus.outputs.frames[0].cycle, 2 * 2000);
        assert_eq!(rig.bus.divider_of(rig.bus.slave_of(RAM)), 1);
    }
}
