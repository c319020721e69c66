//! What each instruction does to registers and memory, written once for both ways of running.

use super::alu;
use super::cpu::{C, Cpu, I, T};
use strobe_isa::avr::insn::{Insn, Lean, Special};

/// How instructions reach memory and devices.
pub(super) trait Port {
    /// Why an access was not made.
    type Stop;

    /// Reads the data space.
    fn load(&mut self, cpu: &mut Cpu, address: u16) -> Result<u8, Self::Stop>;
    /// Writes the data space.
    fn store(&mut self, cpu: &mut Cpu, address: u16, value: u8) -> Result<(), Self::Stop>;
    /// SBI and CBI.
    fn store_bit(&mut self, address: u16, bit: u8, level: bool) -> Result<(), Self::Stop>;
    /// Reads program memory.
    fn program(&mut self, address: u32) -> u8;
    /// Instructions that do something beyond registers and memory: WDR, BREAK, SPM.
    fn other(&mut self, insn: Insn) -> Result<(), Self::Stop>;
}

/// How a block's last instruction ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// On to the next address.
    Next,
    /// The same; interrupts have been enabled, and one more instruction comes before the first.
    Enabled,
    /// The same; interrupts have been disabled.
    Disabled,
    /// A jump, call or skip to the instruction's target.
    Direct,
    /// A jump, call or return to a computed address.
    Indirect(u32),
    /// RETI.
    Reti(u32),
    /// SLEEP.
    Sleep,
    /// Not an instruction.
    Invalid(u16),
}

impl End {
    /// Whether the flow does not go on at the next address.
    #[inline(always)]
    pub(super) fn is_jump(self) -> bool {
        matches!(self, End::Direct | End::Indirect(_) | End::Reti(_))
    }
}

