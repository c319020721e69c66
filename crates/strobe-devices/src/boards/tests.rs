//! What board files may hold, and how they are refused.

use super::*;
use strobe_sim::cores::arm::timing::CoreKind;
use strobe_sim::kernel::bus::Slave;
use strobe_sim::kernel::device::Size;

const GOOD: &str = "
name = 'test'
description = 'a test board'
clock_hz = 8_000_000

[core]
model = 'cortex-m0plus'
multiplier_cycles = 32
irq_lines = 8
cpuid = 0x410c_c601
vtor_mask = 0xffff_ff00
io_port = [{ base = 0x4800_0000, size = 0x1000 }]

[[memory]]
name = 'flash'
kind = 'flash'
base = 0x0800_0000
size = 0x100
alias = 0
contents = [{ address = 0x0800_0010, words = [0x1234_5678, 9] }]

[[memory]]
name = 'ram'
kind = 'ram'
base = 0x2000_0000
size = 0x100

[[flash.timing]]
wait_states = 0
origin = 'o'
why = 'w'

[bus]
apb_wait = { low = 0, likely = 1, high = 2 }

[[device]]
name = 'ID'
model = 'registers'
base = 0x4001_5800
size = 0x400
bus = 'apb'
irq = [3]
gate = { register = 0x18, bit = 22 }
gate_name = 'RCC_APB2ENR.DBGMCUEN'
options.register = [{ offset = 0, reset = 7 }]

[[ready]]
address = 0x4000_5400
bit = 17
follows = 16

[[reset_value]]
address = 0x4000_5404
value = 0x55
";

/// The good board with one text replaced by another.
fn changed(from: &str, to: &str) -> Result<Board, BoardError> {
    assert!(GOOD.contains(from), "`{from}` is in the board");
    Board::parse(&GOOD.replacen(from, to, 1))
}

#[test]
fn a_board_becomes_a_bus() {
    let board = Board::parse(GOOD).unwrap();
    assert_eq!((board.name(), board.clock_hz()), ("test", 8_000_000));
    let core = board.arm_core().unwrap();
    assert_eq!(core.timing.kind, CoreKind::CortexM0plus);
    assert_eq!(core.systick_calibration, 1 << 31);
    let mut bus = board.build().unwrap();
    assert_eq!(bus.read(0x10, Size::Word).unwrap(), 0x1234_5678, "contents, through the alias");
    assert_eq!(bus.read(0x0800_0014, Size::Word).unwrap(), 9);
    assert_eq!(bus.read(0x4001_5800, Size::Word).unwrap(), 0, "its clock is off");
    assert_eq!(bus.unclocked().next().unwrap().enable, "RCC_APB2ENR.DBGMCUEN");
    bus.write(0x4000_5400, Size::Word, 1 << 16).unwrap();
    assert_eq!(bus.read(0x4000_5400, Size::Word).unwrap(), 3 << 16);
    assert_eq!(bus.read(0x4000_5404, Size::Word).unwrap(), 0x55);
    assert_eq!(bus.slave_of(0x4001_5800), Slave::Apb);
    assert_eq!(bus.place_of(0x4001_5804), Some(("ID", 4)));
    assert_eq!(bus.irq_owners(3).as_deref(), Some("ID"));
}

#[test]
fn unknown_keys_and_wrong_types_name_the_line() {
    for (from, to, expected) in [
        ("multiplier_cycles", "multiplyer_cycles", "unknown field `multiplyer_cycles`"),
        ("'cortex-m0plus'", "'cortex-m9'", "expected one of `cortex-m0`, `cortex-m0plus`"),
        ("kind = 'ram'", "kind = 'rom'", "expected `flash` or `ram`"),
        ("irq = [3]", "irq = ['three']", "invalid type"),
        ("bus = 'apb'", "bus = 'ahb2'", "expected one of `ahb`, `apb`, `apb2`"),
        ("bit = 17", "", "missing field `bit`"),
        ("clock_hz = 8_000_000", "clock_hz = -1", "expected u32"),
        ("[core]", "[core", "TOML parse error"),
    ] {
        let error = changed(from, to).unwrap_err();
        let BoardError::Syntax(text) = &error else { panic!("{error}") };
        assert!(text.contains(expected), "{from} -> {to}: {text}");
        assert!(text.contains("line "), "{text}");
    }
}

