//! Which timing model each side rests on: what a model that both share is off is in no difference.

use std::borrow::Cow;

use strobe_model::measurement::{Measurement, ON_A_CHIP};

use super::comparison::Comparison;
use super::unlike::Unlike;
use crate::bands::{self, Band};

/// The instrument whose bounds are those of a model.
const SIMULATED: &str = "simulated board";

/// Whether both come from one timing model, of a core with the memory of a board: what that is off,
/// it is off in both, and their difference is without it.
pub(super) fn shares_model(a: &Measurement, b: &Measurement) -> bool {
    let is_modelled =
        |side: &Measurement| bands::band(side).is_some() || side.total(ON_A_CHIP).is_some();
    let same = |of: fn(&Measurement) -> Option<&str>| of(a) == of(b);
    is_modelled(a)
        && is_modelled(b)
        && same(|side| side.subject.core.as_deref())
        && same(|side| side.subject.board.as_deref())
}

/// Both sides, where they do not share a timing model with what that of each may be off; profiles
/// without it.
pub(super) fn with_bands<'m>(
    compared: &mut Comparison,
    sides: [&'m Measurement; 2],
) -> [(Cow<'m, Measurement>, Option<Band>); 2] {
    let bands = sides.map(bands::band);
    if shares_model(sides[0], sides[1]) {
        compared.unlike.push(Unlike::SharedModel);
        return sides.map(|side| (Cow::Borrowed(side), None));
    }
    if bands.iter().any(Option::is_some) {
        compared.unlike.push(Unlike::OtherModel);
    }
    let [of_a, of_b] = bands;
    [(sides[0], of_a), (sides[1], of_b)].map(|(side, band)| match band {
        Some(band) => (Cow::Owned(bands::widened(side, &band)), Some(band)),
        None => (Cow::Borrowed(side), None),
    })
}

/// Whether that model is of one board too, so that what waits are off by is the same part of their
/// bounds on both sides.
pub(super) fn is_one_model(a: &Measurement, b: &Measurement) -> bool {
    let is_simulated = |side: &Measurement| side.instrument.kind == SIMULATED;
    let same = |of: fn(&Measurement) -> Option<&str>| of(a) == of(b);
    is_simulated(a)
        && is_simulated(b)
        && same(|side| Some(&side.instrument.tool))
        && same(|side| side.subject.core.as_deref())
        && same(|side| side.subject.board.as_deref())
}
