//! Every peripheral model, in folders by vendor; what is beside a chip is in `parts`.
//!
//! A vendor's folder knows the kernel and what several vendors share (`common`), neither another
//! vendor nor a core.

mod arm;
mod avr;
mod common;
mod parts;
mod stm32;
mod ti;

use strobe_sim::kernel::device::Maker;

pub(crate) use self::parts::MODELS as PARTS;

/// Every model by the name that board files use. Models of one vendor are listed in its module.
pub(crate) fn models() -> impl Iterator<Item = &'static (&'static str, Maker)> + Clone {
    let vendors = [common::MODELS, arm::MODELS, avr::MODELS, stm32::MODELS, ti::MODELS];
    vendors.into_iter().flatten()
}
