//! Firmware of the `dsp` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(dsp);
