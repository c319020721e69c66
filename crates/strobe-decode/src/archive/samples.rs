//! Packets of a trace pin as JSON: `{"packet": [{"packet": "pc sample", "value": "0x08001120"},
//! ...]}`, with a description of the board.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Error, address};

/// A list of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Addresses of samples, in order.
    pub pcs: Vec<u32>,
    /// Other packets by kind.
    pub others: BTreeMap<String, u64>,
    /// Entries that are not packets, and samples without an address.
    pub unusable: u64,
    /// Board and software as described in the file: `board_info.cpu` and its value.
    pub about: Vec<(String, String)>,
}

/// Reads a list.
///
/// # Errors
/// When it is not JSON, or has no list of packets.
pub fn parse(bytes: &[u8]) -> Result<Samples, Error> {
    let text = String::from_utf8_lossy(bytes);
    let Value::Object(top) = serde_json::from_str(&text)? else {
        return Err(Error::Lacks("not a list of packets: it is not a JSON object"));
    };
    let Some(Value::Array(packets)) = top.get("packet") else {
        return Err(Error::Lacks("not a list of packets: there is no array `packet`"));
    };
    let mut samples = Samples { about: about(&top), ..Samples::default() };
    for packet in packets {
        let kind = packet.get("packet").and_then(Value::as_str);
        let value = packet.get("value").and_then(Value::as_str);
        match (kind, value.and_then(address)) {
            (Some("pc sample"), Some(pc)) => samples.pcs.push(pc),
            (Some("pc sample") | None, _) => samples.unusable += 1,
            (Some(kind), _) => *samples.others.entry(kind.to_owned()).or_default() += 1,
        }
    }
    Ok(samples)
}

/// String values in the objects beside the list.
fn about(top: &serde_json::Map<String, Value>) -> Vec<(String, String)> {
    let objects = top.iter().filter_map(|(name, value)| Some((name, value.as_object()?)));
    let texts = objects.flat_map(|(object, fields)| {
        fields.iter().filter_map(move |(name, value)| {
            Some((format!("{object}.{name}"), value.as_str()?.to_owned()))
        })
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_and_the_rest_is_counted() {
        let json = br#"{"board_info": {"cpu": "m4", "n": 1}, "packet": [
            {"packet": "pc sample", "value": "0x08000100"}, {"packet": "overflow"},
            {"packet": "pc sample", "value": "0x1234567890"}, {"packet": "pc sample"}, 7]}"#;
        let samples = parse(json).unwrap();
        assert_eq!((samples.pcs, samples.unusable), (vec![0x0800_0100], 3));
        assert_eq!(samples.others.into_iter().collect::<Vec<_>>(), [("overflow".to_owned(), 1)]);
        assert_eq!(samples.about, [("board_info.cpu".to_owned(), "m4".to_owned())]);
        assert!(parse(b"{\"packet\": 3}").unwrap_err().to_string().contains("no array `packet`"));
        assert!(parse(b"{\"packet\": [").unwrap_err().to_string().starts_with("not JSON: "));
        assert!(parse(b"[]").is_err());
    }
}