#[test]
fn values_that_cannot_be_are_refused() {
    for (from, to, expected) in [
        ("clock_hz = 8_000_000", "clock_hz = 0", "clock_hz: must be more than 0"),
        ("= 32", "= 2", "core.multiplier_cycles: must be 1 or"),
        ("irq_lines = 8", "irq_lines = 33", "core.irq_lines: at most 32"),
        ("irq_lines = 8", "irq_lines = 8\npriority_bits = 4", "core.priority_bits: must be 3 to 8"),
        ("'cortex-m0plus'", "'cortex-m3'", "core.multiplier_cycles: must be 1 or"),
        ("'cortex-m0plus'", "'cortex-m0'", "core.model: a cortex-m0 has neither"),
        ("size = 0x1000 }", "size = 0 }", "core.io_port: size must be at least 1"),
        ("irq = [3]", "irq = [8]", "device ID: irq: 8 is not below core.irq_lines = 8"),
        ("bit = 22", "bit = 32", "device ID: gate: bit is 0 to 31"),
        ("model = 'registers'", "model = 'uart'", "device ID: model: no model `uart`; there are"),
        ("offset = 0", "offset = 2", "register.offset 0x2 is not a multiple of 4"),
        ("reset = 7", "resets = 7", "device ID: options: unknown field `resets`"),
        ("0x0800_0010,", "0x0800_00fc,", "memory flash: contents: 0x80000fc..0x8000104"),
        ("base = 0x2000_0000", "base = 0x0800_0080", "flash: overlaps ram at 0x08000080"),
        ("size = 0x100\nalias", "size = 0x4000_0000\nalias", "may have 256 MiB"),
        ("kind = 'ram'", "kind = 'flash'", "memory: needs at least one"),
        ("bit = 17", "bit = 77", "ready at 0x40005400: bit and follows"),
        ("follows = 16", "", "either follows = a bit number or reads = 0 or 1"),
        ("follows = 16", "reads = 1\nof = 0x4000_5408", "of is the register of the bit in follows"),
        ("0x4000_5404", "0x4000_5405", "register 0x40005405: the address must be a multiple of 4"),
        ("likely = 1, high = 2", "likely = 3, high = 2", "bus.apb_wait: needs low <= likely"),
        ("why = 'w'", "why = 'w'\ndata_read = { low = 0, likely = 0.3, high = 1 }", "data_read"),
        ("[bus]", "[[flash.timing]]\nwait_states = 0\norigin = ''\nwhy = ''\n[bus]", "given twice"),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(matches!(error, BoardError::Value { .. }), "{from} -> {to}: {error}");
        assert!(error.to_string().contains(expected), "{from} -> {to}: {error}");
    }
}

#[test]
fn late_answering_ram_is_one_bank_beside_large_cores() {
    let m3 = GOOD.replacen(
        "'cortex-m0plus'\nmultiplier_cycles = 32",
        "'cortex-m3'\npriority_bits = 3",
        1,
    );
    let m3 = m3.replacen("io_port = [{ base = 0x4800_0000, size = 0x1000 }]", "", 1);
    let with = |text: &str, from: &str, banks: &str| {
        Board::parse(&text.replacen(from, &format!("{from}\nbanks = {banks}"), 1))
    };
    let ram = "base = 0x2000_0000\nsize = 0x100";
    let banks = "[{ from = 0x2000_0040, first_wait = 2 }, 0x2000_0080]";
    let bus = with(&m3, ram, banks).unwrap().build().unwrap();
    assert_eq!((bus.first_wait.start, bus.first_wait.length), (0x2000_0040, 0x40));
    assert_eq!(bus.first_wait.cycles, 2);
    let one = "[{ from = 0x2000_0040, first_wait = 1 }]";
    let two = "[{ from = 0x2000_0040, first_wait = 1 }, { from = 0x2000_0080, first_wait = 1 }]";
    let flash = "base = 0x0800_0000\nsize = 0x100";
    for (error, expected) in [
        (with(&m3, ram, "[{ from = 0x2000_0040, first_wait = 0 }]"), "needs 1 to 8 cycles"),
        (with(&m3, ram, two), "only one bank"),
        (with(&m3, flash, &one.replace("0x2000", "0x0800")), "is for RAM beside"),
        (with(GOOD, ram, one), "is for RAM beside"),
        (with(&m3, ram, "[{ from = 0x2000_0100, first_wait = 1 }]"), "begin inside"),
        (with(&m3, ram, "[{ from = 0x2000_0040 }]"), "or a table with `from` and `first_wait`"),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_unknown_board_lists_the_known_ones() {
    let error = Board::builtin("stm32f4").unwrap_err().to_string();
    let known: Vec<&str> = Board::builtin_names().collect();
    assert!(known.contains(&"cortex-m0"), "{known:?}");
    assert!(error.contains(&known.join(", ")), "{error}");
}

#[test]
fn built_in_boards_build_under_their_names() {
    for name in Board::builtin_names() {
        let board = Board::builtin(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(board.name(), name);
    }
}

#[test]
fn the_generic_boards_run_images_linked_at_zero() {
    for name in ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m4f"] {
        let mut bus = Board::builtin(name).unwrap().build().unwrap();
        bus.load(0, &[1, 2, 3, 4]).unwrap();
        assert_eq!(bus.peek(0, Size::Word), Some(0x0403_0201));
        // Whole words alone, through aliases as well, and none beyond the memory.
        assert_eq!(bus.peek_words(0..7).collect::<Vec<_>>(), [0x0403_0201]);
        let end = bus.flash.base + bus.flash.data.len() as u32;
        assert_eq!(bus.peek_words(end - 4..end + 8).count(), 1);
        assert_eq!(bus.peek_words(end..u32::MAX).count(), 0);
        assert!(bus.flash_interface.timing.is_zero());
        bus.write(0x2000_0000, Size::Word, 5).unwrap();
    }
}
