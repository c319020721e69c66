//! The 32-bit encodings of ARMv7-M (DDI 0403, A5.3 and A6) as a table of the manual's encoding
//! diagrams.
//!
//! A diagram is 32 characters, `0` and `1` fixed and letters for fields: `d`, `n`, `m`, `a`
//! registers (`l` and `h` the halves of a long result, `t` and `u` what is transferred), `i` and
//! `j` immediates, `S` sets flags, `U` up, `s` a shift; `v`, `w`, `x` with `D`, `N`, `M`
//! floating-point registers. What a form needs to be predictable is its rule.

mod core;
mod dsp;
mod fp;

/// The extension that an encoding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extension {
    /// All of ARMv7-M has it.
    None,
    /// ARMv7E-M has it.
    Dsp,
    /// FPv4-SP has it.
    Fp,
}

/// The requirements for using an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reads and writes registers only; any will do.
    Plain,
    /// The same, and the stack pointer is a good operand `n`.
    PlainSp,
    /// One access, or two next to each other, relative to a register.
    Mem(Mem),
    /// A load relative to the PC; bytes loaded, and the immediate's unit.
    Literal { bytes: u32, unit: u32 },
    /// The user must know the form.
    Special,
}

/// An access relative to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mem {
    /// Not a store.
    pub load: bool,
    /// Bytes altogether.
    pub bytes: u32,
    /// The address must be a multiple of this.
    pub align: u32,
    /// The immediate's unit.
    pub unit: u32,
    /// How the offset is applied.
    pub index: Index,
}

/// How an offset is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Added, or by field `U` subtracted.
    Offset,
    /// Subtracted.
    Down,
    /// Added first, and kept.
    Pre,
    /// Added afterwards, and kept.
    Post,
    /// A register, shifted left by field `s`.
    Register,
}

/// Which field values are predictable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All.
    Any,
    /// `i` is not zero.
    ImmNotZero,
    /// `i` + `j` is below 32: a bit field extracted.
    FieldFits,
    /// `j` is not below `i`: a bit field inserted.
    FieldUp,
    /// `n` is `m`: an operand that is encoded twice.
    Twice,
    /// `l` is not `h`.
    LongResult,
    /// `xM` is not 31: a pair of registers. If they go to two registers, those differ.
    Pair,
    /// `jM` is at most 16 or 32: bits in front of the point.
    Fixed { size: u32 },
}

/// An encoding.
#[derive(Debug)]
pub struct Form {
    /// Its name, mnemonic first.
    pub name: &'static str,
    pattern: &'static str,
    /// The requirements for using it.
    pub class: Class,
    rule: Rule,
    /// The extension it belongs to.
    pub extension: Extension,
}

/// An instruction of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wide {
    form: u16,
    /// The first halfword in the upper half.
    pub bits: u32,
}

/// All forms.
pub fn forms() -> &'static [Form] {
    static FORMS: std::sync::LazyLock<Vec<Form>> = std::sync::LazyLock::new(|| {
        let mut all = core::forms();
        all.extend(dsp::forms());
        all.extend(fp::forms());
        all
    });
    &FORMS
}

impl Form {
    fn new(
        extension: Extension,
        name: &'static str,
        pattern: &'static str,
        class: Class,
        rule: Rule,
    ) -> Self {
        assert_eq!(pattern.len(), 32, "{name}");
        Form { name, pattern, class, rule, extension }
    }

    /// The form of a name.
    ///
    /// # Panics
    /// If there is none.
    pub fn named(name: &str) -> &'static Form {
        forms().iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no form {name}"))
    }

    /// Whether the diagram has a field of that letter.
    pub fn has(&self, letter: char) -> bool {
        self.pattern.contains(letter)
    }

    /// Bits of the field of that letter.
    pub fn width(&self, letter: char) -> u32 {
        self.pattern.chars().filter(|c| *c == letter).count() as u32
    }

    /// The instruction with these fields; the bits of others are taken from `filler`.
    ///
    /// # Panics
    /// If a value does not fit its field.
    pub fn with(&self, fields: &[(char, u32)], filler: u32) -> Wide {
        let mut left: Vec<(char, u32, u32)> =
            fields.iter().map(|&(letter, value)| (letter, value, self.width(letter))).collect();
        for &(letter, value, width) in &left {
            let fits = width >= 32 || value < 1 << width;
            assert!(fits, "{}: {value} does not fit {letter}", self.name);
        }
        let mut bits = 0;
        for (at, letter) in self.pattern.chars().enumerate() {
            let bit = match letter {
                '0' => 0,
                '1' => 1,
                letter => match left.iter_mut().find(|f| f.0 == letter) {
                    Some((_, value, rest)) => {
                        *rest -= 1;
                        *value >> *rest & 1
                    }
                    None => filler >> (31 - at) & 1,
                },
            };
            bits = bits << 1 | bit;
        }
        let form = forms().iter().position(|f| f.name == self.name);
        Wide { form: form.expect("forms are in the table") as u16, bits }
    }
}

impl Wide {
    /// Its form.
    pub fn form(&self) -> &'static Form {
        &forms()[usize::from(self.form)]
    }

    /// The value of the field of that letter, 0 without one.
    pub fn field(&self, letter: char) -> u32 {
        let bits = self.form().pattern.chars().enumerate().filter(|(_, c)| *c == letter);
        bits.fold(0, |value, (at, _)| value << 1 | self.bits >> (31 - at) & 1)
    }

    /// Whether the fields are predictable together. The generator checks individual registers.
    pub fn is_predictable(&self) -> bool {
        let field = |letter| self.field(letter);
        match self.form().rule {
            Rule::Any => true,
            Rule::ImmNotZero => field('i') != 0,
            Rule::FieldFits => field('i') + field('j') < 32,
            Rule::FieldUp => field('j') >= field('i'),
            Rule::Twice => field('n') == field('m'),
            Rule::LongResult => field('l') != field('h'),
            Rule::Pair => {
                let differ = field('l') != field('h') || !self.form().has('l');
                differ && (field('x') != 15 || field('M') != 1)
            }
            Rule::Fixed { size } => field('j') << 1 | field('M') <= size,
        }
    }
}
