//! The STM32F070CB's board file against the manual, where a slip of a digit would go unnoticed.

use super::*;
use crate::rig::Rig;

const RCC: u32 = 0x4002_1000;
const CSR_FLAGS: u32 = 0x0c00_0000;

fn file() -> file::File {
    Board::builtin("stm32f070cb").unwrap().file
}

/// RM0360 7.4.15, the register map.
#[test]
fn gates_and_resets_are_where_their_names_put_them() {
    let mut gates = 0;
    for device in file().device {
        let Some(gate) = device.gate else { continue };
        gates += 1;
        let (register, field) = device.gate_name.split_once('.').unwrap();
        let (enable, reset) = match register {
            "RCC_AHBENR" => (0x14, 0x28),
            "RCC_APB2ENR" => (0x18, 0x0c),
            "RCC_APB1ENR" => (0x1c, 0x10),
            other => panic!("{}: {other}", device.name),
        };
        assert_eq!(gate.register, enable, "{}", device.name);
        if let Some(bit) = device.reset {
            assert_eq!((bit.register, bit.bit), (reset, gate.bit), "{}", device.name);
        }
        let port = device.name.replace("GPIO", "IOP");
        let named = field.trim_end_matches("EN");
        assert!(port.starts_with(named) || named == "FLITF", "{}: {field}", device.name);
    }
    assert!(gates > 20, "{gates}");
}

/// RM0360 table 31, the vector table.
#[test]
fn interrupts_have_their_users() {
    let bus = Rig::builtin("stm32f070cb").bus;
    let users = |number| bus.irq_owners(number).unwrap_or_default();
    let expected = [
        (0, "WWDG"),
        (1, ""),
        (2, "RTC"),
        (3, "FLASH"),
        (4, "RCC"),
        (5, "EXTI"),
        (7, "EXTI"),
        (9, "DMA1"),
        (11, "DMA1"),
        (12, "ADC1"),
        (13, "TIM1"),
        (14, "TIM1"),
        (15, ""),
        (16, "TIM3"),
        (17, "TIM6"),
        (18, "TIM7"),
        (19, "TIM14"),
        (20, "TIM15"),
        (21, "TIM16"),
        (22, "TIM17"),
        (23, "I2C1"),
        (25, "SPI1"),
        (26, "SPI2"),
        (27, "USART1"),
        (28, "USART2"),
        (29, "USART3/USART4"),
        (31, "USB"),
    ];
    for (number, user) in expected {
        assert_eq!(users(number), user, "interrupt {number}");
    }
}

#[test]
fn the_package_has_37_pins() {
    let bus = Rig::builtin("stm32f070cb").bus;
    let mut pins: Vec<&str> = bus.signals.pins().map(|id| bus.signals.name(id)).collect();
    pins.sort_unstable();
    assert_eq!(pins.len(), 37);
    assert_eq!(pins.iter().filter(|pin| pin.starts_with("PC")).count(), 3);
    assert_eq!(pins[pins.len() - 2..], ["PF0", "PF1"]);
}

/// What start-up code and libraries read of the part.
#[test]
fn identity_and_reset_state() {
    let mut rig = Rig::builtin("stm32f070cb");
    assert_eq!(rig.read32(0x1fff_f7cc) & 0xffff, 128, "flash size in KiB");
    assert_eq!(rig.read32(0x1fff_f800) & 0xff, 0xaa, "not read protected");
    assert_eq!(rig.read32(RCC + 0x24), CSR_FLAGS);
    rig.write32(RCC + 0x18, 1 << 22);
    assert_eq!(rig.read32(0x4001_5800) & 0xfff, 0x448, "RM0360 26.4.1");
    assert_eq!(rig.read32(0), 0xffff_ffff, "erased flash at 0");
    assert_eq!(rig.bus.flash_state, (0, false));
}

/// From the clock to the pin: what a UART's first lines of firmware rely on.
#[test]
fn button_reaches_its_interrupt_and_signal_its_pin() {
    let mut rig = Rig::builtin("stm32f070cb");
    rig.write32(RCC + 0x14, 0x14 | 1 << 17 | 1 << 19);
    rig.write32(RCC + 0x18, 1);
    // PC13 with pull-up to EXTI13, falling.
    rig.write32(0x4800_080c, 1 << 26);
    rig.write32(0x4001_0014, 2 << 4);
    rig.write32(0x4001_040c, 1 << 13);
    rig.write32(0x4001_0400, 1 << 13);
    assert!(rig.level("PC13") && !rig.irq(7));
    rig.drive("PC13", Some(false));
    assert!(rig.irq(7));
    // PA9 as USART1_TX.
    rig.write32(0x4800_0024, 1 << 4);
    rig.write32(0x4800_0000, 0x2800_0000 | 2 << 18);
    rig.set("USART1_TX", false);
    assert!(!rig.level("PA9"));
    rig.set("USART1_TX", true);
    assert!(rig.level("PA9"));
}

/// An unmodelled converter must not hang the firmware that polls it.
#[test]
fn the_converter_calibrates_and_gets_ready() {
    let mut rig = Rig::builtin("stm32f070cb");
    rig.write32(RCC + 0x18, 1 << 9);
    rig.write32(0x4001_2408, 1 << 31);
    assert_eq!(rig.read32(0x4001_2408), 0);
    assert_eq!(rig.read32(0x4001_2400) & 1, 0);
    rig.write32(0x4001_2408, 1);
    assert_eq!(rig.read32(0x4001_2400) & 1, 1);
    assert_eq!(rig.bus.unmodelled.touched().count(), 2);
}

/// The calibrated flash figures: facts in the file, half cycles on the bus.
#[test]
fn every_flash_setting_state_where_it_comes_from() {
    let board = Board::builtin("stm32f070cb").unwrap();
    for (wait_states, prefetch) in [(0, false), (0, true), (1, false), (1, true)] {
        let entry = board.flash_timing_at(wait_states, prefetch).unwrap();
        assert!(!entry.why.is_empty() && !entry.origin.is_empty());
    }
    let on = board.flash_timing_at(1, true).unwrap().timing().unwrap();
    let unaligned = on.unaligned_target;
    assert_eq!((unaligned.low, unaligned.likely, unaligned.high), (2, 3, 6));
}
