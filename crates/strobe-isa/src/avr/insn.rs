//! The instructions, as decoding leaves them: targets are byte addresses, pointers the number of
//! their low register.

/// A register of the core that lies in the I/O space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Which 64 KiB ELPM reads.
    Rampz,
    /// Where EIJMP and EICALL go.
    Eind,
    /// Low byte of the stack pointer.
    Spl,
    /// High byte of the stack pointer.
    Sph,
    /// Status register.
    Sreg,
}

impl Special {
    /// The register at a data address, on a core that has it. Without ELPM and EIND their places
    /// are others'.
    pub fn at(address: u16, arch: super::Architecture) -> Option<Special> {
        Some(match address {
            0x5b if arch.extended_loads => Special::Rampz,
            0x5c if arch.extended_jumps => Special::Eind,
            0x5d => Special::Spl,
            0x5e => Special::Sph,
            0x5f => Special::Sreg,
            _ => return None,
        })
    }
}

/// An instruction. `d` and `r` are registers, `p` is a pointer's low register, `a` an I/O address,
/// `b` and `s` bits, `k` a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Insn {
    Nop,
    Movw {
        d: u8,
        r: u8,
    },
    Mul {
        d: u8,
        r: u8,
    },
    Muls {
        d: u8,
        r: u8,
    },
    Mulsu {
        d: u8,
        r: u8,
    },
    Fmul {
        d: u8,
        r: u8,
    },
    Fmuls {
        d: u8,
        r: u8,
    },
    Fmulsu {
        d: u8,
        r: u8,
    },
    Cp {
        d: u8,
        r: u8,
    },
    Cpc {
        d: u8,
        r: u8,
    },
    Sub {
        d: u8,
        r: u8,
    },
    Sbc {
        d: u8,
        r: u8,
    },
    Add {
        d: u8,
        r: u8,
    },
    Adc {
        d: u8,
        r: u8,
    },
    And {
        d: u8,
        r: u8,
    },
    Eor {
        d: u8,
        r: u8,
    },
    Or {
        d: u8,
        r: u8,
    },
    Mov {
        d: u8,
        r: u8,
    },
    Cpi {
        d: u8,
        k: u8,
    },
    Sbci {
        d: u8,
        k: u8,
    },
    Subi {
        d: u8,
        k: u8,
    },
    Ori {
        d: u8,
        k: u8,
    },
    Andi {
        d: u8,
        k: u8,
    },
    Ldi {
        d: u8,
        k: u8,
    },
    Com {
        d: u8,
    },
    Neg {
        d: u8,
    },
    Swap {
        d: u8,
    },
    Inc {
        d: u8,
    },
    Dec {
        d: u8,
    },
    Asr {
        d: u8,
    },
    Lsr {
        d: u8,
    },
    Ror {
        d: u8,
    },
    Adiw {
        d: u8,
        k: u8,
    },
    Sbiw {
        d: u8,
        k: u8,
    },
    /// BSET of any bit but I.
    Bset {
        s: u8,
    },
    /// BCLR, CLI included.
    Bclr {
        s: u8,
    },
    Bst {
        d: u8,
        b: u8,
    },
    Bld {
        d: u8,
        b: u8,
    },
    /// LD and LDD without change of the pointer.
    Ldd {
        d: u8,
        p: u8,
        q: u8,
    },
    LdInc {
        d: u8,
        p: u8,
    },
    LdDec {
        d: u8,
        p: u8,
    },
    Std {
        p: u8,
        q: u8,
        r: u8,
    },
    StInc {
        p: u8,
        r: u8,
    },
    StDec {
        p: u8,
        r: u8,
    },
    Lds {
        d: u8,
        address: u16,
    },
    Sts {
        address: u16,
        r: u8,
    },
    Lpm {
        d: u8,
        increment: bool,
    },
    Elpm {
        d: u8,
        increment: bool,
    },
    Spm {
        increment: bool,
    },
    Push {
        r: u8,
    },
    Pop {
        d: u8,
    },
    In {
        d: u8,
        a: u8,
    },
    Out {
        a: u8,
        r: u8,
    },
    /// IN from a register of the core.
    Get {
        d: u8,
        from: Special,
    },
    /// OUT to a register of the core, SREG excepted.
    Set {
        to: Special,
        r: u8,
    },
    Sbi {
        a: u8,
        b: u8,
    },
    Cbi {
        a: u8,
        b: u8,
    },
    Wdr,
    Break,
    /// RJMP and JMP.
    Jmp {
        target: u32,
    },
    /// RCALL and CALL.
    Call {
        target: u32,
    },
    Ijmp,
    Eijmp,
    Icall,
    Eicall,
    Ret,
    Reti,
    Brbs {
        s: u8,
        target: u32,
    },
    Brbc {
        s: u8,
        target: u32,
    },
    Cpse {
        d: u8,
        r: u8,
        target: u32,
    },
    Sbrc {
        r: u8,
        b: u8,
        target: u32,
    },
    Sbrs {
        r: u8,
        b: u8,
        target: u32,
    },
    Sbic {
        a: u8,
        b: u8,
        target: u32,
    },
    Sbis {
        a: u8,
        b: u8,
        target: u32,
    },
    /// BSET I.
    Sei,
    /// BCLR I.
    Cli,
    /// OUT SREG.
    SetSreg {
        r: u8,
    },
    Sleep,
    /// Not an instruction, or not one of this core.
    Invalid {
        opcode: u16,
    },
    /// One that sets no flags but Z and C, because the others are set again before anything reads
    /// them (`lean.rs`).
    Lean(Lean),
}

