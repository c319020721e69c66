//! Registers of the system control space, read and written.

use super::*;
use crate::cores::arm::timing::{CoreKind, Timing};
use crate::kernel::device::Reading;

const SOMEBODY: Caller = Caller { ipsr: 0, masked: 256 };

fn system(kind: CoreKind) -> System {
    System::new(&CoreOptions {
        timing: Timing::new(kind),
        irq_lines: 240,
        priority_bits: 4,
        mpu_regions: 8,
        cpuid: 0x410f_c241,
        systick_reference_divider: 0,
        systick_calibration: 0,
        vtor_mask: 0xffff_ff80,
        vectors: 0,
        bit_band: false,
        trace_gate: None,
    })
}

fn read(system: &mut System, offset: u32) -> u32 {
    system.read(0xe000_e000 + offset, Size::Word, 0, SOMEBODY)
}

fn write(system: &mut System, offset: u32, value: u32) {
    system.write(0xe000_e000 + offset, Size::Word, value, 0);
}

#[test]
fn priorities_are_bytes_in_words() {
    let mut system = system(CoreKind::CortexM4f);
    write(&mut system, 0x4ec, 0x1234_5678);
    assert_eq!(read(&mut system, 0x4ec), 0x1030_5070);
    assert_eq!(system.nvic.priority_of(255), 0x10);
    system.write(0xe000_ed23, Size::Byte, 0xf0, 0);
    system.write(0xe000_ed1a, Size::Byte, 0x20, 0);
    assert_eq!(read(&mut system, 0xd20), 0xf000_0000);
    assert_eq!(read(&mut system, 0xd18), 0x0020_0000);
    assert_eq!(system.nvic.priority_of(number::SYSTICK), 0xf0);
    assert_eq!(system.nvic.priority_of(number::USAGE_FAULT), 0x20);
}

#[test]
fn shcsr_shows_and_sets_what_exceptions_are() {
    let mut system = system(CoreKind::CortexM3);
    system.nvic.activate(number::SVCALL);
    write(&mut system, 0xd24, 7 << 16 | 1 << 7 | 1 << 13);
    assert!(system.nvic.enabled.contains(number::USAGE_FAULT));
    assert_eq!(system.nvic.best_pending(), Some((number::MEM_MANAGE, 0)));
    assert_eq!(read(&mut system, 0xd24), 7 << 16 | 1 << 7 | 1 << 13);
    write(&mut system, 0xd24, 1 << 10);
    assert_eq!(system.nvic.best_pending(), None);
    assert!(system.nvic.active.contains(number::PENDSV));
    assert!(!system.nvic.active.contains(number::SVCALL));
}

#[test]
fn status_is_cleared_by_ones() {
    let mut system = system(CoreKind::CortexM3);
    system.status.cfsr = cfsr::DIVBYZERO | cfsr::PRECISERR | cfsr::BFARVALID;
    system.write(0xe000_ed29, Size::Byte, 0x82, 0);
    assert_eq!(read(&mut system, 0xd28), cfsr::DIVBYZERO);
    system.write(0xe000_ed2a, Size::Half, 0x0200, 0);
    assert_eq!(read(&mut system, 0xd28), 0);
}

#[test]
fn icsr_shows_active_and_pending() {
    let mut system = system(CoreKind::CortexM4);
    system.nvic.activate(60);
    write(&mut system, 0x104, u32::MAX);
    write(&mut system, 0xf00, 33);
    let base = read(&mut system, 0xd04);
    assert_eq!(base, 1 << 22 | 49 << 12 | 1 << 11);
    system.nvic.activate(number::PENDSV);
    let caller = Caller { ipsr: 14, masked: 0 };
    let nested = system.read(0xe000_ed04, Size::Word, 0, caller);
    assert_eq!(nested, 1 << 22 | 14, "BASEPRI masks what is pending");
}

#[test]
fn aircr_wants_its_key() {
    let mut system = system(CoreKind::CortexM4);
    write(&mut system, 0xd0c, 0x0000_0304);
    assert_eq!((system.nvic.group, system.reset_requested), (0, None));
    write(&mut system, 0xd0c, 0x05fa_0301);
    assert_eq!(read(&mut system, 0xd0c), 0xfa05_0300);
    assert_eq!(system.reset_requested, Some(ResetRequest::Core));
    write(&mut system, 0xd0c, 0x05fa_0004);
    assert_eq!(system.reset_requested, Some(ResetRequest::System), "the whole chip is more");
}

