//! An experiment from start to end: builds, services, a bench at each value of the sweep.

mod expect;
mod profiles;
mod services;
mod sweep;

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use strobe_model::measurement::{Finding, Measurement, Severity};

use crate::bench::{Bench, Meter, Settings};
use crate::claim;
use crate::file::{ConditionError, File, VariantFile};
use crate::host::{self, Command, Count, Counted, Ended, Host, Probe};
use crate::lock;
use crate::measurement::{Parts, measurement};
use crate::placeholders::{self, Names};
use crate::samples::{Log, Metric, Round, Sample, Variant};

/// The description's name.
const FILE: &str = "experiment.toml";

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
    profiles: profiles::Profiles,
    /// Why not all of its rounds are in the file of samples.
    unkept: Option<String>,
}

impl Run<'_> {
    /// Programs that are missing.
    pub fn missing(&self) -> Vec<String> {
        let path = path();
        let is_there = |name: &String| std::env::split_paths(&path).any(|p| p.join(name).is_file());
        let missing: Vec<String> =
            self.file.needs.iter().filter(|name| !is_there(name)).cloned().collect();
        if let Some(why) = self.uncounted().filter(|_| missing.is_empty()) {
            return vec![why];
        }
        let Some(line) = self.file.available.as_ref().filter(|_| missing.is_empty()) else {
            return missing;
        };
        match self.once("available", line, &Names::new(), Duration::from_secs(30)) {
            Ok(()) => missing,
            Err(_) => vec![format!("what `{line}` looks for")],
        }
    }

    /// What is judged, if this machine cannot count it.
    fn uncounted(&self) -> Option<String> {
        host::uncounted(self.host, Metric::named(&self.file.measure.metric).event()?, self.stop)
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
        names.insert("agents".to_owned(), self.agents()?.display().to_string());
        self.build(&names, show)?;
        let mut services = self.services(&mut names, show)?;
        let mut steps = Vec::new();
        let mut broken = None;
        let mut clock = 0;
        for at in self.file.values(self.quick) {
            let shown =
                at.map_or_else(|| "measuring".to_owned(), |at| format!("measuring at {at}"));
            show(&shown);
            let step = self.step(at, &names)?;
            clock = Probe::new(self.kept).clock_ns;
            let is_over = step.rounds.is_empty() || step.unkept.is_some();
            steps.push(step);
            broken = services.broken();
            if is_over || broken.is_some() || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        services.stop();
        if steps.iter().all(|step| step.rounds.is_empty()) {
            return Err(broken.unwrap_or(Error::Stopped));
        }
        steps.retain(|step| !step.rounds.is_empty());
        let mut result = self.result(&steps, clock);
        if let Some(error) = broken {
            let finding = Finding::new(Severity::Warning, "failed", error.to_string());
            result.findings.insert(0, finding);
        }
        Ok(result)
    }

    /// Keeps others out until it goes: two runs would build over each other's programs.
    fn claim(&self) -> Result<std::fs::File, Error> {
        let path = self.kept.join("lock");
        let claimed = std::fs::File::create(&path).and_then(|file| match lock::take(&file) {
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

    /// The folder with the sources of the agents.
    fn agents(&self) -> Result<PathBuf, Error> {
        let folder = self.made("agents")?;
        for agent in self.file.measure.agents() {
            let io = |error| Error::Io(agent.file.to_owned(), error);
            agent.put(&folder).map_err(io)?;
        }
        Ok(folder)
    }

    fn build(&self, names: &Names, show: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let own = self.file.variant.iter().filter_map(|variant| variant.build.as_ref());
        for line in self.file.build.iter().chain(own) {
            show("building");
            self.once("build", line, names, Duration::from_secs(300))?;
        }
        Ok(())
    }

    /// A command of the description, in the experiment's folder.
    fn command(&self, line: &str, names: &Names) -> Command {
        let environment = [("PATH".to_owned(), path())];
        Command {
            environment: environment.into(),
            folder: Some(self.folder.to_owned()),
            ..Command::line(&placeholders::in_shell(line, names))
        }
    }

    /// Runs a command of the description that must succeed.
    fn once(&self, what: &str, line: &str, names: &Names, limit: Duration) -> Result<(), Error> {
        let errors = self.kept.join("errors");
        let command = Command {
            errors: Some(errors.clone()),
            output: Some(self.kept.join("output")),
            ..self.command(line, names).within(limit)
        };
        match host::run(self.host, &command, self.stop).ended {
            Ended::Exit(0) => Ok(()),
            Ended::Stopped => Err(Error::Stopped),
            ended => Err(Error::Failed {
                what: format!("{what} `{}`", command.arguments.join(" ")),
                why: ended.to_string(),
                errors: host::tail(&errors, 8).unwrap_or_default(),
            }),
        }
    }

    fn step(&self, at: Option<u64>, names: &Names) -> Result<Step, Error> {
        let mut names = names.clone();
        if let (Some(sweep), Some(at)) = (&self.file.sweep, at) {
            names.insert(sweep.parameter.clone(), at.to_string());
        }
        let variants: Vec<Variant> =
            self.file.variant.iter().map(|variant| self.variant(variant, &names)).collect();
        let settings = self.settings(&names)?;
        let quick = if self.quick { "quick-" } else { "" };
        let path = self.kept.join(format!("{quick}samples-{}.jsonl", at.unwrap_or(0)));
        let io = |error| Error::Io(path.display().to_string(), error);
        // Ports differ from run to run: such samples are not gone on with.
        let is_new = !self.file.service.is_empty();
        if is_new {
            let _ = std::fs::remove_file(&path);
        }
        // Where programs lie may change between a run and the one that goes on with it.
        let mut kept = variants.clone();
        kept.iter_mut().for_each(|variant| drop(variant.command.environment.remove("PATH")));
        let opened = Log::open(&path, &kept, settings.seed, self.stop);
        let (mut log, mut rounds) = opened.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Error::Stopped,
            _ => io(error),
        })?;
        let conditions = &self.file.variant;
        let check = |variant: usize, sample: &Sample| -> Result<(), ConditionError> {
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
        // What was measured is shown also where the disk has no room for it.
        let written = bench.run(&mut rounds, Some(&mut log), &mut |_| {}).map_err(io);
        let unkept = written.err().map(|error| format!("rounds are not kept: {error}"));
        let counted = bench.counted(10);
        let profiles = self.profiles(&names, settings.timeout.saturating_mul(10));
        if unkept.is_none() && !self.stop.load(Ordering::Relaxed) {
            // Whole: the next run begins anew.
            drop(log);
            let done = path.with_extension("done.jsonl");
            std::fs::rename(&path, &done).map_err(io)?;
        }
        Ok(Step { at, variants, rounds, settings, counted, profiles, unkept })
    }

    fn variant(&self, variant: &VariantFile, names: &Names) -> Variant {
        let mut command = self.command(&variant.run, names);
        let own =
            variant.env.iter().map(|(key, value)| (key.clone(), placeholders::plain(value, names)));
        command.environment.extend(own);
        Variant { name: variant.name.clone(), command }
    }

    fn settings(&self, names: &Names) -> Result<Settings, Error> {
        let measure = &self.file.measure;
        let seconds = if self.quick { measure.quick_seconds } else { measure.seconds };
        let settings = Settings {
            time: Duration::from_secs_f64(seconds),
            threshold: measure.threshold / 100.0,
            timeout: Duration::from_secs_f64(measure.timeout_seconds),
            metric: Metric::named(&measure.metric),
            same_output: measure.same_output,
            counters: measure.all_counters(),
            values: measure.all_values(),
            meters: self.meters(names),
            // Three runs show that a count repeats.
            least_rounds: if self.file.expect.iter().any(|e| e.exactly.is_some()) { 3 } else { 2 },
            lateness: measure.lateness_ms.map(Duration::from_millis),
            counts: measure.instructions.then_some(Count::Instructions).into_iter().collect(),
            ..Settings::default()
        };
        settings
            .with_instruments(&measure.instruments)
            .map_err(|error| Error::Io(FILE.to_owned(), io::Error::other(error)))
    }

    /// What prints the services' counters.
    fn meters(&self, names: &Names) -> Vec<Meter> {
        let meter = |name: &String, line: &String| Meter {
            name: name.clone(),
            command: self.command(line, names),
        };
        let services = self.file.service.iter();
        services.filter_map(|s| Some(meter(&s.name, s.counters.as_ref()?))).collect()
    }

    fn result(&self, steps: &[Step], clock_ns: u64) -> Measurement {
        let interrupted = self.stop.load(Ordering::Relaxed);
        let one = |step: &Step| {
            let mut measurement = measurement(&Parts {
                title: self.name,
                variants: &step.variants,
                rounds: &step.rounds,
                settings: &step.settings,
                counted: &step.counted,
                clock_ns,
                interrupted,
                tool: self.tool,
            });
            measurement.sections.extend(step.profiles.sections.iter().cloned());
            measurement.findings.extend(step.profiles.findings.iter().cloned());
            measurement
        };
        let mut whole = match &self.file.sweep {
            Some(sweep) => sweep::whole(&sweep.parameter, steps, one),
            None => steps.first().map_or_else(empty, one),
        };
        whole
            .subject
            .facts
            .push(strobe_model::measurement::Fact::text("question", &self.file.question));
        if self.file.sweep.is_none()
            && self.file.measure.steps
            && let Some(step) = steps.first()
        {
            whole.sections.insert(0, sweep::shares(step));
        }
        whole.sections.extend(claim::table(&self.file.claim));
        for expect in &self.file.expect {
            if let Err(error) = expect::holds(expect, steps) {
                let text = error.to_string();
                whole.findings.insert(0, Finding::new(Severity::Warning, "expectation", text));
            }
        }
        for why in steps.iter().filter_map(|step| step.unkept.as_ref()) {
            whole.findings.insert(0, Finding::new(Severity::Warning, "failed", why));
        }
        whole
    }
}

fn empty() -> Measurement {
    use strobe_model::measurement::{Ended, Instrument, Subject, Window};
    let window = Window::untimed("nothing was measured", Ended::default());
    Measurement::new(Subject::default(), Instrument::default(), window)
}

/// Where programs are looked for: also where servers lie, which the users' own `PATH` leaves out on
/// Debian.
fn path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let missing = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
    let missing = missing.into_iter().filter(|folder| !path.split(':').any(|has| has == *folder));
    missing.fold(path.clone(), |path, folder| format!("{path}:{folder}"))
}
