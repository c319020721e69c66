//! Rigs: several chips in one simulation, with wires between them and parts beside them, as a file
//! describes them.

mod simulate;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use strobe_devices::board::{Board, PartEntry};
use strobe_source::simulated::rig::{Pin, Wire};
use strobe_source::simulated::{Joined, Limit};
use strobe_symbols::Firmware;

pub use self::simulate::code_for;
use crate::files::{self, Kind};
use crate::simulate::{self as simulation, PathFor, Setup};
use crate::{board, exit, input};

/// A rig file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// What it is.
    name: String,
    /// How long a change on a wire takes to the other end.
    #[serde(default = "one_microsecond")]
    wire_delay: String,
    chip: Vec<ChipEntry>,
    #[serde(default)]
    wire: Vec<WireEntry>,
    #[serde(default)]
    part: Vec<RigPart>,
}

fn one_microsecond() -> String {
    "1us".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChipEntry {
    name: String,
    /// A board's name, or the path of a board file, from the rig file on.
    board: String,
    /// The path of its firmware, from the rig file on.
    firmware: PathBuf,
}

/// A wire between pins, each written `chip.PIN`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEntry {
    from: String,
    to: String,
}

/// A part beside a chip.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RigPart {
    name: String,
    model: String,
    /// Whose pins it is joined to.
    chip: String,
    /// What is put into it, from the rig file on.
    medium: Option<PathBuf>,
    #[serde(default)]
    options: toml::Table,
}

/// A chip with what is to be simulated on it.
pub struct Member {
    /// Its name in the rig.
    pub name: String,
    path: PathBuf,
    /// What it runs.
    pub firmware: Firmware,
    board: Board,
    /// Its parts, and what the rig file puts into them.
    parts: Vec<(String, Option<Vec<u8>>)>,
}

impl Member {
    /// What is in its parts: what was asked for or, without, what the rig file names.
    fn media(&self, asked: &[(String, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
        let given = |name: &str| asked.iter().find(|(part, _)| part == name).map(|(_, m)| m);
        let media = self
            .parts
            .iter()
            .filter_map(|(name, own)| Some((name.clone(), given(name).or(own.as_ref())?.clone())));
        media.collect()
    }
}

/// A rig that can be run.
pub struct Rig {
    /// What it is.
    pub name: String,
    /// Its file.
    path: PathBuf,
    /// Its chips.
    pub members: Vec<Member>,
    wires: Vec<Wire>,
    /// Nanoseconds that a wire takes.
    delay: u64,
    /// The chip that options are about.
    pub chosen: usize,
    /// Whether the others are not reported.
    alone: bool,
}

impl Rig {
    /// The chips that are reported, by their place among all.
    pub fn reported(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|i| *i == self.chosen || !self.alone)
    }

    /// What joins the chips.
    fn joined(&self) -> Joined {
        let name = |pin: &Pin| [self.members[pin.chip].name.clone(), pin.name.clone()];
        let wire = |wire: &Wire| {
            let [[from, from_pin], [to, to_pin]] = [name(&wire.from), name(&wire.to)];
            [from, from_pin, to, to_pin]
        };
        let wires = self.wires.iter().map(wire).collect();
        Joined { wires, delay_nanoseconds: self.delay }
    }

    /// Reads a rig file and all that it names; options are about the chip of that name or, without,
    /// the first.
    pub fn load(
        path: &Path,
        chip: Option<&str>,
        load: &[PathFor],
        setup: &Setup,
    ) -> anyhow::Result<Rig> {
        let shown = path.display();
        let text = files::text(path, &Kind::RIG)?;
        let wrong = |problem: String| {
            exit::data(format!("rig file {shown}: {}", problem.trim_end().replace('\n', "\n  ")))
        };
        let file: File = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let members = members(&file, base, (load, setup), &wrong)?;
        let wires = wires(&file).map_err(&wrong)?;
        let delay = match simulation::limit(&file.wire_delay) {
            Some(Limit::Nanoseconds(ns)) if (2..=1_000_000_000).contains(&ns) => ns,
            _ => return Err(wrong("wire_delay: a time from 2ns to 1s".to_owned())),
        };
        let chosen = match chip {
            None => 0,
            Some(name) => index(&file, name).map_err(exit::usage)?,
        };
        let (path, alone) = (path.to_owned(), chip.is_some());
        Ok(Rig { name: file.name, path, members, wires, delay, chosen, alone })
    }

    /// The chosen chip's board.
    pub fn board(&self) -> &Board {
        &self.members[self.chosen].board
    }
}

/// Refuses a rig file where a firmware is expected.
pub fn reject_rig(path: &Path) -> anyhow::Result<()> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = format!("{}: a rig file is given with --rig", path.display());
        return Err(exit::usage(text));
    }
    Ok(())
}

