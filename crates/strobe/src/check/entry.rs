//! One budget of `strobe.toml`: what it is about, which figure of that, and its limits.

use std::collections::BTreeMap;

use serde::Deserialize;
use strobe_analyse::budget::{Limit, Limits, Selector, Statistic};

use super::config::Other;

/// A budget as it is written. One of the keys up to `section` names its subject.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Written {
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
    /// A pin, as `PB8`: widths and periods.
    pin: Option<String>,
    /// A symbol: times between its arrivals.
    mark: Option<String>,
    /// Flash and RAM: `total`, `layer/NAME`, `file/PATH`, `symbol/NAME` and so on.
    size: Option<String>,
    /// A stack: its margin, worst case, use.
    stack: Option<String>,
    /// A headline figure of the run.
    total: Option<String>,
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
}

impl Budget {
    /// Checks and completes what is written.
    pub fn of(written: &Written, others: &BTreeMap<String, Other>) -> Result<Budget, String> {
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
                    return Err(format!(
                        "{subject}: `of = \"{name}\"`: there is {}{}",
                        known.join(", "),
                        near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
                    ));
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
}

impl Chosen {
    fn new(figure: &'static str, from: From, selector: Selector) -> Self {
        Chosen { figure, from, selector, calls: None, mark: None }
    }
}

impl Written {
    /// What it is about, as `function crc32`: exactly one thing.
    fn subject(&self) -> Result<String, String> {
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
            ("idle", flag(self.idle)),
            ("lost", flag(self.lost)),
            ("section", generic),
        ];
        let known = all.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", ");
        let given: Vec<_> = all.into_iter().filter_map(|(key, name)| Some((key, name?))).collect();
        match given.as_slice() {
            [(key, name)] => Ok(format!("{key} {name}").trim_end().to_owned()),
            [] => Err(format!("what is it about? Give one of {known}")),
            [(a, _), (b, _), ..] => Err(format!("it is about {a} and {b}; make two of it")),
        }
    }

    fn limits(&self, subject: &str) -> Result<Limits, String> {
        let parse = |text: &Option<String>| text.as_deref().map(Limit::parse).transpose();
        let of = |e| format!("{subject}: {e}");
        let (least, most) = (parse(&self.min).map_err(of)?, parse(&self.max).map_err(of)?);
        if least.is_none() && most.is_none() {
            return Err(format!("{subject}: neither `max` nor `min` is given"));
        }
        if let (Some(least), Some(most)) = (&least, &most)
            && Limit::contradicts(least, most)
        {
            return Err(format!(
                "{subject}: at least {least} and at most {most} contradict each other"
            ));
        }
        let likely = match self.judge.as_deref() {
            None | Some("bounds") => false,
            Some("likely") => true,
            Some(other) => {
                return Err(format!("{subject}: judge is `bounds` or `likely`, not `{other}`"));
            }
        };
        Ok(Limits { least, most, likely })
    }

    /// The figure that is asked for, or the first of those there are.
    fn figure(&self, known: &[&'static str]) -> Result<&'static str, String> {
        let Some(wanted) = self.figure.as_deref() else {
            return Ok(known.first().copied().unwrap_or(""));
        };
        known.iter().find(|name| **name == wanted).copied().ok_or_else(|| {
            let near = nearest(wanted, known).map(|name| format!("; did you mean `{name}`?"));
            let subject = self.subject().unwrap_or_default();
            format!(
                "{subject}: figure `{wanted}`: there is {}{}",
                known.join(", "),
                near.unwrap_or_default()
            )
        })
    }

    fn chosen(&self) -> Result<Chosen, String> {
        if let Some(name) = &self.function {
            return self.of_function(name);
        }
        if let Some(window) = &self.window {
            let figure = self.figure(&["max", "p99", "mean", "min", "count"])?;
            let name = format!("{} to {}", window.from, window.to);
            let run = From::Run(Some(window.clone()));
            return Ok(Chosen::new(figure, run, spread("windows", name, figure)));
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

    fn of_function(&self, name: &str) -> Result<Chosen, String> {
        let figure = self.figure(&[
            "self",
            "inclusive",
            "call-max",
            "call-p99",
            "call-mean",
            "call-min",
            "calls",
        ])?;
        let run = From::Run(None);
        let name = name.to_owned();
        let statistic = match figure {
            "self" | "inclusive" => {
                let inclusive = figure == "inclusive";
                return Ok(Chosen::new(figure, run, Selector::Function { name, inclusive }));
            }
            "calls" => "count",
            call => call.strip_prefix("call-").unwrap_or(call),
        };
        let selector = spread("calls", format!("{name} with callees"), statistic);
        Ok(Chosen { calls: Some(name), ..Chosen::new(figure, run, selector) })
    }

    fn of_interrupt(&self, name: &str) -> Result<Chosen, String> {
        let figure = self.figure(&[
            "latency-max",
            "latency-p99",
            "latency-mean",
            "lost-share",
            "lost",
            "count",
            "duration-max",
            "duration-p99",
            "duration-mean",
        ])?;
        let run = From::Run(None);
        let selector = match figure {
            "lost-share" => Selector::LostInterrupts(name.to_owned()),
            "lost" | "count" => cell("interrupts", name, figure),
            _ => match figure.split_once('-') {
                Some(("latency", statistic)) => spread("latencies", name.to_owned(), statistic),
                Some((_, statistic)) => spread("durations", format!("handler {name}"), statistic),
                None => cell("interrupts", name, figure),
            },
        };
        Ok(Chosen::new(figure, run, selector))
    }

    fn of_thread(&self, name: &str) -> Result<Chosen, String> {
        let figure = self.figure(&[
            "wake-up-max",
            "wake-up-p99",
            "wake-up-mean",
            "busy",
            "longest-run",
            "run-max",
            "run-p99",
            "run-mean",
        ])?;
        let selector = match figure {
            "busy" | "longest-run" => cell("threads", name, figure),
            _ => match figure.rsplit_once('-') {
                Some(("wake-up", statistic)) => spread("wake-ups", name.to_owned(), statistic),
                Some((_, statistic)) => spread("durations", format!("thread {name}"), statistic),
                None => cell("threads", name, figure),
            },
        };
        Ok(Chosen::new(figure, From::Run(None), selector))
    }

    /// `total`, `layer/kernel`, `file/src/main.c`, `symbol/table` and so on.
    fn of_size(&self, name: &str) -> Result<Chosen, String> {
        let figure = self.figure(&["flash", "ram"])?;
        let sections = [
            ("layer", "layers"),
            ("file", "files"),
            ("directory", "directories"),
            ("section", "sections"),
            ("crate", "crates"),
            ("archive", "archives"),
            ("region", "regions"),
        ];
        let selector = match name.split_once('/') {
            None if name == "total" => Selector::Total(figure.to_owned()),
            Some(("symbol", symbol)) => {
                Selector::Symbol { name: symbol.to_owned(), measure: figure.to_owned() }
            }
            Some((kind, row)) => match sections.iter().find(|(key, _)| *key == kind) {
                Some((_, section)) => cell(section, row, figure),
                None => return Err(size_forms(name)),
            },
            None => return Err(size_forms(name)),
        };
        Ok(Chosen::new(figure, From::Size, selector))
    }

    fn of_stack(&self, name: &str) -> Result<Chosen, String> {
        let figure = self.figure(&["margin", "worst", "used"])?;
        let from = if figure == "used" { From::Run(None) } else { From::Stack };
        Ok(Chosen::new(figure, from, cell("stacks", name, figure)))
    }

    fn of_rest(&self) -> Result<Chosen, String> {
        let statistics = ["max", "p99", "mean", "median", "min", "count"];
        let run = || From::Run(None);
        if let Some(name) = &self.pin {
            let known = [
                "high-max",
                "high-p99",
                "high-mean",
                "high-min",
                "low-max",
                "low-p99",
                "low-mean",
                "low-min",
            ];
            let figure = self.figure(&known)?;
            let (level, statistic) = figure.split_once('-').unwrap_or((figure, "max"));
            let selector = spread("pins", format!("{name} {level}"), statistic);
            return Ok(Chosen { mark: Some(name.clone()), ..Chosen::new(figure, run(), selector) });
        }
        if let Some(name) = &self.mark {
            let figure = self.figure(&statistics)?;
            let selector = spread("pins", name.clone(), figure);
            return Ok(Chosen { mark: Some(name.clone()), ..Chosen::new(figure, run(), selector) });
        }
        if let Some(name) = &self.region {
            let figure = self.figure(&statistics)?;
            return Ok(Chosen::new(figure, run(), spread("kit-durations", name.clone(), figure)));
        }
        if let Some(id) = &self.total {
            return Ok(Chosen::new(self.figure(&[""])?, run(), Selector::Total(id.clone())));
        }
        if self.idle == Some(true) {
            return Ok(Chosen::new(self.figure(&[""])?, run(), Selector::Idle));
        }
        if self.lost == Some(true) {
            return Ok(Chosen::new(self.figure(&[""])?, run(), Selector::Loss));
        }
        self.generic(&statistics)
    }

    /// A cell by section, row and column, or a figure of a distribution by section and row.
    fn generic(&self, statistics: &[&str]) -> Result<Chosen, String> {
        let section = self.section.clone().unwrap_or_default();
        let (Some(row), Some(column)) = (&self.row, &self.column) else {
            return Err(format!(
                "section {section}: `row` and `column` choose the figure; of distributions the \
                 column is one of {}",
                statistics.join(", ")
            ));
        };
        let figure = self.figure(&[""])?;
        let selector = Selector::Any { section, row: row.clone(), column: column.clone() };
        Ok(Chosen::new(figure, From::Run(None), selector))
    }
}

fn size_forms(name: &str) -> String {
    format!(
        "size `{name}`: write `total`, `layer/NAME`, `file/PATH`, `directory/PATH`, \
         `section/NAME`, `crate/NAME`, `archive/NAME`, `region/NAME` or `symbol/NAME`"
    )
}

fn spread(section: &str, name: String, statistic: &str) -> Selector {
    let of = Statistic::named(statistic).unwrap_or(Statistic::Max);
    Selector::Spread { section: section.to_owned(), name, of }
}

fn cell(section: &str, row: &str, column: &str) -> Selector {
    let (section, row, column) = (section.to_owned(), row.to_owned(), column.to_owned());
    Selector::Cell { section, row, column }
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let like = |other: &&&str| (strsim::jaro_winkler(name, other) * 1000.0) as u32;
    known.iter().max_by_key(like).filter(|other| like(other) > 600).copied()
}
