//! How values look in JSON: addresses as hex strings.

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
