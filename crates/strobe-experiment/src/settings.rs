//! How rounds are run and judged, for whoever runs, reads, judges or shows them.

use std::time::Duration;

use crate::host::{self, Command, Count, Event};
use crate::samples::Metric;

/// How rounds are run and judged.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Decides the order of each round and the resamples.
    pub seed: u64,
    /// When the last round may begin, from the first one on.
    pub time: Duration,
    /// So many rounds, instead of as many as the answer needs.
    pub rounds: Option<u64>,
    /// So many rounds at least, however long they take. One shows nothing of the spread.
    pub least_rounds: usize,
    /// Rounds at the start that do not count; the first one and what is found if not said.
    pub warm_up: Option<usize>,
    /// Differences up to this do not matter, as 0.02 for 2 %.
    pub threshold: f64,
    /// How long one run may take.
    pub timeout: Duration,
    /// What is judged.
    pub metric: Metric,
    /// All answers must be equal.
    pub same_output: bool,
    /// Lines of the answer that are counters, `NAME NUMBER`, and no part of what must be equal.
    pub counters: Vec<String>,
    /// Lines of the answer `NAME NUMBER` that are one value each of many, and kept in their order.
    pub values: Vec<String>,
    /// What prints counters of others, as servers: what they grow by is a run's.
    pub meters: Vec<Meter>,
    /// How often a probe is due beside each run, whose lateness is kept as [`LATENESS`].
    pub lateness: Option<Duration>,
    /// What the kernel and the processor count for each run.
    pub events: Vec<Event>,
    /// What Valgrind counts beside the rounds.
    pub counts: Vec<Count>,
    /// Bytes that a file may have which a variant writes.
    pub file_limit: Option<u64>,
}

/// The values of the probe beside each run.
pub const LATENESS: &str = "machine-lateness-nanoseconds";

/// A command that prints counters of somebody else, as `NAME NUMBER`.
#[derive(Debug, Clone, PartialEq)]
pub struct Meter {
    /// Whose.
    pub name: String,
    /// What is run before and after each run of a variant.
    pub command: Command,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seed: 1,
            time: Duration::from_secs(20),
            rounds: None,
            least_rounds: 2,
            warm_up: None,
            threshold: 0.02,
            timeout: Duration::from_secs(60),
            metric: Metric::Wall,
            same_output: false,
            counters: Vec::new(),
            values: Vec::new(),
            meters: Vec::new(),
            lateness: None,
            events: Vec::new(),
            counts: Vec::new(),
            file_limit: Some(4 << 30),
        }
    }
}

impl Settings {
    /// Counts the events of these instruments, and that of the metric.
    ///
    /// # Errors
    /// If there is no such instrument.
    pub fn with_instruments(
        mut self,
        names: &[String],
    ) -> Result<Settings, host::UnknownInstrument> {
        let instruments = host::instruments(names)?;
        self.events = instruments.events;
        self.counts.extend(instruments.counts);
        self.counts.sort_unstable();
        self.counts.dedup();
        if let Metric::Event(event) = self.metric
            && !self.events.contains(&event)
        {
            self.events.push(event);
            self.events.sort_unstable();
        }
        Ok(self)
    }
}
