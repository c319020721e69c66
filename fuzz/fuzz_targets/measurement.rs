//! Any bytes as a measurement's file: refused, or shown, shortened, compared and exported without a
//! panic, and the same again when it is written and read.
//!
//! `cargo +nightly fuzz run -s none measurement -- -max_len=16384 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strobe_report::export::{Choice, FORMATS};
use strobe_report::{Excerpt, Options, Style, file};
use strobe_report::text::{Selection, Tree, self};

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = file::read(bytes) else { return };
    let written = file::json(&read);
    let Ok(again) = file::read(written.as_bytes()) else {
        panic!("what is written cannot be read");
    };
    assert_eq!(again, read);
    let selection = Selection { tree: Some(Tree::default()), ..Selection::default() };
    for width in [60, 100] {
        let style = Style { width, colour: false };
        let options = Options { style, ..Options::default() };
        text::measurement(&read, &selection, &options, &mut Vec::new()).expect("memory takes all");
    }
    let excerpt = Excerpt { top: Some(2), ..Excerpt::default() };
    excerpt.of(&read).check().expect("what is shortened holds together");
    for format in FORMATS {
        let _ = format.write(&read, &Choice::default(), &mut Vec::new());
    }
});
