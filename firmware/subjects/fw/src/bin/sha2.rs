//! Firmware of the `sha2` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(sha2);
