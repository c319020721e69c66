//! The timer's registers (RM0360, "TIMx registers"), which every timer has a part of.
//!
//! A register that this timer lacks reads as zero and ignores writes, as reserved bits do. The DMA
//! burst registers and the option register are left to the bus, which lists them as unmodelled.

use super::{BREAK, CAPTURE_COMPARE, COMMUTATION, OVERCAPTURE, TRIGGER, Timer, UPDATE, cr1};
use crate::devices::common::register::bit;
use strobe_sim::kernel::device::Context;

const CR1: u32 = 0x00;
const CR2: u32 = 0x04;
const SMCR: u32 = 0x08;
const DIER: u32 = 0x0c;
const SR: u32 = 0x10;
const EGR: u32 = 0x14;
const CCMR1: u32 = 0x18;
const CCMR2: u32 = 0x1c;
const CCER: u32 = 0x20;
pub(super) const CNT: u32 = 0x24;
const PSC: u32 = 0x28;
const ARR: u32 = 0x2c;
const RCR: u32 = 0x30;
const CCR1: u32 = 0x34;
const CCR4: u32 = 0x40;
const BDTR: u32 = 0x44;

/// What EGR can raise besides.
const OTHER_FLAGS: u32 = COMMUTATION | TRIGGER | BREAK;
/// SMS in SMCR.
const SLAVE_MODE: u32 = 7;
/// DTG in BDTR.
const DEAD_TIME: u32 = 0xff;

impl Timer {
    /// Reads a register, with its side effect.
    pub(super) fn read_register(&mut self, register: u32) -> Option<u32> {
        if (CCR1..=CCR4).contains(&register) {
            let channel = (register - CCR1) as usize / 4;
            let input = self.channels.get(channel).is_some_and(|c| !c.is_output());
            if input {
                self.sr &= !(CAPTURE_COMPARE << channel);
            }
        }
        self.value(register)
    }

    /// What a narrow write leaves in the other lanes: flags that are cleared by 0 stay, commands
    /// that are given by 1 are not given.
    pub(super) fn write_base(&self, register: u32) -> Option<u32> {
        match register {
            SR => Some(u32::MAX),
            EGR => Some(0),
            _ => self.value(register),
        }
    }

    fn value(&self, register: u32) -> Option<u32> {
        Some(match register {
            CR1 => {
                let down = self.is_center() && self.counter.is_down();
                self.cr1 | u32::from(down) << cr1::DIR
            }
            CR2 => self.cr2,
            SMCR => self.smcr,
            DIER => self.dier,
            SR => self.sr,
            EGR => 0,
            CCMR1 | CCMR2 => {
                let first = (register - CCMR1) as usize / 2;
                let byte = |i: usize| u32::from(self.channels.get(i).map_or(0, |c| c.config));
                byte(first) | byte(first + 1) << 8
            }
            CCER => (0u32..)
                .zip(&self.channels)
                .map(|(i, c)| u32::from(c.enable) << (4 * i))
                .fold(0, std::ops::BitOr::bitor),
            CNT => self.counter.value(),
            PSC => self.psc,
            ARR => self.arr,
            RCR => self.rcr,
            CCR1..=CCR4 => {
                self.channels.get((register - CCR1) as usize / 4).map_or(0, |c| c.preload)
            }
            BDTR => self.bdtr,
            _ => return None,
        })
    }

    /// Writes a whole register.
    pub(super) fn write_register(&mut self, register: u32, value: u32, cx: &mut Context) {
        match register {
            CR1 => self.write_cr1(value, cx),
            CR2 => self.cr2 = value & 0x7ffd,
            SMCR => self.write_smcr(value, cx),
            DIER => self.write_dier(value),
            SR => self.sr &= value,
            EGR => self.write_egr(value, cx.now()),
            CCMR1 | CCMR2 => self.write_ccmr((register - CCMR1) as usize / 2, value),
            CCER => (0u32..)
                .zip(&mut self.channels)
                .for_each(|(i, c)| c.enable = (value >> (4 * i) & 0xf) as u8),
            CNT => self.counter.place(value, self.counter.is_down()),
            PSC => self.psc = value & 0xffff,
            ARR => {
                self.arr = value & self.counter.mask();
                self.apply_unbuffered_arr();
            }
            RCR if self.features.repetition => self.rcr = value & 0xff,
            CCR1..=CCR4 => self.write_ccr((register - CCR1) as usize / 4, value),
            BDTR if self.features.break_unit => {
                self.bdtr = value & 0xffff;
                if value & DEAD_TIME != 0 {
                    cx.warn_of("not-modelled", format!(
                        "{}: dead time (BDTR.DTG) is not modelled: complementary outputs switch at \
                         once",
                        cx.name()
                    ));
                }
            }
            _ => {}
        }
    }

    fn write_cr1(&mut self, value: u32, cx: &Context) {
        let counting_modes = if self.features.down { 0x70 } else { 0 };
        self.cr1 = value & (0x38f | counting_modes);
        // DIR is read-only while the counter is center-aligned.
        if self.is_center() {
            self.cr1 &= !(1 << cr1::DIR);
        }
        let mode = self.mode();
        self.counter.set(mode, self.counter.top());
        self.apply_unbuffered_arr();
        self.gate(cx);
    }

    /// Without ARPE the auto-reload register is the active one.
    fn apply_unbuffered_arr(&mut self) {
        if !bit(self.cr1, cr1::ARPE) {
            self.counter.set(self.mode(), self.arr);
        }
    }

    fn write_smcr(&mut self, value: u32, cx: &mut Context) {
        self.smcr = value & 0xffff;
        if value & SLAVE_MODE != 0 {
            cx.warn_of("not-modelled", format!(
                "{}: slave modes (SMCR.SMS) are not modelled: the counter follows its own clock",
                cx.name()
            ));
        }
    }

    fn write_dier(&mut self, value: u32) {
        self.dier = value & 0x7fff;
        self.requested &= self.dier >> 8;
    }

    fn write_egr(&mut self, value: u32, now: u64) {
        if value & UPDATE != 0 {
            self.generate_update(now);
        }
        for i in 0..self.channels.len() {
            let flag = CAPTURE_COMPARE << i;
            match value & flag != 0 {
                false => {}
                true if self.channels[i].is_output() => self.raise(flag),
                true => self.capture(i),
            }
        }
        if value & BREAK != 0 {
            self.bdtr &= !(1 << super::bdtr::MOE);
        }
        self.raise(value & OTHER_FLAGS);
    }

    fn write_ccmr(&mut self, first: usize, value: u32) {
        for (byte, channel) in self.channels.iter_mut().skip(first).take(2).enumerate() {
            channel.config = (value >> (8 * byte)) as u8;
            if channel.is_output() && !channel.is_preloaded() {
                channel.active = channel.preload;
            }
        }
    }

    fn write_ccr(&mut self, channel: usize, value: u32) {
        let value = value & self.counter.mask();
        // A capture register is read-only.
        if let Some(channel) = self.channels.get_mut(channel).filter(|c| c.is_output()) {
            channel.set_compare(value);
        }
    }
}

// The overcapture flags sit eight bits above the capture flags.
const _: () = assert!(OVERCAPTURE == CAPTURE_COMPARE << 8);
