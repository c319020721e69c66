//! Generated AVR programs: seeded, ending by themselves in a jump to itself with interrupts off.
//!
//! They run on two machines in parallel, so undefined behaviour is avoided: pointers are set before
//! each access to RAM, registers or harmless I/O registers, the stack pointer is reset to RAM
//! repeatedly, branches go forward or count, and no pointer is loaded through itself.

use super::{AVR_FORMS, AvrForm, AvrPart};
use crate::rng::Rng;

/// A generated program.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The flash contents from 0 on, little-endian.
    pub image: Vec<u8>,
    /// How often each of [`AVR_FORMS`] was emitted.
    pub forms: Vec<u32>,
}

/// Data addresses that a program may write without other effects than a changed byte or pin.
struct Harmless {
    /// With any value.
    io: [u16; 3],
    /// Single bits, up to `width`.
    bits: [u16; 3],
    width: u32,
}

fn harmless(part: AvrPart) -> Harmless {
    match part {
        // GPIOR0 to 2; GPIOR0, DDRB, PORTB, which have six bits.
        AvrPart::Attiny85 => {
            Harmless { io: [0x31, 0x32, 0x33], bits: [0x31, 0x37, 0x38], width: 6 }
        }
        // GPIOR0, DDRB, PORTB.
        AvrPart::Atmega328p | AvrPart::Atmega2560 => {
            Harmless { io: [0x3e, 0x24, 0x25], bits: [0x3e, 0x24, 0x25], width: 8 }
        }
    }
}

/// Address of the subroutines on the part whose program counter is wider than 16 bits.
const FAR_WORDS: u32 = 0x1_0100;

struct Gen {
    rng: Rng,
    part: AvrPart,
    words: Vec<u16>,
    forms: Vec<u32>,
    /// The counter register of the running loop.
    counter: Option<u32>,
}

impl Sequence {
    /// The program of a seed: so many snippets of a few instructions each.
    pub fn generate(seed: u64, part: AvrPart, snippets: u32) -> Self {
        let mut generator = Gen {
            rng: Rng::new(seed),
            part,
            words: Vec::new(),
            forms: vec![0; AVR_FORMS.len()],
            counter: None,
        };
        for register in 16..32 {
            let value = generator.rng.below(256);
            generator.ldi(register, value);
        }
        generator.new_stack();
        let room = (part.flash_bytes() / 2).min(0x7f00) - 64;
        for _ in 0..snippets {
            if generator.words.len() as u32 > room {
                break;
            }
            generator.snippet();
        }
        generator.emit("bclr", &[('s', 7)]);
        generator.emit("rjmp", &[('k', 0xfff)]);
        let mut words = generator.words;
        if part == AvrPart::Atmega2560 {
            words.resize(FAR_WORDS as usize, 0);
            // inc r0; ret
            words.extend([0x9403, 0x9508]);
        }
        let image = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Sequence { image, forms: generator.forms }
    }
}

impl Gen {
    fn emit(&mut self, name: &str, operands: &[(char, u32)]) {
        let at = AVR_FORMS.iter().position(|form| form.name == name);
        let at = at.unwrap_or_else(|| panic!("AVR has no instruction `{name}`"));
        self.forms[at] += 1;
        self.words.extend(AVR_FORMS[at].encode(operands));
    }

    fn ldi(&mut self, register: u32, value: u32) {
        self.emit("ldi", &[('d', register - 16), ('k', value & 0xff)]);
    }

    /// Points X (26), Y (28) or Z (30) to an address.
    fn point(&mut self, low: u32, to: u32) {
        self.ldi(low, to);
        self.ldi(low + 1, to >> 8);
    }

    /// An address in RAM with room on both sides, clear of the stack.
    fn in_ram(&mut self) -> u32 {
        let (start, bytes) = self.part.ram();
        u32::from(start) + 8 + self.rng.below(u32::from(bytes) / 2 - 80)
    }

