//! Firmware of the `aes` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(aes);
