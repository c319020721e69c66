//! Decodes values from bits, by type.

use super::bits::{Bits, NoBits};
use super::error::DecodeError;
use super::metadata::below;
use super::trace::Trace;
use super::types::{Enumeration, Field, Float, Integer, Path, Type, Variant};
use super::value::{Number, Value};

/// Scopes in the order in which they are read; the packet's two come first.
pub(super) const SCOPES: [&str; 6] = [
    "trace.packet.header",
    "stream.packet.context",
    "stream.event.header",
    "stream.event.context",
    "event.context",
    "event.fields",
];

/// What is kept of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Its value.
    All,
    /// Nothing, unless it is the payload.
    Payload,
}

/// A clock reading, or its low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) value: u64,
    pub(super) bits: u8,
    /// Which clock, by index.
    pub(super) clock: usize,
}

impl Reading {
    /// The full time, given an earlier time that is less than one wrap of these bits before.
    pub(super) fn after(self, time: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        let same_turn = time & !mask | self.value;
        if self.value < time & mask {
            same_turn.wrapping_add(mask.wrapping_add(1))
        } else {
            same_turn
        }
    }
}

/// Values of a scope that control the stream reader, wherever they are in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Control {
    /// The last integer called `id`.
    pub(super) id: Option<u64>,
    /// The last reading of a clock.
    pub(super) clock: Option<Reading>,
    /// Begin and end of the packet.
    pub(super) begin: Option<Reading>,
    pub(super) end: Option<Reading>,
    /// Width of the field `events_discarded`, in bits.
    pub(super) discarded_bits: u8,
}

/// Reads the values of one packet.
#[derive(Debug)]
pub(super) struct Decoder<'t, 'd> {
    trace: &'t Trace,
    pub(super) bits: Bits<'d>,
    /// Values read so far, by scope.
    pub(super) done: [Option<Value<'t>>; 6],
    /// Fields read so far of each open structure, the innermost last.
    open: Vec<Vec<(&'t str, Value<'t>)>>,
    scope: usize,
    /// The innermost named field.
    field: &'t str,
    control: Control,
    /// Remaining budget for values without bits.
    pub(super) empty: u64,
}

impl<'t, 'd> Decoder<'t, 'd> {
    /// For a packet, or for the rest of the stream while the packet's size is unknown.
    pub(super) fn new(trace: &'t Trace, packet: &'d [u8], empty: u64) -> Self {
        Decoder {
            trace,
            bits: Bits::new(packet),
            done: [const { None }; 6],
            open: Vec::new(),
            scope: 0,
            field: "",
            control: Control::default(),
            empty,
        }
    }

    /// Reads a scope, one of [`SCOPES`], and returns its control values.
    pub(super) fn scope(
        &mut self,
        scope: usize,
        ty: Option<&'t Type>,
        keeps: Keeps,
    ) -> Result<Control, DecodeError> {
        self.scope = scope;
        self.field = SCOPES[scope];
        self.control = Control::default();
        self.open.clear();
        self.done[scope] = None;
        match ty {
            Some(ty) if keeps == Keeps::All => self.done[scope] = Some(self.value(ty)?),
            Some(ty) => self.pass(ty)?,
            None => {}
        }
        Ok(self.control)
    }

    /// Reads a value that is not kept.
    fn pass(&mut self, ty: &'t Type) -> Result<(), DecodeError> {
        match ty {
            Type::Integer(integer) => self.aligned(integer).map(drop),
            Type::Struct(structure) if !structure.fields.is_empty() => {
                self.bits.align(structure.align).map_err(|why| self.fail(1, why))?;
                structure.fields.iter().try_for_each(|field| {
                    self.field = &field.name;
                    self.pass(&field.ty)
                })
            }
            _ => self.value(ty).map(drop),
        }
    }

    /// An integer at its alignment.
    fn aligned(&mut self, ty: &'t Integer) -> Result<Number, DecodeError> {
        self.bits.align(ty.align).map_err(|why| self.fail(1, why))?;
        self.integer(ty)
    }

    fn fail(&self, needed: u64, why: NoBits) -> DecodeError {
        let field = self.field.to_owned();
        match why {
            NoBits::PastEnd(left) => DecodeError::PastEnd { field, needed, left },
            NoBits::SharedByte => DecodeError::SharedByte(field),
        }
    }

