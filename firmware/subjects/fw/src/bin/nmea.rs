//! Firmware of the `nmea` subject.

#![no_std]
#![no_main]

subjects_fw::firmware!(nmea);
