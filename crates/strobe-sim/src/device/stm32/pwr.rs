//! Power control (RM0360 section 6), as far as firmware looks at it in run mode.
//!
//! Stop and standby are not modelled: a core in deep sleep behaves as in sleep.

use serde::Deserialize;

use super::register::{merge, part};
use crate::device::{Context, Create, Device, Size};
use crate::signal::SignalId;

const CR: u32 = 0x00;
const CSR: u32 = 0x04;

/// Standby is selected for deep sleep.
const CR_PDDS: u32 = 1 << 1;
/// Disable backup domain write protection.
const CR_DBP: u32 = 1 << 8;
/// LPDS, PDDS, DBP; CWUF and CSBF read as zero.
const CR_WRITABLE: u32 = CR_DBP | CR_PDDS | 1;
/// EWUP1 to EWUP7; the flags need standby or a wake-up pin.
const CSR_WRITABLE: u32 = 0x7f << 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

struct Pwr {
    cr: u32,
    csr: u32,
    backup_writable: SignalId,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let Options {} = cx.options()?;
    let backup_writable = cx.signal(super::BACKUP_WRITABLE);
    Ok(Box::new(Pwr { cr: 0, csr: 0, backup_writable }))
}

impl Device for Pwr {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            CR => self.cr,
            CSR => self.csr,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            CR => {
                self.cr = merge(self.cr, offset, size, value) & CR_WRITABLE;
                cx.set_signal(self.backup_writable, self.cr & CR_DBP != 0);
                if self.cr & CR_PDDS != 0 {
                    cx.warn("standby is not modelled: deep sleep behaves as sleep");
                }
            }
            CSR => self.csr = merge(self.csr, offset, size, value) & CSR_WRITABLE,
            _ => return None,
        }
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        self.cr = 0;
        self.csr = 0;
        cx.set_signal(self.backup_writable, false);
    }
}
