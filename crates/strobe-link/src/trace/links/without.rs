//! Stands in for debug probes in a build without their library.

use super::{Observer, Opened, Request};
use crate::trace::link::Error;

pub fn open(_: Option<&str>, _: &Request<'_>, _: &mut dyn Observer) -> Result<Opened, Error> {
    Err(Error::unfit(
        "this strobe was built without the library for debug probes; get it with `cargo install \
         --locked \
         --path crates/strobe --features probe` in a checkout of strobe, or record through \
         OpenOCD: \
         openocd:localhost:6666",
    ))
}
