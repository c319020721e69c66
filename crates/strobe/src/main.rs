//! The `strobe` command.
fn main() {}
