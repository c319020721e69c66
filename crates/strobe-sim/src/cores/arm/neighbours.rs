//! What instructions of a Cortex-M3 or M4 cost one after the other: loads and stores that pair,
//! addresses that are not ready, IT that folds, fetches that fall behind, integer code under a
//! division.
//!
//! The manuals (DDI 0337 and DDI 0439, "load/store timings") give the rules in words; what they
//! leave open follows measurements on STM32F103 and STM32F407 that others have published, each
//! named at its rule. Which memory a load meets is not known here: loads from different memories
//! pair here and do not on silicon.

use super::timing::{CoreKind, Cost};
use strobe_isa::thumb::insn::{Insn, NO_REG, Reg};
use strobe_isa::thumb::op::Index;

/// An instruction in a straight run of code.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// The instruction.
    pub insn: Insn,
    /// Its address.
    pub address: u32,
    /// Bytes.
    pub size: u32,
    /// It executes under a condition of an IT block.
    pub conditional: bool,
}

impl Placed {
    /// Two words of flash or RAM hold it.
    fn straddles(&self) -> bool {
        self.size == 4 && self.address & 2 != 0
    }
}

/// What an instruction is to its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A load of one register.
    Load {
        t: Reg,
        index: Index,
        base: Reg,
    },
    /// A store of one register at an immediate offset: behind the write buffer.
    Store {
        index: Index,
        base: Reg,
    },
    /// A store of one register at a register offset.
    StoreRegister,
    /// Loads of several registers.
    LoadMany,
    Other,
}

fn role(insn: Insn) -> Role {
    use Insn::*;
    let offset = |t, base| Role::Load { t, index: Index::Offset, base };
    match insn {
        LdrLit { t, .. } | LoadAt { t, .. } => offset(t, NO_REG),
        LdrReg { t, n, .. } | LdrhReg { t, n, .. } | LdrbReg { t, n, .. } => offset(t, n),
        LdrshReg { t, n, .. } | LdrsbReg { t, n, .. } => offset(t, n),
        LdrImm { t, n, .. } | LdrhImm { t, n, .. } | LdrbImm { t, n, .. } => offset(t, n),
        LoadReg { t, n, .. } => offset(t, n),
        Load { t, n, index, .. } => Role::Load { t, index, base: n },
        StrImm { n, .. } | StrhImm { n, .. } | StrbImm { n, .. } => {
            Role::Store { index: Index::Offset, base: n }
        }
        Store { n, index, .. } => Role::Store { index, base: n },
        StrReg { .. } | StrhReg { .. } | StrbReg { .. } | StoreReg { .. } => Role::StoreRegister,
        Ldm { .. } | Pop { .. } | LoadMultiple { .. } => Role::LoadMany,
        _ => Role::Other,
    }
}

/// The registers that an access computes its address from.
pub(super) fn address_registers(insn: Insn) -> [Reg; 2] {
    use Insn::*;
    match insn {
        LdrReg { n, m, .. } | LdrhReg { n, m, .. } | LdrbReg { n, m, .. } => [n, m],
        LdrshReg { n, m, .. } | LdrsbReg { n, m, .. } | LoadReg { n, m, .. } => [n, m],
        StrReg { n, m, .. } | StrhReg { n, m, .. } | StrbReg { n, m, .. } => [n, m],
        StoreReg { n, m, .. } => [n, m],
        LdrImm { n, .. } | LdrhImm { n, .. } | LdrbImm { n, .. } | Load { n, .. } => [n, NO_REG],
        StrImm { n, .. } | StrhImm { n, .. } | StrbImm { n, .. } | Store { n, .. } => [n, NO_REG],
        LoadDual { n, .. } | StoreDual { n, .. } => [n, NO_REG],
        Ldm { n, .. } | Stm { n, .. } => [n, NO_REG],
        LoadMultiple { n, .. } | StoreMultiple { n, .. } => [n, NO_REG],
        FpLoad { n, .. } | FpStore { n, .. } => [n, NO_REG],
        FpLoadMultiple { n, .. } | FpStoreMultiple { n, .. } => [n, NO_REG],
        _ => [NO_REG; 2],
    }
}

