//! AVR instructions by the opcode patterns of Microchip's manual (DS40002198), and generated
//! programs.

mod generate;

pub use generate::Sequence as AvrSequence;

/// Parts whose instruction sets differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvrPart {
    /// AVRe, 8 KiB of flash, RAM from 0x60.
    Attiny85,
    /// AVRe+, 32 KiB of flash, RAM from 0x100.
    Atmega328p,
    /// AVRe+ with a 22-bit program counter, 256 KiB of flash, RAM from 0x200.
    Atmega2560,
}

/// One encoding.
#[derive(Debug)]
pub struct AvrForm {
    /// The mnemonic, with its addressing mode where there are several.
    pub name: &'static str,
    /// Bits from the top; letters are fields, and a letter's bits are that operand's from its top.
    pattern: &'static str,
    /// The part's required feature.
    pub needs: Needs,
}

/// Features of a part that instructions require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: AVRe.
    Nothing,
    /// AVRe+.
    Plus,
    /// More flash than RJMP reaches.
    LongJumps,
    /// More flash than LPM reaches.
    ExtendedLoads,
    /// More flash than 16 bits of program counter reach.
    ExtendedJumps,
}

impl AvrPart {
    /// Whether the part has an instruction.
    pub fn has(self, form: &AvrForm) -> bool {
        match form.needs {
            Needs::Nothing => true,
            Needs::Plus | Needs::LongJumps => self != AvrPart::Attiny85,
            Needs::ExtendedLoads | Needs::ExtendedJumps => self == AvrPart::Atmega2560,
        }
    }

    /// Bytes of flash.
    pub fn flash_bytes(self) -> u32 {
        match self {
            AvrPart::Attiny85 => 8 << 10,
            AvrPart::Atmega328p => 32 << 10,
            AvrPart::Atmega2560 => 256 << 10,
        }
    }

    /// First data address of the RAM, and its bytes.
    pub fn ram(self) -> (u16, u16) {
        match self {
            AvrPart::Attiny85 => (0x60, 0x200),
            AvrPart::Atmega328p => (0x100, 0x800),
            AvrPart::Atmega2560 => (0x200, 0x2000),
        }
    }
}

const fn form(name: &'static str, pattern: &'static str) -> AvrForm {
    AvrForm { name, pattern, needs: Needs::Nothing }
}

const fn only(needs: Needs, name: &'static str, pattern: &'static str) -> AvrForm {
    AvrForm { name, pattern, needs }
}

