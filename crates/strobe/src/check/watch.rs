//! `strobe check --watch`: what each build changed, as soon as it is built.
//!
//! Files are looked at a few times a second: there are few in a firmware's tree, and no notice from
//! the system gets lost on a network's or a container's file system.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use strobe_analyse::budget::Line;
use strobe_report::check::line as words;

use super::baseline::Baseline;
use super::config::Config;
use super::evaluate::{self, Base};
use crate::{exit, interrupt, output};

const PAUSE: Duration = Duration::from_millis(150);

/// Files that are looked at, at most: beyond that the tree is not one of sources.
const MOST_FILES: usize = 20_000;

/// Directories that are not looked into, besides hidden ones.
const LEFT_OUT: [&str; 3] = ["target", "build", "node_modules"];

/// Checks after every change until Ctrl-C.
pub fn watch(config: &Config, directory: &Path) -> anyhow::Result<ExitCode> {
    let stop = interrupt::on_interrupt();
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let mut last: BTreeMap<String, f64> = BTreeMap::new();
    // Sources that changed during the last build: if they do so again, the build writes them.
    let mut generated: BTreeSet<PathBuf> = BTreeSet::new();
    while !stopped() {
        let baseline = Baseline::read(&directory.join(&config.baseline))?;
        // Before it is built: what changes meanwhile is the next build's.
        let before = sources(config, directory);
        let all = evaluate::measured(config, directory);
        if stopped() {
            break;
        }
        let base = baseline.map_or(Base::None, Base::Accepted);
        let lines = evaluate::lines(config, &all, &base, directory);
        output::write(shown(&lines, &last).as_bytes(), None)?;
        last = lines.iter().filter_map(|line| Some((words::title(line), value(line)?))).collect();
        // What somebody edits while it is built is for the next build; what building itself wrote
        // is no change.
        let mut seen = sources(config, directory);
        let changed: BTreeSet<PathBuf> = before
            .iter()
            .filter(|(path, time)| seen.get(*path) != Some(time))
            .map(|(path, _)| path.clone())
            .collect();
        for (path, time) in before {
            if is_source(&path) && !(generated.contains(&path) && changed.contains(&path)) {
                seen.insert(path, time);
            }
        }
        generated = changed;
        while !stopped() && sources(config, directory) == seen {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(exit::INTERRUPTED.into())
}

fn value(line: &Line) -> Option<f64> {
    Some(line.judged.value.as_ref()?.value()?.as_f64())
}

/// A line for each budget, with its change since the last build.
fn shown(lines: &[Line], last: &BTreeMap<String, f64>) -> String {
    let held = lines.iter().filter(|line| line.is_held()).count();
    let mut text = format!("{held} of {} budgets held\n", lines.len());
    for line in lines {
        let change = last.get(&words::title(line)).and_then(|was| words::change(line, *was));
        let change = change.map_or_else(String::new, |by| format!(" ({by} since the last build)"));
        let verdict = line.judged.verdict.name();
        text.push_str(&format!("  {verdict:<9} {}{change}\n", words::sentence(line)));
    }
    text
}

/// Whether people write such files, and builds do not.
fn is_source(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let endings =
        ["c", "h", "s", "rs", "cc", "cpp", "cxx", "hpp", "ld", "x", "toml", "cmake", "mk"];
    endings.contains(&&*ending)
}

/// When the files of the tree, and the firmwares, were last changed.
fn sources(config: &Config, directory: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let changed = |path: &Path| std::fs::metadata(path).ok()?.modified().ok();
    let mut all = BTreeMap::new();
    let mut open = Vec::new();
    if config.firmware.iter().any(|firmware| firmware.build.is_some()) {
        open.push(directory.to_owned());
    }
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if all.len() >= MOST_FILES {
                return all;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir() && !name.starts_with('.') && !LEFT_OUT.contains(&&*name) =>
                {
                    open.push(path);
                }
                Ok(kind) if kind.is_file() && is_source(&path) => {
                    all.extend(changed(&path).map(|time| (path, time)));
                }
                _ => {}
            }
        }
    }
    for firmware in config.firmware.iter().filter(|firmware| firmware.build.is_none()) {
        let path = directory.join(&firmware.elf);
        all.extend(changed(&path).map(|time| (path, time)));
    }
    all
}
