//! Boards that build on another: `base = "stm32f407"` and only what differs.
//!
//! Works on TOML values, before anything knows what a key means, so that a variant can change
//! whatever a board file can hold. A base is one of the boards that come with the project; files
//! are not opened here.

use toml::{Table, Value};

use super::{Board, BoardError};

/// How many boards may build on each other.
const DEPTH_LIMIT: usize = 8;

/// Lists of things with a `name`: a variant's entry changes the base's of that name or adds one.
const NAMED: [&str; 3] = ["device", "memory", "part"];
/// Lists that a variant adds to; later entries win where they speak of the same bit or register.
const ADDED: [&str; 2] = ["ready", "reset_value"];

/// The file with everything of its bases, or `None` if it has no base.
pub(super) fn resolve(file: &Table) -> Result<Option<Table>, BoardError> {
    let mut chain = vec![file.clone()];
    while let Some(base) = chain[chain.len() - 1].get("base") {
        let name =
            base.as_str().ok_or_else(|| BoardError::value("base", "must be a board's name"))?;
        if chain.len() > DEPTH_LIMIT {
            return Err(BoardError::value("base", format!("more than {DEPTH_LIMIT} boards deep")));
        }
        chain.push(parse(Board::builtin_text(name)?)?);
    }
    let mut variants = chain.into_iter().rev();
    let mut all = variants.next().unwrap_or_default();
    let mut changed = false;
    for variant in variants {
        all = apply(all, variant)?;
        changed = true;
    }
    Ok(changed.then_some(all))
}

/// A board file as a table.
pub(super) fn parse(text: &str) -> Result<Table, BoardError> {
    toml::from_str(text).map_err(|e| BoardError::Syntax(e.to_string().trim_end().to_owned()))
}

fn apply(mut base: Table, mut variant: Table) -> Result<Table, BoardError> {
    variant.remove("base");
    for name in removals(variant.remove("remove"))? {
        remove(&mut base, &name)?;
    }
    for (key, value) in variant {
        let list = base.get_mut(&key);
        match (list, value) {
            (Some(Value::Array(old)), Value::Array(new)) if NAMED.contains(&key.as_str()) => {
                new.into_iter().for_each(|entry| merge_named(old, entry));
            }
            (Some(Value::Array(old)), Value::Array(new)) if ADDED.contains(&key.as_str()) => {
                old.extend(new);
            }
            (Some(old), new) => merge(old, new),
            (None, new) => {
                base.insert(key, new);
            }
        }
    }
    Ok(base)
}

/// Tables are joined key by key, anything else is replaced.
fn merge(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Table(old), Value::Table(new)) => {
            for (key, value) in new {
                match old.get_mut(&key) {
                    Some(old) => merge(old, value),
                    None => {
                        old.insert(key, value);
                    }
                }
            }
        }
        (old, new) => *old = new,
    }
}

fn is_named(entry: &Value, name: &str) -> bool {
    let own = entry.get("name").and_then(Value::as_str);
    own.is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn merge_named(old: &mut Vec<Value>, entry: Value) {
    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
    match old.iter_mut().find(|o| is_named(o, name)) {
        Some(old) => merge(old, entry),
        None => old.push(entry),
    }
}

fn removals(list: Option<Value>) -> Result<Vec<String>, BoardError> {
    let Some(list) = list else { return Ok(Vec::new()) };
    list.try_into().map_err(|_| {
        BoardError::value(
            "remove",
            "must be a list of names of devices, memories or parts of the base",
        )
    })
}

fn remove(base: &mut Table, name: &str) -> Result<(), BoardError> {
    let lists = NAMED.iter().filter_map(|&key| Some((key, base.get(key)?.as_array()?)));
    let place = lists.map(|(key, list)| (key, list.iter().position(|e| is_named(e, name))));
    let found = place.filter_map(|(key, at)| Some((key, at?))).next();
    let Some((key, at)) = found else {
        return Err(BoardError::value("remove", format!("the base has no `{name}`")));
    };
    if let Some(list) = base.get_mut(key).and_then(Value::as_array_mut) {
        list.remove(at);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(base: &str, variant: &str) -> Result<Table, BoardError> {
        apply(parse(base).unwrap(), parse(variant).unwrap())
    }

    const BASE: &str = "
name = 'base'
[core]
irq_lines = 32
vectors = 0
[[device]]
name = 'RCC'
options = { hse_hz = 8, pins = [1, 2, 3] }
[[device]]
name = 'ETH'
[[ready]]
bit = 1
";

    #[test]
    fn variant_changes_named_parts_and_keeps_the_rest() {
        let all = applied(
            BASE,
            "name = 'variant'
             core.irq_lines = 82
             device = [{ name = 'rcc', options = { hse_hz = 12, pins = [4] } }, { name = 'NEW' }]
             ready = [{ bit = 2 }]",
        )
        .unwrap();
        let expected = parse(
            "name = 'variant'
             [core]
             irq_lines = 82
             vectors = 0
             [[device]]
             name = 'rcc'
             options = { hse_hz = 12, pins = [4] }
             [[device]]
             name = 'ETH'
             [[device]]
             name = 'NEW'
             [[ready]]
             bit = 1
             [[ready]]
             bit = 2",
        );
        assert_eq!(all, expected.unwrap());
    }

    #[test]
    fn a_variant_leaves_devices_out() {
        let all = applied(BASE, "remove = ['eth']").unwrap();
        assert_eq!(all["device"].as_array().map(Vec::len), Some(1));
        let error = applied(BASE, "remove = ['CAN9']").unwrap_err().to_string();
        assert!(error.contains("remove: the base has no `CAN9`"), "{error}");
        let error = applied(BASE, "remove = 'ETH'").unwrap_err().to_string();
        assert!(error.contains("must be a list of names"), "{error}");
    }

    #[test]
    fn a_base_is_a_board_that_exists() {
        let error = Board::parse("base = 'stm32f9'").unwrap_err().to_string();
        assert!(error.contains("no built-in board `stm32f9`"), "{error}");
        let error = Board::parse("base = 7").unwrap_err().to_string();
        assert!(error.contains("base: must be a board's name"), "{error}");
    }

    #[test]
    fn a_variant_is_checked_as_any_board() {
        let variant =
            |more: &str| Board::parse(&format!("base = 'stm32f070cb'\nname = 'mine'\n{more}"));
        let board = variant("device = [{ name = 'RCC', options.hse_hz = 12_000_000 }]").unwrap();
        assert_eq!((board.name(), board.clock_hz()), ("mine", 8_000_000));
        let error = variant("clock_hz = 0").unwrap_err().to_string();
        assert!(error.contains("clock_hz: must be more than 0"), "{error}");
        let error = variant("colour = 'blue'").unwrap_err().to_string();
        assert!(error.contains("unknown field `colour`"), "{error}");
    }
}