/// Executes an instruction that does not end a block. SREG is apart from the other registers, so
/// that a loop over instructions has it at hand.
#[inline(always)]
pub(super) fn exec<P: Port>(
    cpu: &mut Cpu,
    sreg: &mut u8,
    port: &mut P,
    insn: Insn,
) -> Result<(), P::Stop> {
    use Insn::*;
    macro_rules! r {
        ($n:expr) => {
            cpu.r[usize::from($n & 31)]
        };
    }
    macro_rules! result {
        ($d:expr, $computed:expr) => {
            (r!($d), *sreg) = $computed
        };
    }
    match insn {
        Nop => {}
        Movw { d, r } => cpu.set_pair(d, cpu.pair(r)),
        Mul { d, r } => multiply(cpu, sreg, u16::from(r!(d)).wrapping_mul(u16::from(r!(r)))),
        Muls { d, r } => multiply(cpu, sreg, signed(r!(d)).wrapping_mul(signed(r!(r)))),
        Mulsu { d, r } => multiply(cpu, sreg, signed(r!(d)).wrapping_mul(u16::from(r!(r)))),
        Fmul { d, r } => {
            multiply_fraction(cpu, sreg, u16::from(r!(d)).wrapping_mul(u16::from(r!(r))))
        }
        Fmuls { d, r } => multiply_fraction(cpu, sreg, signed(r!(d)).wrapping_mul(signed(r!(r)))),
        Fmulsu { d, r } => {
            multiply_fraction(cpu, sreg, signed(r!(d)).wrapping_mul(u16::from(r!(r))))
        }
        Cp { d, r } => *sreg = alu::sub(*sreg, r!(d), r!(r)).1,
        Cpc { d, r } => *sreg = alu::sbc(*sreg, r!(d), r!(r)).1,
        Sub { d, r } => result!(d, alu::sub(*sreg, r!(d), r!(r))),
        Sbc { d, r } => result!(d, alu::sbc(*sreg, r!(d), r!(r))),
        Add { d, r } => result!(d, alu::add(*sreg, r!(d), r!(r), 0)),
        Adc { d, r } => result!(d, alu::add(*sreg, r!(d), r!(r), *sreg & C)),
        And { d, r } => set_logic(cpu, sreg, d, r!(d) & r!(r)),
        Eor { d, r } => set_logic(cpu, sreg, d, r!(d) ^ r!(r)),
        Or { d, r } => set_logic(cpu, sreg, d, r!(d) | r!(r)),
        Mov { d, r } => r!(d) = r!(r),
        Cpi { d, k } => *sreg = alu::sub(*sreg, r!(d), k).1,
        Sbci { d, k } => result!(d, alu::sbc(*sreg, r!(d), k)),
        Subi { d, k } => result!(d, alu::sub(*sreg, r!(d), k)),
        Ori { d, k } => set_logic(cpu, sreg, d, r!(d) | k),
        Andi { d, k } => set_logic(cpu, sreg, d, r!(d) & k),
        Ldi { d, k } => r!(d) = k,
        Com { d } => result!(d, alu::com(*sreg, r!(d))),
        Neg { d } => result!(d, alu::sub(*sreg, 0, r!(d))),
        Swap { d } => r!(d) = r!(d).rotate_left(4),
        Inc { d } => result!(d, alu::inc(*sreg, r!(d))),
        Dec { d } => result!(d, alu::dec(*sreg, r!(d))),
        Asr { d } => result!(d, alu::shift(*sreg, r!(d), r!(d) & 0x80)),
        Lsr { d } => result!(d, alu::shift(*sreg, r!(d), 0)),
        Ror { d } => result!(d, alu::shift(*sreg, r!(d), (*sreg & C) << 7)),
        Adiw { d, k } => add_word(cpu, sreg, d, k, false),
        Sbiw { d, k } => add_word(cpu, sreg, d, k, true),
        Bset { s } => *sreg |= 1 << (s & 7),
        Bclr { s } => *sreg &= !(1 << (s & 7)),
        Bst { d, b } => *sreg = alu::store_bit(*sreg, r!(d), b),
        Bld { d, b } => {
            let bit = (*sreg & T) >> 6 << (b & 7);
            r!(d) = r!(d) & !(1 << (b & 7)) | bit;
        }
        Ldd { d, p, q } => r!(d) = port.load(cpu, cpu.pair(p).wrapping_add(u16::from(q)))?,
        LdInc { d, p } => {
            let at = cpu.pair(p);
            let value = port.load(cpu, at)?;
            cpu.set_pair(p, at.wrapping_add(1));
            r!(d) = value;
        }
        LdDec { d, p } => {
            let at = cpu.pair(p).wrapping_sub(1);
            let value = port.load(cpu, at)?;
            cpu.set_pair(p, at);
            r!(d) = value;
        }
        Std { p, q, r } => port.store(cpu, cpu.pair(p).wrapping_add(u16::from(q)), r!(r))?,
        StInc { p, r } => {
            let at = cpu.pair(p);
            port.store(cpu, at, r!(r))?;
            cpu.set_pair(p, at.wrapping_add(1));
        }
        StDec { p, r } => {
            let at = cpu.pair(p).wrapping_sub(1);
            port.store(cpu, at, r!(r))?;
            cpu.set_pair(p, at);
        }
        Lds { d, address } => r!(d) = port.load(cpu, address)?,
        Sts { address, r } => port.store(cpu, address, r!(r))?,
        Lpm { d, increment } => {
            let z = cpu.pair(30);
            let value = port.program(u32::from(z));
            if increment {
                cpu.set_pair(30, z.wrapping_add(1));
            }
            r!(d) = value;
        }
        Elpm { d, increment } => {
            let z = u32::from(cpu.rampz) << 16 | u32::from(cpu.pair(30));
            let value = port.program(z);
            if increment {
                cpu.set_pair(30, z.wrapping_add(1) as u16);
                cpu.rampz = (z.wrapping_add(1) >> 16) as u8;
            }
            r!(d) = value;
        }
        Push { r } => {
            port.store(cpu, cpu.sp, r!(r))?;
            cpu.sp = cpu.sp.wrapping_sub(1);
            cpu.deepest = cpu.deepest.min(cpu.sp);
        }
        Pop { d } => {
            let at = cpu.sp.wrapping_add(1);
            let value = port.load(cpu, at)?;
            cpu.sp = at;
            r!(d) = value;
        }
        In { d, a } => r!(d) = port.load(cpu, u16::from(a) + 0x20)?,
        Out { a, r } => port.store(cpu, u16::from(a) + 0x20, r!(r))?,
        Get { d, from: Special::Sreg } => r!(d) = *sreg,
        Get { d, from } => r!(d) = cpu.special(from),
        Set { to, r } => cpu.set_special(to, r!(r)),
        Lean(lean) => exec_lean(cpu, sreg, lean),
        Sbi { a, b } => port.store_bit(u16::from(a) + 0x20, b, true)?,
        Cbi { a, b } => port.store_bit(u16::from(a) + 0x20, b, false)?,
        insn => port.other(insn)?,
    }
    Ok(())
}

