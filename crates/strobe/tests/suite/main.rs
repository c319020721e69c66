//! `strobe` as its users call it: one module for each subject.
//!
//! One binary: every further one would link the crates anew.

mod any_image;
mod archives;
mod arduino;
mod avr;
mod avr_bad_input;
mod avr_parts;
mod bad_input;
mod bands;
#[cfg(target_os = "linux")]
mod bench;
mod benchmarks;
mod bootloader;
mod bounds;
mod calls;
mod captures;
mod check;
mod check_figures;
mod chip;
mod common;
mod compare;
mod cube;
mod cycles;
mod defmt;
mod demo;
mod display;
mod ecosystem;
mod ecosystem_f407;
#[cfg(target_os = "linux")]
mod experiment;
mod exports;
mod flash;
mod founding;
#[cfg(target_os = "linux")]
mod full_disk;
mod heap;
mod heap_built;
mod history;
mod kit;
mod kit_heap;
mod lost_interrupts;
mod machines;
mod man;
mod measurements;
mod perfetto;
mod profile_exports;
mod record;
mod rig;
mod safety;
mod samples;
mod simulated_pins;
mod size;
mod stack;
mod svd;
mod swo;
#[cfg(unix)]
mod terminal;
mod threads;
mod trace_plan;
mod traced;
mod until;
mod version;
mod waits;
mod waits_in_turns;
mod waits_that_count;
mod waits_that_leave_nothing;
mod why;
