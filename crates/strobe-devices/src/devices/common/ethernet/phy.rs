//! The transceiver at the other end of the management interface: IEEE 802.3 clause 22 registers 0
//! to 6, and register 31 of Microchip's LAN8710A and LAN8720A, which boards with these parts mostly
//! have.

use serde::Deserialize;

/// BMCR: reset and restart of the negotiation clear themselves; power-down, isolate, loopback stay.
const BMCR_RESET: u16 = 1 << 15;
const BMCR_RESTART: u16 = 1 << 9;
const BMCR_NEGOTIATE: u16 = 1 << 12;
/// 100 Mbit/s, negotiate, full duplex.
const BMCR_AT_RESET: u16 = 0x3100;
/// 10 and 100 Mbit/s half and full duplex, management frames without preamble, able to negotiate.
const BMSR_ABILITIES: u16 = 0x7809;
const BMSR_DONE: u16 = 1 << 5;
const BMSR_LINK: u16 = 1 << 2;
/// All four modes, IEEE 802.3.
const ADVERTISEMENT: u16 = 0x01e1;
/// The partner has the same and has acknowledged.
const PARTNER: u16 = 0x45e1;
/// Register 31: negotiation done; 100 Mbit/s and full duplex.
const SPECIAL_DONE: u16 = 1 << 12;
const SPECIAL_100_FULL: u16 = 6 << 2;

/// A transceiver as a board file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(in crate::devices) struct Phy {
    /// Its address on the management interface, 0 to 31.
    pub(in crate::devices) address: u8,
    /// Identifier registers 2 (upper half) and 3.
    id: u32,
    /// A cable with a partner at its other end is plugged in.
    link: bool,
    /// How long negotiation takes, in microseconds. Real ones need two seconds.
    negotiation_us: u32,
    #[serde(skip)]
    control: u16,
    #[serde(skip)]
    advertisement: u16,
    /// When negotiation is over, in nanoseconds.
    #[serde(skip)]
    done_at: u64,
}

impl Default for Phy {
    /// A LAN8720A.
    fn default() -> Self {
        Phy {
            address: 0,
            id: 0x0007_c0f1,
            link: true,
            negotiation_us: 10_000,
            control: BMCR_AT_RESET,
            advertisement: ADVERTISEMENT,
            done_at: 0,
        }
    }
}

impl Phy {
    /// Whether the link is up at `now` nanoseconds.
    fn is_up(&self, now: u64) -> bool {
        self.link && now >= self.done_at
    }

    fn negotiate(&mut self, now: u64) {
        self.done_at = now + u64::from(self.negotiation_us) * 1000;
    }

    /// Hardware reset.
    pub(in crate::devices) fn reset(&mut self, now: u64) {
        (self.control, self.advertisement) = (BMCR_AT_RESET, ADVERTISEMENT);
        self.negotiate(now);
    }

    /// Reads a register.
    pub(in crate::devices) fn read(&self, register: u32, now: u64) -> u16 {
        let when_up = |bits: u16| if self.is_up(now) { bits } else { 0 };
        match register {
            0 => self.control,
            1 => BMSR_ABILITIES | when_up(BMSR_DONE | BMSR_LINK),
            2 => (self.id >> 16) as u16,
            3 => self.id as u16,
            4 => self.advertisement,
            5 => when_up(PARTNER),
            6 => when_up(1),
            31 => when_up(SPECIAL_DONE | SPECIAL_100_FULL),
            _ => 0,
        }
    }

    /// Writes a register.
    pub(in crate::devices) fn write(&mut self, register: u32, value: u16, now: u64) {
        match register {
            0 if value & BMCR_RESET != 0 => self.reset(now),
            0 => {
                let begins = value & BMCR_NEGOTIATE & !self.control != 0;
                self.control = value & !BMCR_RESTART;
                if value & BMCR_RESTART != 0 || begins {
                    self.negotiate(now);
                }
            }
            4 => self.advertisement = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_comes_up_after_negotiation() {
        let mut phy = Phy::default();
        phy.reset(1_000);
        assert_eq!((phy.read(1, 1_000), phy.read(5, 1_000)), (0x7809, 0));
        let later = 1_000 + 10_000_000;
        assert_eq!((phy.read(1, later), phy.read(5, later)), (0x782d, 0x45e1));
        assert_eq!(phy.read(31, later), 0x1018);
        phy.write(0, 0x1200, later);
        assert_eq!((phy.read(0, later), phy.read(1, later)), (0x1000, 0x7809));
        phy.write(0, 0x8000, later);
        assert_eq!(phy.read(0, later), 0x3100);
        assert_eq!((phy.read(2, 0), phy.read(3, 0)), (7, 0xc0f1));
    }
}
