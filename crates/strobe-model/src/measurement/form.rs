//! How addresses and the version look in JSON.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An address of up to 64 bits. In JSON a string of hexadecimal digits, `0x08000123`: numbers there
/// lose what exceeds 53 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::str::FromStr for Address {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("0x").filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        address.map(Address).ok_or_else(|| format!("{text:?} is no address"))
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<str>>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

pub(super) mod schema {
    use serde::{Deserialize, Deserializer, Serializer, de};

    const NAME: &str = "strobe-measurement/";

    pub(in crate::measurement) fn serialize<S: Serializer>(
        version: &u32,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{NAME}{version}"))
    }

    pub(in crate::measurement) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u32, D::Error> {
        let text = <std::borrow::Cow<str>>::deserialize(deserializer)?;
        match text.strip_prefix(NAME).and_then(|version| version.parse().ok()) {
            Some(super::super::SCHEMA) => Ok(super::super::SCHEMA),
            _ => Err(de::Error::custom(format!(
                "the schema is {text:?}, not \"{NAME}{}\"",
                super::super::SCHEMA
            ))),
        }
    }
}

#[cfg(feature = "schema")]
mod shape {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema as Json, SchemaGenerator, json_schema};

    /// The version.
    pub(in crate::measurement) struct Schema;

    impl JsonSchema for Schema {
        fn inline_schema() -> bool {
            true
        }
        fn schema_name() -> Cow<'static, str> {
            "Schema".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Json {
            json_schema!({ "const": format!("strobe-measurement/{}", super::super::SCHEMA) })
        }
    }

    impl JsonSchema for super::Address {
        fn inline_schema() -> bool {
            true
        }
        fn schema_name() -> Cow<'static, str> {
            "Address".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Json {
            json_schema!({ "type": "string", "pattern": "^0x[0-9a-f]{8,16}$" })
        }
    }
}

#[cfg(feature = "schema")]
pub(super) use shape::Schema;
