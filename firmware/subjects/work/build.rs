//! Compresses a page of prose on the host, for the `inflate` subject to decompress on the target.

use std::path::PathBuf;
use std::{env, fs};

/// The decompressor's own state takes 10 KiB of the target's 16 KiB.
const PAGE_BYTES: usize = 3072;

fn main() {
    let licence = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../LICENSE-APACHE");
    println!("cargo::rerun-if-changed={licence}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read(licence).expect("the repository's licence text");
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&text[..PAGE_BYTES], 9);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("page.zz"), packed).expect("the build directory is writable");
}