    fn value(&mut self, ty: &'t Type) -> Result<Value<'t>, DecodeError> {
        // Most fields are integers, which are not without bits.
        if let Type::Integer(integer) = ty {
            return Ok(Value::Integer(self.aligned(integer)?, integer.base));
        }
        let before = self.bits.at();
        self.bits.align(ty.align()).map_err(|why| self.fail(1, why))?;
        let value = match ty {
            Type::Integer(integer) => Value::Integer(self.integer(integer)?, integer.base),
            Type::Float(float) => Value::Float(self.float(float)?),
            Type::String => {
                // One byte more than remain, for the terminating zero.
                let needed = self.bits.left() + 8;
                let text = self.bits.until_zero().map_err(|why| self.fail(needed, why))?;
                Value::Text(String::from_utf8_lossy(text).into_owned())
            }
            Type::Enumeration(enumeration) => {
                Value::Enumeration(self.integer(&enumeration.container)?, enumeration)
            }
            Type::Struct(structure) => self.structure(&structure.fields)?,
            Type::Variant(variant) => self.variant(variant)?,
            Type::Array(array) => self.elements(array.length, &array.element)?,
            Type::Sequence(sequence) => {
                let path = &sequence.length;
                let length = self.find(path).and_then(Value::unsigned);
                let length = length.ok_or_else(|| DecodeError::Reference(path.text()))?;
                self.elements(length, &sequence.element)?
            }
        };
        if self.bits.at() == before {
            let left = self.empty.checked_sub(1);
            self.empty = left.ok_or_else(|| DecodeError::Elements(self.field.to_owned()))?;
        }
        Ok(value)
    }

    fn integer(&mut self, ty: &'t Integer) -> Result<Number, DecodeError> {
        let order = ty.order.unwrap_or(self.trace.order);
        let raw = self.bits.take(ty.bits, order);
        let raw = raw.map_err(|why| self.fail(ty.bits.into(), why))?;
        if ty.signed {
            let shift = 64 - u32::from(ty.bits);
            return Ok(Number::Signed((raw << shift) as i64 >> shift));
        }
        self.note(ty, raw);
        Ok(Number::Unsigned(raw))
    }

    /// Keeps a number that controls the stream reader.
    fn note(&mut self, ty: &Integer, value: u64) {
        // Fields of these names read the trace's only clock, unless they name one.
        let only = (self.trace.clocks.len() == 1).then_some(0);
        let reading = |clock: Option<usize>| Some(Reading { value, bits: ty.bits, clock: clock? });
        match (self.scope, self.field) {
            (1, "timestamp_begin") => self.control.begin = reading(ty.clock.or(only)),
            // Not monotonic with the events: it is written when the packet is complete.
            (1, "timestamp_end") => self.control.end = reading(ty.clock.or(only)),
            (1, "events_discarded") => self.control.discarded_bits = ty.bits,
            (2, "id") => self.control.id = Some(value),
            (2, "timestamp") => {
                self.control.clock = reading(ty.clock.or(only)).or(self.control.clock)
            }
            _ => self.control.clock = reading(ty.clock).or(self.control.clock),
        }
    }

    fn float(&mut self, ty: &Float) -> Result<f64, DecodeError> {
        let order = ty.order.unwrap_or(self.trace.order);
        let raw = self.bits.take(ty.bits, order);
        let raw = raw.map_err(|why| self.fail(ty.bits.into(), why))?;
        Ok(if ty.bits == 32 { f32::from_bits(raw as u32).into() } else { f64::from_bits(raw) })
    }

    fn structure(&mut self, fields: &'t [Field]) -> Result<Value<'t>, DecodeError> {
        let mut values: Vec<(&str, Value)> = Vec::with_capacity(fields.len());
        if !self.trace.has_references {
            for field in fields {
                self.field = &field.name;
                values.push((field.name.as_str(), self.value(&field.ty)?));
            }
            return Ok(Value::Struct(values));
        }
        // Later fields may refer to those before.
        self.open.push(values);
        for field in fields {
            self.field = &field.name;
            let value = self.value(&field.ty)?;
            if let Some(open) = self.open.last_mut() {
                open.push((&field.name, value));
            }
        }
        Ok(Value::Struct(self.open.pop().unwrap_or_default()))
    }

    fn variant(&mut self, ty: &'t Variant) -> Result<Value<'t>, DecodeError> {
        let missing =
            || DecodeError::Reference(ty.tag.as_ref().map_or_else(String::new, Path::text));
        let tag = ty.tag.as_ref().and_then(|tag| self.find(tag));
        let Some(Value::Enumeration(number, labels)) = tag else { return Err(missing()) };
        let value = number.wide();
        let labels: &'t Enumeration = labels;
        let option = labels.labels_of(value).find_map(|label| {
            let label = label.strip_prefix('_').unwrap_or(label);
            ty.options.iter().find(|option| option.name == label)
        });
        let Some(option) = option else {
            return Err(DecodeError::NoOption { field: self.field.to_owned(), value });
        };
        self.field = &option.name;
        Ok(Value::Variant(&option.name, Box::new(self.value(&option.ty)?)))
    }

    fn elements(&mut self, length: u64, element: &'t Type) -> Result<Value<'t>, DecodeError> {
        if element.is_character() {
            let text = self.bits.bytes(length);
            let text = text.map_err(|why| self.fail(length.saturating_mul(8), why))?;
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            return Ok(Value::Text(String::from_utf8_lossy(&text[..end]).into_owned()));
        }
        // No reservation: the length is an unchecked value from the packet.
        let mut values = Vec::new();
        let field = self.field;
        for _ in 0..length {
            self.field = field;
            values.push(self.value(element)?);
        }
        Ok(Value::Array(values))
    }

    /// Resolves a path among the values read so far.
    fn find(&self, path: &Path) -> Option<&Value<'t>> {
        let names: Vec<&str> = path.names.iter().map(String::as_str).collect();
        if let Some(rest) = below(&names, SCOPES[self.scope]) {
            return among(self.open.first()?, rest);
        }
        let before = || {
            (0..self.scope)
                .rev()
                .filter_map(|scope| Some((SCOPES[scope], self.done[scope].as_ref()?)))
        };
        for (scope, root) in before() {
            if let Some(rest) = below(&names, scope) {
                return inside(root, rest);
            }
        }
        let enclosing = self.open.iter().rev().find_map(|open| among(open, &names));
        enclosing.or_else(|| before().find_map(|(_, root)| inside(root, &names)))
    }
}

fn among<'v, 't>(fields: &'v [(&'t str, Value<'t>)], names: &[&str]) -> Option<&'v Value<'t>> {
    let (first, rest) = names.split_first()?;
    let (_, value) = fields.iter().find(|(name, _)| name == first)?;
    inside(value, rest)
}

fn inside<'v, 't>(value: &'v Value<'t>, names: &[&str]) -> Option<&'v Value<'t>> {
    let Some((first, rest)) = names.split_first() else { return Some(value) };
    let Value::Struct(fields) = value else { return None };
    let (_, value) = fields.iter().find(|(name, _)| name == first)?;
    inside(value, rest)
}
