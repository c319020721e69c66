//! An experiment from start to end: builds, services, a bench at each value of the sweep.

use std::fs::TryLockError;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strobe_analyse::statistics::crossover::{Crossover, Point, crossover};
use strobe_analyse::statistics::growth::growth;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, NamedPart, Number, Quantity, Section, Severity,
    Table, Trust, Unit,
};

use crate::bench::{Bench, Settings};
use crate::file::{Expect, File, ServiceFile, VariantFile};
use crate::host::{self, Command, Counted, Ended, Host, Probe, Running};
use crate::judge::{judge, pairs};
use crate::measurement::{Parts, measurement};
use crate::placeholders::{self, Names};
use crate::samples::{Log, Metric, Round, Sample, Variant};

/// Where and how an experiment is carried out.
pub struct Run<'a> {
    /// Its description.
    pub file: &'a File,
    /// Its name.
    pub name: &'a str,
    /// Its folder.
    pub folder: &'a Path,
    /// Where builds, services and samples lie.
    pub kept: &'a Path,
    /// How commands are started.
    pub host: &'a Host,
    /// Less of everything.
    pub quick: bool,
    /// Set when the user wants an end.
    pub stop: &'a AtomicBool,
    /// Tool and version.
    pub tool: &'a str,
}

/// What stopped an experiment before there were figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command of the description failed.
    #[error("{what}: {why}\n{errors}")]
    Failed {
        /// Which.
        what: String,
        /// How.
        why: String,
        /// The end of what it wrote to standard error.
        errors: String,
    },
    /// A file or a port.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// The user.
    #[error("stopped")]
    Stopped,
}

/// The samples at one value of the sweep.
struct Step {
    at: Option<u64>,
    variants: Vec<Variant>,
    rounds: Vec<Round>,
    settings: Settings,
    counted: Vec<Vec<Counted>>,
}

