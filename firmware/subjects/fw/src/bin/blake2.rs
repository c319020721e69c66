//! Firmware of the `blake2` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(blake2);
