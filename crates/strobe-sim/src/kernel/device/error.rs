//! Errors in a model's options and in a part's medium.

use std::borrow::Cow;

/// Error in the options of a model, as a board file gives them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Unknown or missing key, or a value of the wrong type.
    #[error("{message}")]
    Parse {
        /// Message of the TOML parser.
        message: String,
    },
    /// Invalid value, with the values that are allowed.
    #[error("{option}: {allowed}")]
    Invalid {
        /// Key of the option.
        option: Cow<'static, str>,
        /// The allowed values.
        allowed: Cow<'static, str>,
    },
    /// Value beyond a limit.
    #[error("{option} {limit}")]
    Limit {
        /// Key of the option.
        option: &'static str,
        /// The limit, as `must be more than 0`.
        limit: Cow<'static, str>,
    },
    /// Number that the hardware does not have.
    #[error("{option} = {value}: {allowed}")]
    Number {
        /// Key of the option.
        option: &'static str,
        /// Number in the board file.
        value: u64,
        /// The allowed numbers.
        allowed: Cow<'static, str>,
    },
    /// Text that does not parse.
    #[error("{option} {text:?}: {expected}")]
    Text {
        /// Key of the option.
        option: &'static str,
        /// Text in the board file.
        text: String,
        /// The expected syntax.
        expected: Cow<'static, str>,
    },
    /// Too many entries in several lists.
    #[error("at most {limits}")]
    TooMany {
        /// Limits of the lists.
        limits: &'static str,
    },
    /// Name of a pin that the chip does not have.
    #[error("the chip has no pin {name}")]
    UnknownPin {
        /// Name of the pin.
        name: String,
    },
    /// Pin with two purposes.
    #[error("pin {name} is given twice: each has one purpose")]
    RepeatedPin {
        /// Name of the pin.
        name: String,
    },
    /// Two lines on one pin.
    #[error("{first} and {second} are two pins")]
    SharedPin {
        /// Key of the first line.
        first: &'static str,
        /// Key of the second line.
        second: &'static str,
    },
    /// Wire with one pin at both ends.
    #[error("it leads from a pin to the same pin")]
    Loop,
}

impl OptionError {
    /// An invalid value of `option`, where `allowed` are the valid ones.
    pub fn invalid(
        option: impl Into<Cow<'static, str>>,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Self {
        OptionError::Invalid { option: option.into(), allowed: allowed.into() }
    }

    /// A value of `option` beyond its limit.
    pub fn limit(option: &'static str, limit: impl Into<Cow<'static, str>>) -> Self {
        OptionError::Limit { option, limit: limit.into() }
    }

    /// The text of `option` has another syntax than `expected`.
    pub fn text(option: &'static str, text: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        OptionError::Text { option, text: text.to_owned(), expected: expected.into() }
    }
}

/// Error in the medium of a part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediumError {
    /// The part has no slot.
    #[error("nothing can be put into it")]
    NoSlot,
    /// The medium has no bytes.
    #[error("the image is empty")]
    Empty,
    /// The medium has more bytes than the part's memory.
    #[error("it has {given} bytes, the {part} {size}")]
    TooLarge {
        /// Bytes of the medium.
        given: usize,
        /// Kind of the part.
        part: &'static str,
        /// Bytes of the part's memory.
        size: usize,
    },
    /// The medium has more bytes than byte addresses reach.
    #[error("a card with byte addresses (high_capacity = false) ends at 2 GiB")]
    BeyondByteAddresses,
}
