//! Firmware of the `chacha20` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(chacha20);
