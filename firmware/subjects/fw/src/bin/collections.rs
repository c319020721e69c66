//! Firmware of the `collections` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(collections);
