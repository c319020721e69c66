//! One budget of `strobe.toml`: what it is about, which figure of that, and its limits.

mod figures;

use std::collections::BTreeMap;

use serde::Deserialize;
use strobe_analyse::budget::{Limit, Limits, Selector};

use super::config::Other;
use super::error::BudgetError;

/// A budget as it is written. One of the keys up to `section` names its subject.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EntryText {
    /// Its name in reports and in the baseline.
    name: Option<String>,
    /// A function: its cycles, or those of its calls.
    function: Option<String>,
    /// A region of the kit for the target.
    region: Option<String>,
    /// From one place to another.
    window: Option<Window>,
    /// An interrupt, as `SysTick`: its latency, requests lost, duration.
    interrupt: Option<String>,
    /// A thread: from wake-up to run, time busy.
    thread: Option<String>,
    /// A pin, as `PB8`: widths, periods, frequency, duty cycle.
    pin: Option<String>,
    /// A symbol: times between its arrivals.
    mark: Option<String>,
    /// Flash and RAM: `total`, `layer/NAME`, `file/PATH`, `symbol/NAME` and so on.
    size: Option<String>,
    /// A stack: its margin, worst case, use.
    stack: Option<String>,
    /// A headline figure of the run.
    total: Option<String>,
    /// The heap of the whole run.
    heap: Option<bool>,
    /// Idle cycles of all cycles.
    idle: Option<bool>,
    /// What a recording lacks, of all that there was.
    lost: Option<bool>,
    /// A section of any measurement, with `row` and `column`.
    section: Option<String>,
    /// The row of a section.
    row: Option<String>,
    /// The column of a section, or of distributions a statistic.
    column: Option<String>,
    /// Which figure of it; each subject has its own (docs/check.md).
    figure: Option<String>,
    /// Which measurement: `run`, `size`, `stack` or one that the firmware names.
    of: Option<String>,
    /// At most, as `1200 cycles`, `5 ms`, `64 KiB`; `+2 %` counts from the baseline.
    max: Option<String>,
    /// At least.
    min: Option<String>,
    /// `bounds`, all that the figure may be, or `likely`.
    judge: Option<String>,
}

/// From one place to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Window {
    /// As `--from`.
    pub from: String,
    /// As `--to`.
    pub to: String,
}

/// Which measurement has a budget's figure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    /// `strobe run`, perhaps of a window.
    Run(Option<Window>),
    /// `strobe size`.
    Size,
    /// `strobe stack`.
    Stack,
    /// One that the file names.
    Other(String),
}

/// A budget.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name in reports.
    pub name: String,
    /// Which measurement has the figure.
    pub from: From,
    /// The figure.
    pub selector: Selector,
    /// Its limits.
    pub limits: Limits,
    /// A function whose calls the run is to measure.
    pub calls: Option<String>,
    /// A pin or place whose arrivals the run is to measure.
    pub mark: Option<String>,
    /// The run is to watch memory allocators.
    pub heap: bool,
}

impl Budget {
    /// Checks and completes what is written.
    pub fn of(
        written: &EntryText,
        others: &BTreeMap<String, Other>,
    ) -> Result<Budget, BudgetError> {
        let subject = written.subject()?;
        let limits = written.limits(&subject)?;
        let chosen = written.chosen()?;
        let figure = chosen.figure;
        let name = written.name.clone().unwrap_or_else(|| match figure {
            "" => subject.clone(),
            figure => format!("{subject} {figure}"),
        });
        let from = match (&written.of, chosen.from) {
            (None, from) => from,
            (Some(of), from) => match of.as_str() {
                "run" => From::Run(None),
                "size" => From::Size,
                "stack" => From::Stack,
                name if others.contains_key(name) => From::Other(name.to_owned()),
                name => {
                    let known = ["run", "size", "stack"].into_iter();
                    let known: Vec<&str> = known.chain(others.keys().map(String::as_str)).collect();
                    let near = nearest(name, &known).filter(|_| !matches!(from, From::Other(_)));
                    return Err(BudgetError::Measurement {
                        subject,
                        of: name.to_owned(),
                        nearest: near.map(str::to_owned),
                        known: known.into_iter().map(str::to_owned).collect(),
                    });
                }
            },
        };
        Ok(Budget {
            name,
            from,
            selector: chosen.selector,
            limits,
            calls: chosen.calls,
            mark: chosen.mark,
            heap: chosen.heap,
        })
    }
}

