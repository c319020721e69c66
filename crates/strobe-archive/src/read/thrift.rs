//! Walks values of Thrift's compact protocol, in which a Parquet file describes itself, before the
//! library makes anything of them: fields are of the types that Parquet gives them, no list has
//! more elements than there are bytes left, nothing is nested without end ("Thrift compact protocol
//! encoding", thrift/doc/specs).

use super::shape::{Kind, NONE, Shape};

/// Structures in structures; Parquet's own need seven.
const DEEPEST: usize = 12;

/// Structures in a list that the library makes room for at once: as many as it takes groups of
/// rows. A byte is enough for an empty one, which would be a hundred in memory.
const MOST_STRUCTURES: u64 = 0x7fff;

/// Why it is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// The bytes end before it does.
    Ends,
    /// It is no such structure, or none of Parquet's: how many bytes before that are in order, and
    /// what is wrong there.
    Malformed(usize, String),
}

/// Walks the structure of this shape at the beginning of these bytes and passes every whole number
/// on, with the numbers of the fields that lead to it. Returns how many bytes the structure has.
///
/// # Errors
/// [`Wrong`].
pub fn structure(
    bytes: &[u8],
    shape: Shape,
    seen: &mut impl FnMut(&[i16], i64),
) -> Result<usize, Wrong> {
    let mut walk = Walk { length: bytes.len(), left: bytes, path: Vec::new() };
    walk.structure(shape, seen)?;
    Ok(walk.at())
}

struct Walk<'a> {
    length: usize,
    left: &'a [u8],
    path: Vec<i16>,
}

