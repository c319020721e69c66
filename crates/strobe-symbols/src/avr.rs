//! AVR disassembly, spelled as `avr-objdump` does. Capstone does not support AVR.
//!
//! A table of opcode patterns (Microchip DS40002198), each with the text to write. It must not know
//! cycles.

use strobe_isa::avr::{Architecture, Insn};

/// One instruction.
pub(crate) struct Decoded {
    pub(crate) size: u8,
    pub(crate) mnemonic: &'static str,
    pub(crate) operands: String,
    /// The target of a branch, jump or call, as a byte address.
    pub(crate) target: Option<u32>,
}

/// Pattern, mnemonic, operands. Lower-case letters in a pattern are fields. In the operands `%d`
/// and `%r` are registers, `%D` and `%R` registers from r16 on, `%P` and `%Q` the lower register of
/// a pair, `%W` a pair from r24 on, `%k` and `%a` hexadecimal, `%q` and `%b` decimal numbers, `%t`
/// the target.
const TABLE: &[(&str, &str, &str)] = &[
    ("0000000000000000", "nop", ""),
    ("00000001ddddrrrr", "movw", "%P, %Q"),
    ("00000010ddddrrrr", "muls", "%D, %R"),
    ("000000110ddd0rrr", "mulsu", "%D, %R"),
    ("000000110ddd1rrr", "fmul", "%D, %R"),
    ("000000111ddd0rrr", "fmuls", "%D, %R"),
    ("000000111ddd1rrr", "fmulsu", "%D, %R"),
    ("000001rdddddrrrr", "cpc", "%d, %r"),
    ("000010rdddddrrrr", "sbc", "%d, %r"),
    ("000011rdddddrrrr", "add", "%d, %r"),
    ("000100rdddddrrrr", "cpse", "%d, %r"),
    ("000101rdddddrrrr", "cp", "%d, %r"),
    ("000110rdddddrrrr", "sub", "%d, %r"),
    ("000111rdddddrrrr", "adc", "%d, %r"),
    ("001000rdddddrrrr", "and", "%d, %r"),
    ("001001rdddddrrrr", "eor", "%d, %r"),
    ("001010rdddddrrrr", "or", "%d, %r"),
    ("001011rdddddrrrr", "mov", "%d, %r"),
    ("0011kkkkddddkkkk", "cpi", "%D, %k"),
    ("0100kkkkddddkkkk", "sbci", "%D, %k"),
    ("0101kkkkddddkkkk", "subi", "%D, %k"),
    ("0110kkkkddddkkkk", "ori", "%D, %k"),
    ("0111kkkkddddkkkk", "andi", "%D, %k"),
    ("1000000ddddd0000", "ld", "%d, Z"),
    ("1000000ddddd1000", "ld", "%d, Y"),
    ("1000001ddddd0000", "st", "Z, %d"),
    ("1000001ddddd1000", "st", "Y, %d"),
    ("10q0qq0ddddd0qqq", "ldd", "%d, Z+%q"),
    ("10q0qq0ddddd1qqq", "ldd", "%d, Y+%q"),
    ("10q0qq1ddddd0qqq", "std", "Z+%q, %d"),
    ("10q0qq1ddddd1qqq", "std", "Y+%q, %d"),
    ("1001000ddddd0000aaaaaaaaaaaaaaaa", "lds", "%d, %a"),
    ("1001000ddddd0001", "ld", "%d, Z+"),
    ("1001000ddddd0010", "ld", "%d, -Z"),
    ("1001000ddddd0100", "lpm", "%d, Z"),
    ("1001000ddddd0101", "lpm", "%d, Z+"),
    ("1001000ddddd0110", "elpm", "%d, Z"),
    ("1001000ddddd0111", "elpm", "%d, Z+"),
    ("1001000ddddd1001", "ld", "%d, Y+"),
    ("1001000ddddd1010", "ld", "%d, -Y"),
    ("1001000ddddd1100", "ld", "%d, X"),
    ("1001000ddddd1101", "ld", "%d, X+"),
    ("1001000ddddd1110", "ld", "%d, -X"),
    ("1001000ddddd1111", "pop", "%d"),
    ("1001001ddddd0000aaaaaaaaaaaaaaaa", "sts", "%a, %d"),
    ("1001001ddddd0001", "st", "Z+, %d"),
    ("1001001ddddd0010", "st", "-Z, %d"),
    ("1001001ddddd1001", "st", "Y+, %d"),
    ("1001001ddddd1010", "st", "-Y, %d"),
    ("1001001ddddd1100", "st", "X, %d"),
    ("1001001ddddd1101", "st", "X+, %d"),
    ("1001001ddddd1110", "st", "-X, %d"),
    ("1001001ddddd1111", "push", "%d"),
    ("1001010ddddd0000", "com", "%d"),
    ("1001010ddddd0001", "neg", "%d"),
    ("1001010ddddd0010", "swap", "%d"),
    ("1001010ddddd0011", "inc", "%d"),
    ("1001010ddddd0101", "asr", "%d"),
    ("1001010ddddd0110", "lsr", "%d"),
    ("1001010ddddd0111", "ror", "%d"),
    ("1001010ddddd1010", "dec", "%d"),
    ("1001010000001000", "sec", ""),
    ("1001010000011000", "sez", ""),
    ("1001010000101000", "sen", ""),
    ("1001010000111000", "sev", ""),
    ("1001010001001000", "ses", ""),
    ("1001010001011000", "seh", ""),
    ("1001010001101000", "set", ""),
    ("1001010001111000", "sei", ""),
    ("1001010010001000", "clc", ""),
    ("1001010010011000", "clz", ""),
    ("1001010010101000", "cln", ""),
    ("1001010010111000", "clv", ""),
    ("1001010011001000", "cls", ""),
    ("1001010011011000", "clh", ""),
    ("1001010011101000", "clt", ""),
    ("1001010011111000", "cli", ""),
    ("1001010000001001", "ijmp", ""),
    ("1001010000011001", "eijmp", ""),
    ("1001010100001000", "ret", ""),
    ("1001010100001001", "icall", ""),
    ("1001010100011000", "reti", ""),
    ("1001010100011001", "eicall", ""),
    ("1001010110001000", "sleep", ""),
    ("1001010110011000", "break", ""),
    ("1001010110101000", "wdr", ""),
    ("1001010111001000", "lpm", ""),
    ("1001010111011000", "elpm", ""),
    ("1001010111101000", "spm", ""),
    ("1001010111111000", "spm", "Z+"),
    ("1001010ttttt110ttttttttttttttttt", "jmp", "%t"),
    ("1001010ttttt111ttttttttttttttttt", "call", "%t"),
    ("10010110kkddkkkk", "adiw", "%W, %k"),
    ("10010111kkddkkkk", "sbiw", "%W, %k"),
    ("10011000aaaaabbb", "cbi", "%a, %b"),
    ("10011001aaaaabbb", "sbic", "%a, %b"),
    ("10011010aaaaabbb", "sbi", "%a, %b"),
    ("10011011aaaaabbb", "sbis", "%a, %b"),
    ("100111rdddddrrrr", "mul", "%d, %r"),
    ("10110aadddddaaaa", "in", "%d, %a"),
    ("10111aadddddaaaa", "out", "%a, %d"),
    ("1100tttttttttttt", "rjmp", "%t"),
    ("1101tttttttttttt", "rcall", "%t"),
    ("1110kkkkddddkkkk", "ldi", "%D, %k"),
    ("111100ttttttt000", "brcs", "%t"),
    ("111100ttttttt001", "breq", "%t"),
    ("111100ttttttt010", "brmi", "%t"),
    ("111100ttttttt011", "brvs", "%t"),
    ("111100ttttttt100", "brlt", "%t"),
    ("111100ttttttt101", "brhs", "%t"),
    ("111100ttttttt110", "brts", "%t"),
    ("111100ttttttt111", "brie", "%t"),
    ("111101ttttttt000", "brcc", "%t"),
    ("111101ttttttt001", "brne", "%t"),
    ("111101ttttttt010", "brpl", "%t"),
    ("111101ttttttt011", "brvc", "%t"),
    ("111101ttttttt100", "brge", "%t"),
    ("111101ttttttt101", "brhc", "%t"),
    ("111101ttttttt110", "brtc", "%t"),
    ("111101ttttttt111", "brid", "%t"),
    ("1111100ddddd0bbb", "bld", "%d, %b"),
    ("1111101ddddd0bbb", "bst", "%d, %b"),
    ("1111110ddddd0bbb", "sbrc", "%d, %b"),
    ("1111111ddddd0bbb", "sbrs", "%d, %b"),
];

