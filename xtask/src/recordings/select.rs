//! Values in a report by their paths: JSON pointers with `*`, `#` and `[key=value]`.

use serde_json::Value;

/// The values at a path.
fn select<'v>(report: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![report];
    for part in path.split('/').skip(1) {
        let condition = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
        found = match (part, condition.and_then(|condition| condition.split_once('='))) {
            ("*", _) => found.into_iter().flat_map(elements).collect(),
            (_, Some((key, wanted))) => {
                let pointer = format!("/{key}");
                let has = |e: &&Value| shown(e.pointer(&pointer).unwrap_or(&Value::Null)) == wanted;
                found.into_iter().flat_map(elements).filter(has).collect()
            }
            _ => {
                let pointer = format!("/{part}");
                found.into_iter().filter_map(|value| value.pointer(&pointer)).collect()
            }
        };
    }
    found
}

fn elements(value: &Value) -> Vec<&Value> {
    value.as_array().map(|array| array.iter().collect()).unwrap_or_default()
}

/// A value as written in a condition.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The value at a path; several are added up. `None` if there is none, or if one of several is not
/// a number.
pub(super) fn value(report: &Value, path: &str) -> Option<Value> {
    if let Some(path) = path.strip_suffix("/#") {
        let arrays = select(report, path);
        (!arrays.is_empty()).then_some(())?;
        return Some(arrays.into_iter().map(|array| elements(array).len()).sum::<usize>().into());
    }
    match select(report, path)[..] {
        [] => None,
        [one] => Some(one.clone()),
        ref several => {
            several.iter().map(|value| value.as_u64()).sum::<Option<u64>>().map(Value::from)
        }
    }
}

/// The sum of the numbers at some paths; missing values count as 0.
pub(super) fn sum(report: &Value, paths: &[String]) -> u64 {
    let numbers = paths.iter().filter_map(|path| value(report, path)?.as_u64());
    numbers.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_select_add_up_and_count() {
        let report = serde_json::json!({
            "list": [
                {"id": 1, "name": "a", "n": 2},
                {"id": 2, "name": "b", "n": 5, "parent": null},
            ],
            "text": "x",
        });
        let cases = [
            ("/text", Some("x".into())),
            ("/list/1/n", Some(5.into())),
            ("/list/*/n", Some(7.into())),
            ("/list/#", Some(2.into())),
            ("/list/[name=b]/n", Some(5.into())),
            ("/list/[parent=null]/n", Some(7.into())),
            ("/list/[id=3]/n", None),
            ("/list/*/name", None),
            ("/nothing/#", None),
        ];
        for (path, wanted) in cases {
            assert_eq!(value(&report, path), wanted, "{path}");
        }
        assert_eq!(sum(&report, &["/list/0/n".into(), "/none".into(), "/list/1/id".into()]), 4);
    }
}
