//! Gives the linker the memory map, so that a plain `cargo build --target thumbv6m-none-eabi` is
//! enough.

fn main() {
    let here = env!("CARGO_MANIFEST_DIR");
    println!("cargo::rustc-link-search={here}");
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rerun-if-changed=build.rs");
}
