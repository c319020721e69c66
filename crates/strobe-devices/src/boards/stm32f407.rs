//! The STM32F407's board files against the manual, where a slip of a digit would go unnoticed.

use super::*;
use crate::rig::{RAM, Rig};

const RCC: u32 = 0x4002_3800;
const GPIOA: u32 = 0x4002_0000;
const GPIOB: u32 = 0x4002_0400;

fn file() -> file::File {
    Board::builtin("stm32f407").unwrap().file
}

/// RM0090 7.3.24, the register map.
#[test]
fn gates_and_resets_are_where_their_names_put_them() {
    let mut gates = 0;
    for device in file().device {
        let Some(gate) = device.gate else { continue };
        gates += 1;
        let (register, field) = device.gate_name.split_once('.').unwrap();
        let enable = match register {
            "RCC_AHB1ENR" => 0x30,
            "RCC_AHB2ENR" => 0x34,
            "RCC_AHB3ENR" => 0x38,
            "RCC_APB1ENR" => 0x40,
            "RCC_APB2ENR" => 0x44,
            other => panic!("{}: {other}", device.name),
        };
        assert_eq!(gate.register, enable, "{}", device.name);
        if let Some(bit) = device.reset {
            assert_eq!(bit.register, enable - 0x20, "{}", device.name);
            // The three converters are reset together.
            let own = if device.name.starts_with("ADC") { 8 } else { gate.bit };
            assert_eq!(bit.bit, own, "{}", device.name);
        }
        let bus = match register {
            "RCC_APB1ENR" => file::BusKind::Apb,
            "RCC_APB2ENR" => file::BusKind::Apb2,
            _ => file::BusKind::Ahb,
        };
        assert_eq!(device.bus, bus, "{}", device.name);
        let named = field.trim_end_matches("EN").replace("OTG", "USB_OTG_");
        let other = ["ETHMAC", "SPI2", "SPI3"].contains(&named.as_str());
        assert!(device.name == named || other, "{}: {field}", device.name);
    }
    assert!(gates > 40, "{gates}");
}

/// RM0090 table 62, the vector table.
#[test]
fn interrupts_have_their_users() {
    let bus = Rig::builtin("stm32f407").bus;
    let users = |number| bus.irq_owners(number).unwrap_or_default();
    let expected = [
        (0, "WWDG"),
        (1, "EXTI"),
        (4, "FLASH"),
        (5, "RCC"),
        (6, "EXTI"),
        (11, "DMA1"),
        (17, "DMA1"),
        (18, "ADC1/ADC2/ADC3"),
        (19, "CAN1"),
        (23, "EXTI"),
        (24, "TIM1/TIM9"),
        (25, "TIM1/TIM10"),
        (26, "TIM1/TIM11"),
        (27, "TIM1"),
        (28, "TIM2"),
        (30, "TIM4"),
        (31, "I2C1"),
        (34, "I2C2"),
        (35, "SPI1"),
        (37, "USART1"),
        (38, "USART2"),
        (39, "USART3"),
        (40, "EXTI"),
        (43, "TIM12/TIM8"),
        (46, "TIM8"),
        (47, "DMA1"),
        (48, "FSMC"),
        (49, "SDIO"),
        (50, "TIM5"),
        (51, "SPI3"),
        (52, "UART4"),
        (53, "UART5"),
        (54, "TIM6/DAC"),
        (55, "TIM7"),
        (56, "DMA2"),
        (61, "ETH"),
        (63, "CAN2"),
        (67, "USB_OTG_FS"),
        (70, "DMA2"),
        (71, "USART6"),
        (72, "I2C3"),
        (77, "USB_OTG_HS"),
        (78, "DCMI"),
        (79, ""),
        (80, "RNG"),
    ];
    for (number, user) in expected {
        assert_eq!(users(number), user, "interrupt {number}");
    }
}

/// DS8626, pinouts: 140, 114, 82 and 51 general-purpose pins; DS10086 and DS10314: 50 and 36.
#[test]
fn packages_have_their_pins() {
    for (board, pins) in [
        ("stm32f407", 140),
        ("olimex-e407", 114),
        ("stm32f4-discovery", 82),
        ("netduinoplus2", 51),
        ("nucleo-f401re", 50),
        ("nucleo-f411re", 50),
        ("blackpill-f411", 36),
    ] {
        assert_eq!(Rig::builtin(board).bus.signals.pins().count(), pins, "{board}");
    }
}