/// The register that a data-processing instruction writes, or a move of one register from the
/// floating-point unit.
pub(super) fn result(insn: Insn) -> Reg {
    use Insn::*;
    match insn {
        LslImm { d, .. } | LsrImm { d, .. } | AsrImm { d, .. } | MovImm { d, .. } => d,
        AddReg { d, .. } | SubReg { d, .. } | AddImm { d, .. } | SubImm { d, .. } => d,
        And { d, .. } | Eor { d, .. } | Orr { d, .. } | Bic { d, .. } | Mvn { d, .. } => d,
        LslReg { d, .. } | LsrReg { d, .. } | AsrReg { d, .. } | RorReg { d, .. } => d,
        Adc { d, .. } | Sbc { d, .. } | Rsb { d, .. } | Mul { d, .. } => d,
        AddHi { d, .. } | MovHi { d, .. } | AddConst { d, .. } | MovConst { d, .. } => d,
        AddSpImm { d, .. } => d,
        AdjustSp { .. } => 13,
        Sxth { d, .. } | Sxtb { d, .. } | Uxth { d, .. } | Uxtb { d, .. } => d,
        Rev { d, .. } | Rev16 { d, .. } | Revsh { d, .. } | Rbit { d, .. } | Clz { d, .. } => d,
        DataImm { d, .. } | DataImmS { d, .. } | DataImmSc { d, .. } | DataReg { d, .. } => d,
        ShiftReg { d, .. } | Movt { d, .. } | Bfi { d, .. } | Ubfx { d, .. } | Sbfx { d, .. } => d,
        Extend { d, .. } | Mla { d, .. } | Mls { d, .. } | Ssat { d, .. } | Usat { d, .. } => d,
        Smla { d, .. } | Smlaw { d, .. } | Smlad { d, .. } | Smmla { d, .. } => d,
        Pkh { d, .. } | Parallel { d, .. } | Saturating { d, .. } | Sel { d, .. } => d,
        Ssat16 { d, .. } | Usat16 { d, .. } | Usada8 { d, .. } => d,
        FpToCore { t, .. } => t,
        _ => NO_REG,
    }
}

/// Costs of a straight run of code that begins behind a change of flow.
pub(super) fn costs(kind: CoreKind, code: &[Placed], alone: impl Fn(Insn) -> Cost) -> Vec<Cost> {
    let mut costs: Vec<Cost> = code.iter().map(|p| alone(p.insn)).collect();
    for at in 1..code.len() {
        beside(kind, code[at - 1], code[at], &mut costs[at]);
        costs[at].execute += u8::from(moves_base_late(kind, code[at - 1], code[at]));
        if takes_the_loads_wait(kind, code[at - 1], code[at]) {
            let is_load = |&i: &usize| matches!(role(code[i].insn), Role::Load { .. });
            let waits = (0..at).rev().take_while(is_load).find(|&i| costs[i].load_store > 0);
            waits.into_iter().for_each(|i| costs[i].load_store -= 1);
        }
    }
    under_divisions(code, &mut costs);
    fetches(code, &mut costs);
    costs
}

/// Waits for the fetch unit: while an instruction of several cycles executes, its buffer of three
/// words fills and it stops. Of three 32-bit instructions right behind that straddle words, the
/// third needs the first word that is asked for afterwards, and that comes a cycle late, unless the
/// two before it give it time (measured on M4 by others: eprint.iacr.org/2025/523). Published
/// cycles of whole functions show the same behind a store of one register, which goes on behind its
/// one cycle. Where the first instruction straddles words itself, they show the wait behind LDRD
/// and STRD, and none behind others.
fn fetches(code: &[Placed], costs: &mut [Cost]) {
    use Insn::{LoadDual, StoreDual};
    for at in 3..code.len() {
        let first = code[at - 3];
        let dual = matches!(first.insn, LoadDual { .. } | StoreDual { .. });
        let goes_on = is_single_store(first.insn) || costs[at - 3].straight() > 1;
        let stopped = goes_on && (dual || !first.straddles());
        let at_once = costs[at - 2..at].iter().all(|cost| cost.straight() == 1);
        if stopped && at_once && code[at - 2..=at].iter().all(Placed::straddles) {
            costs[at].fetch += 1;
        }
    }
}

/// A store of one register at an immediate offset.
fn is_single_store(insn: Insn) -> bool {
    matches!(role(insn), Role::Store { .. })
}

/// Whether a store at an immediate offset goes on while the load before it, or the row of them that
/// it ends, waits for its data (measured on M3 and M4: github.com/jnk0le/random; the manuals give
/// three cycles for the two).
fn takes_the_loads_wait(kind: CoreKind, before: Placed, here: Placed) -> bool {
    let Role::Load { t, .. } = role(before.insn) else { return false };
    matches!(role(here.insn), Role::Store { .. })
        && !(before.conditional || here.conditional)
        && !address_registers(here.insn).contains(&t)
        && pairs(kind, before, here)
}

