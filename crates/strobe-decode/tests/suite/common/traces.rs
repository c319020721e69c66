//! Synthetic streams of a small tracer: of realistic size, after noise, truncated and with losses.

use strobe_synth::tracer::{self, Stream};

/// The streams by subject.
pub fn streams() -> Vec<(&'static str, Stream<()>)> {
    vec![
        ("calls", tracer::calls(1, 18_000).bare()),
        ("interrupts", tracer::interrupts(2, 2800, false).bare()),
        ("interrupts with losses", tracer::interrupts(3, 2900, true).bare()),
        ("heap", tracer::heap(4, 3000).bare()),
        ("stacks", tracer::stacks(5, 24_000).bare()),
        ("transfers", tracer::transfers(6, 500).bare()),
        ("threads", tracer::threads(7, 1500).bare()),
    ]
}
