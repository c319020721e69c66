//! Starts a simulated board as a link: its trace blocks are set up as was asked for; if nothing
//! was, the firmware's own set-up holds.

use strobe_devices::board::Board;
use strobe_link::trace::link::Error;
use strobe_link::trace::links::{Access, Opened, Request, Startable};
use strobe_link::trace::registers;
use strobe_symbols::Firmware;

use super::{Setup, Simulated};
use crate::simulated::trace::{Programme, RegisterWrite};

/// RTT is read so often in a second of the board's own time, unless otherwise asked.
const RTT_HZ: u32 = 1000;

/// A board with the firmware that it runs, not started yet.
pub struct Startup {
    /// The board.
    pub board: Board,
    /// What it runs.
    pub firmware: Firmware,
}

impl Startable for Startup {
    fn name(&self) -> &str {
        self.board.name()
    }

    fn start(self: Box<Self>, request: &Request<'_>) -> Result<Opened, Error> {
        open(*self, request)
    }
}

fn open(Startup { board, firmware }: Startup, request: &Request<'_>) -> Result<Opened, Error> {
    let rtt = match &request.access {
        Access::Rtt(wanted, rate) => Some((wanted.clone(), rate.unwrap_or(RTT_HZ))),
        Access::Pin | Access::Poll(..) => None,
    };
    let name = board.name().to_owned();
    let core = board.core_name().to_owned();
    let mut programme = Programme::default();
    if let Some((settings, family)) = &request.trace {
        let writes =
            registers::writes(settings, family).map_err(|e| Error::unfit(e.to_string()))?;
        programme.writes.extend(writes.iter().map(RegisterWrite::from));
    }
    let settings = request.trace.as_ref().map(|(settings, _)| settings.clone());
    let baud = settings.as_ref().map(|settings| settings.line.baud());
    let setup = Setup { firmware, board, programme, baud, limit: request.limit, rtt };
    Ok(Opened {
        target: Some(name.clone()),
        core: Some(core),
        programmed: settings.is_some(),
        settings,
        ..Opened::new(Box::new(Simulated::start(setup)), "sim", &name)
    })
}