/// Whether a store that moves its base takes a second cycle for that: behind another that moves the
/// same, and on an M3 behind a load (measured: github.com/jnk0le/random).
fn moves_base_late(kind: CoreKind, before: Placed, here: Placed) -> bool {
    let moved = |role: Role| match role {
        Role::Store { index, base } => (index != Index::Offset).then_some(base),
        _ => None,
    };
    let Some(base) = moved(role(here.insn)) else { return false };
    let behind_load = matches!(role(before.insn), Role::Load { .. });
    moved(role(before.insn)) == Some(base) || kind == CoreKind::CortexM3 && behind_load
}

/// Changes an instruction's cost by the one before it.
fn beside(kind: CoreKind, before: Placed, here: Placed, cost: &mut Cost) {
    let role_before = role(before.insn);
    match (role_before, here.insn) {
        // Folded into a 16-bit instruction before it.
        (_, Insn::It { .. }) if before.size == 2 && !before.insn.ends_block() => cost.execute = 0,
        // Hidden in the second cycle of a load, or of a store at a register offset (measured).
        (Role::Load { .. } | Role::StoreRegister, Insn::Nop) if !here.conditional => {
            cost.execute = 0;
        }
        _ => {}
    }
    let needs = |r: Reg| r != NO_REG && address_registers(here.insn).contains(&r);
    if needs(result(before.insn)) {
        // Addresses are computed a cycle before the result is there.
        cost.execute += 1;
    }
    match role(here.insn) {
        Role::Load { .. } | Role::StoreRegister | Role::LoadMany
            if follows_load(kind, before, here) =>
        {
            // Its address phase is the other's data phase.
            cost.load_store -= 1;
        }
        Role::Load { .. } | Role::LoadMany if matches!(role_before, Role::Store { .. }) => {
            // The write buffer has the bus.
            cost.load_store += 1;
        }
        _ => {}
    }
}

/// Whether the first of two neighbours is a load whose data phase a transfer of the second takes
/// for its address.
fn follows_load(kind: CoreKind, before: Placed, here: Placed) -> bool {
    let Role::Load { t, .. } = role(before.insn) else { return false };
    before.conditional == here.conditional
        && !address_registers(here.insn).contains(&t)
        && pairs(kind, before, here)
}

/// What the transfer before has left, where a memory makes its first word wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Nothing that the next one follows without a gap.
    Ended,
    /// A store that waits in the write buffer.
    Buffered,
    /// A store on a bus that is the core's.
    Stored,
}

/// Which instructions of a straight run wait for the first word of what they access, where a memory
/// makes it (`first_wait` in the board file). Of transfers that follow each other on the bus
/// without a gap the first one waits: of loads whose address phases overlap, of stores in a row,
/// and of what comes right behind them. A store of one register does not wait itself, since the
/// write buffer has it, and its wait is that of a transfer right behind it.
pub(super) fn first_waits(kind: CoreKind, code: &[Placed]) -> Vec<bool> {
    let mut row = Row::Ended;
    let mut waits = Vec::with_capacity(code.len());
    for (at, &here) in code.iter().enumerate() {
        let behind_load = |overlaps: fn(CoreKind, Placed, Placed) -> bool| {
            at > 0 && overlaps(kind, code[at - 1], here)
        };
        let (wait, next) = match role(here.insn) {
            Role::Store { .. } if here.conditional => (false, Row::Ended),
            Role::Store { .. } if behind_load(takes_the_loads_wait) => (false, Row::Stored),
            Role::Store { .. } if row == Row::Ended => (false, Row::Buffered),
            Role::Store { .. } => (row == Row::Buffered, Row::Stored),
            Role::StoreRegister => (row == Row::Buffered, Row::Ended),
            Role::Load { .. } | Role::LoadMany if behind_load(follows_load) => (false, Row::Ended),
            _ => (row != Row::Stored && loads_first(here.insn), Row::Ended),
        };
        waits.push(wait);
        row = next;
    }
    waits
}

/// Whether an instruction that begins a row of transfers waits for its first word.
fn loads_first(insn: Insn) -> bool {
    use Insn::*;
    match insn {
        Stm { .. } | Push { .. } | StoreMultiple { .. } | StoreDual { .. } => true,
        FpStoreMultiple { .. } => true,
        FpStore { count, .. } => count > 1,
        LoadDual { .. } | LoadDualAt { .. } | FpLoad { .. } | FpLoadMultiple { .. } => true,
        PopPc { .. } | LoadMultiplePc { .. } => true,
        LoadPc { .. } | LoadPcReg { .. } | TableBranch { .. } | LoadExclusive { .. } => true,
        LdrLit { .. } | LoadAt { .. } => false,
        _ => matches!(role(insn), Role::Load { .. } | Role::LoadMany),
    }
}

