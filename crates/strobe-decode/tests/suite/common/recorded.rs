//! Captures of real boards, which are kept beside the repository and not in it: `../shared/data/sigrok`.

use std::path::{Path, PathBuf};

/// The capture of that name; `None` where they are not at hand, as in a plain clone. Tests of the same code
/// with made-up captures run everywhere.
pub fn recorded(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sigrok");
    let path = folder.join(name);
    if !folder.is_dir() {
        eprintln!("not at hand: {}", path.display());
        return None;
    }
    assert!(path.is_file(), "{} is missing", path.display());
    Some(path)
}
