//! Firmware of the `qrcode` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(qrcode);
