//! What is at the other end of an Ethernet controller's cable.

/// What is at the other end of the cable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Frames vanish, none come.
    #[default]
    None,
    /// Each frame comes back when it has been sent.
    Loopback,
    /// Whoever runs the simulation, who takes frames now and then and hands in others. Not for
    /// board files.
    #[serde(skip)]
    Host,
}

impl Backend {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Backend::None => "none",
            Backend::Loopback => "loopback",
            Backend::Host => "host",
        }
    }
}
