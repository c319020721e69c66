//! How much code ran: the bytes of the instructions that were executed.

use std::collections::BTreeSet;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Address, Cell, Measurement, Quantity, Unit};

/// Bytes of the instructions that were executed; nothing where the measurement has no disassembly
/// or nobody counted.
pub(super) fn bytes_run(measurement: &Measurement) -> Option<Quantity> {
    let disassembly = measurement.table(ids::section::DISASSEMBLY)?;
    let profile = measurement.profiles().next()?;
    let executions = profile.leaves.of(ids::measure::EXECUTIONS)?;
    let ran = profile.leaves.at.iter().zip(&executions.values).filter(|(_, times)| **times > 0);
    let ran = ran.filter_map(|(at, _)| *profile.locations.address.get((*at)? as usize)?);
    let ran: BTreeSet<Address> = ran.collect();
    let (addresses, bytes) =
        (disassembly.column(ids::column::ADDRESS)?, disassembly.column(ids::column::BYTES)?);
    let size = |(address, bytes): (&Cell, &Cell)| match address {
        Cell::Address(address) if ran.contains(address) => {
            let digits = bytes.text()?.chars().filter(char::is_ascii_hexdigit).count();
            Some(digits as u64 / 2)
        }
        _ => None,
    };
    let sizes = addresses.cells.iter().zip(&bytes.cells).filter_map(size);
    Some(Quantity::exact(sizes.sum::<u64>(), Unit::BYTES))
}