impl Run<'_> {
    /// Programs that are missing.
    pub fn missing(&self) -> Vec<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &String| std::env::split_paths(&path).any(|p| p.join(name).is_file());
        let missing: Vec<String> =
            self.file.needs.iter().filter(|name| !is_there(name)).cloned().collect();
        let Some(line) = self.file.available.as_ref().filter(|_| missing.is_empty()) else {
            return missing;
        };
        match self.once("available", line, &Names::new(), Duration::from_secs(30)) {
            Ok(()) => missing,
            Err(_) => vec![format!("what `{line}` looks for")],
        }
    }

    /// Runs it; `show` gets a line about what happens.
    ///
    /// # Errors
    /// If something does not build or does not get ready. Variants that fail are part of the
    /// result.
    pub fn carry_out(&self, show: &mut dyn FnMut(&str)) -> Result<Measurement, Error> {
        let _claim = self.claim()?;
        let mut names = Names::new();
        names.insert("strobe".to_owned(), self.host.supervisor.display().to_string());
        names.insert("folder".to_owned(), self.folder.display().to_string());
        names.insert("build".to_owned(), self.made("build")?.display().to_string());
        self.build(&names, show)?;
        let services = self.services(&mut names, show)?;
        let mut steps = Vec::new();
        let mut clock = 0;
        for at in self.file.values(self.quick) {
            let shown =
                at.map_or_else(|| "measuring".to_owned(), |at| format!("measuring at {at}"));
            show(&shown);
            let step = self.step(at, &names)?;
            clock = Probe::new(self.kept).clock_ns;
            let is_empty = step.rounds.is_empty();
            steps.push(step);
            if is_empty || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        for service in services.into_iter().rev() {
            service.stop();
        }
        if steps.iter().all(|step| step.rounds.is_empty()) {
            return Err(Error::Stopped);
        }
        steps.retain(|step| !step.rounds.is_empty());
        Ok(self.result(&steps, clock))
    }

    /// Keeps others out until it goes: two runs would build over each other's programs.
    fn claim(&self) -> Result<std::fs::File, Error> {
        let path = self.kept.join("lock");
        let claimed = std::fs::File::create(&path).and_then(|file| match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::other("another run of this experiment is going on"))
            }
            // Not every file system has locks.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(file),
            Err(TryLockError::Error(e)) => Err(e),
        });
        claimed.map_err(|error| Error::Io(path.display().to_string(), error))
    }

    fn made(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.kept.join(name);
        let made = std::fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
        made.map_err(|error| Error::Io(folder.display().to_string(), error))
    }

    fn build(&self, names: &Names, show: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let own = self.file.variant.iter().filter_map(|variant| variant.build.as_ref());
        for line in self.file.build.iter().chain(own) {
            show("building");
            self.once("build", line, names, Duration::from_secs(300))?;
        }
        Ok(())
    }

    /// Runs a command of the description that must succeed.
    fn once(&self, what: &str, line: &str, names: &Names, limit: Duration) -> Result<(), Error> {
        let errors = self.kept.join("errors");
        let command = Command {
            folder: Some(self.folder.to_owned()),
            errors: Some(errors.clone()),
            output: Some(self.kept.join("output")),
            ..Command::line(&placeholders::in_shell(line, names)).within(limit)
        };
        match host::run(self.host, &command, self.stop).ended {
            Ended::Exit(0) => Ok(()),
            Ended::Stopped => Err(Error::Stopped),
            ended => Err(Error::Failed {
                what: format!("{what} `{}`", command.arguments.join(" ")),
                why: ended.to_string(),
                errors: tail(&errors),
            }),
        }
    }

    fn services(
        &self,
        names: &mut Names,
        show: &mut dyn FnMut(&str),
    ) -> Result<Vec<Running>, Error> {
        let mut running = Vec::new();
        for service in &self.file.service {
            show(&format!("starting {}", service.name));
            running.push(self.service(service, names)?);
        }
        Ok(running)
    }

    fn service(&self, service: &ServiceFile, names: &mut Names) -> Result<Running, Error> {
        let folder = self.made(&service.name)?;
        let port = free_port().map_err(|error| Error::Io("no free port".to_owned(), error))?;
        names.insert(format!("{}.port", service.name), port.to_string());
        names.insert(format!("{}.folder", service.name), folder.display().to_string());
        let limit = Duration::from_secs(service.timeout_seconds);
        if let Some(prepare) = &service.prepare {
            self.once(&format!("preparing {}", service.name), prepare, names, limit)?;
        }
        let errors = folder.join("errors");
        let command = Command {
            folder: Some(self.folder.to_owned()),
            errors: Some(errors.clone()),
            grace_ms: 10_000,
            ..Command::line(&placeholders::in_shell(&service.start, names))
        };
        let mut running = host::start(self.host, &command)
            .map_err(|error| Error::Io(service.name.clone(), error))?;
        let begin = Instant::now();
        loop {
            let failed = |why: &str| Error::Failed {
                what: format!("service {}", service.name),
                why: why.to_owned(),
                errors: tail(&errors),
            };
            if running.has_ended() {
                return Err(failed("ended before it was ready"));
            }
            match self.once("ready", &service.ready, names, Duration::from_secs(5)) {
                Ok(()) => return Ok(running),
                Err(Error::Stopped) => return Err(Error::Stopped),
                Err(_) if begin.elapsed() > limit => return Err(failed("not ready in time")),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn step(&self, at: Option<u64>, names: &Names) -> Result<Step, Error> {
        let mut names = names.clone();
        if let (Some(sweep), Some(at)) = (&self.file.sweep, at) {
            names.insert(sweep.parameter.clone(), at.to_string());
        }
        let variants: Vec<Variant> =
            self.file.variant.iter().map(|variant| self.variant(variant, &names)).collect();
        let settings = self.settings();
        let quick = if self.quick { "quick-" } else { "" };
        let path = self.kept.join(format!("{quick}samples-{}.jsonl", at.unwrap_or(0)));
        let io = |error| Error::Io(path.display().to_string(), error);
        // Ports differ from run to run: such samples are not gone on with.
        let is_new = !self.file.service.is_empty();
        if is_new {
            let _ = std::fs::remove_file(&path);
        }
        let (mut log, mut rounds) = Log::open(&path, &variants, settings.seed).map_err(io)?;
        let conditions = &self.file.variant;
        let check = |variant: usize, sample: &Sample| -> Result<(), String> {
            let all = conditions.get(variant).map(|v| v.condition.as_slice()).unwrap_or_default();
            all.iter().try_for_each(|condition| {
                condition.holds(Metric::named(&condition.counter).of(sample))
            })
        };
        let bench = Bench {
            host: self.host,
            folder: self.kept,
            variants: &variants,
            settings: &settings,
            stop: self.stop,
            check: Some(&check),
        };
        bench.run(&mut rounds, Some(&mut log), &mut |_| {}).map_err(io)?;
        let counted = self.counted(&bench);
        if !self.stop.load(Ordering::Relaxed) {
            // Whole: the next run begins anew.
            drop(log);
            let done = path.with_extension("done.jsonl");
            std::fs::rename(&path, &done).map_err(io)?;
        }
        Ok(Step { at, variants, rounds, settings, counted })
    }

    fn counted(&self, bench: &Bench) -> Vec<Vec<Counted>> {
        if !self.file.measure.instructions || self.stop.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let limit = bench.settings.timeout.saturating_mul(10);
        let twice = |variant: &Variant| {
            let one =
                || host::instructions(self.host, &variant.command, self.kept, limit, self.stop);
            let first = one();
            if matches!(first, Counted::No(_)) { vec![first] } else { vec![first, one()] }
        };
        bench.variants.iter().map(twice).collect()
    }

    fn variant(&self, variant: &VariantFile, names: &Names) -> Variant {
        let environment =
            variant.env.iter().map(|(key, value)| (key.clone(), placeholders::plain(value, names)));
        let command = Command {
            environment: environment.collect(),
            folder: Some(self.folder.to_owned()),
            ..Command::line(&placeholders::in_shell(&variant.run, names))
        };
        Variant { name: variant.name.clone(), command }
    }

    fn settings(&self) -> Settings {
        let measure = &self.file.measure;
        let seconds = if self.quick { measure.quick_seconds } else { measure.seconds };
        Settings {
            time: Duration::from_secs_f64(seconds),
            threshold: measure.threshold / 100.0,
            timeout: Duration::from_secs_f64(measure.timeout_seconds),
            metric: Metric::named(&measure.metric),
            same_output: measure.same_output,
            counters: measure.counters.clone(),
            ..Settings::default()
        }
    }

    fn result(&self, steps: &[Step], clock_ns: u64) -> Measurement {
        let interrupted = self.stop.load(Ordering::Relaxed);
        let one = |step: &Step| {
            measurement(&Parts {
                title: self.name,
                variants: &step.variants,
                rounds: &step.rounds,
                settings: &step.settings,
                instructions: &step.counted,
                clock_ns,
                interrupted,
                tool: self.tool,
            })
        };
        let parts: Vec<Measurement> = steps.iter().map(one).collect();
        let Some(mut whole) = parts.first().cloned() else { return empty() };
        whole
            .subject
            .facts
            .push(strobe_model::measurement::Fact::text("question", &self.file.question));
        if let Some(sweep) = &self.file.sweep {
            whole.sections =
                vec![curve(&sweep.parameter, steps), crossings(&sweep.parameter, steps)];
            whole.findings = parts.iter().flat_map(|part| part.findings.clone()).collect();
            whole.parts = steps
                .iter()
                .zip(parts)
                .map(|(step, measurement)| NamedPart {
                    name: format!("{}={}", sweep.parameter, step.at.unwrap_or(0)),
                    measurement,
                })
                .collect();
        } else if self.file.measure.steps
            && let Some(step) = steps.first()
        {
            whole.sections.insert(0, shares(step));
        }
        for expect in &self.file.expect {
            if let Err(why) = holds(expect, steps) {
                whole.findings.insert(0, Finding::new(Severity::Warning, "expectation", why));
            }
        }
        whole
    }
}

fn empty() -> Measurement {
    use strobe_model::measurement::{Ended, Instrument, Subject, Window};
    let window = Window::untimed("nothing was measured", Ended::default());
    Measurement::new(Subject::default(), Instrument::default(), window)
}

/// A port of the loopback interface that nobody has at this moment.
fn free_port() -> io::Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port())
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(2000)..]).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