#[test]
fn a_core_without_the_unit_has_no_fp_registers() {
    let (mut m4, mut m4f) = (system(CoreKind::CortexM4), system(CoreKind::CortexM4f));
    for system in [&mut m4, &mut m4f] {
        write(system, 0xd88, u32::MAX);
        write(system, 0xf3c, u32::MAX);
    }
    let seen = |s: &mut System| [0xd88, 0xf34, 0xf3c, 0xf40].map(|offset| read(s, offset));
    assert_eq!(seen(&mut m4), [0; 4]);
    assert_eq!(seen(&mut m4f), [0x00f0_0000, 0xc000_0000, 0x07c0_0000, 0x1011_0021]);
}

/// Nothing of ARMv7-M shows on a Cortex-M0+.
#[test]
fn armv6m_has_none_of_it() {
    let mut system = system(CoreKind::CortexM0plus);
    for offset in (0xd18..0xe00).step_by(4).filter(|o| ![0xd1c, 0xd20].contains(o)) {
        write(&mut system, offset, u32::MAX);
        assert_eq!(read(&mut system, offset), 0, "{offset:#x}");
    }
    write(&mut system, 0xd0c, 0x05fa_0701);
    assert_eq!(read(&mut system, 0xd0c), 0xfa05_0000);
    assert_eq!(system.reset_requested, None);
    write(&mut system, 0xd14, 0);
    assert_eq!(read(&mut system, 0xd14), 0x208);
}

#[test]
fn lost_store_is_a_delayed_bus_fault() {
    for enabled in [false, true] {
        let mut system = system(CoreKind::CortexM3);
        write(&mut system, 0xd24, u32::from(enabled) << 17);
        let store = LostStore { address: 0x3000_0000, size: Size::Word, pc: 8, due: 100 };
        system.lost_store = Some(store);
        assert_eq!(system.due(), 100);
        system.tick(99);
        assert_eq!(system.nvic.best_pending(), None);
        system.tick(100);
        assert_eq!(system.status.cfsr, cfsr::IMPRECISERR);
        let exception = if enabled { number::BUS_FAULT } else { number::HARD_FAULT };
        assert_eq!(system.nvic.best_pending().map(|b| b.0), Some(exception));
        assert_eq!(system.status.hfsr, if enabled { 0 } else { hfsr::FORCED });
        assert_eq!((system.due(), system.imprecise), (u64::MAX, Some(store)));
    }
}

/// SYST_CSR and SYST_CVR with a reload value and a clock, at every cycle of several periods.
fn check_systick(reload: u32, reference: bool) {
    let mut system = system(CoreKind::CortexM4f);
    system.systick.reference_divider = 8;
    write(&mut system, 0x14, reload);
    write(&mut system, 0x10, if reference { 1 } else { 5 });
    for now in 0..200 {
        for offset in [0x10, 0x14, 0x18] {
            let at = 0xe000_e000 + offset;
            let value = system.read(at, Size::Word, now, SOMEBODY);
            let reading = system.reading(at, Size::Word);
            for later in now..now + 100 {
                let seen = system.clone().read(at, Size::Word, later, SOMEBODY);
                let stated = reading.value_at(value, later);
                assert!(stated.is_none_or(|s| s == seen), "{offset:#x} at {now} and {later}");
            }
        }
    }
}

#[test]
fn readings_of_systick_hold() {
    for reload in [0, 1, 2, 7, 30] {
        check_systick(reload, false);
        check_systick(reload, true);
    }
}

#[test]
fn flag_of_systick_is_unknown_where_it_was_taken() {
    let mut system = system(CoreKind::CortexM4f);
    write(&mut system, 0x14, 9);
    write(&mut system, 0x10, 5);
    let csr = 0xe000_e010;
    assert_eq!(system.read(csr, Size::Word, 25, SOMEBODY), 0x1_0005);
    assert_eq!(system.reading(csr, Size::Word), Reading::Unknown);
    assert_eq!(system.read(csr, Size::Word, 25, SOMEBODY), 5);
    assert_eq!(system.reading(csr, Size::Word), Reading::Steady { until: 30 });
}