impl Walk<'_> {
    /// Bytes before what is read next.
    fn at(&self) -> usize {
        self.length - self.left.len()
    }

    fn structure(&mut self, shape: Shape, seen: &mut impl FnMut(&[i16], i64)) -> Result<(), Wrong> {
        if self.path.len() >= DEEPEST {
            return Err(self.malformed("structures are nested too deeply"));
        }
        let mut field = 0i16;
        loop {
            let at = self.at();
            let head = self.byte()?;
            let (step, wire) = (head >> 4, head & 0xf);
            if wire == 0 {
                return Ok(());
            }
            let next = match step {
                0 => i16::try_from(self.number()?).ok(),
                step => field.checked_add(i16::from(step)),
            };
            field = next.ok_or_else(|| self.malformed("a field's number is out of range"))?;
            self.path.push(field);
            let known = shape.iter().find(|(number, _)| *number == field).map(|(_, kind)| *kind);
            self.expect(known, wire, at, "")?;
            self.value(wire, known, seen)?;
            self.path.pop();
        }
    }

    /// Refuses the type that the file states for the field that is read, if Parquet has another.
    fn expect(&self, known: Option<Kind>, wire: u8, at: usize, of: &str) -> Result<(), Wrong> {
        let Some(kind) = known.filter(|kind| !kind.is(wire)) else { return Ok(()) };
        let field: Vec<String> = self.path.iter().map(i16::to_string).collect();
        let (field, wanted) = (field.join("."), kind.name());
        let why = format!("{of}field {field} is {}, where Parquet has {wanted}", stated(wire));
        Err(Wrong::Malformed(at, why))
    }

    fn value(
        &mut self,
        wire: u8,
        known: Option<Kind>,
        seen: &mut impl FnMut(&[i16], i64),
    ) -> Result<(), Wrong> {
        match wire {
            // A field's truth is in its type.
            1 | 2 => Ok(()),
            3 => self.byte().map(|_| ()),
            4..=6 => {
                let number = self.number()?;
                let fits = match wire {
                    4 => i16::try_from(number).is_ok(),
                    5 => i32::try_from(number).is_ok(),
                    _ => true,
                };
                // The library would take the lowest bits.
                if !fits {
                    return Err(self.malformed("a number is larger than its type"));
                }
                seen(&self.path, number);
                Ok(())
            }
            7 => self.skip(8),
            8 => {
                let length = self.unsigned()?;
                self.skip(length)
            }
            9 => self.list(known, seen),
            12 => match known {
                Some(Kind::Fields(shape)) => self.structure(shape, seen),
                _ => self.structure(NONE, seen),
            },
            // Sets and maps are nowhere in Parquet.
            _ => Err(self.malformed("a field is of no type that Parquet has")),
        }
    }

    fn list(
        &mut self,
        known: Option<Kind>,
        seen: &mut impl FnMut(&[i16], i64),
    ) -> Result<(), Wrong> {
        let at = self.at();
        let head = self.byte()?;
        let (short, wire) = (head >> 4, head & 0xf);
        let length = if short == 15 { self.unsigned()? } else { u64::from(short) };
        if length == 0 {
            return Ok(());
        }
        let element = match known {
            Some(Kind::List(element)) => Some(*element),
            _ => None,
        };
        self.expect(element, wire, at, "what the list has in ")?;
        // Numbers, texts and structures: each has a byte at least, and a double has eight. Lists
        // of truths are in no part of a file that is read here, and libraries disagree on how long
        // one is.
        let least = match wire {
            3..=6 | 8 | 12 => 1,
            7 => 8,
            _ => return Err(self.malformed("a list is of no type that Parquet has")),
        };
        if length > self.left.len() as u64 / least {
            return Err(Wrong::Ends);
        }
        if matches!(element, Some(Kind::Fields(_))) && length > MOST_STRUCTURES {
            let why = format!("a list has {length} structures; {MOST_STRUCTURES} are read");
            return Err(Wrong::Malformed(at, why));
        }
        (0..length).try_for_each(|_| self.value(wire, element, seen))
    }

    fn malformed(&self, why: &str) -> Wrong {
        Wrong::Malformed(self.at(), why.to_owned())
    }

    fn byte(&mut self) -> Result<u8, Wrong> {
        let (first, left) = self.left.split_first().ok_or(Wrong::Ends)?;
        self.left = left;
        Ok(*first)
    }

    fn skip(&mut self, length: u64) -> Result<(), Wrong> {
        let length = usize::try_from(length).map_err(|_| Wrong::Ends)?;
        self.left = self.left.get(length..).ok_or(Wrong::Ends)?;
        Ok(())
    }

    /// Seven bits a byte, the least first.
    fn unsigned(&mut self) -> Result<u64, Wrong> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.malformed("a number has more than 64 bits"))
    }

    /// The sign is the lowest bit.
    fn number(&mut self) -> Result<i64, Wrong> {
        let raw = self.unsigned()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }
}

