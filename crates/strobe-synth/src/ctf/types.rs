//! Synthetic field types, as text for the metadata, and values of them, as bits and as text.

use std::fmt::Write;

use crate::Rng;

use super::bits::BitWriter;

/// Maximum nesting of types.
const DEPTH: u32 = 3;

/// A field's type.
#[derive(Debug)]
enum Ty {
    Integer {
        bits: u32,
        align: u64,
        signed: bool,
        base: u32,
        big: Option<bool>,
    },
    /// Labels `A` = 0, `B` = 1 to 3, `C` = 200.
    Enumeration {
        bits: u32,
    },
    Float {
        bits: u32,
    },
    String,
    /// So many characters of one byte.
    Text(u64),
    Struct(Vec<(String, Ty)>, u64),
    Array(u64, Box<Ty>),
    /// A sequence; a field of this name before it has the length.
    Sequence(String, Box<Ty>),
    /// A variant; a field of this name before it has the tag: `A` or `B`.
    Variant(String, Box<[Ty; 2]>),
}

/// A kind of event.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) id: u32,
    fields: Ty,
}

/// Chooses types.
pub(super) struct Random<'r> {
    pub(super) rng: &'r mut Rng,
    pub(super) big: bool,
}

impl Random<'_> {
    pub(super) fn event(&mut self, index: u32, id: u32) -> Kind {
        // An event without fields is rare, but exists.
        let fields = self.structure(0);
        Kind { name: format!("kind_{index}"), id, fields }
    }

    fn structure(&mut self, depth: u32) -> Ty {
        let mut fields = Vec::new();
        for i in 0..1 + self.rng.below(4) {
            let name = format!("f{i}");
            match self.rng.below(10) {
                0 if depth < DEPTH => {
                    let bits = self.rng.pick(&[8, 16, 3]);
                    let align = if bits == 3 { 1 } else { 8 };
                    let length = Ty::Integer { bits, align, signed: false, base: 10, big: None };
                    fields.push((format!("{name}_length"), length));
                    let sequence =
                        Ty::Sequence(format!("{name}_length"), Box::new(self.ty(depth + 1)));
                    fields.push((name, sequence));
                }
                1 if depth < DEPTH => {
                    fields.push((format!("{name}_tag"), Ty::Enumeration { bits: 8 }));
                    let options = Box::new([self.ty(depth + 1), self.ty(depth + 1)]);
                    fields.push((name.clone(), Ty::Variant(format!("{name}_tag"), options)));
                }
                _ => fields.push((name, self.ty(depth + 1))),
            }
        }
        Ty::Struct(fields, self.rng.pick(&[1, 8, 32]))
    }

    fn ty(&mut self, depth: u32) -> Ty {
        match self.rng.below(if depth < DEPTH { 9 } else { 6 }) {
            0 | 1 => {
                let bits = 1 + self.rng.below(64);
                let signed = self.rng.one_in(2);
                Ty::Integer {
                    bits,
                    align: self.rng.pick(&[1, 1, 8, 32]),
                    signed,
                    base: 10,
                    big: None,
                }
            }
            2 => {
                let (bits, base) = (self.rng.pick(&[8, 16, 32, 64]), self.rng.pick(&[8, 10, 16]));
                let big = if self.rng.one_in(2) { Some(!self.big) } else { None };
                Ty::Integer { bits, align: self.rng.pick(&[8, 16]), signed: false, base, big }
            }
            3 => Ty::Enumeration { bits: self.rng.pick(&[5, 8, 32]) },
            4 => Ty::Float { bits: self.rng.pick(&[32, 64]) },
            5 => {
                if self.rng.one_in(2) {
                    Ty::String
                } else {
                    Ty::Text(self.rng.below(9).into())
                }
            }
            6 => Ty::Array(self.rng.below(4).into(), Box::new(self.ty(depth + 1))),
            _ => self.structure(depth),
        }
    }
}