    /// An address for a load or store: mostly RAM, sometimes a register or a harmless I/O register.
    fn address(&mut self) -> u32 {
        match self.rng.below(8) {
            0 => self.rng.below(26),
            1 => u32::from(self.rng.pick(&harmless(self.part).io)),
            // SREG.
            2 if self.rng.one_in(4) => 0x5f,
            _ => self.in_ram(),
        }
    }

    /// Moves the stack pointer to the upper half of RAM.
    fn new_stack(&mut self) {
        let (start, bytes) = self.part.ram();
        let (half, quarter) = (u32::from(bytes) / 2, u32::from(bytes) / 4);
        let sp = u32::from(start) + half + 32 + self.rng.below(quarter);
        for (register, value) in [(0x3e, sp >> 8), (0x3d, sp)] {
            self.ldi(16, value);
            self.emit("out", &[('a', register), ('d', 16)]);
        }
    }

    fn snippet(&mut self) {
        match self.rng.below(20) {
            0..=8 => self.plain(),
            9 | 10 => self.load_or_store(),
            11 => self.input_output(),
            12 => self.branch(),
            13 => self.skip(),
            14 => self.call(),
            15 => self.jump(),
            16 => self.count(),
            17 => self.stack(),
            18 => self.read_program(),
            _ => self.direct(),
        }
    }

    fn plain(&mut self) {
        self.plain_but(&[]);
    }

    /// Arithmetic and the like, with any operands.
    fn plain_but(&mut self, avoid: &[&str]) {
        const PLAIN: [&str; 44] = [
            "nop", "movw", "muls", "mulsu", "fmul", "fmuls", "fmulsu", "cpc", "sbc", "add", "cp",
            "sub", "adc", "and", "eor", "or", "mov", "cpi", "sbci", "subi", "ori", "andi", "ldi",
            "com", "neg", "swap", "inc", "asr", "lsr", "ror", "dec", "bset", "bclr", "wdr", "adiw",
            "sbiw", "mul", "bld", "bst", "add", "sub", "adc", "sbc", "cpc",
        ];
        let form = loop {
            let form = AvrForm::named(self.rng.pick(&PLAIN));
            if self.part.has(form) && !avoid.contains(&form.name) {
                break form;
            }
        };
        loop {
            let mut operands = Vec::new();
            for field in ['d', 'r', 'k', 's', 'b'] {
                let bits = form.bits(field);
                if bits > 0 {
                    operands.push((field, self.rng.below(1 << bits)));
                }
            }
            if self.counter.is_none_or(|counter| !writes(form, &operands, counter)) {
                return self.emit(form.name, &operands);
            }
        }
    }

    fn load_or_store(&mut self) {
        const FORMS: [(&str, u32); 22] = [
            ("ldd z", 30),
            ("ldd y", 28),
            ("std z", 30),
            ("std y", 28),
            ("ld z+", 30),
            ("ld -z", 30),
            ("ld y+", 28),
            ("ld -y", 28),
            ("ld x", 26),
            ("ld x+", 26),
            ("ld -x", 26),
            ("st z+", 30),
            ("st -z", 30),
            ("st y+", 28),
            ("st -y", 28),
            ("st x", 26),
            ("st x+", 26),
            ("st -x", 26),
            ("ldd z", 30),
            ("ldd y", 28),
            ("std z", 30),
            ("std y", 28),
        ];
        let (name, pointer) = self.rng.pick(&FORMS);
        let form = AvrForm::named(name);
        let displacement = if form.bits('q') > 0 { self.rng.below(64) } else { 0 };
        let target = self.address();
        let minus = u32::from(name.contains('-'));
        // The pointer must not be changed twice, nor by the data it points to.
        let register = loop {
            let register = self.rng.below(32);
            if register & !1 != pointer && Some(register) != self.counter {
                break register;
            }
        };
        self.point(pointer, target.wrapping_add(minus).wrapping_sub(displacement));
        self.emit(name, &[('d', register), ('q', displacement)]);
    }

