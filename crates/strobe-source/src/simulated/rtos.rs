//! Operating systems as data: a file lists the variables and members that describe threads, the
//! firmware's debug information has their places.
//!
//! The format is documented in this crate's `rtos/README.md`. What a firmware does not have is said
//! and done without.

use crate::simulated::run_record::Rtos;
use serde::Deserialize;
use strobe_sim::observe::rtos::{Form, Layout, Ready, Step, Test, Walk};
use strobe_symbols::{Firmware, Route, TypeError, TypeId, Types, Value};

/// A description of an operating system.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    name: String,
    variables: Vec<String>,
    layout: Vec<LayoutEntry>,
}

/// Error in the description of an operating system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// Not TOML, or an unknown or missing key.
    #[error("{message}")]
    Syntax {
        /// Message of the TOML parser, with the line.
        message: String,
    },
    /// No variable or no layout.
    #[error("at least one variable and one [[layout]] are needed")]
    Empty,
    /// Both tests of a thread's state, or none.
    #[error("[[layout.ready]] needs either `one_of` or `inside`")]
    Ready,
}

/// The firmware does not contain the operating system that the settings name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this firmware does not contain {name}: it has no variable {variable}")]
pub struct MissingSystem {
    /// Name of the system.
    pub name: String,
    /// The first variable that the firmware lacks.
    pub variable: String,
}

/// Where its structures are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutEntry {
    running: Paths,
    #[serde(rename = "type")]
    of: Option<String>,
    name: Option<Paths>,
    priority: Option<Paths>,
    id: Option<Paths>,
    stack: Option<Paths>,
    #[serde(default)]
    ready: Vec<ReadyEntry>,
}

/// What shows that a thread could run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyEntry {
    state: Paths,
    #[serde(default)]
    one_of: Vec<Constant>,
    mask: Option<u32>,
    #[serde(default)]
    inside: Vec<String>,
}

/// One path, or several of which the first that exists counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Several(Vec<String>),
}

impl Paths {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Paths::One(one) => std::slice::from_ref(one),
            Paths::Several(several) => several.as_slice(),
        };
        all.iter().map(String::as_str)
    }
}

/// A number or the name of an enumeration's constant.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Constant {
    Number(u32),
    Name(String),
}

/// Which operating systems to look for.
#[derive(Debug, Clone, Default)]
pub enum Systems {
    /// Those that come with the project.
    #[default]
    BuiltIn,
    /// None: threads go by their stacks.
    None,
    /// This one, which the firmware must have.
    This(Box<Description>),
}

/// What comes with the project.
const BUILTIN: &[(&str, &str)] = &[
    ("freertos.toml", include_str!("../../rtos/freertos.toml")),
    ("nuttx.toml", include_str!("../../rtos/nuttx.toml")),
    ("riot.toml", include_str!("../../rtos/riot.toml")),
    ("zephyr.toml", include_str!("../../rtos/zephyr.toml")),
];

impl Description {
    /// Parses a description.
    ///
    /// # Errors
    /// When it is not TOML or lacks something; the text names the line.
    pub fn parse(toml: &str) -> Result<Self, DescriptionError> {
        let parsed: Description = toml::from_str(toml).map_err(|e| DescriptionError::Syntax {
            message: e.to_string().trim_end().to_owned(),
        })?;
        if parsed.variables.is_empty() || parsed.layout.is_empty() {
            return Err(DescriptionError::Empty);
        }
        for ready in parsed.layout.iter().flat_map(|layout| &layout.ready) {
            if ready.one_of.is_empty() == ready.inside.is_empty() {
                return Err(DescriptionError::Ready);
            }
        }
        Ok(parsed)
    }

    /// What the system is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variable that the firmware would need and has not.
    fn missing(&self, firmware: &Firmware) -> Option<&str> {
        let has = |name: &&String| !firmware.data_symbols().iter().any(|s| s.name == **name);
        self.variables.iter().find(has).map(String::as_str)
    }
}

/// Looks for the operating system and for what it keeps of its threads.
///
/// # Errors
/// When the firmware has not the system that was asked for.
pub(super) fn find(
    firmware: &Firmware,
    systems: &Systems,
) -> Result<(Option<Layout>, Option<Rtos>), MissingSystem> {
    let description = match systems {
        Systems::None => return Ok((None, None)),
        Systems::This(description) => match description.missing(firmware) {
            None => Description::clone(description),
            Some(variable) => {
                let (name, variable) = (description.name.clone(), variable.to_owned());
                return Err(MissingSystem { name, variable });
            }
        },
        Systems::BuiltIn => {
            let parse = |(file, toml): &(&str, &str)| {
                // They are constants, and a test parses them.
                Description::parse(toml).unwrap_or_else(|e| unreachable!("rtos/{file}: {e}"))
            };
            match BUILTIN.iter().map(parse).find(|known| known.missing(firmware).is_none()) {
                Some(found) => found,
                None => return Ok((None, None)),
            }
        }
    };
    let mut rtos = Rtos { name: description.name.clone(), understood: false, notes: Vec::new() };
    let layout = layout(firmware, &description, &mut rtos.notes);
    rtos.understood = layout.is_some();
    Ok((layout, Some(rtos)))
}

