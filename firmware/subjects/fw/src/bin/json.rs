//! Firmware of the `json` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(json);
