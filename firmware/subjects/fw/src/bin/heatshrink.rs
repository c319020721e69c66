//! Firmware of the `heatshrink` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(heatshrink);