impl Kind {
    pub(super) fn metadata(&self) -> String {
        let mut declared = String::new();
        self.fields.declare("", &mut declared);
        format!(
            "event {{\n\tname = \"{}\";\n\tid = {};\n\tfields := {};\n}};\n\n",
            self.name,
            self.id,
            declared.trim()
        )
    }

    /// Generates and writes an event's fields; returns them as text.
    pub(super) fn write(&self, bits: &mut BitWriter, rng: &mut Rng) -> String {
        let mut shown = String::new();
        self.fields.write(bits, rng, None, &mut shown);
        shown
    }
}

impl Ty {
    fn align(&self) -> u64 {
        match self {
            Ty::Integer { align, .. } => *align,
            Ty::Enumeration { bits } => {
                if bits % 8 == 0 {
                    8
                } else {
                    1
                }
            }
            Ty::Float { .. } | Ty::String | Ty::Text(_) => 8,
            Ty::Struct(fields, align) => {
                fields.iter().map(|(_, ty)| ty.align()).max().unwrap_or(1).max(*align)
            }
            Ty::Array(_, element) | Ty::Sequence(_, element) => element.align(),
            Ty::Variant(..) => 1,
        }
    }

    /// `TYPE NAME[LENGTH]`; lengths of nested arrays follow the name as in C.
    fn declare(&self, name: &str, out: &mut String) {
        let (mut lengths, mut ty) = (String::new(), self);
        loop {
            let (length, element) = match ty {
                Ty::Array(length, element) => (length.to_string(), element),
                Ty::Sequence(length, element) => (length.clone(), element),
                _ => break,
            };
            lengths += &format!("[{length}]");
            ty = element;
        }
        ty.specify(out);
        if let Ty::Text(length) = ty {
            lengths += &format!("[{length}]");
        }
        *out += &format!(" {name}{lengths}");
    }

    fn specify(&self, out: &mut String) {
        let _ = match self {
            Ty::Integer { bits, align, signed, base, big } => {
                let order = big.map_or("native", |big| if big { "be" } else { "le" });
                write!(
                    out,
                    "integer {{ size = {bits}; align = {align}; signed = {signed}; base = {base}; \
                     byte_order = {order}; }}"
                )
            }
            Ty::Enumeration { bits } => {
                let align = self.align();
                write!(
                    out,
                    "enum : integer {{ size = {bits}; align = {align}; }} {{ A, B = 1 ... 3, \
                     \"C\" = 20 }}"
                )
            }
            Ty::Float { bits } => {
                let (exponent, mantissa) = if *bits == 32 { (8, 24) } else { (11, 53) };
                write!(
                    out,
                    "floating_point {{ exp_dig = {exponent}; mant_dig = {mantissa}; align = 8; }}"
                )
            }
            Ty::String => write!(out, "string"),
            Ty::Text(_) => write!(out, "integer {{ size = 8; align = 8; encoding = UTF8; }}"),
            Ty::Struct(fields, align) => {
                *out += "struct { ";
                for (name, ty) in fields {
                    ty.declare(name, out);
                    *out += "; ";
                }
                write!(out, "}} align({align})")
            }
            Ty::Variant(tag, options) => {
                *out += &format!("variant <{tag}> {{ ");
                for (name, ty) in ["A", "B"].iter().zip(options.iter()) {
                    ty.declare(name, out);
                    *out += "; ";
                }
                write!(out, "}}")
            }
            Ty::Array(..) | Ty::Sequence(..) => Ok(()),
        };
    }

