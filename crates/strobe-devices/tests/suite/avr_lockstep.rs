//! The proof of the AVR core: registers, SREG, stack pointer, program counter, pins and cycles
//! equal to simavr's after each instruction.
//!
//! Every program runs twice along one trace: instruction by instruction, and in strides of many
//! cycles, which lets whole blocks run as they do when nobody looks.

mod generated;
mod outside;
mod programs;
mod prove;