/// A type by the number that a file states for it.
fn stated(wire: u8) -> &'static str {
    match wire {
        1 | 2 => "a truth",
        3 => "an i8",
        4 => "an i16",
        5 => "an i32",
        6 => "an i64",
        7 => "a double",
        8 => "a text",
        9 => "a list",
        12 => "a structure",
        _ => "of no type",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields that lead to a number, and the number.
    type Found = Vec<(Vec<i16>, i64)>;

    fn numbers(bytes: &[u8]) -> Result<(usize, Found), Wrong> {
        shaped(bytes, NONE)
    }

    fn shaped(bytes: &[u8], shape: Shape) -> Result<(usize, Found), Wrong> {
        let mut all = Vec::new();
        let length =
            structure(bytes, shape, &mut |path, number| all.push((path.to_vec(), number)))?;
        Ok((length, all))
    }

    /// Where a structure is wrong, and why.
    fn wrong(bytes: &[u8], shape: Shape) -> (usize, String) {
        match shaped(bytes, shape) {
            Err(Wrong::Malformed(at, why)) => (at, why),
            other => panic!("{other:?}"),
        }
    }

    /// By the specification's examples: field 1 of 150 as i32, field 3 a list of two, an end.
    #[test]
    fn numbers_have_the_fields_that_lead_to_them() {
        let bytes = [0x15, 0xac, 0x02, 0x29, 0x25, 0x02, 0x03, 0x00, 0xff];
        let expected = vec![(vec![1], 150), (vec![3], 1), (vec![3], -2)];
        assert_eq!(numbers(&bytes), Ok((8, expected)));
        // A structure in field 20, whose number is written out; in it field 1 is true.
        let nested = [0x0c, 0x28, 0x11, 0x16, 0x08, 0x00, 0x00];
        assert_eq!(numbers(&nested), Ok((7, vec![(vec![20, 2], 4)])));
        for end in 0..bytes.len() - 1 {
            assert_eq!(numbers(&bytes[..end]), Err(Wrong::Ends), "{end}");
        }
    }

    #[test]
    fn claims_beyond_the_bytes_are_refused() {
        // A list of 2^31 - 1 structures, a text of 2^63 bytes, lists of truths, and a map.
        assert_eq!(numbers(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), Err(Wrong::Ends));
        let text = [&[0x18][..], &[0x80; 8], &[0x40, 0]].concat();
        assert_eq!(numbers(&text), Err(Wrong::Ends));
        assert_eq!(wrong(&[0x19, 0x21, 1, 1, 0], NONE).0, 2);
        assert_eq!(wrong(&[0x1b, 0x01, 0x55, 0, 0, 0], NONE).0, 1);
        assert_eq!(wrong(&[0x1c; 100], NONE).1, "structures are nested too deeply");
        let endless = [&[0x15][..], &[0xff; 11]].concat();
        assert_eq!(wrong(&endless, NONE).1, "a number has more than 64 bits");
        // Two doubles, where seven bytes are left; an i32 of 33 bits.
        assert_eq!(numbers(&[0x19, 0x27, 0, 0, 0, 0, 0, 0, 0]), Err(Wrong::Ends));
        let wide = wrong(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x20, 0], NONE);
        assert_eq!(wide, (6, "a number is larger than its type".to_owned()));
    }

    #[test]
    fn fields_are_of_the_types_that_parquet_gives_them() {
        const INNER: Shape = &[(1, Kind::Text)];
        const SHAPE: Shape = &[(1, Kind::Int), (2, Kind::List(&Kind::Fields(INNER)))];
        let right = [0x15, 0x02, 0x19, 0x1c, 0x18, 0x01, b'x', 0, 0x15, 0x04, 0];
        assert_eq!(shaped(&right, SHAPE), Ok((11, vec![(vec![1], 1), (vec![3], 2)])));
        // A truth and an i64 as field 1, where an i32 is. What comes behind would be read out of
        // step.
        let truth = "field 1 is a truth, where Parquet has an i32";
        assert_eq!(wrong(&[0x11, 0x19, 0xf2, 0xff, 0], SHAPE), (0, truth.to_owned()));
        assert!(wrong(&[0x16, 0x02, 0], SHAPE).1.contains("field 1 is an i64"));
        // A list of numbers, and a number in a structure of the list.
        let list = "what the list has in field 2 is an i32, where Parquet has a structure";
        assert_eq!(wrong(&[0x29, 0x15, 0x02, 0], SHAPE), (1, list.to_owned()));
        let inner = "field 2.1 is an i32, where Parquet has a text";
        assert_eq!(wrong(&[0x29, 0x1c, 0x15, 0x02, 0, 0], SHAPE), (2, inner.to_owned()));
        // Lists without anything in them are often of no type.
        assert_eq!(shaped(&[0x29, 0x00, 0], SHAPE), Ok((3, Vec::new())));
        // A byte each is enough for empty structures, and room would be made for all of them.
        let many = [&[0x29, 0xfc, 0x80, 0x80, 0x02][..], &[0; 40_000]].concat();
        assert_eq!(wrong(&many, SHAPE).1, "a list has 32768 structures; 32767 are read");
    }
}
