//! The subject with a heap, apart from the others because whoever links `alloc` must bring an allocator.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// Builds, sorts, joins and drops collections of different sizes, so that the allocator splits and merges its blocks.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut seed = 1_u32;
    let mut random = move |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    let mut readings: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for _ in 0..200 {
        let sensor = format!("sensor-{}", random(12));
        let values = readings.entry(sensor).or_default();
        values.push(random(1000));
        if values.len() > 8 {
            // The oldest half goes, into a new and smaller block.
            *values = values.split_off(4);
        }
    }
    for (sensor, values) in &mut readings {
        values.sort_unstable();
        let text: Vec<String> = values.iter().map(|value| format!("{value}")).collect();
        writeln!(out, "{sensor}: {}", text.join(" "))?;
    }

    let mut queue: VecDeque<Box<[u8]>> = VecDeque::new();
    let mut sum = 0_u32;
    for turn in 0..500 {
        queue.push_back((0..random(96)).map(|i| (i ^ turn) as u8).collect());
        if queue.len() > 10 {
            let block = queue.pop_front().ok_or(fmt::Error)?;
            sum = block.iter().fold(sum, |sum, &byte| sum.rotate_left(5) ^ u32::from(byte));
        }
    }
    writeln!(out, "blocks folded: {sum:08x}, left: {}", queue.len())
}
