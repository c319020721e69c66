//! Firmware of the `heap` subject: `embedded-alloc` in what the others leave of RAM.

#![no_std]
#![no_main]

// Its critical section is what the allocator locks with.
use cortex_m as _;
use embedded_alloc::LlffHeap;

const BYTES: usize = 8 * 1024;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut MEMORY: [u32; BYTES / 4] = [0; BYTES / 4];
    // SAFETY: once, before anything is allocated, and nothing else uses this memory.
    unsafe { HEAP.init(MEMORY.as_mut_ptr() as usize, BYTES) };
    subjects_fw::run(subjects_heap::work)
}
