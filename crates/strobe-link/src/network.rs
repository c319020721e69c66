//! The host's end of a simulated Ethernet cable: a TAP interface.
//!
//! Knows nothing of the simulated chip: frames, without check sequences, go out by
//! [`HostPlug::write`] and come in by [`HostPlug::read`], neither of which ever waits for the other
//! side.

use std::fmt;
use std::io;
use std::str::FromStr;

/// What is at the other end of a controller's cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nobody.
    None,
    /// A plug that returns each frame.
    Loopback,
    /// The host's TAP interface of this name, which is made if there is none.
    Tap(String),
}

/// Which Ethernet controller is joined to what, as `ETH=tap:strobe0` spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The controller's name on the board.
    pub device: String,
    /// What it is joined to.
    pub target: Target,
}

/// A specification that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Ethernet `{text}`: {problem}; write DEVICE=TARGET, as ETH=tap:strobe0, where TARGET is \
     tap:NAME, loopback or none"
)]
pub struct SpecError {
    /// As given.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Linux has room for so many bytes and a zero.
const LONGEST_NAME: usize = 15;

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let error = |problem| SpecError { text: text.to_owned(), problem };
        let (device, target) = text.split_once('=').ok_or(error("there is no `=`"))?;
        if device.is_empty() {
            return Err(error("the device is missing"));
        }
        let target = match (target, target.strip_prefix("tap:")) {
            ("none", _) => Target::None,
            ("loopback", _) => Target::Loopback,
            (_, Some("")) => return Err(error("the interface's name is missing")),
            (_, Some(name)) if name.len() > LONGEST_NAME => {
                return Err(error("an interface's name has at most 15 characters"));
            }
            (_, Some(name)) => Target::Tap(name.to_owned()),
            (_, None) => return Err(error("no such target")),
        };
        Ok(Spec { device: device.to_owned(), target })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::None => write!(f, "{}=none", self.device),
            Target::Loopback => write!(f, "{}=loopback", self.device),
            Target::Tap(name) => write!(f, "{}=tap:{name}", self.device),
        }
    }
}

/// A TAP interface that is not to be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "Ethernet {device}: cannot open TAP interface {name}: {source}\n  it takes the right to \
     administer networks, or an \
     interface made for you: ip tuntap add dev {name} mode tap user $USER; ip link set {name} up"
)]
pub struct PlugError {
    /// The controller.
    pub device: String,
    /// The interface.
    pub name: String,
    /// Why.
    pub source: io::Error,
}

/// The host's end of one cable.
pub struct HostPlug {
    device: String,
    tap: tap::Tap,
    lost: u64,
}

impl HostPlug {
    /// Opens the host's end, if the cable ends at the host.
    ///
    /// # Errors
    /// When the interface cannot be opened or made.
    pub fn open(spec: &Spec) -> Result<Option<Self>, PlugError> {
        let Target::Tap(name) = &spec.target else { return Ok(None) };
        let device = spec.device.clone();
        match tap::Tap::open(name) {
            Ok(tap) => Ok(Some(HostPlug { device, tap, lost: 0 })),
            Err(source) => Err(PlugError { device, name: name.clone(), source }),
        }
    }

    /// The controller's name on the board.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Frames that the host did not take.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes a frame from the firmware.
    pub fn write(&mut self, frame: &[u8]) {
        self.lost += u64::from(self.tap.send(frame).is_err());
    }

    /// A frame for the firmware, if one has come in; never waits.
    pub fn read(&mut self) -> Option<Vec<u8>> {
        // The longest frame with a VLAN tag, and what jumbo frames an interface may be set to.
        let mut frame = vec![0; 16 * 1024];
        let length = self.tap.recv(&mut frame).ok()?;
        frame.truncate(length);
        Some(frame)
    }
}

#[cfg(target_os = "linux")]
mod tap {
    use std::io;

    use tappers::Interface;

    pub(super) struct Tap(tappers::Tap);

    impl Tap {
        pub(super) fn open(name: &str) -> io::Result<Self> {
            let mut tap = tappers::Tap::new_named(Interface::new(name)?)?;
            tap.set_nonblocking(true)?;
            // An interface that somebody has made for us is up already, and we may not change it.
            let _ = tap.set_up();
            Ok(Tap(tap))
        }

        pub(super) fn send(&self, frame: &[u8]) -> io::Result<usize> {
            self.0.send(frame)
        }

        pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.recv(buffer)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod tap {
    use std::io;

    /// Not to be had.
    pub(super) enum Tap {}

    impl Tap {
        pub(super) fn open(_: &str) -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has them"))
        }

        pub(super) fn send(&self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }

        pub(super) fn recv(&self, _: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_read_and_shown() {
        for text in ["ETH=none", "ETH=loopback", "EMAC=tap:strobe0"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        for (text, problem) in [
            ("tap:strobe0", "no `=`"),
            ("=loopback", "device is missing"),
            ("ETH=tap:", "name is missing"),
            ("ETH=tap:a-name-of-sixteen", "at most 15"),
            ("ETH=bridge", "no such target"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("ETH=tap:strobe0"), "{error}");
        }
    }
}
