//! Firmware of the `x25519` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(x25519);
