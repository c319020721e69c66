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
schema!(cycles_schema, "strobe-cycles", crate::CYCLES_SCHEMA);
schema!(pins_schema, "strobe-pins", crate::PINS_SCHEMA);
schema!(bus_schema, "strobe-bus", crate::BUS_SCHEMA);
schema!(allocations_schema, "strobe-allocations", crate::ALLOCATIONS_SCHEMA);
schema!(published_schema, "strobe-published", crate::PUBLISHED_SCHEMA);
schema!(events_schema, "strobe-events", crate::EVENTS_SCHEMA);
schema!(plan_schema, "strobe-plan", crate::PLAN_SCHEMA);
schema!(against_schema, "strobe-against", crate::against::AGAINST_SCHEMA);

/// How addresses and schema versions look, for the JSON Schemas.
#[cfg(feature = "schema")]
mod shape {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    /// An address.
    pub(crate) struct Address;
    /// The version of a record.
    pub(crate) struct RecordSchema;
    /// The version of a function's cycles.
    pub(crate) struct CyclesSchema;
    /// The version of what pins did.
    pub(crate) struct PinsSchema;
    /// The version of what a bus carried.
    pub(crate) struct BusSchema;
    /// The version of a report on allocations.
    pub(crate) struct AllocationsSchema;
    /// The version of a record beside what was published of it.
    pub(crate) struct PublishedSchema;
    /// The version of a trace of events.
    pub(crate) struct EventsSchema;
    /// The version of two recordings side by side.
    pub(crate) struct AgainstSchema;
    /// The version of a plan.
    pub(crate) struct PlanSchema;

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
    shape!(
        CyclesSchema,
        json_schema!({ "const": format!("strobe-cycles/{}", crate::CYCLES_SCHEMA) })
    );
    shape!(PinsSchema, json_schema!({ "const": format!("strobe-pins/{}", crate::PINS_SCHEMA) }));
    shape!(
        AgainstSchema,
        json_schema!({ "const": format!("strobe-against/{}", crate::against::AGAINST_SCHEMA) })
    );
    shape!(
        AllocationsSchema,
        json_schema!({ "const": format!("strobe-allocations/{}", crate::ALLOCATIONS_SCHEMA) })
    );
    shape!(
        PublishedSchema,
        json_schema!({ "const": format!("strobe-published/{}", crate::PUBLISHED_SCHEMA) })
    );
    shape!(
        EventsSchema,
        json_schema!({ "const": format!("strobe-events/{}", crate::EVENTS_SCHEMA) })
    );
    shape!(PlanSchema, json_schema!({ "const": format!("strobe-plan/{}", crate::PLAN_SCHEMA) }));
    shape!(BusSchema, json_schema!({ "const": format!("strobe-bus/{}", crate::BUS_SCHEMA) }));
}

#[cfg(feature = "schema")]
pub(crate) use shape::{
    Address, AgainstSchema, AllocationsSchema, BusSchema, CyclesSchema, EventsSchema, PinsSchema,
    PlanSchema, PublishedSchema, RecordSchema,
};