    /// LDS and STS.
    fn direct(&mut self) {
        let (address, register) = (self.address(), self.rng.below(32));
        let name = if self.rng.one_in(2) { "lds" } else { "sts" };
        if Some(register) != self.counter {
            self.emit(name, &[('d', register), ('a', address)]);
        }
    }

    fn input_output(&mut self) {
        let Harmless { io, bits, width } = harmless(self.part);
        let register = self.rng.below(32);
        match self.rng.below(5) {
            0 => {
                // SREG, the stack pointer, or a harmless register.
                let any = [0x5d, 0x5e, 0x5f, io[0], io[1], io[2]];
                let a = u32::from(self.rng.pick(&any)) - 0x20;
                if Some(register) != self.counter {
                    self.emit("in", &[('d', register), ('a', a)]);
                }
            }
            1 => {
                let a = u32::from(self.rng.pick(&[0x5f, io[0], io[1], io[2]])) - 0x20;
                self.emit("out", &[('d', register), ('a', a)]);
            }
            n => {
                let a = u32::from(self.rng.pick(&bits)) - 0x20;
                let b = self.rng.below(width);
                self.emit(if n == 2 { "cbi" } else { "sbi" }, &[('a', a), ('b', b)]);
            }
        }
    }

    /// A conditional branch over a few instructions.
    fn branch(&mut self) {
        let at = self.words.len();
        let name = if self.rng.one_in(2) { "brbs" } else { "brbc" };
        let s = self.rng.below(8);
        self.emit(name, &[('k', 0), ('s', s)]);
        for _ in 0..self.rng.below(4) {
            self.plain();
        }
        let distance = (self.words.len() - at - 1) as u32;
        self.words[at] = AvrForm::named(name).encode(&[('k', distance), ('s', s)])[0];
    }

    /// A skip of an instruction of one word or two. Not of ADIW and SBIW, because simavr treats
    /// some of them as two words.
    fn skip(&mut self) {
        let (d, r, b) = (self.rng.below(32), self.rng.below(32), self.rng.below(8));
        let r = if self.rng.one_in(2) { d } else { r };
        let a = u32::from(self.rng.pick(&harmless(self.part).bits)) - 0x20;
        match self.rng.below(5) {
            0 => self.emit("cpse", &[('d', d), ('r', r)]),
            1 => self.emit("sbrc", &[('d', d), ('b', b)]),
            2 => self.emit("sbrs", &[('d', d), ('b', b)]),
            3 => self.emit("sbic", &[('a', a), ('b', b)]),
            _ => self.emit("sbis", &[('a', a), ('b', b)]),
        }
        if self.rng.one_in(2) { self.plain_but(&["adiw", "sbiw"]) } else { self.direct_always() }
    }

    /// An instruction of two words.
    fn direct_always(&mut self) {
        let (address, register) = (self.in_ram(), self.rng.below(32));
        if Some(register) == self.counter {
            return self.emit("sts", &[('d', register), ('a', address)]);
        }
        let name = if self.rng.one_in(2) { "lds" } else { "sts" };
        self.emit(name, &[('d', register), ('a', address)]);
    }

