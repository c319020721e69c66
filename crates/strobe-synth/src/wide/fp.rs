//! FPv4-SP (DDI 0403, A6.4 to A6.7). `v`, `w` and `x` are Vd, Vn and Vm, `D`, `N` and `M` their
//! fifth bits.

use super::{Class, Extension, Form, Index, Mem, Rule};

pub(super) fn forms() -> Vec<Form> {
    let rows = ARITHMETIC.iter().map(|&(name, pattern)| (name, pattern, Class::Plain, Rule::Any));
    rows.chain(OTHERS.iter().copied())
        .map(|(name, pattern, class, rule)| Form::new(Extension::Fp, name, pattern, class, rule))
        .collect()
}

const ARITHMETIC: &[(&str, &str)] = &[
    ("VMLA", "111011100D00wwwwvvvv1010N0M0xxxx"),
    ("VMLS", "111011100D00wwwwvvvv1010N1M0xxxx"),
    ("VNMLS", "111011100D01wwwwvvvv1010N0M0xxxx"),
    ("VNMLA", "111011100D01wwwwvvvv1010N1M0xxxx"),
    ("VMUL", "111011100D10wwwwvvvv1010N0M0xxxx"),
    ("VNMUL", "111011100D10wwwwvvvv1010N1M0xxxx"),
    ("VADD", "111011100D11wwwwvvvv1010N0M0xxxx"),
    ("VSUB", "111011100D11wwwwvvvv1010N1M0xxxx"),
    ("VDIV", "111011101D00wwwwvvvv1010N0M0xxxx"),
    ("VFNMS", "111011101D01wwwwvvvv1010N0M0xxxx"),
    ("VFNMA", "111011101D01wwwwvvvv1010N1M0xxxx"),
    ("VFMA", "111011101D10wwwwvvvv1010N0M0xxxx"),
    ("VFMS", "111011101D10wwwwvvvv1010N1M0xxxx"),
    ("VMOV imm", "111011101D11iiiivvvv10100000jjjj"),
    ("VMOV reg", "111011101D110000vvvv101001M0xxxx"),
    ("VABS", "111011101D110000vvvv101011M0xxxx"),
    ("VNEG", "111011101D110001vvvv101001M0xxxx"),
    ("VSQRT", "111011101D110001vvvv101011M0xxxx"),
    ("VCVTB from half", "111011101D110010vvvv101001M0xxxx"),
    ("VCVTT from half", "111011101D110010vvvv101011M0xxxx"),
    ("VCVTB to half", "111011101D110011vvvv101001M0xxxx"),
    ("VCVTT to half", "111011101D110011vvvv101011M0xxxx"),
    ("VCMP", "111011101D110100vvvv101001M0xxxx"),
    ("VCMPE", "111011101D110100vvvv101011M0xxxx"),
    ("VCMP zero", "111011101D110101vvvv101001000000"),
    ("VCMPE zero", "111011101D110101vvvv101011000000"),
    ("VCVT from unsigned", "111011101D111000vvvv101001M0xxxx"),
    ("VCVT from signed", "111011101D111000vvvv101011M0xxxx"),
    ("VCVTR to unsigned", "111011101D111100vvvv101001M0xxxx"),
    ("VCVT to unsigned", "111011101D111100vvvv101011M0xxxx"),
    ("VCVTR to signed", "111011101D111101vvvv101001M0xxxx"),
    ("VCVT to signed", "111011101D111101vvvv101011M0xxxx"),
    ("VMOV to core", "111011100001wwwwdddd1010N0010000"),
    ("VMOV from core", "111011100000wwwwmmmm1010N0010000"),
    ("VMOV to scalar", "1110111000i0wwwwmmmm101100010000"),
    ("VMOV from scalar", "1110111000i1wwwwdddd101100010000"),
    ("VMRS", "1110111011110001dddd101000010000"),
    ("VMRS flags", "11101110111100011111101000010000"),
    ("VMOV from two core double", "111011000100mmmmaaaa10110001xxxx"),
];

const SIXTEEN: Rule = Rule::Fixed { size: 16 };
const THIRTY_TWO: Rule = Rule::Fixed { size: 32 };

const fn mem(load: bool, bytes: u32) -> Class {
    Class::Mem(Mem { load, bytes, align: 4, unit: 4, index: Index::Offset })
}

const OTHERS: &[(&str, &str, Class, Rule)] = &[
    ("VCVT from fixed s16", "111011101D111010vvvv101001M0jjjj", Class::Plain, SIXTEEN),
    ("VCVT from fixed s32", "111011101D111010vvvv101011M0jjjj", Class::Plain, THIRTY_TWO),
    ("VCVT from fixed u16", "111011101D111011vvvv101001M0jjjj", Class::Plain, SIXTEEN),
    ("VCVT from fixed u32", "111011101D111011vvvv101011M0jjjj", Class::Plain, THIRTY_TWO),
    ("VCVT to fixed s16", "111011101D111110vvvv101001M0jjjj", Class::Plain, SIXTEEN),
    ("VCVT to fixed s32", "111011101D111110vvvv101011M0jjjj", Class::Plain, THIRTY_TWO),
    ("VCVT to fixed u16", "111011101D111111vvvv101001M0jjjj", Class::Plain, SIXTEEN),
    ("VCVT to fixed u32", "111011101D111111vvvv101011M0jjjj", Class::Plain, THIRTY_TWO),
    ("VMOV to two core", "111011000101hhhhllll101000M1xxxx", Class::Plain, Rule::Pair),
    ("VMOV from two core", "111011000100mmmmaaaa101000M1xxxx", Class::Plain, Rule::Pair),
    ("VMOV to two core double", "111011000101hhhhllll10110001xxxx", Class::Plain, Rule::LongResult),
    ("VMSR", "1110111011100001tttt101000010000", Class::Special, Rule::Any),
    ("VLDR", "11101101UD01nnnnvvvv1010iiiiiiii", mem(true, 4), Rule::Any),
    ("VLDR double", "11101101U001nnnnvvvv1011iiiiiiii", mem(true, 8), Rule::Any),
    ("VSTR", "11101101UD00nnnnvvvv1010iiiiiiii", mem(false, 4), Rule::Any),
    ("VSTR double", "11101101U000nnnnvvvv1011iiiiiiii", mem(false, 8), Rule::Any),
    (
        "VLDR lit",
        "11101101UD011111vvvv1010iiiiiiii",
        Class::Literal { bytes: 4, unit: 4 },
        Rule::Any,
    ),
    (
        "VLDR lit double",
        "11101101U0011111vvvv1011iiiiiiii",
        Class::Literal { bytes: 8, unit: 4 },
        Rule::Any,
    ),
    ("VLDMIA", "111011001DW1nnnnvvvv1010iiiiiiii", Class::Special, Rule::Any),
    ("VLDMDB", "111011010D11nnnnvvvv1010iiiiiiii", Class::Special, Rule::Any),
    ("VLDMIA double", "1110110010W1nnnnvvvv1011iiiiiiii", Class::Special, Rule::Any),
    ("VLDMDB double", "111011010011nnnnvvvv1011iiiiiiii", Class::Special, Rule::Any),
    ("VSTMIA", "111011001DW0nnnnvvvv1010iiiiiiii", Class::Special, Rule::Any),
    ("VSTMDB", "111011010D10nnnnvvvv1010iiiiiiii", Class::Special, Rule::Any),
    ("VSTMIA double", "1110110010W0nnnnvvvv1011iiiiiiii", Class::Special, Rule::Any),
    ("VSTMDB double", "111011010010nnnnvvvv1011iiiiiiii", Class::Special, Rule::Any),
];
