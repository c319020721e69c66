//! Walks values of Thrift's compact protocol, in which a Parquet file describes itself, before the
//! library makes anything of them: no list has more elements than there are bytes left, nothing is
//! nested without end ("Thrift compact protocol encoding", thrift/doc/specs).

/// Structures in structures; Parquet's own need seven.
const DEEPEST: usize = 12;

/// Why it is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// The bytes end before it does.
    Ends,
    /// It is no such structure, or none of Parquet's.
    Malformed(&'static str),
}

/// Walks the structure at the beginning of these bytes and passes every whole number on, with the
/// numbers of the fields that lead to it. Returns how many bytes the structure has.
///
/// # Errors
/// [`Wrong`].
pub fn structure(bytes: &[u8], seen: &mut impl FnMut(&[i16], i64)) -> Result<usize, Wrong> {
    let mut walk = Walk { left: bytes, path: Vec::new() };
    walk.structure(seen)?;
    Ok(bytes.len() - walk.left.len())
}

struct Walk<'a> {
    left: &'a [u8],
    path: Vec<i16>,
}

impl Walk<'_> {
    fn structure(&mut self, seen: &mut impl FnMut(&[i16], i64)) -> Result<(), Wrong> {
        if self.path.len() >= DEEPEST {
            return Err(Wrong::Malformed("structures are nested too deeply"));
        }
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            let (step, kind) = (head >> 4, head & 0xf);
            if kind == 0 {
                return Ok(());
            }
            let next = match step {
                0 => i16::try_from(self.number()?).ok(),
                step => field.checked_add(i16::from(step)),
            };
            field = next.ok_or(Wrong::Malformed("a field's number is out of range"))?;
            self.path.push(field);
            self.value(kind, seen)?;
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, seen: &mut impl FnMut(&[i16], i64)) -> Result<(), Wrong> {
        match kind {
            // A field's truth is in its kind.
            1 | 2 => Ok(()),
            3 => self.byte().map(|_| ()),
            4..=6 => {
                let number = self.number()?;
                seen(&self.path, number);
                Ok(())
            }
            7 => self.skip(8),
            8 => {
                let length = self.unsigned()?;
                self.skip(length)
            }
            9 => self.list(seen),
            12 => self.structure(seen),
            // Sets and maps are nowhere in Parquet.
            _ => Err(Wrong::Malformed("a field is of no type that Parquet has")),
        }
    }

    fn list(&mut self, seen: &mut impl FnMut(&[i16], i64)) -> Result<(), Wrong> {
        let head = self.byte()?;
        let (short, kind) = (head >> 4, head & 0xf);
        let length = if short == 15 { self.unsigned()? } else { u64::from(short) };
        // Numbers, texts and structures: each has a byte at least. Lists of truths are in no part
        // of a file that is read here, and libraries disagree on how long one is.
        if !matches!(kind, 3..=8 | 12) && length > 0 {
            return Err(Wrong::Malformed("a list is of no type that Parquet has"));
        }
        if length > self.left.len() as u64 {
            return Err(Wrong::Ends);
        }
        (0..length).try_for_each(|_| self.value(kind, seen))
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
        Err(Wrong::Malformed("a number has more than 64 bits"))
    }

    /// The sign is the lowest bit.
    fn number(&mut self) -> Result<i64, Wrong> {
        let raw = self.unsigned()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields that lead to a number, and the number.
    type Found = Vec<(Vec<i16>, i64)>;

    fn numbers(bytes: &[u8]) -> Result<(usize, Found), Wrong> {
        let mut all = Vec::new();
        let length = structure(bytes, &mut |path, number| all.push((path.to_vec(), number)))?;
        Ok((length, all))
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
        assert!(matches!(numbers(&[0x19, 0x21, 1, 1, 0]), Err(Wrong::Malformed(_))));
        assert!(matches!(numbers(&[0x1b, 0x01, 0x55, 0, 0, 0]), Err(Wrong::Malformed(_))));
        assert!(matches!(
            numbers(&[0x1c; 100]),
            Err(Wrong::Malformed(
                "structures are nested too \
            deeply"
            ))
        ));
        let endless = [&[0x15][..], &[0xff; 11]].concat();
        assert!(matches!(numbers(&endless), Err(Wrong::Malformed(_))));
    }
}
