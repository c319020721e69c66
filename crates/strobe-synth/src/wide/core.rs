//! ARMv7-M without extensions (DDI 0403, A5.3).

use super::{Class, Extension, Form, Index, Mem, Rule};

const fn mem(load: bool, bytes: u32, index: Index) -> Class {
    Class::Mem(Mem { load, bytes, align: 1, unit: 1, index })
}

const fn dual(load: bool, index: Index) -> Class {
    Class::Mem(Mem { load, bytes: 8, align: 4, unit: 4, index })
}

pub(super) fn forms() -> Vec<Form> {
    let tables = [DATA, FIELDS, MULTIPLY, MEMORY, LITERALS, SPECIAL];
    let rows = tables.into_iter().flatten();
    rows.map(|&(name, pattern, class, rule)| Form::new(Extension::None, name, pattern, class, rule))
        .collect()
}

type Row = (&'static str, &'static str, Class, Rule);

use Class::{Plain, PlainSp, Special};
use Index::{Down, Offset, Post, Pre, Register};
use Rule::Any;

/// A5.3.1, A5.3.3, A5.3.11: data processing.
const DATA: &[Row] = &[
    ("AND imm", "11110i00000Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("TST imm", "11110i000001nnnn0iii1111iiiiiiii", Plain, Any),
    ("BIC imm", "11110i00001Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("ORR imm", "11110i00010Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("MOV imm W", "11110i00010S11110iiiddddiiiiiiii", Plain, Any),
    ("ORN imm", "11110i00011Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("MVN imm", "11110i00011S11110iiiddddiiiiiiii", Plain, Any),
    ("EOR imm", "11110i00100Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("TEQ imm", "11110i001001nnnn0iii1111iiiiiiii", Plain, Any),
    ("ADD imm", "11110i01000Snnnn0iiiddddiiiiiiii", PlainSp, Any),
    ("CMN imm", "11110i010001nnnn0iii1111iiiiiiii", PlainSp, Any),
    ("ADC imm", "11110i01010Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("SBC imm", "11110i01011Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("SUB imm", "11110i01101Snnnn0iiiddddiiiiiiii", PlainSp, Any),
    ("CMP imm W", "11110i011011nnnn0iii1111iiiiiiii", PlainSp, Any),
    ("RSB imm", "11110i01110Snnnn0iiiddddiiiiiiii", Plain, Any),
    ("AND reg", "11101010000Snnnn0iiiddddiissmmmm", Plain, Any),
    ("TST reg", "111010100001nnnn0iii1111iissmmmm", Plain, Any),
    ("BIC reg", "11101010001Snnnn0iiiddddiissmmmm", Plain, Any),
    ("ORR reg", "11101010010Snnnn0iiiddddiissmmmm", Plain, Any),
    ("MOV shifted", "11101010010S11110iiiddddiissmmmm", Plain, Any),
    ("ORN reg", "11101010011Snnnn0iiiddddiissmmmm", Plain, Any),
    ("MVN reg", "11101010011S11110iiiddddiissmmmm", Plain, Any),
    ("EOR reg", "11101010100Snnnn0iiiddddiissmmmm", Plain, Any),
    ("TEQ reg", "111010101001nnnn0iii1111iissmmmm", Plain, Any),
    ("ADD reg", "11101011000Snnnn0iiiddddiissmmmm", PlainSp, Any),
    ("CMN reg", "111010110001nnnn0iii1111iissmmmm", Plain, Any),
    ("ADC reg", "11101011010Snnnn0iiiddddiissmmmm", Plain, Any),
    ("SBC reg", "11101011011Snnnn0iiiddddiissmmmm", Plain, Any),
    ("SUB reg W", "11101011101Snnnn0iiiddddiissmmmm", PlainSp, Any),
    ("CMP reg", "111010111011nnnn0iii1111iissmmmm", PlainSp, Any),
    ("RSB reg", "11101011110Snnnn0iiiddddiissmmmm", Plain, Any),
    ("ADDW", "11110i100000nnnn0iiiddddiiiiiiii", PlainSp, Any),
    ("ADR up", "11110i10000011110iiiddddiiiiiiii", Plain, Any),
    ("SUBW", "11110i101010nnnn0iiiddddiiiiiiii", PlainSp, Any),
    ("ADR down", "11110i10101011110iiiddddiiiiiiii", Plain, Any),
    ("MOVW", "11110i100100iiii0iiiddddiiiiiiii", Plain, Any),
    ("MOVT", "11110i101100iiii0iiiddddiiiiiiii", Plain, Any),
    ("LSL reg W", "11111010000Snnnn1111dddd0000mmmm", Plain, Any),
    ("LSR reg W", "11111010001Snnnn1111dddd0000mmmm", Plain, Any),
    ("ASR reg W", "11111010010Snnnn1111dddd0000mmmm", Plain, Any),
    ("ROR reg W", "11111010011Snnnn1111dddd0000mmmm", Plain, Any),
    ("SXTH W", "11111010000011111111dddd10iimmmm", Plain, Any),
    ("UXTH W", "11111010000111111111dddd10iimmmm", Plain, Any),
    ("SXTB W", "11111010010011111111dddd10iimmmm", Plain, Any),
    ("UXTB W", "11111010010111111111dddd10iimmmm", Plain, Any),
    ("REV W", "111110101001nnnn1111dddd1000mmmm", Plain, Rule::Twice),
    ("REV16 W", "111110101001nnnn1111dddd1001mmmm", Plain, Rule::Twice),
    ("RBIT", "111110101001nnnn1111dddd1010mmmm", Plain, Rule::Twice),
    ("REVSH W", "111110101001nnnn1111dddd1011mmmm", Plain, Rule::Twice),
    ("CLZ", "111110101011nnnn1111dddd1000mmmm", Plain, Rule::Twice),
];

/// A5.3.3: saturation and bit fields.
const FIELDS: &[Row] = &[
    ("SSAT lsl", "111100110000nnnn0iiiddddii0jjjjj", Plain, Any),
    ("SSAT asr", "111100110010nnnn0iiiddddii0jjjjj", Plain, Rule::ImmNotZero),
    ("USAT lsl", "111100111000nnnn0iiiddddii0jjjjj", Plain, Any),
    ("USAT asr", "111100111010nnnn0iiiddddii0jjjjj", Plain, Rule::ImmNotZero),
    ("SBFX", "111100110100nnnn0iiiddddii0jjjjj", Plain, Rule::FieldFits),
    ("UBFX", "111100111100nnnn0iiiddddii0jjjjj", Plain, Rule::FieldFits),
    ("BFI", "111100110110nnnn0iiiddddii0jjjjj", Plain, Rule::FieldUp),
    ("BFC", "11110011011011110iiiddddii0jjjjj", Plain, Rule::FieldUp),
];

/// A5.3.16, A5.3.17: multiplication and division.
const MULTIPLY: &[Row] = &[
    ("MUL W", "111110110000nnnn1111dddd0000mmmm", Plain, Any),
    ("MLA", "111110110000nnnnaaaadddd0000mmmm", Plain, Any),
    ("MLS", "111110110000nnnnaaaadddd0001mmmm", Plain, Any),
    ("SMULL", "111110111000nnnnllllhhhh0000mmmm", Plain, Rule::LongResult),
    ("UMULL", "111110111010nnnnllllhhhh0000mmmm", Plain, Rule::LongResult),
    ("SMLAL", "111110111100nnnnllllhhhh0000mmmm", Plain, Rule::LongResult),
    ("UMLAL", "111110111110nnnnllllhhhh0000mmmm", Plain, Rule::LongResult),
    ("SDIV", "111110111001nnnn1111dddd1111mmmm", Plain, Any),
    ("UDIV", "111110111011nnnn1111dddd1111mmmm", Plain, Any),
];

/// A5.3.6 to A5.3.10: one access, or two.
const MEMORY: &[Row] = &[
    ("STRB imm12", "111110001000nnnnttttiiiiiiiiiiii", mem(false, 1, Offset), Any),
    ("STRB down", "111110000000nnnntttt1100iiiiiiii", mem(false, 1, Down), Any),
    ("STRB pre", "111110000000nnnntttt11U1iiiiiiii", mem(false, 1, Pre), Any),
    ("STRB post", "111110000000nnnntttt10U1iiiiiiii", mem(false, 1, Post), Any),
    ("STRB reg W", "111110000000nnnntttt000000ssmmmm", mem(false, 1, Register), Any),
    ("STRBT", "111110000000nnnntttt1110iiiiiiii", mem(false, 1, Offset), Any),
    ("STRH imm12", "111110001010nnnnttttiiiiiiiiiiii", mem(false, 2, Offset), Any),
    ("STRH down", "111110000010nnnntttt1100iiiiiiii", mem(false, 2, Down), Any),
    ("STRH pre", "111110000010nnnntttt11U1iiiiiiii", mem(false, 2, Pre), Any),
    ("STRH post", "111110000010nnnntttt10U1iiiiiiii", mem(false, 2, Post), Any),
    ("STRH reg W", "111110000010nnnntttt000000ssmmmm", mem(false, 2, Register), Any),
    ("STRHT", "111110000010nnnntttt1110iiiiiiii", mem(false, 2, Offset), Any),
    ("STR imm12", "111110001100nnnnttttiiiiiiiiiiii", mem(false, 4, Offset), Any),
    ("STR down", "111110000100nnnntttt1100iiiiiiii", mem(false, 4, Down), Any),
    ("STR pre", "111110000100nnnntttt11U1iiiiiiii", mem(false, 4, Pre), Any),
    ("STR post", "111110000100nnnntttt10U1iiiiiiii", mem(false, 4, Post), Any),
    ("STR reg W", "111110000100nnnntttt000000ssmmmm", mem(false, 4, Register), Any),
    ("STRT", "111110000100nnnntttt1110iiiiiiii", mem(false, 4, Offset), Any),
    ("LDRB imm12", "111110001001nnnnttttiiiiiiiiiiii", mem(true, 1, Offset), Any),
    ("LDRB down", "111110000001nnnntttt1100iiiiiiii", mem(true, 1, Down), Any),
    ("LDRB pre", "111110000001nnnntttt11U1iiiiiiii", mem(true, 1, Pre), Any),
    ("LDRB post", "111110000001nnnntttt10U1iiiiiiii", mem(true, 1, Post), Any),
    ("LDRB reg W", "111110000001nnnntttt000000ssmmmm", mem(true, 1, Register), Any),
    ("LDRBT", "111110000001nnnntttt1110iiiiiiii", mem(true, 1, Offset), Any),
    ("LDRSB imm12", "111110011001nnnnttttiiiiiiiiiiii", mem(true, 1, Offset), Any),
    ("LDRSB down", "111110010001nnnntttt1100iiiiiiii", mem(true, 1, Down), Any),
    ("LDRSB pre", "111110010001nnnntttt11U1iiiiiiii", mem(true, 1, Pre), Any),
    ("LDRSB post", "111110010001nnnntttt10U1iiiiiiii", mem(true, 1, Post), Any),
    ("LDRSB reg W", "111110010001nnnntttt000000ssmmmm", mem(true, 1, Register), Any),
    ("LDRSBT", "111110010001nnnntttt1110iiiiiiii", mem(true, 1, Offset), Any),
    ("LDRH imm12", "111110001011nnnnttttiiiiiiiiiiii", mem(true, 2, Offset), Any),
    ("LDRH down", "111110000011nnnntttt1100iiiiiiii", mem(true, 2, Down), Any),
    ("LDRH pre", "111110000011nnnntttt11U1iiiiiiii", mem(true, 2, Pre), Any),
    ("LDRH post", "111110000011nnnntttt10U1iiiiiiii", mem(true, 2, Post), Any),
    ("LDRH reg W", "111110000011nnnntttt000000ssmmmm", mem(true, 2, Register), Any),
    ("LDRHT", "111110000011nnnntttt1110iiiiiiii", mem(true, 2, Offset), Any),
    ("LDRSH imm12", "111110011011nnnnttttiiiiiiiiiiii", mem(true, 2, Offset), Any),
    ("LDRSH down", "111110010011nnnntttt1100iiiiiiii", mem(true, 2, Down), Any),
    ("LDRSH pre", "111110010011nnnntttt11U1iiiiiiii", mem(true, 2, Pre), Any),
    ("LDRSH post", "111110010011nnnntttt10U1iiiiiiii", mem(true, 2, Post), Any),
    ("LDRSH reg W", "111110010011nnnntttt000000ssmmmm", mem(true, 2, Register), Any),
    ("LDRSHT", "111110010011nnnntttt1110iiiiiiii", mem(true, 2, Offset), Any),
    ("LDR imm12", "111110001101nnnnttttiiiiiiiiiiii", mem(true, 4, Offset), Any),
    ("LDR down", "111110000101nnnntttt1100iiiiiiii", mem(true, 4, Down), Any),
    ("LDR pre", "111110000101nnnntttt11U1iiiiiiii", mem(true, 4, Pre), Any),
    ("LDR post", "111110000101nnnntttt10U1iiiiiiii", mem(true, 4, Post), Any),
    ("LDR reg W", "111110000101nnnntttt000000ssmmmm", mem(true, 4, Register), Any),
    ("LDRT", "111110000101nnnntttt1110iiiiiiii", mem(true, 4, Offset), Any),
    ("LDRD", "11101001U101nnnnttttuuuuiiiiiiii", dual(true, Offset), Any),
    ("LDRD pre", "11101001U111nnnnttttuuuuiiiiiiii", dual(true, Pre), Any),
    ("LDRD post", "11101000U111nnnnttttuuuuiiiiiiii", dual(true, Post), Any),
    ("STRD", "11101001U100nnnnttttuuuuiiiiiiii", dual(false, Offset), Any),
    ("STRD pre", "11101001U110nnnnttttuuuuiiiiiiii", dual(false, Pre), Any),
    ("STRD post", "11101000U110nnnnttttuuuuiiiiiiii", dual(false, Post), Any),
    ("PLD imm12", "111110001001nnnn1111iiiiiiiiiiii", mem(true, 1, Offset), Any),
    ("PLD down", "111110000001nnnn11111100iiiiiiii", mem(true, 1, Down), Any),
    ("PLD reg", "111110000001nnnn1111000000ssmmmm", mem(true, 1, Register), Any),
    ("PLI imm12", "111110011001nnnn1111iiiiiiiiiiii", mem(true, 1, Offset), Any),
    ("PLI down", "111110010001nnnn11111100iiiiiiii", mem(true, 1, Down), Any),
    ("PLI reg", "111110010001nnnn1111000000ssmmmm", mem(true, 1, Register), Any),
];

const fn literal(bytes: u32, unit: u32) -> Class {
    Class::Literal { bytes, unit }
}

/// The same relative to the PC.
const LITERALS: &[Row] = &[
    ("LDRB lit", "11111000U0011111ttttiiiiiiiiiiii", literal(1, 1), Any),
    ("LDRSB lit", "11111001U0011111ttttiiiiiiiiiiii", literal(1, 1), Any),
    ("LDRH lit", "11111000U0111111ttttiiiiiiiiiiii", literal(2, 1), Any),
    ("LDRSH lit", "11111001U0111111ttttiiiiiiiiiiii", literal(2, 1), Any),
    ("LDR lit W", "11111000U1011111ttttiiiiiiiiiiii", literal(4, 1), Any),
    ("LDRD lit", "11101001U1011111ttttuuuuiiiiiiii", literal(8, 4), Any),
    ("PLD lit", "11111000U00111111111iiiiiiiiiiii", literal(1, 1), Any),
    ("PLI lit", "11111001U00111111111iiiiiiiiiiii", literal(1, 1), Any),
];

/// Instructions that need preparation, or change more than registers.
const SPECIAL: &[Row] = &[
    ("LDMIA W", "1110100010W1nnnn0M0rrrrrrrrrrrrr", Special, Any),
    ("LDMDB", "1110100100W1nnnn0M0rrrrrrrrrrrrr", Special, Any),
    ("STMIA W", "1110100010W0nnnn0M0rrrrrrrrrrrrr", Special, Any),
    ("STMDB", "1110100100W0nnnn0M0rrrrrrrrrrrrr", Special, Any),
    ("LDMIA pc", "1110100010W1nnnn100rrrrrrrrrrrrr", Special, Any),
    ("LDMDB pc", "1110100100W1nnnn100rrrrrrrrrrrrr", Special, Any),
    ("LDREX", "111010000101nnnntttt1111iiiiiiii", Special, Any),
    ("LDREXB", "111010001101nnnntttt111101001111", Special, Any),
    ("LDREXH", "111010001101nnnntttt111101011111", Special, Any),
    ("STREX", "111010000100nnnnttttddddiiiiiiii", Special, Any),
    ("STREXB", "111010001100nnnntttt11110100dddd", Special, Any),
    ("STREXH", "111010001100nnnntttt11110101dddd", Special, Any),
    ("CLREX", "11110011101111111000111100101111", Special, Any),
    ("TBB", "111010001101nnnn111100000000mmmm", Special, Any),
    ("TBH", "111010001101nnnn111100000001mmmm", Special, Any),
    ("LDR pc imm12", "111110001101nnnn1111iiiiiiiiiiii", Special, Any),
    ("LDR pc down", "111110000101nnnn11111100iiiiiiii", Special, Any),
    ("LDR pc pre", "111110000101nnnn111111U1iiiiiiii", Special, Any),
    ("LDR pc post", "111110000101nnnn111110U1iiiiiiii", Special, Any),
    ("LDR pc reg", "111110000101nnnn1111000000ssmmmm", Special, Any),
    ("LDR pc lit", "11111000U10111111111iiiiiiiiiiii", Special, Any),
    ("NOP W", "11110011101011111000000000000000", Special, Any),
    ("YIELD W", "11110011101011111000000000000001", Special, Any),
    ("WFE W", "11110011101011111000000000000010", Special, Any),
    ("WFI W", "11110011101011111000000000000011", Special, Any),
    ("SEV W", "11110011101011111000000000000100", Special, Any),
    ("DBG", "1111001110101111100000001111iiii", Special, Any),
    ("MSR BASEPRI", "111100111000nnnn1000100000010001", Special, Any),
    ("MSR BASEPRI_MAX", "111100111000nnnn1000100000010010", Special, Any),
    ("MSR FAULTMASK", "111100111000nnnn1000100000010011", Special, Any),
    ("MRS BASEPRI", "11110011111011111000dddd00010001", Plain, Any),
    ("MRS BASEPRI_MAX", "11110011111011111000dddd00010010", Plain, Any),
    ("MRS FAULTMASK", "11110011111011111000dddd00010011", Plain, Any),
];
