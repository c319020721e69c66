//! What rows of a profile are called.

use strobe_model::{By, Profile};

pub(super) fn noun(by: By, n: usize) -> &'static str {
    match (by, n) {
        (By::Function, 1) => "function",
        (By::Function, _) => "functions",
        (By::Line, 1) => "source line",
        (By::Line, _) => "source lines",
        (By::Address, 1) => "address",
        (By::Address, _) => "addresses",
        (By::File, 1) => "file",
        (By::File, _) => "files",
    }
}

/// `0x08000123 main, main.c:12`.
pub(super) fn address_name(profile: &Profile, address: u32, name: &str) -> String {
    let found = profile.addresses.binary_search_by_key(&address, |s| s.address);
    let Ok(at) = found else { return name.to_owned() };
    let sample = &profile.addresses[at];
    let mut out = name.to_owned();
    if sample.function.is_some() {
        out = format!("{out} {}", profile.function_name(sample.function));
    }
    if let Some(frame) = sample.frames.first()
        && let (Some(file), Some(line)) = (frame.file, frame.line)
    {
        out = format!("{out}, {}:{line}", profile.file_name(file));
    }
    out
}
