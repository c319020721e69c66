//! Instruments by name: what kernel, processor and Valgrind count.

use super::{Count, Event};

/// What instruments count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instruments {
    /// By `perf_event_open`, in every round.
    pub events: Vec<Event>,
    /// By Valgrind, beside the rounds.
    pub counts: Vec<Count>,
}

/// What an instrument is called, and what it stands for.
fn known() -> impl Iterator<Item = (&'static str, Instruments)> {
    let events = |events: Vec<Event>| Instruments { events, counts: Vec::new() };
    let counts = |counts: &[Count]| Instruments { events: Vec::new(), counts: counts.to_vec() };
    let groups = [
        ("perf", events(Event::all().collect())),
        ("perf-software", events(Event::SOFTWARE.to_vec())),
        ("perf-hardware", events(Event::HARDWARE.to_vec())),
    ];
    let valgrind = [
        ("valgrind", counts(&Count::all().collect::<Vec<_>>())),
        ("valgrind-instructions", counts(&[Count::Instructions])),
        ("valgrind-cache", counts(&Count::CACHE)),
        ("valgrind-branches", counts(&Count::BRANCHES)),
        ("valgrind-allocations", counts(&Count::HEAP)),
    ];
    let each = Event::all().map(move |event| (event.name(), events(vec![event])));
    groups.into_iter().chain(each).chain(valgrind)
}

/// No instrument has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no instrument {name}{} There are {}",
    suggestion(.near),
    known().map(|(known, _)| known).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownInstrument {
    /// As given.
    pub name: String,
    /// The nearest name, if one is near.
    pub near: Option<&'static str>,
}

fn suggestion(near: &Option<&'static str>) -> String {
    near.map_or(".".to_owned(), |near| format!("; did you mean {near}?"))
}

/// What is counted by instruments, each once and in its order.
///
/// # Errors
/// If there is no such instrument: with the nearest name, and all there are.
pub fn instruments(names: &[String]) -> Result<Instruments, UnknownInstrument> {
    let mut wanted = Instruments::default();
    for name in names {
        let (_, more) = known().find(|(known, _)| known == name).ok_or_else(|| unknown(name))?;
        wanted.events.extend(more.events);
        wanted.counts.extend(more.counts);
    }
    wanted.events.sort_unstable();
    wanted.events.dedup();
    wanted.counts.sort_unstable();
    wanted.counts.dedup();
    Ok(wanted)
}

fn unknown(name: &str) -> UnknownInstrument {
    let near = known().map(|(other, _)| (strsim::damerau_levenshtein(name, other), other));
    let near = near.min().filter(|(distance, _)| *distance <= 1 + name.len() / 3);
    UnknownInstrument { name: name.to_owned(), near: near.map(|(_, other)| other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_stand_for_what_they_count_each_once() {
        let names = |names: &[&str]| {
            instruments(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]), Ok(Instruments::default()));
        let events = |list: &[&str]| names(list).map(|wanted| wanted.events);
        assert_eq!(events(&["perf-software"]), Ok(Event::SOFTWARE.to_vec()));
        let both = events(&["perf-cycles", "perf-task-clock", "perf-cycles"]);
        assert_eq!(both, Ok(vec![Event::TaskClock, Event::Cycles]));
        assert_eq!(events(&["perf"]), Ok(Event::all().collect()));
        let all = names(&["valgrind-branches", "valgrind", "perf-cycles"]).expect("they are known");
        assert_eq!(all.counts, Count::all().collect::<Vec<_>>());
        assert_eq!(all.events, [Event::Cycles]);
        let why = names(&["perf-cycle"]).expect_err("there is none").to_string();
        assert!(why.contains("no instrument perf-cycle; did you mean perf-cycles?"), "{why}");
        let why = names(&["time"]).expect_err("there is none").to_string();
        assert!(why.contains("There are perf, perf-software"), "{why}");
    }
}