    /// Writes a value; `control` is the length or the tag written before it. Returns the value if
    /// it is a number.
    fn write(
        &self,
        bits: &mut BitWriter,
        rng: &mut Rng,
        control: Option<u64>,
        out: &mut String,
    ) -> u64 {
        bits.align(self.align());
        match self {
            Ty::Integer { bits: size, signed, base, big, .. } => {
                // Short sequences, and various other numbers.
                let value = rng.next_u64() >> rng.below(64) & u64::MAX >> (64 - size);
                integer(bits, value, *size, *signed, *base, *big, out);
                value
            }
            Ty::Enumeration { bits: size } => {
                let value = rng.pick(&[0u64, 1, 2, 3, 3, 20, 7]);
                bits.put(value, *size);
                enumeration(value, out);
                value
            }
            Ty::Float { bits: size } => {
                // Numbers that are short in decimal.
                let value = f64::from(rng.below(64)) / 4.0;
                let raw =
                    if *size == 32 { (value as f32).to_bits().into() } else { value.to_bits() };
                bits.put(raw, *size);
                *out += &value.to_string();
                0
            }
            Ty::String => {
                let text: String =
                    (0..rng.below(6)).map(|_| char::from(b'a' + rng.below(26) as u8)).collect();
                bits.text(text.as_bytes());
                bits.text(&[0]);
                let _ = write!(out, "\"{text}\"");
                0
            }
            Ty::Text(length) => {
                let text: Vec<u8> = (0..*length).map(|_| rng.pick(b"abcz\0")).collect();
                bits.text(&text);
                let shown = text.split(|byte| *byte == 0).next().unwrap_or_default();
                let _ = write!(out, "\"{}\"", String::from_utf8_lossy(shown));
                0
            }
            Ty::Struct(fields, _) => structure(fields, bits, rng, out),
            Ty::Array(length, element) => elements(*length, element, bits, rng, out),
            Ty::Sequence(_, element) => elements(control.unwrap_or(0), element, bits, rng, out),
            Ty::Variant(_, options) => {
                *out += "{ ";
                options[usize::from(control != Some(0))].write(bits, rng, None, out);
                *out += " }";
                0
            }
        }
    }
}

fn integer(
    bits: &mut BitWriter,
    value: u64,
    size: u32,
    signed: bool,
    base: u32,
    big: Option<bool>,
    out: &mut String,
) {
    match big {
        Some(big) => bits.put_in(value, size, big),
        None => bits.put(value, size),
    }
    let shift = 64 - size;
    let _ = match base {
        8 => write!(out, "0{value:o}"),
        16 => write!(out, "0x{value:X}"),
        _ if signed => write!(out, "{}", (value << shift) as i64 >> shift),
        _ => write!(out, "{value}"),
    };
}

fn enumeration(value: u64, out: &mut String) {
    let label = match value {
        0 => "\"A\"",
        1..=3 => "\"B\"",
        20 => "\"C\"",
        _ => "<unknown>",
    };
    let _ = write!(out, "( {label} : container = {value} )");
}

/// Writes fields in order; those that are a length or a tag get a suitable value.
fn structure(
    fields: &[(String, Ty)],
    bits: &mut BitWriter,
    rng: &mut Rng,
    out: &mut String,
) -> u64 {
    let mut control = None;
    for (i, (name, ty)) in fields.iter().enumerate() {
        *out += if i == 0 { "{ " } else { ", " };
        *out += &format!("{name} = ");
        let next = fields.get(i + 1).map(|(_, ty)| ty);
        control = match (next, ty) {
            (Some(Ty::Sequence(length, _)), Ty::Integer { bits: size, base, .. })
                if length == name =>
            {
                let value = u64::from(rng.below(4));
                bits.align(ty.align());
                integer(bits, value, *size, false, *base, None, out);
                Some(value)
            }
            (Some(Ty::Variant(tag, _)), Ty::Enumeration { bits: size }) if tag == name => {
                let value = u64::from(rng.below(4));
                bits.align(ty.align());
                bits.put(value, *size);
                enumeration(value, out);
                Some(value)
            }
            _ => {
                ty.write(bits, rng, control, out);
                None
            }
        };
    }
    *out += " }";
    0
}

fn elements(
    length: u64,
    element: &Ty,
    bits: &mut BitWriter,
    rng: &mut Rng,
    out: &mut String,
) -> u64 {
    *out += "[";
    for i in 0..length {
        *out += if i == 0 { " " } else { ", " };
        let _ = write!(out, "[{i}] = ");
        element.write(bits, rng, None, out);
    }
    *out += " ]";
    0
}
