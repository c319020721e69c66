//! Any bytes as a file of an archive: refused, or its rows answer the prepared questions, and every
//! answer holds together.
//!
//! `cargo +nightly fuzz run -s none history -- -max_len=8192 -rss_limit_mb=4096 -timeout=10`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strobe_archive::history::{Reading, grew, of_item, overview};
use strobe_archive::{Bytes, Filter, Place, Series, open};

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = open(Bytes::copy_from_slice(bytes)) else { return };
    let place = Place { project: "p".into(), board: "b".into(), date: "2026-01-01".into() };
    let mut series = Series::default();
    let _ = file.each(|row| series.add(&place, &Filter::default(), row));
    series.sort();
    let reading = Reading::default();
    overview(&reading, &series).check().expect("an overview holds together");
    grew(&reading, &series, 30).check().expect("what grew holds together");
    for key in series.figures.keys().take(4) {
        let item = key.item.as_deref().unwrap_or("(all)");
        if let Ok(answer) = of_item(&reading, &series, item, true) {
            answer.check().expect("a history holds together");
        }
    }
});
