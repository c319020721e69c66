//! Archives in the form of the benchmarking tools of 2019: lists of samples and texts of
//! allocations, with the published results and with the faults of both tools and of the line.
//!
//! Written from descriptions of the files and of the tools' faults. The expected results are known
//! from the inputs.

mod allocations;
mod samples;

pub use allocations::{AllocationArchive, allocations};
pub use samples::{SampleArchive, samples};

use crate::Rng;

/// A function of the firmware.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    name: String,
    address: u32,
    size: u32,
}

/// So many functions, one after the other.
fn firmware(rng: &mut Rng, count: u32) -> Vec<Function> {
    let words = ["sched", "up", "stm32", "nxsem", "rcl", "mm", "uart", "eth"];
    let verbs = ["lock", "poll", "read", "alloc", "delay", "init", "send", "wait"];
    let mut address = 0x0800_0188;
    let function = |n: u32| {
        let name = format!("{}_{}{n}", rng.pick(&words), rng.pick(&verbs));
        let size = 2 * (8 + rng.below(300));
        let function = Function { name, address, size };
        address += size;
        function
    };
    (0..count).map(function).collect()
}

/// The functions as comma-separated values.
fn csv(functions: &[Function]) -> String {
    let lines = functions.iter().map(|f| format!("{:#010x},{},T,{}\n", f.address, f.size, f.name));
    "address,size,kind,name\n".to_owned() + &lines.collect::<String>()
}