/// What start-up code and libraries read of the part.
#[test]
fn identity_and_reset_state() {
    let mut rig = Rig::builtin("stm32f407");
    assert_eq!(rig.read32(0x1fff_7a20) >> 16, 1024, "flash size in KiB");
    assert_eq!(rig.read32(0xe004_2000) & 0xfff, 0x413, "RM0090 38.6.1");
    assert_eq!(rig.read32(0), 0xffff_ffff, "erased flash at 0");
    assert_eq!(rig.read32(RCC + 0x30), 0x0010_0000);
    assert_eq!((rig.bus.flash_state, rig.bus.clocks.core_hz()), ((0, false), 16_000_000));
    rig.write32(RCC + 0x30, 0x3f);
    assert_eq!(rig.read32(GPIOA), 0xa800_0000);
    assert_eq!((rig.read32(GPIOB), rig.read32(GPIOB + 0xc)), (0x280, 0x100));
    rig.write32(RCC + 0x44, 1 << 14);
    rig.write32(0x4001_3800, 3);
    rig.write32(RAM, 7);
    assert_eq!(rig.read32(0), 7, "SRAM at 0");
}

/// From the highest clock to the pin: what any serial console's first lines of firmware rely on.
#[test]
fn each_board_reaches_its_highest_clock_and_talks() {
    // M, N, P and the setting of APB1's divider, wait states.
    for (board, [m, n, p], apb1, wait_states) in [
        ("stm32f407", [8, 336, 2], 5, 5),
        ("olimex-e407", [12, 336, 2], 5, 5),
        ("stm32f4-discovery", [8, 336, 2], 5, 5),
        ("netduinoplus2", [25, 336, 2], 5, 5),
        ("nucleo-f401re", [8, 336, 4], 4, 2),
        ("nucleo-f411re", [8, 400, 4], 4, 3),
        ("blackpill-f411", [25, 400, 4], 4, 3),
    ] {
        let mut rig = Rig::builtin(board);
        rig.set_bits(RCC, 1 << 16);
        rig.advance(32_000);
        rig.write32(0x4002_3c00, 0x700 | wait_states);
        rig.write32(RCC + 4, 7 << 24 | 1 << 22 | (p / 2 - 1) << 16 | n << 6 | m);
        rig.set_bits(RCC, 1 << 24);
        rig.advance(16_000);
        rig.write32(RCC + 8, apb1 << 10 | 4 << 13 | 2);
        let hz = if p == 2 { 168_000_000 } else { n * 250_000 };
        assert_eq!(rig.bus.clocks.core_hz(), hz, "{board}");
        assert_eq!(rig.read32(RCC + 8) & 0xf, 0b1010, "{board}");
        // USART2 on PA2, 365 clocks of APB1 a bit.
        rig.write32(RCC + 0x30, 1);
        rig.write32(RCC + 0x40, 1 << 17);
        rig.write32(GPIOA + 0x20, 7 << 8);
        rig.set_bits(GPIOA, 2 << 4);
        rig.bus.outputs.record_edges = true;
        rig.write32(0x4000_4408, 365);
        rig.write32(0x4000_440c, 1 << 13 | 1 << 3);
        rig.write32(0x4000_4404, 0x55);
        rig.advance(168_000);
        let edges: Vec<u64> = rig.edges("PA2").iter().map(|e| e.0).collect();
        let bits: Vec<u64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(bits, [365 * (2 << (apb1 - 4)); 9], "{board}");
    }
}

/// What the later parts have of their own (RM0368, RM0383), and do not have.
#[test]
fn later_parts_differ_from_the_first() {
    for (board, id, ram, last, user) in [
        ("nucleo-f401re", 0x433, 0x1_8000, 84, "SPI4"),
        ("nucleo-f411re", 0x431, 0x2_0000, 85, "SPI5"),
        ("blackpill-f411", 0x431, 0x2_0000, 85, "SPI5"),
    ] {
        let mut rig = Rig::builtin(board);
        assert_eq!(rig.read32(0xe004_2000) & 0xfff, id, "{board}");
        assert_eq!(rig.read32(0x1fff_7a20) >> 16, 512, "{board}: flash size in KiB");
        rig.write32(RAM + ram - 4, 5);
        assert_eq!(rig.read32(RAM + ram - 4), 5, "{board}");
        assert!(rig.bus.place_of(RAM + ram).is_none(), "{board}");
        assert_eq!(rig.bus.irq_owners(last).unwrap_or_default(), user, "{board}");
        // DAC, CAN1, TIM7; the core's own memory.
        for absent in [0x4000_7400, 0x4000_6400, 0x4000_1400, 0x1000_0000] {
            assert!(rig.bus.place_of(absent).is_none(), "{board}: {absent:#x}");
        }
    }
}

