//! Firmware of the `graphics` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(graphics);
