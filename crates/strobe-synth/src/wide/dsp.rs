//! The DSP extension of ARMv7E-M (DDI 0403, A5.3.12 to A5.3.17).

use super::{Class::Plain, Extension, Form, Rule};

pub(super) fn forms() -> Vec<Form> {
    let rows = TABLE.iter().copied().chain(PARALLEL.iter().copied());
    let rows = rows.map(|(name, pattern)| (name, pattern, Rule::Any));
    let long = LONG.iter().map(|&(name, pattern)| (name, pattern, Rule::LongResult));
    rows.chain(long)
        .map(|(name, pattern, rule)| Form::new(Extension::Dsp, name, pattern, Plain, rule))
        .collect()
}

const TABLE: &[(&str, &str)] = &[
    ("PKHBT", "111010101100nnnn0iiiddddii00mmmm"),
    ("PKHTB", "111010101100nnnn0iiiddddii10mmmm"),
    ("SSAT16", "111100110010nnnn0000dddd0000jjjj"),
    ("USAT16", "111100111010nnnn0000dddd0000jjjj"),
    ("SXTAH", "111110100000nnnn1111dddd10iimmmm"),
    ("UXTAH", "111110100001nnnn1111dddd10iimmmm"),
    ("SXTAB16", "111110100010nnnn1111dddd10iimmmm"),
    ("SXTB16", "11111010001011111111dddd10iimmmm"),
    ("UXTAB16", "111110100011nnnn1111dddd10iimmmm"),
    ("UXTB16", "11111010001111111111dddd10iimmmm"),
    ("SXTAB", "111110100100nnnn1111dddd10iimmmm"),
    ("UXTAB", "111110100101nnnn1111dddd10iimmmm"),
    ("QADD", "111110101000nnnn1111dddd1000mmmm"),
    ("QDADD", "111110101000nnnn1111dddd1001mmmm"),
    ("QSUB", "111110101000nnnn1111dddd1010mmmm"),
    ("QDSUB", "111110101000nnnn1111dddd1011mmmm"),
    ("SEL", "111110101010nnnn1111dddd1000mmmm"),
    ("SMLABB", "111110110001nnnnaaaadddd0000mmmm"),
    ("SMLABT", "111110110001nnnnaaaadddd0001mmmm"),
    ("SMLATB", "111110110001nnnnaaaadddd0010mmmm"),
    ("SMLATT", "111110110001nnnnaaaadddd0011mmmm"),
    ("SMULBB", "111110110001nnnn1111dddd0000mmmm"),
    ("SMULBT", "111110110001nnnn1111dddd0001mmmm"),
    ("SMULTB", "111110110001nnnn1111dddd0010mmmm"),
    ("SMULTT", "111110110001nnnn1111dddd0011mmmm"),
    ("SMLAD", "111110110010nnnnaaaadddd0000mmmm"),
    ("SMLADX", "111110110010nnnnaaaadddd0001mmmm"),
    ("SMUAD", "111110110010nnnn1111dddd0000mmmm"),
    ("SMUADX", "111110110010nnnn1111dddd0001mmmm"),
    ("SMLAWB", "111110110011nnnnaaaadddd0000mmmm"),
    ("SMLAWT", "111110110011nnnnaaaadddd0001mmmm"),
    ("SMULWB", "111110110011nnnn1111dddd0000mmmm"),
    ("SMULWT", "111110110011nnnn1111dddd0001mmmm"),
    ("SMLSD", "111110110100nnnnaaaadddd0000mmmm"),
    ("SMLSDX", "111110110100nnnnaaaadddd0001mmmm"),
    ("SMUSD", "111110110100nnnn1111dddd0000mmmm"),
    ("SMUSDX", "111110110100nnnn1111dddd0001mmmm"),
    ("SMMLA", "111110110101nnnnaaaadddd0000mmmm"),
    ("SMMLAR", "111110110101nnnnaaaadddd0001mmmm"),
    ("SMMUL", "111110110101nnnn1111dddd0000mmmm"),
    ("SMMULR", "111110110101nnnn1111dddd0001mmmm"),
    ("SMMLS", "111110110110nnnnaaaadddd0000mmmm"),
    ("SMMLSR", "111110110110nnnnaaaadddd0001mmmm"),
    ("USAD8", "111110110111nnnn1111dddd0000mmmm"),
    ("USADA8", "111110110111nnnnaaaadddd0000mmmm"),
    ("MSR APSR_g", "111100111000nnnn1000010000000000"),
    ("MSR APSR_nzcvqg", "111100111000nnnn1000110000000000"),
];

