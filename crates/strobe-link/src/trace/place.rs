//! Sources as arguments: `serial:DEVICE@BAUD`, `openocd:HOST:PORT`, `sim`.

use strobe_decode::capture::parse_frequency;
use strobe_decode::orbflow;

/// Where bytes can be read from, by name: nothing is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// Standard input.
    Input,
    /// A file or a named pipe.
    File(&'a str),
    /// A server that sends bytes.
    Tcp(&'a str),
    /// A server that sends orbuculum's frames, of which those with the tag are the pin's.
    Orbflow(&'a str, u8),
    /// A serial port and its bit rate.
    Serial(&'a str, u32),
    /// A capture's file, the pin in it, and the pin's bit rate if it is known.
    Capture(&'a str, &'a str, Option<u32>),
    /// OpenOCD's TCL port.
    OpenOcd(&'a str),
    /// A debug probe: the only one, or the one of that selector.
    Probe(Option<&'a str>),
    /// A simulated board: the one that fits the firmware, or the named one.
    Simulated(Option<&'a str>),
}

/// Why an argument is no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It has no kind.
    #[error("`{0}` is no source")]
    NoKind(String),
    /// Its kind is not known.
    #[error("`{0}:` is no kind of source")]
    UnknownKind(String),
    /// The kind is known and the rest is not as it must be.
    #[error("the source `{text}`: write it {form}")]
    Form {
        /// The argument.
        text: String,
        /// How to write it.
        form: &'static str,
    },
}

impl<'a> Place<'a> {
    /// Reads an argument; `baud` is the bit rate of those that do not have one.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &'a str, baud: Option<u32>) -> Result<Place<'a>, Error> {
        match text {
            "-" => return Ok(Place::Input),
            "probe" => return Ok(Place::Probe(None)),
            "sim" => return Ok(Place::Simulated(None)),
            _ => {}
        }
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(Error::NoKind(text.to_owned()));
        };
        let (place, form) = match kind {
            "file" => (some(rest).map(Place::File), "file:PATH"),
            "sim" => (some(rest).map(|board| Place::Simulated(Some(board))), "sim or sim:BOARD"),
            "probe" => (
                some(rest).map(|selector| Place::Probe(Some(selector))),
                "probe or probe:VID:PID[:SERIAL]",
            ),
            "tcp" => (host_port(rest).map(Place::Tcp), "tcp:HOST:PORT"),
            "openocd" => (host_port(rest).map(Place::OpenOcd), "openocd:HOST:PORT"),
            "orbflow" => {
                (tagged(rest), "orbflow:HOST:PORT or orbflow:HOST:PORT/TAG, a tag of 0 to 255")
            }
            "serial" => {
                let place = at_baud(rest, baud).map(|(device, baud)| Place::Serial(device, baud));
                (place, "serial:DEVICE@BAUD, or give --baud")
            }
            "sr" => (of_capture(rest, baud), "sr:PATH:PIN or sr:PATH:PIN@BAUD"),
            _ => return Err(Error::UnknownKind(kind.to_owned())),
        };
        place.ok_or_else(|| Error::Form { text: text.to_owned(), form })
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn host_port(text: &str) -> Option<&str> {
    let (host, port) = text.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok()).then_some(text)
}

fn tagged(text: &str) -> Option<Place<'_>> {
    let (address, tag) = match text.split_once('/') {
        Some((address, tag)) => (address, tag.parse().ok()?),
        None => (text, orbflow::ITM),
    };
    Some(Place::Orbflow(host_port(address)?, tag))
}

fn of_capture(text: &str, baud: Option<u32>) -> Option<Place<'_>> {
    let (rest, baud) = match at_baud(text, baud) {
        Some((rest, baud)) => (rest, Some(baud)),
        None if text.contains('@') => return None,
        None => (text, None),
    };
    let (path, pin) = rest.rsplit_once(':')?;
    Some(Place::Capture(path, pin, baud))
}

/// What stands before the `@`, and the bit rate behind it.
fn at_baud(text: &str, default: Option<u32>) -> Option<(&str, u32)> {
    let (what, baud) = match text.rsplit_once('@') {
        Some((what, baud)) => {
            (what, parse_frequency(baud).and_then(|baud| u32::try_from(baud).ok()))
        }
        None => (text, default),
    };
    Some((what, baud?)).filter(|(what, _)| !what.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_what_their_kinds_say() {
        let cases = [
            ("-", Place::Input),
            ("file:a:b", Place::File("a:b")),
            ("tcp:[::1]:3443", Place::Tcp("[::1]:3443")),
            ("orbflow:localhost:3402", Place::Orbflow("localhost:3402", orbflow::ITM)),
            ("orbflow:localhost:3402/7", Place::Orbflow("localhost:3402", 7)),
            ("serial:/dev/ttyS0@2M", Place::Serial("/dev/ttyS0", 2_000_000)),
            ("sr:C:/a.sr:D0", Place::Capture("C:/a.sr", "D0", None)),
            ("sr:a.sr:D0@8M", Place::Capture("a.sr", "D0", Some(8_000_000))),
            ("openocd:localhost:6666", Place::OpenOcd("localhost:6666")),
            ("probe", Place::Probe(None)),
            ("probe:0483:374b:66", Place::Probe(Some("0483:374b:66"))),
            ("sim", Place::Simulated(None)),
            ("sim:stm32f407", Place::Simulated(Some("stm32f407"))),
        ];
        for (text, wanted) in cases {
            assert_eq!(Place::parse(text, None), Ok(wanted), "{text}");
        }
        assert_eq!(Place::parse("serial:x", Some(9600)), Ok(Place::Serial("x", 9600)));
    }

    #[test]
    fn others_are_refused_with_the_form() {
        let none = Place::parse("firmware.elf", None);
        assert_eq!(none, Err(Error::NoKind("firmware.elf".to_owned())));
        assert!(matches!(Place::parse("udp:1:2", None), Err(Error::UnknownKind(_))));
        for text in [
            "file:",
            "sim:",
            "probe:",
            "tcp:localhost",
            "tcp::1",
            "openocd:localhost:70000",
            "orbflow:h:1/256",
            "serial:/dev/ttyS0",
            "serial:@9600",
            "sr:a.sr",
            "sr:a.sr:D0@x",
        ] {
            assert!(matches!(Place::parse(text, None), Err(Error::Form { .. })), "{text}");
        }
    }
}