/// A count of a variant at a value of the sweep: instructions that repeat, or a constant counter.
fn count(step: &Step, variant: &str, counter: &str) -> Option<u64> {
    let at = step.variants.iter().position(|known| known.name == variant)?;
    if counter == "instructions" {
        return match step.counted.get(at)?.as_slice() {
            [Counted::Instructions(a), Counted::Instructions(b)] => Some(*a.min(b)),
            _ => None,
        };
    }
    let judgement = judge(&step.variants, &step.rounds, &step.settings);
    let (_, counts) = judgement.exact.iter().find(|(metric, _)| metric.name() == counter)?;
    counts.get(at).copied().flatten()
}

/// Whether an expectation holds; instructions that nobody could count contradict nothing.
fn holds(expect: &Expect, steps: &[Step]) -> Result<(), String> {
    let Some(step) = steps.iter().find(|step| expect.at.is_none() || step.at == expect.at) else {
        return Ok(());
    };
    let Expect { variant, counter, .. } = expect;
    let is_counted = counter != "instructions" || step.counted.iter().all(|c| c.len() == 2);
    if !is_counted || step.counted.is_empty() && counter == "instructions" {
        return Ok(());
    }
    let of = |variant: &str| {
        count(step, variant, counter)
            .ok_or_else(|| format!("expected a constant {counter} of {variant}, which it has not"))
    };
    let own = of(variant)?;
    let failed = |what: String| Err(format!("{counter} of {variant} is {own}, {what}"));
    if let Some(wanted) = expect.exactly.filter(|wanted| *wanted != own) {
        return failed(format!("and was expected to be {wanted}"));
    }
    for (other, is_more) in [(&expect.more_than, true), (&expect.less_than, false)] {
        let Some(other) = other else { continue };
        let theirs = of(other)?;
        if is_more && own <= theirs || !is_more && own >= theirs {
            let word = if is_more { "more" } else { "less" };
            return failed(format!("expected to be {word} than {theirs} of {other}"));
        }
    }
    Ok(())
}

