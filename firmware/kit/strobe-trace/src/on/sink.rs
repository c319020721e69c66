//! A function of the program's own that takes frames.

unsafe extern "Rust" {
    fn _strobe_trace_sink(frame: &[u8]);
}

#[inline(always)]
pub(super) fn send<const BYTES: usize>(fill: impl FnOnce(&mut [u8; BYTES])) {
    let mut frame = [0; BYTES];
    fill(&mut frame);
    // SAFETY: `sink!` makes a function of this type.
    unsafe { _strobe_trace_sink(&frame) };
}