/// Decodes the instruction with these words at an address; `None` if it is undefined, or lacks its
/// second word.
pub(crate) fn decode(address: u32, first: u16, second: Option<u16>) -> Option<Decoded> {
    let both = u32::from(first) << 16 | u32::from(second.unwrap_or(0));
    let fits = |pattern: &str| {
        pattern.bytes().enumerate().all(|(at, c)| match c {
            b'0' | b'1' => both >> (31 - at) & 1 == u32::from(c - b'0'),
            _ => true,
        })
    };
    let &(pattern, mnemonic, template) = TABLE.iter().find(|(pattern, ..)| fits(pattern))?;
    let size = pattern.len() as u8 / 8;
    if size == 4 && second.is_none() {
        return None;
    }
    let insn = || strobe_isa::avr::decode(Architecture::ALL, address, first, second.unwrap_or(0)).0;
    let target = template.contains("%t").then(insn).and_then(Insn::target);
    Some(Decoded { size, mnemonic, operands: operands(pattern, template, both, target), target })
}

/// A field's value.
fn field(pattern: &str, letter: char, both: u32) -> u32 {
    let places = pattern.char_indices().filter(|(_, c)| *c == letter);
    places.fold(0, |value, (at, _)| value << 1 | both >> (31 - at) & 1)
}

fn operands(pattern: &str, template: &str, both: u32, target: Option<u32>) -> String {
    let number = |letter| field(pattern, letter, both);
    let mut parts = template.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (kind, rest) = part.split_at(1);
        text += &match kind {
            "d" => format!("r{}", number('d')),
            "r" => format!("r{}", number('r')),
            "D" => format!("r{}", 16 + number('d')),
            "R" => format!("r{}", 16 + number('r')),
            "P" => format!("r{}", 2 * number('d')),
            "Q" => format!("r{}", 2 * number('r')),
            "W" => format!("r{}", 24 + 2 * number('d')),
            "k" => format!("{:#04x}", number('k')),
            "a" if pattern.len() == 32 => format!("{:#06x}", number('a')),
            "a" => format!("{:#04x}", number('a')),
            "t" => format!("{:#x}", target.unwrap_or_default()),
            letter => letter.chars().map(number).sum::<u32>().to_string(),
        };
        text += rest;
    }
    text
}
