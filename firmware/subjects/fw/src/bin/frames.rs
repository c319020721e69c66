//! Firmware of the `frames` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(frames);
