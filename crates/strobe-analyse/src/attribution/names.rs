//! Names of rows, no two of them alike: namesakes get their file, else their address, else a
//! number.

use foldhash::{HashMap, HashSet};
use strobe_model::measurement::Profile;

use super::{Row, RowPlace};

/// What a row is called before its namesakes are known.
pub(super) fn name(profile: &Profile, spot: &RowPlace) -> String {
    let file = |file: u32| profile.files.get(file as usize).map_or("(no file)", String::as_str);
    match spot {
        RowPlace::Function(function) => profile.function_name(*function).to_owned(),
        RowPlace::Line(path, line) => format!("{}:{line}", file(*path)),
        RowPlace::NoLine(function) => format!("{} (no line)", profile.function_name(*function)),
        RowPlace::Address(address) => address.to_string(),
        RowPlace::NoAddress(function) => {
            format!("{} (no address)", profile.function_name(*function))
        }
        RowPlace::File(Some(path)) => file(*path).to_owned(),
        RowPlace::File(None) => "(no file)".to_owned(),
        RowPlace::Label(Some(label)) => label_name(profile, *label),
        RowPlace::Label(None) => "(no label)".to_owned(),
        RowPlace::Nowhere(label) => {
            let label = label.and_then(|label| profile.labels.get(label as usize));
            format!("({})", label.map_or("nowhere", |label| label.value.as_str()))
        }
    }
}

/// `thread worker`.
pub(super) fn label_name(profile: &Profile, label: u32) -> String {
    let label = profile.labels.get(label as usize);
    label.map_or_else(String::new, |label| format!("{} {}", label.key, label.value))
}

/// Gives rows of one name what they differ in.
pub(super) fn set_apart(profile: &Profile, rows: &mut [Row]) {
    type Detail = fn(&Profile, u32) -> Option<String>;
    let address: Detail = |profile, function| {
        let address = profile.functions.address.get(function as usize).copied().flatten();
        address.map(|address| address.to_string())
    };
    let file_or_address: Detail = |profile, function| {
        let functions = &profile.functions;
        let file = functions.file.get(function as usize).copied().flatten();
        let file = file.and_then(|file| profile.files.get(file as usize).cloned());
        let address = functions.address.get(function as usize).copied().flatten();
        file.or_else(|| address.map(|address| address.to_string()))
    };
    for detail in [file_or_address, address] {
        let namesakes = namesakes(rows);
        if namesakes.is_empty() {
            return;
        }
        for at in namesakes {
            let (RowPlace::Function(Some(f))
            | RowPlace::NoLine(Some(f))
            | RowPlace::NoAddress(Some(f))) = rows[at].spot
            else {
                continue;
            };
            if let Some(detail) = detail(profile, f) {
                rows[at].name = format!("{} [{detail}]", rows[at].name);
            }
        }
    }
    let mut seen: HashSet<String> = HashSet::default();
    for row in rows {
        let mut name = row.name.clone();
        let mut number = 1u64;
        while !seen.insert(name.clone()) {
            number += 1;
            name = format!("{} #{number}", row.name);
        }
        row.name = name;
    }
}

/// Rows whose name another one has, too.
fn namesakes(rows: &[Row]) -> Vec<usize> {
    let mut times: HashMap<&str, u32> = HashMap::default();
    rows.iter().for_each(|row| *times.entry(&row.name).or_default() += 1);
    (0..rows.len()).filter(|at| times[rows[*at].name.as_str()] > 1).collect()
}