/// Executes an instruction that sets no flags but Z and C.
#[inline(always)]
fn exec_lean(cpu: &mut Cpu, sreg: &mut u8, lean: Lean) {
    macro_rules! r {
        ($n:expr) => {
            cpu.r[usize::from($n & 31)]
        };
    }
    macro_rules! result {
        ($d:expr, $computed:expr) => {
            (r!($d), *sreg) = $computed
        };
    }
    match lean {
        Lean::Add { d, r } => result!(d, alu::lean_add(*sreg, r!(d), r!(r), 0)),
        Lean::Adc { d, r } => result!(d, alu::lean_add(*sreg, r!(d), r!(r), *sreg & C)),
        Lean::Sub { d, r } => result!(d, alu::lean_sub(*sreg, r!(d), r!(r))),
        Lean::Sbc { d, r } => result!(d, alu::lean_sbc(*sreg, r!(d), r!(r))),
        Lean::Cp { d, r } => *sreg = alu::lean_sub(*sreg, r!(d), r!(r)).1,
        Lean::Cpc { d, r } => *sreg = alu::lean_sbc(*sreg, r!(d), r!(r)).1,
        Lean::Subi { d, k } => result!(d, alu::lean_sub(*sreg, r!(d), k)),
        Lean::Sbci { d, k } => result!(d, alu::lean_sbc(*sreg, r!(d), k)),
        Lean::Cpi { d, k } => *sreg = alu::lean_sub(*sreg, r!(d), k).1,
        Lean::And { d, r } => result!(d, alu::lean_logic(*sreg, r!(d) & r!(r))),
        Lean::Or { d, r } => result!(d, alu::lean_logic(*sreg, r!(d) | r!(r))),
        Lean::Eor { d, r } => result!(d, alu::lean_logic(*sreg, r!(d) ^ r!(r))),
        Lean::Andi { d, k } => result!(d, alu::lean_logic(*sreg, r!(d) & k)),
        Lean::Ori { d, k } => result!(d, alu::lean_logic(*sreg, r!(d) | k)),
        Lean::Inc { d } => result!(d, alu::lean_logic(*sreg, r!(d).wrapping_add(1))),
        Lean::Dec { d } => result!(d, alu::lean_logic(*sreg, r!(d).wrapping_sub(1))),
        Lean::Lsr { d } => result!(d, alu::lean_shift(*sreg, r!(d), 0)),
        Lean::Ror { d } => result!(d, alu::lean_shift(*sreg, r!(d), (*sreg & C) << 7)),
    }
}

/// Executes a block's last instruction; `next` is the address behind it.
#[inline(always)]
pub(super) fn end<P: Port>(
    cpu: &mut Cpu,
    sreg: &mut u8,
    port: &mut P,
    insn: Insn,
    next: u32,
) -> Result<End, P::Stop> {
    use Insn::*;
    let bit = |value: u8, b: u8| value >> (b & 7) & 1 != 0;
    let taken = |jumps: bool| if jumps { End::Direct } else { End::Next };
    Ok(match insn {
        Jmp { .. } => End::Direct,
        Brbs { s, .. } => taken(bit(*sreg, s)),
        Brbc { s, .. } => taken(!bit(*sreg, s)),
        Call { .. } => {
            push_pc(cpu, port, next)?;
            End::Direct
        }
        Ijmp => End::Indirect(wide(cpu, 0)),
        Eijmp => End::Indirect(wide(cpu, cpu.eind)),
        Icall => {
            let to = wide(cpu, 0);
            push_pc(cpu, port, next)?;
            End::Indirect(to)
        }
        Eicall => {
            let to = wide(cpu, cpu.eind);
            push_pc(cpu, port, next)?;
            End::Indirect(to)
        }
        Ret => End::Indirect(pop_pc(cpu, port)?),
        Reti => {
            let to = pop_pc(cpu, port)?;
            *sreg |= I;
            End::Reti(to)
        }
        Cpse { d, r, .. } => taken(cpu.r[usize::from(d & 31)] == cpu.r[usize::from(r & 31)]),
        Sbrc { r, b, .. } => taken(!bit(cpu.r[usize::from(r & 31)], b)),
        Sbrs { r, b, .. } => taken(bit(cpu.r[usize::from(r & 31)], b)),
        Sbic { a, b, .. } => taken(!bit(port.load(cpu, u16::from(a) + 0x20)?, b)),
        Sbis { a, b, .. } => taken(bit(port.load(cpu, u16::from(a) + 0x20)?, b)),
        Sei => write_sreg(sreg, *sreg | I),
        Cli => write_sreg(sreg, *sreg & !I),
        SetSreg { r } => write_sreg(sreg, cpu.r[usize::from(r & 31)]),
        Sleep => End::Sleep,
        Invalid { opcode } => End::Invalid(opcode),
        insn => {
            exec(cpu, sreg, port, insn)?;
            End::Next
        }
    })
}