const LONG: &[(&str, &str)] = &[
    ("SMLALBB", "111110111100nnnnllllhhhh1000mmmm"),
    ("SMLALBT", "111110111100nnnnllllhhhh1001mmmm"),
    ("SMLALTB", "111110111100nnnnllllhhhh1010mmmm"),
    ("SMLALTT", "111110111100nnnnllllhhhh1011mmmm"),
    ("SMLALD", "111110111100nnnnllllhhhh1100mmmm"),
    ("SMLALDX", "111110111100nnnnllllhhhh1101mmmm"),
    ("SMLSLD", "111110111101nnnnllllhhhh1100mmmm"),
    ("SMLSLDX", "111110111101nnnnllllhhhh1101mmmm"),
    ("UMAAL", "111110111110nnnnllllhhhh0110mmmm"),
];

/// A5.3.13 and A5.3.14.
const PARALLEL: &[(&str, &str)] = &[
    ("SADD16", "111110101001nnnn1111dddd0000mmmm"),
    ("SASX", "111110101010nnnn1111dddd0000mmmm"),
    ("SSAX", "111110101110nnnn1111dddd0000mmmm"),
    ("SSUB16", "111110101101nnnn1111dddd0000mmmm"),
    ("SADD8", "111110101000nnnn1111dddd0000mmmm"),
    ("SSUB8", "111110101100nnnn1111dddd0000mmmm"),
    ("QADD16", "111110101001nnnn1111dddd0001mmmm"),
    ("QASX", "111110101010nnnn1111dddd0001mmmm"),
    ("QSAX", "111110101110nnnn1111dddd0001mmmm"),
    ("QSUB16", "111110101101nnnn1111dddd0001mmmm"),
    ("QADD8", "111110101000nnnn1111dddd0001mmmm"),
    ("QSUB8", "111110101100nnnn1111dddd0001mmmm"),
    ("SHADD16", "111110101001nnnn1111dddd0010mmmm"),
    ("SHASX", "111110101010nnnn1111dddd0010mmmm"),
    ("SHSAX", "111110101110nnnn1111dddd0010mmmm"),
    ("SHSUB16", "111110101101nnnn1111dddd0010mmmm"),
    ("SHADD8", "111110101000nnnn1111dddd0010mmmm"),
    ("SHSUB8", "111110101100nnnn1111dddd0010mmmm"),
    ("UADD16", "111110101001nnnn1111dddd0100mmmm"),
    ("UASX", "111110101010nnnn1111dddd0100mmmm"),
    ("USAX", "111110101110nnnn1111dddd0100mmmm"),
    ("USUB16", "111110101101nnnn1111dddd0100mmmm"),
    ("UADD8", "111110101000nnnn1111dddd0100mmmm"),
    ("USUB8", "111110101100nnnn1111dddd0100mmmm"),
    ("UQADD16", "111110101001nnnn1111dddd0101mmmm"),
    ("UQASX", "111110101010nnnn1111dddd0101mmmm"),
    ("UQSAX", "111110101110nnnn1111dddd0101mmmm"),
    ("UQSUB16", "111110101101nnnn1111dddd0101mmmm"),
    ("UQADD8", "111110101000nnnn1111dddd0101mmmm"),
    ("UQSUB8", "111110101100nnnn1111dddd0101mmmm"),
    ("UHADD16", "111110101001nnnn1111dddd0110mmmm"),
    ("UHASX", "111110101010nnnn1111dddd0110mmmm"),
    ("UHSAX", "111110101110nnnn1111dddd0110mmmm"),
    ("UHSUB16", "111110101101nnnn1111dddd0110mmmm"),
    ("UHADD8", "111110101000nnnn1111dddd0110mmmm"),
    ("UHSUB8", "111110101100nnnn1111dddd0110mmmm"),
];
