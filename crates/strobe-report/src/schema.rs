//! The committed schemas of `docs/schema` are those of the types, and what is written keeps them.

use std::path::Path;

use schemars::Schema;
use serde_json::Value;

use crate::picture::{List, Shown, list};
use crate::samples;

fn text(schema: &Schema) -> String {
    serde_json::to_string_pretty(schema).unwrap() + "\n"
}

/// Compares with the committed file; `UPDATE_SCHEMA=1` writes it instead.
fn committed(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, text(schema)).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text(schema),
        "docs/schema/{name} differs from the types; if the new form can still be read by old \
         readers, \
         run the tests with UPDATE_SCHEMA=1, else raise the schema's number"
    );
}

#[test]
fn measurements_match_the_committed_schema() {
    let schema = schemars::schema_for!(crate::file::Document);
    committed("measurement-1.json", &schema);
    for (name, measurement) in samples::measurements::all() {
        let value = serde_json::from_str(&crate::file::json(&measurement)).unwrap();
        check(&value, schema.as_value(), schema.as_value(), name);
    }
}

#[test]
fn pictures_match_the_committed_schema() {
    let schema = schemars::schema_for!(List);
    committed("pictures-1.json", &schema);
    let (part, file) = ("LCD".to_owned(), "LCD-00001.png".to_owned());
    let shown = Shown { part, file, zoom: 2, first_ns: 5, last_ns: 25, times: 3 };
    let value = serde_json::from_str(&list(&[shown]).unwrap()).unwrap();
    check(&value, schema.as_value(), schema.as_value(), "pictures");
}

/// A measurement's JSON with its schema, to be spoilt.
fn one() -> (Value, Schema) {
    let (_, measurement) = samples::measurements::all().into_iter().next().unwrap();
    let value = serde_json::from_str(&crate::file::json(&measurement)).unwrap();
    (value, schemars::schema_for!(crate::file::Document))
}

#[test]
#[should_panic(expected = "sections")]
fn a_section_of_another_type_is_found() {
    let (mut value, schema) = one();
    value["sections"][0]["title"] = 134_217_728.into();
    check(&value, schema.as_value(), schema.as_value(), "");
}

#[test]
#[should_panic(expected = "subject")]
fn missing_properties_are_found() {
    let (mut value, schema) = one();
    value.as_object_mut().unwrap().remove("subject");
    check(&value, schema.as_value(), schema.as_value(), "");
}

/// Panics, naming the place, unless `value` fits `schema`. Knows the keywords that our
/// schemas use and refuses all others, so that nothing goes unchecked.
fn check(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Err(why) = matches(value, schema, root, at) {
        panic!("{why}");
    }
}

fn matches(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err(format!("{at}: not allowed"))
        };
    };
    for (keyword, rule) in keywords {
        let fine = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "required" | "default" => {
                true
            }
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                matches(value, root.pointer(pointer).unwrap(), root, at)?;
                true
            }
            "type" => match rule {
                Value::Array(types) => types.iter().any(|t| is(value, t)),
                one => is(value, one),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
            "pattern" => {
                let most = match rule.as_str() {
                    Some("^0x[0-9a-f]{8}$") => 8,
                    Some("^0x[0-9a-f]{8,16}$") => 16,
                    _ => panic!("a pattern that this check does not know: {rule}"),
                };
                // A pattern is about texts alone.
                let text = value.as_str().unwrap_or("0x00000000");
                let digits = text.strip_prefix("0x").unwrap_or_default();
                let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                (8..=most).contains(&digits.len()) && digits.chars().all(hex)
            }
            "anyOf" | "oneOf" => {
                // What is flattened into an object describes its own properties, not the others.
                let flattened = keywords.contains_key("properties");
                let one = |s: &&Value| {
                    let mut s = (*s).clone();
                    if flattened && s.is_object() {
                        s["additionalProperties"] = true.into();
                    }
                    matches(value, &s, root, at).is_ok()
                };
                let n = rule.as_array().unwrap().iter().filter(one).count();
                if keyword == "oneOf" { n == 1 } else { n > 0 }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    matches(item, rule, root, &format!("{at}[{i}]"))?;
                }
                true
            }
            "prefixItems" => {
                for (item, rule) in
                    value.as_array().into_iter().flatten().zip(rule.as_array().unwrap())
                {
                    matches(item, rule, root, at)?;
                }
                true
            }
            "minLength" | "maxLength" => {
                let length = value.as_str().map(|text| text.chars().count() as u64);
                let limit = rule.as_u64().unwrap();
                length.is_none_or(|n| if keyword == "minLength" { n >= limit } else { n <= limit })
            }
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
            "properties" | "additionalProperties" | "propertyNames" => true,
            other => return Err(format!("{at}: the check does not know the keyword {other}")),
        };
        if !fine {
            return Err(format!("{at}: {value} breaks {keyword}: {rule}"));
        }
    }
    object(value, schema, root, at)
}

fn is(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

fn object(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap()) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    for (name, value) in object {
        let at = format!("{at}.{name}");
        if let Some(names) = schema.get("propertyNames") {
            matches(&Value::from(name.as_str()), names, root, &at)?;
        }
        if let Some(property) = schema["properties"].get(name) {
            matches(value, property, root, &at)?;
        } else if let Some(rule) = schema.get("additionalProperties") {
            matches(value, rule, root, &at)?;
        } else if schema.get("properties").is_some() && schema.get("oneOf").is_none() {
            return Err(format!("{at}: the schema does not describe it"));
        }
    }
    Ok(())
}