fn index(file: &File, name: &str) -> Result<usize, String> {
    file.chip.iter().position(|chip| chip.name == name).ok_or_else(|| {
        let known: Vec<&str> = file.chip.iter().map(|chip| chip.name.as_str()).collect();
        format!("the rig has no chip {name}; there are {}", known.join(", "))
    })
}

fn members(
    file: &File,
    base: &Path,
    (load, setup): (&[PathFor], &Setup),
    wrong: &dyn Fn(String) -> anyhow::Error,
) -> anyhow::Result<Vec<Member>> {
    if file.chip.is_empty() {
        return Err(wrong("it has no [[chip]]".to_owned()));
    }
    let mut members: Vec<Member> = Vec::new();
    for entry in &file.chip {
        if members.iter().any(|member| member.name == entry.name) {
            return Err(wrong(format!("chip {}: the name is given twice", entry.name)));
        }
        let is_path = entry.board.ends_with(".toml");
        let named = if is_path { base.join(&entry.board) } else { PathBuf::from(&entry.board) };
        let other = load.iter().find(|load| load.name == entry.name);
        let path = other.map_or_else(|| base.join(&entry.firmware), |load| load.path.clone());
        members.push(Member {
            name: entry.name.clone(),
            firmware: input::firmware(&path)?,
            board: board::load(&named.to_string_lossy())?,
            path,
            parts: Vec::new(),
        });
    }
    if let Some(load) = load.iter().find(|load| index(file, &load.name).is_err()) {
        return Err(exit::usage(index(file, &load.name).unwrap_err()));
    }
    for part in &file.part {
        let at = index(file, &part.chip).map_err(|e| wrong(format!("part {}: {e}", part.name)))?;
        if file.part.iter().filter(|other| other.name == part.name).count() > 1 {
            return Err(wrong(format!("part {}: the name is given twice", part.name)));
        }
        let member = &mut members[at];
        let (name, model, options) = (part.name.clone(), part.model.clone(), part.options.clone());
        let entry = PartEntry { name, model, options };
        member.board =
            member.board.clone().with_parts([entry]).map_err(|e| wrong(e.to_string()))?;
        let replaced = setup.world.insert.iter().any(|insert| insert.name == part.name);
        let medium = part.medium.as_ref().filter(|_| !replaced);
        let medium = medium.map(|medium| input::medium(&base.join(medium))).transpose()?;
        member.parts.push((part.name.clone(), medium));
    }
    let has_part = |name: &str| file.part.iter().any(|part| part.name == name);
    if let Some(insert) = setup.world.insert.iter().find(|insert| !has_part(&insert.name)) {
        return Err(exit::usage(format!("the rig has no part {}", insert.name)));
    }
    Ok(members)
}

fn wires(file: &File) -> Result<Vec<Wire>, String> {
    let pin = |text: &str| -> Result<Pin, String> {
        let (chip, name) =
            text.split_once('.').ok_or_else(|| format!("wire end {text}: write it CHIP.PIN"))?;
        let chip = index(file, chip).map_err(|e| format!("wire end {text}: {e}"))?;
        Ok(Pin { chip, name: name.to_owned() })
    };
    file.wire.iter().map(|wire| Ok(Wire { from: pin(&wire.from)?, to: pin(&wire.to)? })).collect()
}