/// The median quotient of each variant and the first, at each value.
fn curve(parameter: &str, steps: &[Step]) -> Section {
    let mut table = Table::new(vec![Column::figure(parameter, parameter, Unit::COUNT)]);
    let Some(first) = steps.first() else { return section("curve", "curve", table) };
    for variant in first.variants.iter().skip(1) {
        let title = format!("{} / {}", variant.name, first.variants[0].name);
        table.columns.push(Column::figure(&variant.name, &title, Unit::RATIO));
    }
    for step in steps {
        let judgement = judge(&step.variants, &step.rounds, &step.settings);
        let mut cells = vec![Cell::from(step.at.unwrap_or(0))];
        for comparison in &judgement.comparisons {
            cells.push(match comparison.paired.as_ref().and_then(|p| Some((p, p.interval?))) {
                Some((paired, interval)) => {
                    let n = paired.pairs as u64;
                    let (low, high) = (interval.low.into(), interval.high.into());
                    let value = Some(Number::from(paired.ratio));
                    Cell::Figure { value, trust: Trust::Sampled { n, low, high } }
                }
                None => {
                    let why = "too few pairs, or a failure".to_owned();
                    Cell::Figure { value: None, trust: Trust::Unknown { why } }
                }
            });
        }
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    section("curve", "ratio to the first variant, with 95 % intervals", table)
}

fn section(id: &str, title: &str, table: Table) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        notes: Vec::new(),
        content: Content::Table(table),
    }
}

