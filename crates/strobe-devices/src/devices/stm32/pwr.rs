//! Power control (RM0360 section 6, RM0090 section 5), as far as firmware looks at it in run mode.
//!
//! Which bits there are besides DBP and PDDS is board data; the defaults are the STM32F070's. The
//! backup regulator and voltage scaling (RM0090) are ready at once.
//! Stop and standby are not modelled: a core in deep sleep behaves as in sleep.

use serde::Deserialize;

use crate::devices::common::register::{merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const CR: u32 = 0x00;
const CSR: u32 = 0x04;

/// Standby is selected for deep sleep.
const CR_PDDS: u32 = 1 << 1;
/// Disable backup domain write protection.
const CR_DBP: u32 = 1 << 8;
/// BRE, which BRR follows (RM0090 5.4.2).
const CSR_BRE: u32 = 1 << 9;
const CSR_BRR: u32 = 1 << 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// CR at reset.
    cr_reset: u32,
    /// Bits of CR that can be changed; CWUF and CSBF read as zero.
    cr_writable: u32,
    /// Bits of CSR that can be changed; the flags need standby or a wake-up pin.
    csr_writable: u32,
    /// Flags of CSR that are always set.
    csr_ready: u32,
    /// Whether CSR switches a backup regulator.
    backup_regulator: bool,
}

impl Default for Options {
    /// LPDS, PDDS, DBP; EWUP1 to EWUP7.
    fn default() -> Self {
        Options {
            cr_reset: 0,
            cr_writable: CR_DBP | CR_PDDS | 1,
            csr_writable: 0x7f << 8,
            csr_ready: 0,
            backup_regulator: false,
        }
    }
}

struct Pwr {
    options: Options,
    cr: u32,
    csr: u32,
    backup_writable: SignalId,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options = cx.options()?;
    let backup_writable = cx.signal(super::BACKUP_WRITABLE);
    Ok(Box::new(Pwr { options, cr: 0, csr: 0, backup_writable }))
}

impl Device for Pwr {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            CR => self.cr,
            CSR => {
                let regulated = self.options.backup_regulator && self.csr & CSR_BRE != 0;
                self.csr | self.options.csr_ready | if regulated { CSR_BRR } else { 0 }
            }
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            CR => {
                self.cr = merge(self.cr, offset, size, value) & self.options.cr_writable;
                cx.set_signal(self.backup_writable, self.cr & CR_DBP != 0);
                if self.cr & CR_PDDS != 0 {
                    cx.warn_of(
                        "not-modelled",
                        "standby is not modelled: deep sleep behaves as sleep",
                    );
                }
            }
            CSR => self.csr = merge(self.csr, offset, size, value) & self.options.csr_writable,
            _ => return None,
        }
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        self.cr = self.options.cr_reset;
        self.csr = 0;
        cx.set_signal(self.backup_writable, false);
    }
}
