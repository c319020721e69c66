//! Interrupt latency (16 cycles on the M0, 15 on the M0+), tail-chaining and late arrival.

use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::CoreKind;
use strobe_sim::observe::{Observer, Transfer, TransferKind};

use super::{handler, machine, run};

/// Keeps every exception entry and return.
#[derive(Default)]
struct Exceptions(Vec<Transfer>);

impl Observer for Exceptions {
    const FLOW: bool = true;
    fn transfer(&mut self, transfer: &Transfer, _: &Bus) {
        if let TransferKind::ExceptionEntry { .. } | TransferKind::ExceptionReturn { .. } =
            transfer.kind
        {
            self.0.push(*transfer);
        }
    }
}

/// (exception, latency, the handler that ended just before) of each entry.
fn entries(kind: CoreKind, code: &[u16], cycles: u64) -> Vec<(u16, u64, Option<u16>)> {
    let mut machine = machine(kind, code, Exceptions::default());
    run(&mut machine, cycles);
    let entry = |t: &Transfer| match t.kind {
        TransferKind::ExceptionEntry { exception, pended_at, after, .. } => {
            assert_eq!(t.to, handler(exception.into()), "the handler's first instruction");
            Some((exception, t.now - pended_at, after))
        }
        _ => None,
    };
    machine.observer.0.iter().filter_map(entry).collect()
}

/// SysTick every 101 cycles from 0x10c on, then `rest` from 0x10e.
fn with_systick(rest: &[u16]) -> Vec<u16> {
    // ldr r0, =SYST_CSR; movs r1, #100; str r1, [r0, #4]; movs r2, #0; str r2, [r0, #8];
    // movs r2, #7; str r2, [r0]
    let mut code = vec![0x4806, 0x2164, 0x6041, 0x2200, 0x6082, 0x2207, 0x6002];
    code.extend(rest);
    code.resize(14, 0xbf00);
    code.extend([0xe010, 0xe000]);
    code
}

#[test]
fn idle_core_enters_handlers_in_the_documented_time() {
    // wfi; b .-2
    let code = with_systick(&[0xbf30, 0xe7fd]);
    for (kind, latency) in [(CoreKind::CortexM0, 16), (CoreKind::CortexM0plus, 15)] {
        let seen = entries(kind, &code, 10_000);
        assert!(seen.len() > 90, "{seen:?}");
        assert!(seen.iter().all(|e| *e == (15, latency, None)), "{kind:?}: {seen:?}");
    }
}

/// Six NOPs and a branch: an interrupt waits for the branch to finish if it comes during it.
#[test]
fn a_running_core_finishes_its_instruction_first() {
    let code = with_systick(&[0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xbf00, 0xe7f8]);
    for (kind, latency, branch) in [(CoreKind::CortexM0, 16, 3), (CoreKind::CortexM0plus, 15, 2)] {
        let seen: Vec<u64> = entries(kind, &code, 50_000).iter().map(|e| e.1).collect();
        assert_eq!(seen.iter().min(), Some(&latency));
        assert_eq!(seen.iter().max(), Some(&(latency + branch - 1)));
    }
}

#[test]
fn svc_enters_like_an_interrupt() {
    assert_eq!(entries(CoreKind::CortexM0, &[0xdf00], 100), [(11, 16, None)]);
    assert_eq!(entries(CoreKind::CortexM0plus, &[0xdf00], 100), [(11, 15, None)]);
}

/// Both pend at once: the second handler follows the first without unstacking.
#[test]
fn a_second_pending_exception_is_tail_chained() {
    // ldr r0, =ICSR; ldr r1, =PENDSVSET|PENDSTSET; str r1, [r0]; b .; pool
    let code = [0x4801, 0x4902, 0x6001, 0xe7fe, 0xed04, 0xe000, 0x0000, 0x1400];
    let seen = entries(CoreKind::CortexM0, &code, 200);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0], (14, 16, None), "the lower number goes first at equal priority");
    // First handler: nop 1, bx 3; then the modelled tail-chain of 4 to 8 cycles.
    let (exception, latency, after) = seen[1];
    assert_eq!((exception, after), (15, Some(14)));
    assert!((16 + 4 + 4..=16 + 4 + 8).contains(&latency), "{latency}");
}

/// SysTick becomes pending while PendSV's frame is being stacked, and has the better priority.
#[test]
fn a_late_arrival_goes_first() {
    // str r5, [r6] (PendSV lowest); str r1, [r0, #4] (reload); str r7, [r0, #8] (counter);
    // str r2, [r0] (SysTick on); str r3, [r4] (pend PendSV)
    let code = [0x6035, 0x6041, 0x6087, 0x6002, 0x6023];
    let mut machine = machine(CoreKind::CortexM0, &code, Exceptions::default());
    machine.cpu.r[..8].copy_from_slice(&[
        0xe000_e010,
        9,
        7,
        1 << 28,
        0xe000_ed04,
        0xc0 << 16,
        0xe000_ed20,
        0,
    ]);
    run(&mut machine, 60);
    let order: Vec<(u16, Option<u16>)> = machine
        .observer
        .0
        .iter()
        .filter_map(|t| match t.kind {
            TransferKind::ExceptionEntry { exception, after, .. } => Some((exception, after)),
            _ => None,
        })
        .collect();
    assert_eq!(order[..2], [(15, None), (14, Some(15))], "{order:?}");
}
