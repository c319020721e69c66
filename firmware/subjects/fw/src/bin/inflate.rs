//! Firmware of the `inflate` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(inflate);
