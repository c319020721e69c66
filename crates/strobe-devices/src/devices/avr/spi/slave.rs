//! The slave's half: bits move with the edges of somebody else's SCK while SS is low (18.3.1).

use super::{CPHA, CPOL, MSTR, SPE, SPIF, Spi};
use strobe_sim::kernel::device::{Context, Direction};
use strobe_sim::kernel::signal::SignalId;

/// The shift register of a slave.
#[derive(Debug, Default)]
pub(super) struct Slave {
    /// What goes out; the last byte received, unless firmware has written.
    out: u8,
    arrived: u8,
    /// Edges of SCK since the byte began, of 16.
    edges: u8,
    /// MISO.
    pub(super) output: bool,
}

impl Slave {
    /// Whether a byte is under way, which SPDR cannot be changed for.
    pub(super) fn is_busy(&self) -> bool {
        self.edges > 0
    }

    pub(super) fn load(&mut self, value: u8) {
        self.out = value;
    }
}

impl Spi {
    pub(super) fn is_slave(&self) -> bool {
        self.control & (SPE | MSTR) == SPE
    }

    pub(super) fn is_selected(&self, cx: &Context) -> bool {
        !cx.level(self.ss)
    }

    /// SS or SCK has changed.
    pub(super) fn slave_hears(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if id == self.ss {
            (self.slave.edges, self.slave.arrived) = (0, 0);
        } else if id == self.sck_pin && self.is_selected(cx) {
            self.slave_clock(level, cx);
        }
        self.put_first_bit();
    }

    /// With CPHA clear the first bit is there before the first edge.
    pub(super) fn put_first_bit(&mut self) {
        if self.slave.edges == 0 && self.control & CPHA == 0 {
            self.slave.output = self.slave.out >> self.place(0) & 1 != 0;
        }
    }

    fn slave_clock(&mut self, level: bool, cx: &mut Context) {
        let leading = level != (self.control & CPOL != 0);
        // The first edge of a byte is a leading one.
        if leading != self.slave.edges.is_multiple_of(2) {
            return;
        }
        let late = self.control & CPHA != 0;
        let bit = u64::from(self.slave.edges / 2);
        if leading != late {
            let place = self.place(bit);
            self.slave.arrived |= u8::from(cx.level(self.mosi_pin)) << place;
        } else {
            let next = if late { bit } else { bit + 1 };
            if next < 8 {
                self.slave.output = self.slave.out >> self.place(next) & 1 != 0;
            }
        }
        self.slave.edges += 1;
        if self.slave.edges == 16 {
            let (out, arrived) = (self.slave.out, std::mem::take(&mut self.slave.arrived));
            (self.slave.edges, self.slave.out) = (0, arrived);
            self.received = arrived;
            self.flags |= SPIF;
            self.seen = 0;
            cx.serial_frame(Direction::Transmit, out.into());
            cx.serial_frame(Direction::Receive, arrived.into());
        }
    }
}