/// Whether the forms of two transfers, the first of them a load, let them overlap.
fn pairs(kind: CoreKind, first: Placed, second: Placed) -> bool {
    // 32-bit loads that straddle words come too late (measured).
    if second.straddles() && matches!(role(second.insn), Role::Load { .. }) {
        return false;
    }
    let moves = |r: Role| match r {
        Role::Load { index, base, .. } | Role::Store { index, base } => {
            (index != Index::Offset).then_some(base)
        }
        _ => None,
    };
    match (moves(role(first.insn)), moves(role(second.insn))) {
        (_, None) => true,
        // On the M3 only the first of a chain may move its base; on the M4 neighbours must move
        // others (measured).
        (_, Some(_)) if kind == CoreKind::CortexM3 => false,
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a != b,
    }
}

/// VDIV and VSQRT run on beside integer code until the next floating-point instruction (DDI 0439,
/// 7.2.3); what is left of them at the end of the run is waited for there.
fn under_divisions(code: &[Placed], costs: &mut [Cost]) {
    for at in 0..code.len() {
        if !code[at].insn.is_long_fp() {
            continue;
        }
        let beside = code[at + 1..].iter().zip(&costs[at + 1..]);
        let integer = beside.take_while(|(p, _)| !p.insn.is_fp()).map(|(_, cost)| cost.straight());
        let hidden = integer.sum::<u32>().min(u32::from(costs[at].execute) - 1);
        costs[at].execute -= hidden as u8;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cores::arm::Architecture;
    use crate::cores::arm::timing::Timing;
    use strobe_isa::thumb::decode::decode;

    /// Cycles of each instruction of a run of code at 0x100, none of them jumping.
    pub(in super::super) fn cycles(kind: CoreKind, halves: &[u16]) -> Vec<u32> {
        let mut code = Vec::new();
        let mut at = 0;
        while at < halves.len() {
            let address = 0x100 + 2 * at as u32;
            let second = halves.get(at + 1).copied().unwrap_or(0);
            let (insn, size) = decode(Architecture::V7EM_FP, address, halves[at], second);
            code.push(Placed { insn, address, size, conditional: false });
            at += size as usize / 2;
        }
        Timing::new(kind).costs(&code).into_iter().map(Cost::straight).collect()
    }

    #[test]
    fn the_manuals_sequences() {
        let both = [CoreKind::CortexM3, CoreKind::CortexM4f];
        for kind in both {
            // ldr r0, [r4]; ldr r1, [r5]: 3. With a third: 4.
            assert_eq!(cycles(kind, &[0x6820, 0x6829]), [2, 1]);
            assert_eq!(cycles(kind, &[0x6820, 0x6829, 0x6832]), [2, 1, 1]);
            // ldr r0, [r4]; str r1, [r5, r6]: 3.
            assert_eq!(cycles(kind, &[0x6820, 0x51a9]), [2, 1]);
            // The second load's address is the first one's result.
            assert_eq!(cycles(kind, &[0x6820, 0x6801]), [2, 2]);
            // adds r4, #4; ldr r0, [r4]: the address comes late. adds r0, #4 is none.
            assert_eq!(cycles(kind, &[0x3404, 0x6820]), [1, 3]);
            assert_eq!(cycles(kind, &[0x3004, 0x6820]), [1, 2]);
            // str r0, [r4]; ldr r1, [r5]: the buffered store has the bus.
            assert_eq!(cycles(kind, &[0x6020, 0x6829]), [1, 3]);
            // str r0, [r4, r5]: no buffer.
            assert_eq!(cycles(kind, &[0x5160, 0x3001]), [2, 1]);
            // ldr; nop hides, adds does not.
            assert_eq!(cycles(kind, &[0x6820, 0xbf00]), [2, 0]);
            // ldr; ldmia r5!, {r1, r2}: the first transfer overlaps.
            assert_eq!(cycles(kind, &[0x6820, 0xcd06]), [2, 2]);
            // cmp r0, #0; it eq folds. add.w; it eq does not.
            assert_eq!(cycles(kind, &[0x2800, 0xbf08]), [1, 0]);
            assert_eq!(cycles(kind, &[0xeb01, 0x0002, 0xbf08]), [1, 1]);
        }
    }

    #[test]
    fn neighbouring_accesses_take_the_cycles_measured_elsewhere() {
        let m3 = |halves: &[u16]| cycles(CoreKind::CortexM3, halves);
        let m4 = |halves: &[u16]| cycles(CoreKind::CortexM4f, halves);
        // ldr r0, [r4], #4; ldr r1, [r5], #4: only the M4 chains them, and not on one base.
        let chain = [0xf854, 0x0b04, 0xf855, 0x1b04];
        assert_eq!((m3(&chain), m4(&chain)), (vec![2, 2], vec![2, 1]));
        assert_eq!(m4(&[0xf854, 0x0b04, 0xf854, 0x1b04]), [2, 2]);
        // ldr r0, [r4]; ldr.w r1, [r5] in the upper half of a word.
        assert_eq!(m4(&[0x6820, 0xf8d5, 0x1000]), [2, 2]);
        // ldr r0, [r4]; str r1, [r5]: 2, as if the load took one; also behind a row of loads.
        for kind in [CoreKind::CortexM3, CoreKind::CortexM4f] {
            assert_eq!(cycles(kind, &[0x6820, 0x6029]), [1, 1]);
            assert_eq!(cycles(kind, &[0x6820, 0x6829, 0x6032]), [1, 1, 1]);
        }
        // str r0, [r4], #4, behind others; behind itself, and by turns with str r1, [r5], #4.
        let (moving, other) = ([0xf844, 0x0b04], [0xf845, 0x1b04]);
        for kind in [CoreKind::CortexM3, CoreKind::CortexM4f] {
            assert_eq!(cycles(kind, &[&[0x3001], &moving[..], &[0x3101]].concat()), [1, 1, 1]);
            assert_eq!(cycles(kind, &[moving, moving, moving].concat()), [1, 2, 2]);
            assert_eq!(cycles(kind, &[moving, other, moving].concat()), [1, 1, 1]);
        }
        // Behind a load.
        assert_eq!(m3(&[&[0x6829], &moving[..], &[0x6029]].concat()), [2, 2, 1]);
        assert_eq!(m4(&[&[0x6829], &moving[..], &[0x6029]].concat()), [1, 1, 1]);
        // vmov r0, s0; ldr r1, [r0], or str. vmov r0, r2, s0, s1; ldr r1, [r0].
        assert_eq!(m4(&[0xee10, 0x0a10, 0x6801]), [1, 3]);
        assert_eq!(m4(&[0xee10, 0x0a10, 0x6001]), [1, 2]);
        assert_eq!(m4(&[0xec52, 0x0a10, 0x6801]), [2, 2]);
        // Three 32-bit instructions in a row that straddle words: once, and only behind one of
        // several cycles, as stmia r0!, {r1, r2}.
        let run = |first: u16, count| m4(&[vec![first], [0xeb01, 0x0002].repeat(count)].concat());
        assert_eq!(run(0xc006, 5), [3, 1, 1, 2, 1, 1]);
        assert_eq!(run(0xc006, 2), [3, 1, 1]);
        assert_eq!(run(0xbf00, 5), [1; 6]);
        // str r1, [r0] goes on behind its one cycle.
        assert_eq!(run(0x6001, 5), [1, 1, 1, 2, 1, 1]);
        // Behind one that straddles itself: strd r1, r2, [r0], not stm.w r0, {r1, r2}; and not
        // where an instruction of several cycles is among them.
        let row = |first: [u16; 2], then: [u16; 2]| {
            let adds = [0xeb01, 0x0002].repeat(2);
            m4(&[&[0xbf00], &first[..], &then[..], &adds[..]].concat())
        };
        assert_eq!(row([0xe9c0, 0x1200], [0xeb01, 0x0002]), [1, 3, 1, 1, 2]);
        assert_eq!(row([0xe880, 0x0006], [0xeb01, 0x0002]), [1, 3, 1, 1, 1]);
        assert_eq!(row([0xe9c0, 0x1200], [0xe880, 0x0006]), [1, 3, 3, 1, 1]);
    }

    #[test]
    fn integer_code_runs_under_a_division() {
        // vdiv.f32 s0, s1, s2; four times adds; vadd.f32 s3, s3, s3.
        let vdiv = [0xeec0, 0x0a81];
        let mut code = vec![vdiv[0], vdiv[1]];
        code.extend([0x3001; 4]);
        code.extend([0xee71, 0x1aa1]);
        assert_eq!(cycles(CoreKind::CortexM4f, &code), [10, 1, 1, 1, 1, 1]);
        // Longer than the division: it costs only its issue.
        let mut code = vec![vdiv[0], vdiv[1]];
        code.extend([0x3001; 20]);
        assert_eq!(cycles(CoreKind::CortexM4f, &code)[0], 1);
    }
}
