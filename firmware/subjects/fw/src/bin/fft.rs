//! Firmware of the `fft` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(fft);
