//! Traces of real boards, which are kept beside the repository and not in it: `../shared/data/microros`.

use std::path::{Path, PathBuf};

/// The streams with the number of events in each, as the archive's own listings count them and babeltrace2 reads them.
pub const STREAMS: &[(&str, usize)] = &[
    ("ethernet/com", 137),
    ("ethernet/fusage", 18_732),
    ("ethernet/isr", 5632),
    ("ethernet/mem-dyn", 333),
    ("ethernet/mem-static", 13_588),
    ("ethernet/sched", 1747),
    ("serial/com", 837),
    ("serial/fusage", 18_118),
    ("serial/isr", 5826),
    ("serial/mem-dyn", 139),
    ("serial/mem-static", 24_884),
    ("serial/sched", 3193),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/microros/aug2020")
}

/// A stream; `None` where the folder is not at hand, as in a plain clone. Tests of the same code with made-up traces run everywhere.
pub fn stream(name: &str) -> Option<Vec<u8>> {
    if !folder().is_dir() {
        eprintln!("not at hand: {}", folder().display());
        return None;
    }
    let path = folder().join(format!("{name}.raw.bin"));
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The metadata that belongs to it.
pub fn metadata(name: &str) -> Vec<u8> {
    let board = name.split('/').next().unwrap_or_default();
    std::fs::read(folder().join(board).join("metadata.tsdl")).expect("a stream has metadata")
}
