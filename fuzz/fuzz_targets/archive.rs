//! Any bytes as every kind of archive: no panic, and balanced counts.
//!
//! `cargo +nightly fuzz run -s none archive -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use strobe_decode::archive::{allocations, profile, samples, symbols};
use strobe_source::archive::allocations::{About, beside, of_text, of_tree};
use strobe_source::archive::{NoNames, published};
use strobe_symbols::Firmware;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let about = About { file: "f", big_above: 1024, names: &NoNames, has_names: false };
    let text = of_text(&about, &allocations::parse(bytes), 0);
    let roots = text.tree.iter().filter(|node| node.parent.is_none());
    assert!(roots.map(|node| node.count).sum::<u64>() <= text.count);
    if let Ok(tree) = allocations::parse_tree(bytes) {
        let report = of_tree(&about, &tree);
        beside("t", &report, &tree);
        beside("t", &text, &tree);
    }
    let list = symbols::parse(bytes).unwrap_or_default();
    let firmware = Firmware::of_functions(list);
    let pcs = samples::parse(bytes).map(|list| list.pcs).unwrap_or_default();
    if let Ok(profile) = profile::parse(bytes) {
        published("p", &profile, &pcs, &firmware);
    }
});
