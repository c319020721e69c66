//! Errors in the description of an experiment, and in the conditions of its runs.

use crate::agents::UnknownAgent;
use crate::host::UnknownInstrument;

/// A description that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Not TOML, or an unknown or missing key.
    #[error("{message}")]
    Syntax {
        /// Message of the TOML parser, with the nearest known key.
        message: String,
    },
    /// Fewer than two variants.
    #[error("an experiment needs two variants or more: [[variant]]")]
    TooFewVariants,
    /// Two variants with one name.
    #[error("two variants are called {name}")]
    DuplicateVariant {
        /// Name of the variants.
        name: String,
    },
    /// A variant without a command.
    #[error("variant {variant}: run is empty")]
    NoCommand {
        /// Name of the variant.
        variant: String,
    },
    /// An expectation of a variant that the description lacks.
    #[error("there is no variant {name}{}", suggestion(.near.as_deref()))]
    UnknownVariant {
        /// As given.
        name: String,
        /// The nearest name, if one is near.
        near: Option<String>,
    },
    /// Times or a threshold out of range.
    #[error("[measure]: times and threshold are above 0")]
    Measure,
    /// An unknown instrument.
    #[error("[measure]: {0}")]
    Instrument(UnknownInstrument),
    /// An unknown agent.
    #[error("[measure]: {0}")]
    Agent(UnknownAgent),
    /// A period of 0 for the lateness.
    #[error("[measure]: lateness-ms is above 0")]
    Lateness,
    /// A service with an invalid name.
    #[error("service {name:?}: a name has letters, digits, - and _ only")]
    ServiceName {
        /// As given.
        name: String,
    },
    /// Two services with one name.
    #[error("two services are called {name}")]
    DuplicateService {
        /// Name of the services.
        name: String,
    },
    /// A sweep without values.
    #[error("[sweep] has no values")]
    EmptySweep,
    /// The value 0 in a sweep.
    #[error("[sweep]: values are above 0; curves are drawn by logarithms")]
    ZeroInSweep,
}

// Not as sources: the sentences contain them.
impl From<UnknownInstrument> for Unusable {
    fn from(error: UnknownInstrument) -> Self {
        Unusable::Instrument(error)
    }
}

impl From<UnknownAgent> for Unusable {
    fn from(error: UnknownAgent) -> Self {
        Unusable::Agent(error)
    }
}

/// The end of a message with the nearest known name.
pub(super) fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// A condition that a run does not meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The run has no value of the counter.
    #[error("condition: {counter} is not known")]
    Unknown {
        /// The counter.
        counter: String,
    },
    /// Less than the minimum.
    #[error("condition: {counter} is {value}, not at least {minimum}")]
    TooLow {
        /// The counter.
        counter: String,
        /// Its value.
        value: u64,
        /// The minimum.
        minimum: u64,
    },
    /// More than the maximum.
    #[error("condition: {counter} is {value}, not at most {maximum}")]
    TooHigh {
        /// The counter.
        counter: String,
        /// Its value.
        value: u64,
        /// The maximum.
        maximum: u64,
    },
}
