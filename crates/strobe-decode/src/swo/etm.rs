//! Recognises the instruction trace of an ETM, which shares the trace port with ITM and DWT and is
//! not read here: taken for their packets it makes interrupts that never were.
//!
//! Versions 3 (Cortex-M3 and M4, IHI 0014) and 4 (M7, M33, IHI 0064).

/// Fewer bytes than this prove nothing.
const FEWEST: usize = 64;

/// Bytes that no packet of version 3 has, at most: one in so many.
const BAD_ONE_IN: usize = 50;

/// Packets of version 3 that state how many instructions ran, at least: one byte in so many.
const ATOMS_ONE_IN: usize = 8;

/// Whether bytes of a stream are instruction trace.
pub fn is_likely(bytes: &[u8]) -> bool {
    bytes.len() >= FEWEST && (is_version_3(bytes) || is_version_4(bytes))
}

fn is_version_3(bytes: &[u8]) -> bool {
    let (mut at, mut bad, mut atoms) = (0, 0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let header = rest[0];
        atoms += usize::from(is_atoms(header));
        match length(rest) {
            Some(length) => at += length,
            None => {
                bad += 1;
                at += 1;
            }
        }
    }
    bad * BAD_ONE_IN <= bytes.len() && atoms * ATOMS_ONE_IN >= bytes.len()
}

/// A P-header (7.4): formats 1 and 2, and those of cycle-accurate trace.
fn is_atoms(header: u8) -> bool {
    header & 0x81 == 0x80 && header != 0x80
}

/// The length of a packet of version 3 without context, or `None` if there is none like that.
fn length(bytes: &[u8]) -> Option<usize> {
    let continued = |from: usize, most: usize| {
        let more = bytes[from.min(bytes.len())..].iter().take_while(|byte| **byte & 0x80 != 0);
        let length = more.count() + 1;
        (length <= most).then_some(from + length)
    };
    match bytes[0] {
        0 => {
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let ends = bytes.get(zeros).is_none_or(|end| *end == 0x80);
            (zeros >= 5 && ends || zeros == bytes.len()).then_some(zeros + 1)
        }
        // Cycle count, I-sync, trigger, ignore, exception exit and entry, context, timestamp.
        0x04 => continued(1, 5),
        0x08 => Some(6),
        0x0c | 0x66 | 0x76 | 0x7e => Some(1),
        0x3c | 0x6e => Some(2),
        0x42 | 0x46 => continued(1, 9),
        branch if branch & 1 != 0 => continued(0, 6),
        header if is_atoms(header) => Some(1),
        _ => None,
    }
}

/// Synchronisations of version 4 have eleven zeros or more, and a trace info packet follows; those
/// of ITM have five and something else.
fn is_version_4(bytes: &[u8]) -> bool {
    let (mut zeros, mut long, mut all) = (0, 0, 0);
    for pair in bytes.windows(2) {
        if pair[0] == 0 {
            zeros += 1;
            continue;
        }
        if pair[0] == 0x80 && zeros >= 5 {
            all += 1;
            long += usize::from(zeros >= 11 && pair[1] == 0x01);
        }
        zeros = 0;
    }
    long >= 2 && long == all
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_synth::rng::Rng;
    use strobe_synth::swo::{Stream, mixed};

    #[test]
    fn traces_of_instructions_are_recognised() {
        for seed in 0..50 {
            assert!(is_likely(&strobe_synth::swo::etm(2000, seed)), "seed {seed}");
            assert!(is_likely(&strobe_synth::swo::etm4(2000, seed)), "seed {seed}");
        }
    }

    #[test]
    fn packets_of_itm_and_noise_are_not() {
        for seed in 0..50 {
            assert!(!is_likely(&mixed(2000, seed).bytes), "seed {seed}");
            let mut rng = Rng::new(seed);
            let noise: Vec<u8> = (0..2000).map(|_| rng.next_u32() as u8).collect();
            assert!(!is_likely(&noise), "seed {seed}");
        }
        let one_kind: [fn(&mut Stream, u32); 6] = [
            |s, n| {
                s.pc_sample(0x0800_0000 + 2 * n);
            },
            |s, _| {
                s.sleep();
            },
            |s, n| {
                s.local_timestamp(n % 200, 0);
            },
            |s, n| {
                s.instrumentation(0, &[b' ' + (n % 90) as u8]);
            },
            |s, n| {
                s.exception(15 + n as u16 % 3, 1 + n as u8 % 3);
            },
            |s, n| {
                s.global_timestamp1(n * 977, false, false);
            },
        ];
        for (kind, put) in one_kind.iter().enumerate() {
            let mut stream = Stream::new();
            (0..1000).for_each(|n| {
                if n % 100 == 0 {
                    stream.sync();
                }
                put(&mut stream, n);
            });
            assert!(!is_likely(&stream.bytes), "kind {kind}");
        }
    }
}