    /// A call of a subroutine that a jump skips.
    fn call(&mut self) {
        let mut body = vec!["inc"; self.rng.below(3) as usize];
        body.push(if self.rng.one_in(3) { "reti" } else { "ret" });
        // r0 counts calls.
        let length = body.len() as u32;
        let kinds = match self.part {
            AvrPart::Attiny85 => 2,
            AvrPart::Atmega328p => 3,
            AvrPart::Atmega2560 => 5,
        };
        let here = self.words.len() as u32;
        // Before the body: the call itself and the jump over the body.
        match self.rng.below(kinds) {
            0 => self.emit("rcall", &[('k', 1)]),
            1 => {
                self.point(30, here + 4);
                self.emit("icall", &[]);
            }
            2 => self.emit("call", &[('k', here + 3)]),
            3 => {
                self.ldi(16, FAR_WORDS >> 16);
                self.emit("out", &[('a', 0x3c), ('d', 16)]);
                self.point(30, FAR_WORDS);
                self.emit("eicall", &[]);
            }
            _ => self.emit("call", &[('k', FAR_WORDS)]),
        }
        self.emit("rjmp", &[('k', length)]);
        for name in body {
            self.emit(name, &[('d', 0)]);
        }
    }

    /// A jump forward over words that are not instructions.
    fn jump(&mut self) {
        let kinds = match self.part {
            AvrPart::Attiny85 => 2,
            AvrPart::Atmega328p => 3,
            AvrPart::Atmega2560 => 4,
        };
        let gap = self.rng.below(3);
        let here = self.words.len() as u32;
        match self.rng.below(kinds) {
            0 => self.emit("rjmp", &[('k', gap)]),
            1 => {
                self.point(30, here + 3 + gap);
                self.emit("ijmp", &[]);
            }
            2 => self.emit("jmp", &[('k', here + 2 + gap)]),
            _ => {
                self.ldi(17, 0);
                self.emit("out", &[('a', 0x3c), ('d', 17)]);
                self.point(30, here + 5 + gap);
                self.emit("eijmp", &[]);
            }
        }
        self.words.extend(vec![0xffff; gap as usize]);
    }

    /// A loop that counts down.
    fn count(&mut self) {
        let counter = 16 + self.rng.below(8);
        let times = 1 + self.rng.below(12);
        self.ldi(counter, times);
        self.counter = Some(counter);
        let start = self.words.len();
        for _ in 0..1 + self.rng.below(6) {
            self.plain();
        }
        self.emit("dec", &[('d', counter)]);
        self.counter = None;
        let back = start as i32 - self.words.len() as i32 - 1;
        // BRNE.
        self.emit("brbc", &[('k', back as u32 & 0x7f), ('s', 1)]);
    }

    fn stack(&mut self) {
        self.new_stack();
        for _ in 0..1 + self.rng.below(6) {
            let register = self.rng.below(32);
            let name = if self.rng.one_in(2) { "push" } else { "pop" };
            self.emit(name, &[('d', register)]);
        }
    }

    fn read_program(&mut self) {
        let register = self.rng.below(30);
        let bytes = self.part.flash_bytes();
        let address = self.rng.below(bytes.min(0xfff0));
        self.point(30, address);
        if self.part == AvrPart::Atmega2560 && self.rng.one_in(2) {
            // Also across the 64 KiB boundary.
            let address = if self.rng.one_in(2) { 0x1_ffff } else { self.rng.below(0x2_0000) };
            self.ldi(16, address >> 16);
            self.emit("out", &[('a', 0x3b), ('d', 16)]);
            self.point(30, address);
            match self.rng.below(3) {
                0 => self.emit("elpm", &[]),
                1 => self.emit("elpm z", &[('d', register)]),
                _ => self.emit("elpm z+", &[('d', register)]),
            }
            return;
        }
        match self.rng.below(3) {
            0 => self.emit("lpm", &[]),
            1 => self.emit("lpm z", &[('d', register)]),
            _ => self.emit("lpm z+", &[('d', register)]),
        }
    }
}

/// Whether an instruction that [`Gen::plain`] emits writes a register from 16 to 23.
fn writes(form: &AvrForm, operands: &[(char, u32)], register: u32) -> bool {
    let d = operands.iter().find(|(field, _)| *field == 'd').map_or(0, |o| o.1);
    match form.bits('d') {
        5 => d == register,
        4 if form.name == "movw" => d == register / 2,
        4 => d + 16 == register,
        _ => false,
    }
}
