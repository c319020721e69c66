//! Source paths made short enough to read.
//!
//! Compilers record the path on the machine that compiled; a reader wants to know which file it is.

/// The part of a recorded source path that identifies the file for a reader.
///
/// Rust's library and crates from a registry lose the directories of the machine they were compiled
/// on; other paths lose `.` and `..` components only.
///
/// ```
/// use strobe_symbols::short_path;
/// let core = "/rustc/59807616e1fa/library/core/src/fmt/mod.rs";
/// assert_eq!(short_path(core), "core/src/fmt/mod.rs");
/// let aes = "/home/me/.cargo/registry/src/index.crates.io-1949cf8c/aes-0.9.4/src/lib.rs";
/// assert_eq!(short_path(aes), "aes-0.9.4/src/lib.rs");
/// assert_eq!(short_path("./src/../inc/a.h"), "inc/a.h");
/// ```
pub fn short_path(path: &str) -> String {
    let tail = rust_library(path).or_else(|| registry_crate(path)).unwrap_or(path);
    normalised(tail)
}

/// `/rustc/HASH/library/` in released toolchains, `.../lib/rustlib/src/rust/library/` where
/// `rust-src` is installed.
fn rust_library(path: &str) -> Option<&str> {
    if let Some((_, tail)) = path.split_once("/rustlib/src/rust/library/") {
        return Some(tail);
    }
    let (hash, tail) = path.strip_prefix("/rustc/")?.split_once('/')?;
    tail.strip_prefix("library/").filter(|_| !hash.is_empty())
}

/// `.../registry/src/INDEX/`.
fn registry_crate(path: &str) -> Option<&str> {
    let (_, tail) = path.split_once("/registry/src/")?;
    tail.split_once('/').map(|(_, tail)| tail)
}

fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            "" if !parts.is_empty() => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_what_cannot_be_resolved() {
        assert_eq!(short_path("../a/b.c"), "../a/b.c");
        assert_eq!(short_path("/../a.c"), "/../a.c");
        assert_eq!(short_path("/home/me//x/./y.c"), "/home/me/x/y.c");
        assert_eq!(short_path("C:\\fw\\main.c"), "C:\\fw\\main.c");
    }
}