/// RM0090 2.2 and figure 1: SRAM1 and SRAM2 are apart for the bus matrix, CCM is the core's own.
#[test]
fn memories_are_where_the_bus_matrix_has_them() {
    let mut rig = Rig::builtin("stm32f407");
    rig.write32(RCC + 0x30, 1 << 22);
    rig.write32(RAM, 0x1234_5678);
    let stream = |rig: &mut Rig, from: u32, to: u32| {
        rig.write32(0x4002_6408, 0x3d);
        rig.write32(0x4002_6414, 1);
        rig.write32(0x4002_6418, from);
        rig.write32(0x4002_641c, to);
        rig.write32(0x4002_6410, 1 | 2 << 6 | 2 << 11 | 2 << 13);
    };
    let start = rig.bus.now;
    stream(&mut rig, RAM, RAM + 0x1_c000);
    rig.run_to(start + 2);
    let waits = |rig: &Rig, at: u32| rig.bus.contention(at, rig.bus.now);
    assert_eq!((waits(&rig, RAM), waits(&rig, RAM + 0x1_c000)), (1, 0));
    rig.advance(50);
    assert_eq!(rig.read32(RAM + 0x1_c000), 0x1234_5678);
    stream(&mut rig, RAM, 0x1000_0000);
    rig.advance(50);
    assert_eq!(rig.read32(0x4002_6400), 1 << 3, "transfer error");
}

/// Unmodelled converters, clocks and buses must not hang the firmware that polls them.
#[test]
fn ready_flags_of_what_is_not_modelled() {
    let mut rig = Rig::builtin("stm32f407");
    rig.write32(RCC + 0x34, 0xf1);
    rig.write32(RCC + 0x40, u32::MAX);
    rig.write32(RCC + 0x44, u32::MAX);
    rig.write32(0x4001_2008, 1 << 30 | 1);
    assert_eq!((rig.read32(0x4001_2000) & 2, rig.read32(0x4001_2008)), (2, 1));
    rig.write32(0x4000_280c, 0x80);
    assert_eq!(rig.read32(0x4000_280c) & 0x40, 0x40);
    assert_eq!(rig.read32(0x4000_6404) & 3, 2, "asleep");
    rig.write32(0x4000_6400, 1);
    assert_eq!(rig.read32(0x4000_6404) & 3, 1, "initialisation");
    rig.write32(0x5000_0010, 0x31);
    assert_eq!(rig.read32(0x5000_0010), 1 << 31);
    rig.write32(RCC + 0x38, 1);
    rig.write32(0xa000_0000, 5);
    assert_eq!(rig.read32(0xa000_0000), 5, "outside the peripheral region, but a device");
}

#[test]
fn variants_differ_in_what_they_say_only() {
    let discovery = Board::builtin("stm32f4-discovery").unwrap();
    let pins: Vec<_> = discovery.pin_names().collect();
    assert_eq!(pins[..2], [("BUTTON", "PA0"), ("LD3", "PD13")]);
    let has = |board: &Board, name: &str| board.file.device.iter().any(|d| d.name == name);
    assert!(!has(&discovery, "ETH") && has(&discovery, "USART6"));
    let netduino = Board::builtin("netduinoplus2").unwrap();
    assert!(!has(&netduino, "DCMI") && has(&netduino, "RNG"));
    let olimex = Board::builtin("olimex-e407").unwrap();
    assert_eq!(olimex.file.device.len(), file().device.len());
    let unknown = "base = 'stm32f407'\nname = 'x'\npins = { LED = 'PZ1' }";
    let error = Board::parse(unknown).unwrap_err().to_string();
    assert!(error.contains("pins.LED: no port has a pin `PZ1`"), "{error}");
}