/// Where each variant and the first change places, and how each grows.
fn crossings(parameter: &str, steps: &[Step]) -> Section {
    let mut table = Table::new(vec![
        Column::text("variant", "variant"),
        Column::text("growth", "grows with"),
        Column::figure("crossover", "crossover", Unit::COUNT),
        Column::text("advice", "advice"),
    ]);
    let Some(first) = steps.first() else { return section("crossover", "crossover", table) };
    let values: Vec<u64> = steps.iter().filter_map(|step| step.at).collect();
    let (least, most) = (values.iter().min().unwrap_or(&0), values.iter().max().unwrap_or(&0));
    for (n, variant) in first.variants.iter().enumerate() {
        let metric = &first.settings.metric;
        let grows = costs(steps, n, metric);
        let grows = growth(&grows).map_or("too little to say", |fit| fit.form.name());
        let (at, advice) = if n == 0 {
            (Cell::Empty, "the reference".to_owned())
        } else {
            let points = steps.iter().filter_map(|step| {
                let pairs = pairs(step.rounds.get(1..)?, n, metric);
                Some(Point { at: step.at? as f64, pairs })
            });
            let found = crossover(&points.collect::<Vec<_>>(), first.settings.seed);
            advice(found.as_ref(), &first.variants[0].name, &variant.name, parameter)
        };
        let advice = if n == 0 {
            advice
        } else {
            format!("{advice} (measured for {parameter} from {least} to {most} only)")
        };
        table.row([variant.name.as_str().into(), grows.into(), at, advice.into()]);
    }
    section("crossover", "where they change places", table)
}

/// Medians of a variant's samples by the value of the sweep.
fn costs(steps: &[Step], variant: usize, metric: &Metric) -> Vec<(f64, f64)> {
    let cost = |step: &Step| {
        let samples = step.rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
        let good = samples.filter(|sample| sample.failure().is_none());
        let values: Vec<f64> = good.filter_map(|s| Some(metric.of(s)? as f64)).collect();
        Some((step.at? as f64, strobe_analyse::statistics::median(&values)?))
    };
    steps.iter().filter_map(cost).collect()
}

fn advice(found: Option<&Crossover>, first: &str, second: &str, parameter: &str) -> (Cell, String) {
    match found {
        None => (Cell::Empty, "nothing can be said".to_owned()),
        Some(Crossover::First) => (Cell::Empty, format!("{first} nowhere takes more")),
        Some(Crossover::Second) => (Cell::Empty, format!("{second} nowhere takes more")),
        Some(Crossover::Several(at)) => {
            (Cell::Empty, format!("they change places {} times", at.len()))
        }
        Some(Crossover::At { at, interval, first_below }) => {
            let (below, above) = if *first_below { (first, second) } else { (second, first) };
            let trust = Trust::Resolution {
                low: interval.low.min(*at).into(),
                high: interval.high.max(*at).into(),
            };
            let text = format!(
                "{below} below {parameter} = {:.0}, {above} above {:.0}",
                interval.low, interval.high
            );
            (Cell::Figure { value: Some(Number::from(*at)), trust }, text)
        }
    }
}

/// What each step contributes to the whole change (E8: which part is the algorithm's).
fn shares(step: &Step) -> Section {
    let mut table = Table::new(vec![
        Column::text("step", "step"),
        Column::figure("times", "times as fast", Unit::RATIO),
        Column::figure("share", "share of the whole", Unit::PERCENT),
    ]);
    let metric = &step.settings.metric;
    let medians: Vec<Option<f64>> = (0..step.variants.len())
        .map(|variant| {
            let all = Step {
                at: Some(1),
                variants: Vec::new(),
                rounds: step.rounds.clone(),
                settings: step.settings.clone(),
                counted: Vec::new(),
            };
            costs(&[all], variant, metric).first().map(|(_, cost)| *cost)
        })
        .collect();
    let whole = medians.first().copied().flatten().zip(medians.last().copied().flatten());
    for (n, pair) in medians.windows(2).enumerate() {
        let name = format!("{} -> {}", step.variants[n].name, step.variants[n + 1].name);
        let (Some(before), Some(after), Some((first, last))) = (pair[0], pair[1], whole) else {
            let unknown = || Cell::from(Quantity::unknown(Unit::RATIO, "a variant failed"));
            table.row([name.into(), unknown(), unknown()]);
            continue;
        };
        let share = (before / after).ln() / (first / last).ln() * 100.0;
        table.row([name.into(), (before / after).into(), share.into()]);
    }
    section("steps", "one change at a time: shares of the logarithm of the whole change", table)
}
