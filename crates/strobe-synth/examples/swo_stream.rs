//! Writes the bytes of a trace pin to standard output, so many packets of a profiled firmware in
//! random order: what `docs/benchmarks.md` times `strobe report` on.
//!
//! `cargo run -p strobe-synth --example swo_stream -- 52000000 >mixed.swo` writes 200 MB.

use std::io::Write;

/// Packets that are made at a time: the memory stays small.
const AT_A_TIME: usize = 1_000_000;

fn main() -> std::io::Result<()> {
    let wanted = std::env::args().nth(1).and_then(|n| n.parse::<usize>().ok());
    let Some(wanted) = wanted else {
        eprintln!("usage: swo_stream PACKETS");
        std::process::exit(64);
    };
    let mut out = std::io::stdout().lock();
    for (seed, from) in (1..).zip((0..wanted).step_by(AT_A_TIME)) {
        let packets = AT_A_TIME.min(wanted - from);
        out.write_all(&strobe_synth::swo::mixed(packets, seed).bytes)?;
    }
    out.flush()
}
