//! Compares the target's memory with an image, word by word over any debug link.

use super::{Error, Image, Observer, Step, failed};
use crate::trace::program::Registers;

/// Words that are read at once: far below what OpenOCD and probes take.
const WORDS: usize = 256;
/// Bytes that an error shows.
const SHOWN: usize = 8;

/// Reads all of an image back.
///
/// # Errors
/// [`Error::Differs`] with the first address that differs, once everything was compared; at once if
/// memory cannot be read or the observer stops it.
pub fn compare(
    port: &mut dyn Registers,
    image: &Image,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let mut first: Option<(u32, Vec<u8>, Vec<u8>)> = None;
    let (mut different, mut compared) = (0, 0);
    for (start, bytes) in image.pieces() {
        for (n, expected) in bytes.chunks(WORDS * 4).enumerate() {
            if !observer.goes_on() {
                return Err(Error::Interrupted { step: Step::Verify });
            }
            // The last piece may end with the address space, none goes beyond.
            let address = start.wrapping_add((n * WORDS * 4) as u32);
            let found = read(port, address, expected.len())?;
            let mut pairs = expected.iter().zip(&found);
            if first.is_none()
                && let Some(at) = pairs.clone().position(|(a, b)| a != b)
            {
                let end = (at + SHOWN).min(expected.len());
                let (expected, found) = (expected[at..end].to_vec(), found[at..end].to_vec());
                first = Some((address.wrapping_add(at as u32), expected, found));
            }
            different += pairs.by_ref().filter(|(a, b)| a != b).count() as u64;
            compared += expected.len() as u64;
            observer.advance(expected.len() as u64);
        }
    }
    match first {
        Some((address, expected, found)) => {
            Err(Error::Differs { address, expected, found, different, compared })
        }
        None => Ok(()),
    }
}

/// Bytes at any address, of the whole words around them.
fn read(port: &mut dyn Registers, address: u32, size: usize) -> Result<Vec<u8>, Error> {
    let before = (address % 4) as usize;
    let mut words = vec![0; (before + size).div_ceil(4)];
    let read = port.read_words(address - before as u32, &mut words);
    read.map_err(|error| failed(Step::Verify, &error))?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok(bytes[before..before + size].to_vec())
}
