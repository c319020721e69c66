//! Ticks of the local timestamp to core cycles.

use crate::traced::totals::Traced;
use strobe_model::measurement::Spread;

/// Times of exceptions and threads.
pub fn scale(traced: &mut Traced) {
    let per_tick = u64::from(traced.times.tick_cycles.unwrap_or(1));
    let timed = traced.times.local > 0;
    for e in &mut traced.exceptions {
        e.timed = if timed { e.timed } else { 0 };
        e.vague = if timed { e.vague } else { 0 };
        for time in [&mut e.own, &mut e.shortest, &mut e.longest, &mut e.at_most] {
            *time = if timed { time.saturating_mul(per_tick) } else { 0 };
        }
        e.times = if timed { e.times.scaled(per_tick) } else { Spread::default() };
    }
    traced.threads.iter_mut().for_each(|t| t.cycles = t.cycles.saturating_mul(per_tick));
}

/// Those of watched variables.
pub fn values(traced: &mut Traced) {
    let per_tick = u64::from(traced.times.tick_cycles.unwrap_or(1));
    let values = traced.watched.iter_mut().flat_map(|watched| &mut watched.values);
    values.for_each(|(at, _)| *at = at.saturating_mul(per_tick));
}

/// Those of the kit's records.
pub fn kit(traced: &mut Traced) {
    let per_tick = u64::from(traced.times.tick_cycles.unwrap_or(1));
    let Some(kit) = &mut traced.kit else { return };
    // Without timestamps all is at once.
    if traced.times.local == 0 {
        kit.marks.iter_mut().for_each(|m| (m.timed, m.vague) = (0, 0));
        kit.regions.iter_mut().for_each(|r| (r.timed, r.vague) = (0, 0));
    }
    let timed = traced.times.local > 0;
    let spreads = kit.marks.iter_mut().map(|m| &mut m.times);
    for times in spreads.chain(kit.regions.iter_mut().map(|r| &mut r.times)) {
        *times = if timed { times.scaled(per_tick) } else { Spread::default() };
    }
    let marks = kit.marks.iter_mut().flat_map(|m| [&mut m.sum, &mut m.shortest, &mut m.longest]);
    let regions = kit
        .regions
        .iter_mut()
        .flat_map(|r| [&mut r.sum, &mut r.shortest, &mut r.longest, &mut r.at_most]);
    let values = kit.values.iter_mut().flat_map(|v| &mut v.values).map(|(at, _)| at);
    let places = kit.lost_at.iter_mut().map(|(at, _)| at);
    let times = marks.chain(regions).chain(values).chain(places);
    times.for_each(|time| *time = time.saturating_mul(per_tick));
}
