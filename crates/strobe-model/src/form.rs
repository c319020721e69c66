//! How values look in JSON: addresses as hex strings, schemas by name and version.

/// Addresses as `0x08000123`.
pub(crate) mod address {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(address: &u32, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{address:#010x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(|| {
            D::Error::custom(format_args!("`{text}` is not an address such as 0x08000123"))
        })
    }
}

/// Defines the form of a schema version: a name, a slash and the number.
macro_rules! schema {
    ($module:ident, $name:literal, $newest:path) => {
        /// The schema's name and version in one string.
        pub(crate) mod $module {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            pub(crate) fn serialize<S: Serializer>(
                version: &u32,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.collect_str(&format_args!(concat!($name, "/{}"), version))
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
                let text = String::deserialize(from)?;
                let version = text.strip_prefix(concat!($name, "/"));
                match version.and_then(|v| v.parse().ok()) {
                    Some(version) if (1..=$newest).contains(&version) => Ok(version),
                    Some(_) => Err(D::Error::custom(format_args!(
                        "schema `{text}` is not one that this strobe reads (up to {}/{})",
                        $name, $newest
                    ))),
                    None => Err(D::Error::custom(format_args!(
                        "schema `{text}`: expected {}/{}",
                        $name, $newest
                    ))),
                }
            }
        }
    };
}

schema!(record_schema, "strobe-record", crate::SCHEMA);

/// How addresses and schema versions look, for the JSON Schemas.
#[cfg(feature = "schema")]
mod shape {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    /// An address.
    pub(crate) struct Address;
    /// The version of a record.
    pub(crate) struct RecordSchema;

    macro_rules! shape {
        ($type:ident, $schema:expr) => {
            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }
                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }
                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    $schema
                }
            }
        };
    }

    shape!(Address, json_schema!({ "type": "string", "pattern": "^0x[0-9a-f]{8}$" }));
    shape!(RecordSchema, json_schema!({ "const": format!("strobe-record/{}", crate::SCHEMA) }));
}

#[cfg(feature = "schema")]
pub(crate) use shape::{Address, RecordSchema};
