//! The host's ends of serial lines and cables, as `--uart`, `--uart-input` and `--ethernet` name
//! them.

use std::io::{self, Read};

use strobe_link::network::{self, HostPlug};
use strobe_link::serial::{HostPort, InputSpec, Source, Spec, Target};

use crate::exit;
use crate::files::{self, Kind};
use crate::terminal::{self, Shown};

/// Opens the other end of a serial device.
pub fn port(spec: &Spec) -> anyhow::Result<HostPort> {
    let device = &spec.device;
    Ok(match &spec.target {
        Target::Null => HostPort::null(device),
        Target::Stdout => HostPort::to_writer(device, Box::new(Shown::on(io::stdout()))),
        Target::Stderr => HostPort::to_writer(device, Box::new(Shown::on(io::stderr()))),
        Target::File(path) => HostPort::to_file(device, path, files::log(path)?),
        Target::Pty => {
            let port = HostPort::pty(device).map_err(|e| exit::output(e.to_string()))?;
            let path = port.terminal().unwrap_or_default();
            terminal::message(&format!("serial port {device} is {path}"));
            port
        }
    })
}

/// Opens the other end of a cable, if there is one.
pub fn plug(spec: &network::Spec) -> anyhow::Result<Option<HostPlug>> {
    HostPlug::open(spec).map_err(|e| exit::output(e.to_string()))
}

/// All bytes for a serial device.
pub fn input(spec: &InputSpec) -> anyhow::Result<Vec<u8>> {
    match &spec.source {
        Source::File(path) => files::bytes(path, &Kind::SERIAL_INPUT),
        Source::Stdin => all(io::stdin()),
    }
}

fn all(from: impl Read) -> anyhow::Result<Vec<u8>> {
    let (mut bytes, most) = (Vec::new(), Kind::SERIAL_INPUT.most_bytes);
    let read = from.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|e| exit::no_input(format!("cannot read standard input: {e}")))?;
    if bytes.len() as u64 > most {
        return Err(exit::data(format!("standard input has more than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_without_end_is_refused() {
        assert!(all(io::repeat(b'x')).is_err());
        assert_eq!(all(&b"ls\n"[..]).expect("three bytes"), b"ls\n");
    }
}
