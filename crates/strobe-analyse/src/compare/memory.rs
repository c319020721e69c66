//! Figures of memory: what an image takes, and what a run needs of memory for the verdict.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Measurement, Quantity, Total, Unit};

use super::change::Change;

/// What an image takes, by the names of the subject's facts.
pub(super) const OF_IMAGE: [(&str, &str, &str); 2] =
    [("flash", "image-flash", "flash of the image"), ("RAM", "image-ram", "RAM of the image")];

/// Figures of memory for the verdict, the gravest first.
const OF_MEMORY: [&str; 6] = {
    use ids::total::*;
    [HEAP_LEAKS, HEAP_FAILED, DEEPEST_STACK, HEAP_PEAK, HEAP_LIVE, HEAP_BLOCKS]
};

/// What a run needs of memory, which its functions do not show: totals of both that differ for
/// certain; of an image what changed by that factor.
pub(super) fn changes(a: &Measurement, b: &Measurement, worth: f64) -> Vec<Change> {
    let image = OF_IMAGE.iter().filter_map(|(name, _, title)| {
        let [x, y] = [a, b].map(|side| Some(fact(side, name)?.value()?.as_f64()));
        let (x, y) = (x?, y?);
        // Nearly every change of code changes it by a few bytes.
        let by = x.max(y) / x.min(y).max(1.0);
        let title = (*title).to_owned();
        let is_worth = x != y && by >= worth;
        is_worth.then_some(Change::Memory { title, sides: [x, y], unit: Unit::BYTES })
    });
    let each = OF_MEMORY.iter().filter_map(|id| {
        let of_a = a.totals.iter().find(|total| total.id == *id)?;
        // Of another thread it is another figure.
        let same = |total: &&Total| total.id == *id && total.title == of_a.title;
        let of_b = b.totals.iter().find(same)?;
        let (title, x, y) = (&of_a.title, &of_a.quantity, &of_b.quantity);
        let bounds = |quantity: &Quantity| {
            let value = quantity.value()?;
            Some(quantity.trust().bounds().unwrap_or((value, value)))
        };
        let ((x_low, x_high), (y_low, y_high)) = (bounds(x)?, bounds(y)?);
        let differ = x.unit() == y.unit() && (x_high < y_low || y_high < x_low);
        let sides = [x.value()?.as_f64(), y.value()?.as_f64()];
        let (title, unit) = (title.clone(), x.unit().clone());
        differ.then_some(Change::Memory { title, sides, unit })
    });
    each.chain(image).collect()
}

/// A figure that is known of the subject, whatever was measured.
pub(super) fn fact<'m>(side: &'m Measurement, name: &str) -> Option<&'m Quantity> {
    side.subject.facts.iter().find(|fact| fact.name == name)?.figure.as_ref()
}