fn write_sreg(sreg: &mut u8, value: u8) -> End {
    let changed = value ^ std::mem::replace(sreg, value);
    match (changed & I != 0, value & I != 0) {
        (false, _) => End::Next,
        (true, true) => End::Enabled,
        (true, false) => End::Disabled,
    }
}

#[inline(always)]
fn signed(value: u8) -> u16 {
    value as i8 as u16
}

#[inline(always)]
fn multiply(cpu: &mut Cpu, sreg: &mut u8, product: u16) {
    *sreg = alu::product(*sreg, product);
    cpu.set_pair(0, product);
}

#[inline(always)]
fn multiply_fraction(cpu: &mut Cpu, sreg: &mut u8, product: u16) {
    let (result, new) = alu::fraction(*sreg, product);
    *sreg = new;
    cpu.set_pair(0, result);
}

#[inline(always)]
fn set_logic(cpu: &mut Cpu, sreg: &mut u8, d: u8, result: u8) {
    *sreg = alu::logic(*sreg, result);
    cpu.r[usize::from(d & 31)] = result;
}

#[inline(always)]
fn add_word(cpu: &mut Cpu, sreg: &mut u8, d: u8, k: u8, subtracts: bool) {
    let (result, new) = alu::add_word(*sreg, cpu.pair(d), u16::from(k), subtracts);
    *sreg = new;
    cpu.set_pair(d, result);
}

/// The byte address that Z and the bits above it name.
#[inline(always)]
fn wide(cpu: &Cpu, above: u8) -> u32 {
    (u32::from(above) << 16 | u32::from(cpu.pair(30))) << 1 & cpu.arch.pc_mask
}

/// Pushes a return address: its low byte first, so that it lies in memory with the high byte first.
#[inline(always)]
pub(super) fn push_pc<P: Port>(cpu: &mut Cpu, port: &mut P, pc: u32) -> Result<(), P::Stop> {
    let [low, high, extended, _] = (pc >> 1).to_le_bytes();
    let sp = cpu.sp;
    port.store(cpu, sp, low)?;
    port.store(cpu, sp.wrapping_sub(1), high)?;
    if cpu.arch.extended_jumps {
        port.store(cpu, sp.wrapping_sub(2), extended)?;
    }
    cpu.sp = sp.wrapping_sub(cpu.arch.pc_bytes());
    cpu.deepest = cpu.deepest.min(cpu.sp);
    Ok(())
}

#[inline(always)]
fn pop_pc<P: Port>(cpu: &mut Cpu, port: &mut P) -> Result<u32, P::Stop> {
    let bytes = cpu.arch.pc_bytes();
    let top = cpu.sp.wrapping_add(bytes);
    let low = port.load(cpu, top)?;
    let high = port.load(cpu, top.wrapping_sub(1))?;
    let extended = if cpu.arch.extended_jumps { port.load(cpu, top.wrapping_sub(2))? } else { 0 };
    cpu.sp = top;
    Ok(u32::from_le_bytes([low, high, extended, 0]) << 1 & cpu.arch.pc_mask)
}
