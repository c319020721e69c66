//! Samples of the program counter as JSON, and the profile that a faulty tool derived from them.

use std::collections::BTreeMap;

use super::{Function, csv, firmware};
use crate::Rng;

/// A list of samples and its expected results.
#[derive(Debug, Clone)]
pub struct SampleArchive {
    /// The list.
    pub packets: String,
    /// The firmware's functions.
    pub functions: String,
    /// The published profile.
    pub profile: String,
    /// Samples by function, those that the profile has lost included.
    pub samples: BTreeMap<String, u64>,
    /// Samples of addresses outside the code.
    pub corrupt: u64,
    /// Hits of the functions in the profile, in its order.
    pub published: Vec<(String, u64)>,
    /// Packets of other kinds in the list.
    pub overflows: u64,
    /// Unusable entries of the list.
    pub unusable: u64,
}

impl SampleArchive {
    /// Samples that belong to a function.
    pub fn attributed(&self) -> u64 {
        self.samples.values().sum()
    }
}

/// An archive of so many entries in its list.
pub fn samples(seed: u64, entries: u32) -> SampleArchive {
    let mut rng = Rng::new(seed);
    let functions = firmware(&mut rng, 120);
    // Code that runs only at boot has few samples; the hottest code starts later and is at lower
    // addresses.
    let hot = [70, 22, 90, 41].map(|n| &functions[n]);
    let mut archive = SampleArchive {
        packets: String::new(),
        functions: csv(&functions),
        profile: String::new(),
        samples: BTreeMap::new(),
        corrupt: 0,
        published: Vec::new(),
        overflows: 0,
        unusable: 0,
    };
    let mut list: Vec<(&Function, u32)> = Vec::new();
    let mut packets: Vec<String> = Vec::new();
    for n in 0..entries {
        let sample =
            |pc: u32| format!("\"packet\":\t\"pc sample\",\n\t\t\t\"value\":\t\"{pc:#010x}\"");
        let packet = match rng.below(1000) {
            0..=2 => {
                archive.corrupt += 1;
                sample(0x1000_0000 | rng.next_u32() >> 1)
            }
            3 => {
                archive.unusable += 1;
                "\"packet\":\t\"pc sample\",\n\t\t\t\"value\":\t\"0x0800\\ufffd\"".to_owned()
            }
            4..=40 => {
                archive.overflows += 1;
                "\"packet\":\t\"overflow\"".to_owned()
            }
            _ => {
                let common = n > 20 && !rng.one_in(10);
                let function = if common {
                    rng.pick(&hot)
                } else {
                    &functions[rng.below(functions.len() as u32) as usize]
                };
                let pc = function.address + 2 * rng.below(function.size / 2);
                list.push((function, pc));
                sample(pc)
            }
        };
        packets.push(packet);
    }
    for (function, _) in &list {
        *archive.samples.entry(function.name.clone()).or_default() += 1;
    }
    publish(&mut archive, &list);
    archive.packets = format!(
        "{{\n\t\"session\":\t{{\n\t}},\n\t\"board_info\":\t{{\n\t\t\"name\":\t\"olimex-e407\",\n\
         \t\t\"cpu\":\t\"stm32f407vgt6z\"\n\t}},\n\
         \t\"packet\":\t[{{\n\t\t\t{}\n\t\t}}]\n}}\n",
        packets.join("\n\t\t}, {\n\t\t\t")
    );
    archive
}

/// The tool keeps functions sorted by address. It drops each sample of a function that is not
/// listed yet, unless it would be the last.
fn publish(archive: &mut SampleArchive, list: &[(&Function, u32)]) {
    let mut hits: BTreeMap<u32, (&Function, BTreeMap<u32, u64>)> = BTreeMap::new();
    for (function, pc) in list {
        let last = hits.keys().next_back().copied();
        if hits.contains_key(&function.address) || last.is_none_or(|last| function.address > last) {
            let (_, addresses) =
                hits.entry(function.address).or_insert_with(|| (function, BTreeMap::new()));
            *addresses.entry(*pc).or_default() += 1;
        }
    }
    for (function, addresses) in hits.values() {
        let all: u64 = addresses.values().sum();
        archive.published.push((function.name.clone(), all));
        let name = &function.name;
        archive.profile +=
            &format!("\nfile: /nuttx/{name}.c\nfunction: {name}\nhits: {all}\ndetails: [\n");
        for (address, hits) in addresses {
            let line = (address - function.address) / 8 + 10;
            archive.profile +=
                &format!("\t{{ hits: {hits}, line: {line}, address: {address:x}}},\n");
        }
        archive.profile += "\n]\n";
    }
}