/// Every encoding of AVRe and AVRe+. Aliases (LSL, TST, BRNE, SEI and so on) are not listed.
pub const AVR_FORMS: &[AvrForm] = &[
    form("nop", "0000000000000000"),
    form("movw", "00000001ddddrrrr"),
    only(Needs::Plus, "muls", "00000010ddddrrrr"),
    only(Needs::Plus, "mulsu", "000000110ddd0rrr"),
    only(Needs::Plus, "fmul", "000000110ddd1rrr"),
    only(Needs::Plus, "fmuls", "000000111ddd0rrr"),
    only(Needs::Plus, "fmulsu", "000000111ddd1rrr"),
    form("cpc", "000001rdddddrrrr"),
    form("sbc", "000010rdddddrrrr"),
    form("add", "000011rdddddrrrr"),
    form("cpse", "000100rdddddrrrr"),
    form("cp", "000101rdddddrrrr"),
    form("sub", "000110rdddddrrrr"),
    form("adc", "000111rdddddrrrr"),
    form("and", "001000rdddddrrrr"),
    form("eor", "001001rdddddrrrr"),
    form("or", "001010rdddddrrrr"),
    form("mov", "001011rdddddrrrr"),
    form("cpi", "0011kkkkddddkkkk"),
    form("sbci", "0100kkkkddddkkkk"),
    form("subi", "0101kkkkddddkkkk"),
    form("ori", "0110kkkkddddkkkk"),
    form("andi", "0111kkkkddddkkkk"),
    form("ldd z", "10q0qq0ddddd0qqq"),
    form("ldd y", "10q0qq0ddddd1qqq"),
    form("std z", "10q0qq1ddddd0qqq"),
    form("std y", "10q0qq1ddddd1qqq"),
    form("lds", "1001000ddddd0000aaaaaaaaaaaaaaaa"),
    form("ld z+", "1001000ddddd0001"),
    form("ld -z", "1001000ddddd0010"),
    form("lpm z", "1001000ddddd0100"),
    form("lpm z+", "1001000ddddd0101"),
    only(Needs::ExtendedLoads, "elpm z", "1001000ddddd0110"),
    only(Needs::ExtendedLoads, "elpm z+", "1001000ddddd0111"),
    form("ld y+", "1001000ddddd1001"),
    form("ld -y", "1001000ddddd1010"),
    form("ld x", "1001000ddddd1100"),
    form("ld x+", "1001000ddddd1101"),
    form("ld -x", "1001000ddddd1110"),
    form("pop", "1001000ddddd1111"),
    form("sts", "1001001ddddd0000aaaaaaaaaaaaaaaa"),
    form("st z+", "1001001ddddd0001"),
    form("st -z", "1001001ddddd0010"),
    form("st y+", "1001001ddddd1001"),
    form("st -y", "1001001ddddd1010"),
    form("st x", "1001001ddddd1100"),
    form("st x+", "1001001ddddd1101"),
    form("st -x", "1001001ddddd1110"),
    form("push", "1001001ddddd1111"),
    form("com", "1001010ddddd0000"),
    form("neg", "1001010ddddd0001"),
    form("swap", "1001010ddddd0010"),
    form("inc", "1001010ddddd0011"),
    form("asr", "1001010ddddd0101"),
    form("lsr", "1001010ddddd0110"),
    form("ror", "1001010ddddd0111"),
    form("dec", "1001010ddddd1010"),
    form("bset", "100101000sss1000"),
    form("bclr", "100101001sss1000"),
    form("ijmp", "1001010000001001"),
    only(Needs::ExtendedJumps, "eijmp", "1001010000011001"),
    form("ret", "1001010100001000"),
    form("icall", "1001010100001001"),
    form("reti", "1001010100011000"),
    only(Needs::ExtendedJumps, "eicall", "1001010100011001"),
    form("sleep", "1001010110001000"),
    form("break", "1001010110011000"),
    form("wdr", "1001010110101000"),
    form("lpm", "1001010111001000"),
    only(Needs::ExtendedLoads, "elpm", "1001010111011000"),
    form("spm", "1001010111101000"),
    form("spm z+", "1001010111111000"),
    only(Needs::LongJumps, "jmp", "1001010kkkkk110kkkkkkkkkkkkkkkkk"),
    only(Needs::LongJumps, "call", "1001010kkkkk111kkkkkkkkkkkkkkkkk"),
    form("adiw", "10010110kkddkkkk"),
    form("sbiw", "10010111kkddkkkk"),
    form("cbi", "10011000aaaaabbb"),
    form("sbic", "10011001aaaaabbb"),
    form("sbi", "10011010aaaaabbb"),
    form("sbis", "10011011aaaaabbb"),
    only(Needs::Plus, "mul", "100111rdddddrrrr"),
    form("in", "10110aadddddaaaa"),
    form("out", "10111aadddddaaaa"),
    form("rjmp", "1100kkkkkkkkkkkk"),
    form("rcall", "1101kkkkkkkkkkkk"),
    form("ldi", "1110kkkkddddkkkk"),
    form("brbs", "111100kkkkkkksss"),
    form("brbc", "111101kkkkkkksss"),
    form("bld", "1111100ddddd0bbb"),
    form("bst", "1111101ddddd0bbb"),
    form("sbrc", "1111110ddddd0bbb"),
    form("sbrs", "1111111ddddd0bbb"),
];

impl AvrForm {
    /// The encoding of that name, which must be one of [`AVR_FORMS`].
    pub fn named(name: &str) -> &'static AvrForm {
        let found = AVR_FORMS.iter().find(|form| form.name == name);
        found.unwrap_or_else(|| panic!("AVR has no instruction `{name}`"))
    }

    /// The width of an operand in the pattern, in bits.
    pub fn bits(&self, field: char) -> u32 {
        self.pattern.chars().filter(|c| *c == field).count() as u32
    }

    /// The words of the instruction with these operands: field values as in the pattern, so that
    /// registers which begin at 16 count from there.
    pub fn encode(&self, operands: &[(char, u32)]) -> Vec<u16> {
        let mut left: Vec<(char, u32)> =
            operands.iter().map(|&(field, _)| (field, self.bits(field))).collect();
        let mut code = 0u32;
        for c in self.pattern.chars() {
            let bit = match c {
                '0' | '1' => u32::from(c == '1'),
                field => {
                    let place = left.iter_mut().find(|(name, _)| *name == field);
                    let (_, left) = place.unwrap_or_else(|| panic!("{}: no {field}", self.name));
                    *left -= 1;
                    let value = operands.iter().find(|(name, _)| *name == field).map_or(0, |o| o.1);
                    value >> *left & 1
                }
            };
            code = code << 1 | bit;
        }
        match self.pattern.len() {
            16 => vec![code as u16],
            _ => vec![(code >> 16) as u16, code as u16],
        }
    }
}