/// Instructions without the flags H, S, V and N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Lean {
    Add { d: u8, r: u8 },
    Adc { d: u8, r: u8 },
    Sub { d: u8, r: u8 },
    Sbc { d: u8, r: u8 },
    Cp { d: u8, r: u8 },
    Cpc { d: u8, r: u8 },
    Subi { d: u8, k: u8 },
    Sbci { d: u8, k: u8 },
    Cpi { d: u8, k: u8 },
    And { d: u8, r: u8 },
    Or { d: u8, r: u8 },
    Eor { d: u8, r: u8 },
    Andi { d: u8, k: u8 },
    Ori { d: u8, k: u8 },
    Inc { d: u8 },
    Dec { d: u8 },
    Lsr { d: u8 },
    Ror { d: u8 },
}

impl Insn {
    /// Whether a block ends with it: it may change the flow, or whether interrupts come in.
    pub fn ends_block(self) -> bool {
        use Insn::*;
        let jumps = matches!(self, Jmp { .. } | Ijmp | Eijmp | Brbs { .. } | Brbc { .. });
        let returns = matches!(self, Ret | Reti);
        let other = matches!(self, Sei | Cli | SetSreg { .. } | Sleep | Invalid { .. });
        jumps || returns || other || self.calls() || self.skips()
    }

    /// Where it goes if it jumps, as far as that does not depend on data.
    pub fn target(self) -> Option<u32> {
        use Insn::*;
        match self {
            Jmp { target }
            | Call { target }
            | Brbs { target, .. }
            | Brbc { target, .. }
            | Cpse { target, .. }
            | Sbrc { target, .. }
            | Sbrs { target, .. }
            | Sbic { target, .. }
            | Sbis { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Whether it skips the next instruction, if it jumps.
    pub fn skips(self) -> bool {
        use Insn::*;
        matches!(self, Cpse { .. } | Sbrc { .. } | Sbrs { .. } | Sbic { .. } | Sbis { .. })
    }

    /// By how many bytes it moves the stack pointer up, if not by a write; `pc_bytes` are those of
    /// a return address.
    pub fn moves_stack(self, pc_bytes: i32) -> i32 {
        match self {
            Insn::Push { .. } => -1,
            Insn::Pop { .. } => 1,
            Insn::Ret | Insn::Reti => pc_bytes,
            _ if self.calls() => -pc_bytes,
            _ => 0,
        }
    }

    /// Whether it writes a byte of the stack pointer.
    pub fn writes_stack(self) -> bool {
        matches!(self, Insn::Set { to: Special::Spl | Special::Sph, .. })
    }

    /// Whether it calls.
    pub fn calls(self) -> bool {
        matches!(self, Insn::Call { .. } | Insn::Icall | Insn::Eicall)
    }
}