/// What a key and a figure stand for.
struct Chosen {
    figure: &'static str,
    from: From,
    selector: Selector,
    calls: Option<String>,
    mark: Option<String>,
    heap: bool,
}

impl Chosen {
    fn new(figure: &'static str, from: From, selector: Selector) -> Self {
        Chosen { figure, from, selector, calls: None, mark: None, heap: false }
    }

    /// With memory allocators watched.
    fn of_heap(self) -> Self {
        Chosen { heap: true, ..self }
    }
}

impl EntryText {
    /// What it is about, as `function crc32`: exactly one thing.
    fn subject(&self) -> Result<String, BudgetError> {
        let window = self.window.as_ref().map(|w| format!("{} to {}", w.from, w.to));
        let row =
            [&self.section, &self.row, &self.column].map(|part| part.as_deref().unwrap_or(""));
        let generic = self.section.as_ref().map(|_| row.join("/"));
        let flag = |is: Option<bool>| is.filter(|is| *is).map(|_| String::new());
        let all = [
            ("function", self.function.clone()),
            ("region", self.region.clone()),
            ("window", window),
            ("interrupt", self.interrupt.clone()),
            ("thread", self.thread.clone()),
            ("pin", self.pin.clone()),
            ("mark", self.mark.clone()),
            ("size", self.size.clone()),
            ("stack", self.stack.clone()),
            ("total", self.total.clone()),
            ("heap", flag(self.heap)),
            ("idle", flag(self.idle)),
            ("lost", flag(self.lost)),
            ("section", generic),
        ];
        let known: Vec<&str> = all.iter().map(|(key, _)| *key).collect();
        let given: Vec<_> = all.into_iter().filter_map(|(key, name)| Some((key, name?))).collect();
        match given.as_slice() {
            [(key, name)] => Ok(format!("{key} {name}").trim_end().to_owned()),
            [] => Err(BudgetError::NoSubject { known }),
            [(a, _), (b, _), ..] => Err(BudgetError::TwoSubjects(a, b)),
        }
    }

    fn limits(&self, subject: &str) -> Result<Limits, BudgetError> {
        let least = limit(subject, self.min.as_deref())?;
        let most = limit(subject, self.max.as_deref())?;
        let subject = subject.to_owned();
        if least.is_none() && most.is_none() {
            return Err(BudgetError::NoLimit(subject));
        }
        if let (Some(least), Some(most)) = (&least, &most)
            && Limit::contradicts(least, most)
        {
            let (least, most) = (least.text.clone(), most.text.clone());
            return Err(BudgetError::Contradiction { subject, least, most });
        }
        let likely = match self.judge.as_deref() {
            None | Some("bounds") => false,
            Some("likely") => true,
            Some(other) => {
                return Err(BudgetError::Judge { subject, judge: other.to_owned() });
            }
        };
        Ok(Limits { least, most, likely })
    }

    /// The figure that is asked for, or the first of those there are.
    fn figure(&self, known: &[&'static str]) -> Result<&'static str, BudgetError> {
        let Some(wanted) = self.figure.as_deref() else {
            return Ok(known.first().copied().unwrap_or(""));
        };
        known.iter().find(|name| **name == wanted).copied().ok_or_else(|| BudgetError::Figure {
            subject: self.subject().unwrap_or_default(),
            figure: wanted.to_owned(),
            known: known.to_vec(),
            nearest: nearest(wanted, known).map(str::to_owned),
        })
    }

    fn chosen(&self) -> Result<Chosen, BudgetError> {
        if let Some(name) = &self.function {
            return self.of_function(name);
        }
        if let Some(window) = &self.window {
            return self.of_window(window);
        }
        if let Some(name) = &self.interrupt {
            return self.of_interrupt(name);
        }
        if let Some(name) = &self.thread {
            return self.of_thread(name);
        }
        if let Some(name) = &self.size {
            return self.of_size(name);
        }
        if let Some(name) = &self.stack {
            return self.of_stack(name);
        }
        self.of_rest()
    }
}

fn limit(subject: &str, text: Option<&str>) -> Result<Option<Limit>, BudgetError> {
    let limit = text.map(Limit::parse).transpose();
    limit.map_err(|error| BudgetError::Limit { subject: subject.to_owned(), error })
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let like = |other: &&&str| (strsim::jaro_winkler(name, other) * 1000.0) as u32;
    known.iter().max_by_key(like).filter(|other| like(other) > 600).copied()
}
