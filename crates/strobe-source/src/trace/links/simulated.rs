//! A simulated board as a link: its trace blocks are set up as was asked for; if nothing was, the
//! firmware's own set-up holds.

use strobe_devices::board::Board;
use strobe_symbols::Firmware;

use super::{Access, Opened, Request};
use crate::simulated::trace::{Programme, RegisterWrite};
use crate::trace::link::Error;
use crate::trace::registers;
use crate::trace::simulated::{Setup, Simulated};

/// RTT is read so often in a second of the board's own time, unless otherwise asked.
const RTT_HZ: u32 = 1000;

pub fn open((board, firmware): (Board, Firmware), request: &Request<'_>) -> Result<Opened, Error> {
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