/// The first layout that the firmware has.
fn layout(
    firmware: &Firmware,
    description: &Description,
    notes: &mut Vec<String>,
) -> Option<Layout> {
    let types = firmware.types();
    let name = &description.name;
    if types.is_empty() {
        notes.push(format!(
            "{name} is in this firmware, but without debug information (compile with -g) its \
             threads have no names"
        ));
        return None;
    }
    let mut first_error = None;
    for entry in &description.layout {
        match start(&types, entry) {
            Ok((running, of)) => {
                return Some(rest(firmware, &types, entry, running, of, name, notes));
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    let why = first_error.map_or_else(String::new, |error| format!(": {error}"));
    notes.push(format!("{name} is in this firmware, but its threads cannot be read{why}"));
    None
}

/// The way to the running thread's structure, and its type.
fn start(types: &Types<'_>, entry: &LayoutEntry) -> Result<(Walk, TypeId), TypeError> {
    let route = first(&entry.running, |path| types.variable(path))?;
    let of = match &entry.of {
        Some(of) => types.named(of)?,
        None => route.target,
    };
    let mut steps = steps(&route);
    if let Value::Pointer { .. } = route.value {
        steps.push(Step::Load);
    }
    Ok((Walk { steps, form: Form::Address }, of))
}

/// Everything else; what is not there is left out.
fn rest(
    firmware: &Firmware,
    types: &Types<'_>,
    entry: &LayoutEntry,
    running: Walk,
    of: TypeId,
    system: &str,
    notes: &mut Vec<String>,
) -> Layout {
    let mut member = |paths: &Option<Paths>, otherwise: Option<&str>, is_text: bool| {
        let route = first(paths.as_ref()?, |path| types.member(of, path));
        let walk = route.map_err(|error| error.to_string()).and_then(|route| {
            walk(&route, is_text).ok_or_else(|| "the member is of no type that helps".to_owned())
        });
        match (walk, otherwise) {
            (Ok(walk), _) => Some(walk),
            (Err(error), Some(otherwise)) => {
                notes.push(format!("{system}: {error}; {otherwise}"));
                None
            }
            (Err(_), None) => None,
        }
    };
    let name = member(&entry.name, Some("threads are called by their variables"), true);
    let priority = member(&entry.priority, Some("priorities are not shown"), false);
    let id = member(&entry.id, None, false);
    let stack = member(&entry.stack, None, false);
    let mut ready = Vec::new();
    for entry in &entry.ready {
        ready.extend(self::ready(firmware, types, entry, of));
    }
    if ready.is_empty() && !entry.ready.is_empty() {
        notes.push(format!(
            "{system}: nothing shows which threads wait, so a wake-up counts from the exception \
             that led to the run"
        ));
    }
    Layout { running, bytes: types.bytes(of), name, priority, id, stack, ready }
}

fn ready(firmware: &Firmware, types: &Types<'_>, entry: &ReadyEntry, of: TypeId) -> Option<Ready> {
    let state = walk(&first(&entry.state, |path| types.member(of, path)).ok()?, false)?;
    let value = |constant: &Constant| match constant {
        Constant::Number(number) => Some(*number),
        Constant::Name(name) => types.enumerator(name).map(|value| value as u32),
    };
    let values: Vec<u32> = entry.one_of.iter().filter_map(value).collect();
    let range = |name: &String| {
        let symbol = firmware.data_symbols().iter().find(|s| s.name == *name && s.size > 0)?;
        Some(symbol.address..symbol.address.saturating_add(symbol.size))
    };
    let inside: Vec<_> = entry.inside.iter().filter_map(range).collect();
    let test = match (values.is_empty(), inside.is_empty()) {
        (false, _) => Test::OneOf { mask: entry.mask.unwrap_or(u32::MAX), values },
        (true, false) => Test::Inside(inside),
        (true, true) => return None,
    };
    Some(Ready { state, test })
}

/// The first path that exists, else what is wrong with the first of all.
fn first(
    paths: &Paths,
    mut look: impl FnMut(&str) -> Result<Route, TypeError>,
) -> Result<Route, TypeError> {
    let mut first_error = None;
    for path in paths.iter() {
        match look(path) {
            Ok(route) => return Ok(route),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(TypeError::Syntax { path: String::new() }))
}

fn steps(route: &Route) -> Vec<Step> {
    let step = |step: &strobe_symbols::Step| match step {
        strobe_symbols::Step::Add(bytes) => Step::Add(*bytes),
        strobe_symbols::Step::Load => Step::Load,
    };
    route.steps.iter().map(step).collect()
}

/// Longest text behind a pointer.
const MAX_TEXT: u32 = 64;

/// A member as the simulator reads it.
fn walk(route: &Route, is_text: bool) -> Option<Walk> {
    let mut steps = steps(route);
    let form = match (&route.value, is_text) {
        (Value::Text { bytes }, true) => Form::Text { bytes: *bytes },
        (Value::Pointer { to_text: true }, true) => {
            steps.push(Step::Load);
            Form::Text { bytes: MAX_TEXT }
        }
        (Value::Number { bytes, signed }, false) => {
            Form::Number { bytes: u8::try_from(*bytes).ok()?, signed: *signed }
        }
        (Value::Pointer { .. }, false) => Form::Number { bytes: 4, signed: false },
        _ => return None,
    };
    Some(Walk { steps, form })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_description_that_comes_along_is_read() {
        for (file, toml) in BUILTIN {
            let parsed = Description::parse(toml).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(file.starts_with(&parsed.name.to_lowercase()), "{file}");
        }
    }

    #[test]
    fn a_wrong_description_is_reported_what_is_wrong() {
        let wrong = |toml: &str| Description::parse(toml).expect_err(toml).to_string();
        assert!(wrong("name = 'x'").contains("missing field `variables`"));
        assert!(wrong("name='x'\nvariables=[]\nlayout=[]").contains("at least one variable"));
        let layout = "name='x'\nvariables=['x']\n[[layout]]\nrunning='x'\n";
        assert!(Description::parse(layout).is_ok());
        assert!(wrong(&format!("{layout}nmae='y'")).contains("unknown field `nmae`"));
        let ready = format!("{layout}[[layout.ready]]\nstate='s'");
        assert!(wrong(&ready).contains("either `one_of` or `inside`"));
    }
}
