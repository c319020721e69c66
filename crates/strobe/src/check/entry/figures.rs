//! Which figure each key of a budget can ask for, and where it is looked up.

use strobe_analyse::budget::{Selector, Statistic};
use strobe_model::measurement::ids;

use super::super::error::BudgetError;
use super::{Chosen, EntryText, From, Window};

impl EntryText {
    pub(super) fn of_function(&self, name: &str) -> Result<Chosen, BudgetError> {
        let figure = self.figure(&[
            "self",
            "inclusive",
            "call-max",
            "call-p99",
            "call-mean",
            "call-min",
            "calls",
            "allocations",
            "allocated",
            "call-allocations-max",
            "call-allocations-mean",
            "call-allocated-max",
            "call-allocated-mean",
            "call-heap-peak",
            "call-left-max",
        ])?;
        let run = From::Run(None);
        let name = name.to_owned();
        if let Some((what, statistic)) = of_heap(figure.trim_start_matches("call-")) {
            if let Some(measure) = whole_run(figure) {
                let (section, measure) = ("heap-profile".to_owned(), measure.to_owned());
                let selector = Selector::Below { section, measure, name };
                return Ok(Chosen::new(figure, run, selector).of_heap());
            }
            let selector = spread("heap-in-calls", format!("{name} {what}"), statistic);
            let chosen = Chosen::new(figure, run, selector).of_heap();
            return Ok(Chosen { calls: Some(name), ..chosen });
        }
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

    pub(super) fn of_window(&self, window: &Window) -> Result<Chosen, BudgetError> {
        let figure = self.figure(&[
            "max",
            "p99",
            "mean",
            "min",
            "count",
            "allocations-max",
            "allocations-mean",
            "allocated-max",
            "allocated-mean",
            "heap-peak",
            "left-max",
        ])?;
        let run = From::Run(Some(window.clone()));
        if let Some((what, statistic)) = of_heap(figure) {
            let selector = spread("heap-in-windows", format!("window {what}"), statistic);
            return Ok(Chosen::new(figure, run, selector).of_heap());
        }
        let name = format!("{} to {}", window.from, window.to);
        Ok(Chosen::new(figure, run, spread("windows", name, figure)))
    }

    pub(super) fn of_interrupt(&self, name: &str) -> Result<Chosen, BudgetError> {
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

    pub(super) fn of_thread(&self, name: &str) -> Result<Chosen, BudgetError> {
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
    pub(super) fn of_size(&self, name: &str) -> Result<Chosen, BudgetError> {
        // A memory is of one kind, and has an end.
        let figure = if name.starts_with("region/") {
            self.figure(&["used", "free", "share"])?
        } else {
            self.figure(&["flash", "ram"])?
        };
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
                None => return Err(BudgetError::SizeForm(name.to_owned())),
            },
            None => return Err(BudgetError::SizeForm(name.to_owned())),
        };
        Ok(Chosen::new(figure, From::Size, selector))
    }

    pub(super) fn of_stack(&self, name: &str) -> Result<Chosen, BudgetError> {
        let figure = self.figure(&["margin", "worst", "used"])?;
        let from = if figure == "used" { From::Run(None) } else { From::Stack };
        Ok(Chosen::new(figure, from, cell("stacks", name, figure)))
    }

    pub(super) fn of_rest(&self) -> Result<Chosen, BudgetError> {
        let statistics = ["max", "p99", "mean", "median", "min", "count"];
        let run = || From::Run(None);
        if let Some(name) = &self.pin {
            return self.of_pin(name);
        }
        if let Some(name) = &self.mark {
            let figure = self.figure(&statistics)?;
            let selector = spread("pins", format!("{name} to {name}"), figure);
            return Ok(Chosen { mark: Some(name.clone()), ..Chosen::new(figure, run(), selector) });
        }
        if let Some(name) = &self.region {
            let figure = self.figure(&statistics)?;
            return Ok(Chosen::new(figure, run(), spread("kit-durations", name.clone(), figure)));
        }
        if let Some(id) = &self.total {
            let chosen = Chosen::new(self.figure(&[""])?, run(), Selector::Total(id.clone()));
            return Ok(if id.starts_with(ids::prefix::HEAP) { chosen.of_heap() } else { chosen });
        }
        if self.heap == Some(true) {
            let known = ["peak", "live", "allocations", "allocated", "leaks", "failed"];
            let figure = self.figure(&known)?;
            let total = match figure {
                "allocations" => "heap-blocks".to_owned(),
                "allocated" => "heap-bytes".to_owned(),
                other => format!("heap-{other}"),
            };
            return Ok(Chosen::new(figure, run(), Selector::Total(total)).of_heap());
        }
        if self.idle == Some(true) {
            return Ok(Chosen::new(self.figure(&[""])?, run(), Selector::Idle));
        }
        if self.lost == Some(true) {
            return Ok(Chosen::new(self.figure(&[""])?, run(), Selector::Loss));
        }
        self.generic(&statistics)
    }

    /// Of a capture (`of`) as of a run.
    fn of_pin(&self, name: &str) -> Result<Chosen, BudgetError> {
        let figure = self.figure(&[
            "high-max",
            "high-p99",
            "high-mean",
            "high-min",
            "low-max",
            "low-p99",
            "low-mean",
            "low-min",
            "period-max",
            "period-p99",
            "period-mean",
            "period-min",
            "frequency-max",
            "frequency-mean",
            "frequency-min",
            "duty-max",
            "duty-p99",
            "duty-mean",
            "duty-min",
        ])?;
        let (what, statistic) = figure.split_once('-').unwrap_or((figure, "max"));
        let selector = match what {
            "frequency" => Selector::Rate {
                section: "pins".to_owned(),
                name: format!("{name} period"),
                of: Statistic::named(statistic).unwrap_or(Statistic::Max),
            },
            _ => spread("pins", format!("{name} {what}"), statistic),
        };
        let chosen = Chosen::new(figure, From::Run(None), selector);
        Ok(Chosen { mark: Some(name.to_owned()), ..chosen })
    }

    /// A cell by section, row and column, or a figure of a distribution by section and row.
    fn generic(&self, statistics: &[&str]) -> Result<Chosen, BudgetError> {
        let section = self.section.clone().unwrap_or_default();
        let (Some(row), Some(column)) = (&self.row, &self.column) else {
            return Err(BudgetError::SectionForm { section, statistics: statistics.join(", ") });
        };
        let figure = self.figure(&[""])?;
        let selector = Selector::Any { section, row: row.clone(), column: column.clone() };
        Ok(Chosen::new(figure, From::Run(None), selector))
    }
}

/// What of a call's or a window's heap a figure is of, and which statistic of that.
fn of_heap(figure: &str) -> Option<(&'static str, &str)> {
    if figure == "heap-peak" {
        return Some(("peak", "max"));
    }
    let (what, statistic) = figure.split_once('-').unwrap_or((figure, "count"));
    let what = match what {
        "allocations" => "blocks",
        "allocated" => "allocated",
        "left" => "left",
        _ => return None,
    };
    Some((what, statistic))
}

/// The measure of the heap's profile, if a function's figure is of all its calls together.
fn whole_run(figure: &str) -> Option<&'static str> {
    match figure {
        "allocations" => Some("blocks"),
        "allocated" => Some("bytes"),
        _ => None,
    }
}

fn spread(section: &str, name: String, statistic: &str) -> Selector {
    let of = Statistic::named(statistic).unwrap_or(Statistic::Max);
    Selector::Spread { section: section.to_owned(), name, of }
}

fn cell(section: &str, row: &str, column: &str) -> Selector {
    let (section, row, column) = (section.to_owned(), row.to_owned(), column.to_owned());
    Selector::Cell { section, row, column }
}
