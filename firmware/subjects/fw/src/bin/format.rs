//! Firmware of the `format` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(format);
