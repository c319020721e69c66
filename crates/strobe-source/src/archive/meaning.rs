//! From events to what they mean, by a table of names and fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use strobe_decode::ctf::{Event, EventClass, Type, Value};

/// The table that comes with strobe.
const BUILTIN: &str = include_str!("meanings.toml");

/// What an event means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning<'e> {
    /// A thread exists, and may have a name.
    Thread { thread: i64, name: Option<Cow<'e, str>> },
    /// A thread is no more.
    ThreadEnds { thread: i64 },
    /// A thread runs from here on.
    Runs { thread: i64, name: Option<Cow<'e, str>> },
    /// A thread runs no more.
    Stops { thread: i64 },
    /// One thread runs no more, another does.
    Switch { thread: i64, next: i64, name: Option<Cow<'e, str>> },
    /// A handler begins or ends.
    Interrupt { number: i64, enters: bool },
    /// A function begins or ends.
    Function { thread: i64, function: u32, enters: bool },
    /// So much is on a stack.
    Stack { thread: i64, function: u32, bytes: u64 },
    /// A block was taken.
    Alloc {
        thread: Option<i64>,
        address: u64,
        bytes: u64,
        requested: Option<u64>,
        callers: Vec<u32>,
    },
    /// A block was freed.
    Free { address: u64 },
    /// A transfer begins or ends.
    Transfer { interface: Cow<'e, str>, direction: Cow<'e, str>, bytes: Option<u64>, starts: bool },
    /// A timer starts or stops.
    Timer { timer: Cow<'e, str>, starts: bool },
    /// A measurement begins or ends.
    Window { starts: bool },
    /// The tracer does something of its own, or no longer.
    Pause { starts: bool },
    /// Nobody has anything to do.
    Idle,
}

/// What the table can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MeaningRow {
    ThreadNamed,
    ThreadExists,
    ThreadEnds,
    ThreadRuns,
    ThreadStops,
    Switch,
    InterruptEnters,
    InterruptExits,
    FunctionEnters,
    FunctionExits,
    StackDepth,
    HeapAlloc,
    HeapFree,
    TransferStarts,
    TransferEnds,
    TimerStarts,
    TimerStops,
    WindowStarts,
    WindowStops,
    PauseStarts,
    PauseStops,
    Idle,
}

impl MeaningRow {
    /// In words, for a report.
    fn name(self) -> &'static str {
        match self {
            MeaningRow::ThreadNamed | MeaningRow::ThreadExists => "thread exists",
            MeaningRow::ThreadEnds => "thread ends",
            MeaningRow::ThreadRuns => "thread runs",
            MeaningRow::ThreadStops => "thread stops",
            MeaningRow::Switch => "another thread runs",
            MeaningRow::InterruptEnters => "handler begins",
            MeaningRow::InterruptExits => "handler ends",
            MeaningRow::FunctionEnters => "function begins",
            MeaningRow::FunctionExits => "function ends",
            MeaningRow::StackDepth => "depth of a stack",
            MeaningRow::HeapAlloc => "block taken",
            MeaningRow::HeapFree => "block freed",
            MeaningRow::TransferStarts => "transfer begins",
            MeaningRow::TransferEnds => "transfer ends",
            MeaningRow::TimerStarts => "timer starts",
            MeaningRow::TimerStops => "timer stops",
            MeaningRow::WindowStarts => "measurement begins",
            MeaningRow::WindowStops => "measurement ends",
            MeaningRow::PauseStarts => "tracer pauses",
            MeaningRow::PauseStops => "tracer goes on",
            MeaningRow::Idle => "idle",
        }
    }
}

/// An entry of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    means: MeaningRow,
    #[serde(default)]
    when: BTreeMap<String, String>,
    thread: Option<String>,
    next: Option<String>,
    called: Option<String>,
    number: Option<String>,
    function: Option<String>,
    bytes: Option<String>,
    address: Option<String>,
    requested: Option<String>,
    #[serde(default)]
    callers: Vec<String>,
    interface: Option<String>,
    direction: Option<String>,
    timer: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    event: Vec<Entry>,
}

/// A table that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not TOML, or has other keys than it should.
    #[error("not a table of meanings: {0}")]
    Syntax(#[from] toml::de::Error),
    /// An entry does not name the field for a key that it needs.
    #[error("the entry of event `{event}` does not name the field for `{key}`")]
    Field {
        /// The event.
        event: String,
        /// What it must name.
        key: &'static str,
    },
}

/// The table.
#[derive(Debug, Clone)]
pub struct Meanings {
    by_name: HashMap<String, Vec<Entry>>,
}

impl Meanings {
    /// The table that comes with strobe, with another's entries before it.
    ///
    /// # Errors
    /// When the other is not such a table.
    pub fn new(more: Option<&str>) -> Result<Meanings, Error> {
        let mut by_name: HashMap<String, Vec<Entry>> = HashMap::new();
        for text in more.into_iter().chain([BUILTIN]) {
            let file: File = toml::from_str(text)?;
            for entry in file.event {
                entry.check()?;
                by_name.entry(entry.name.clone()).or_default().push(entry);
            }
        }
        Ok(Meanings { by_name })
    }

    fn entries<'m>(&'m self, class: &EventClass) -> impl Iterator<Item = &'m Entry> {
        let entries = self.by_name.get(&class.name).into_iter().flatten();
        entries.filter(move |entry| entry.fits(class))
    }

    /// What events of a kind are taken for, in words.
    pub(super) fn words(&self, class: &EventClass) -> Option<String> {
        let mut words: Vec<&str> = Vec::new();
        for entry in self.entries(class) {
            if !words.contains(&entry.means.name()) {
                words.push(entry.means.name());
            }
            if entry.when.is_empty() {
                break;
            }
        }
        (!words.is_empty()).then(|| words.join(" or "))
    }
}

/// Finds the meanings of a trace's events; looks each class up once.
pub(super) struct Interpreter<'m> {
    meanings: &'m Meanings,
    /// The entries that fit a class, by its index.
    classes: Vec<Option<Vec<&'m Entry>>>,
}

impl<'m> Interpreter<'m> {
    pub(super) fn new(meanings: &'m Meanings) -> Self {
        Interpreter { meanings, classes: Vec::new() }
    }

    /// What an event means.
    pub(super) fn meaning<'e>(&mut self, event: &'e Event) -> Option<Meaning<'e>> {
        let class = event.class;
        if class.index >= self.classes.len() {
            self.classes.resize(class.index + 1, None);
        }
        let entries =
            self.classes[class.index].get_or_insert_with(|| self.meanings.entries(class).collect());
        let is = |(field, label): (&String, &String)| {
            event.get(field).and_then(Value::label) == Some(label.as_str())
        };
        entries.iter().find(|entry| entry.when.iter().all(is))?.meaning(event)
    }
}

impl Entry {
    /// Fields that it names.
    fn fields(&self) -> impl Iterator<Item = &String> {
        let optional = [
            &self.thread,
            &self.next,
            &self.called,
            &self.number,
            &self.function,
            &self.bytes,
            &self.address,
            &self.requested,
            &self.interface,
            &self.direction,
            &self.timer,
        ];
        optional.into_iter().flatten().chain(&self.callers).chain(self.when.keys())
    }

    fn fits(&self, class: &EventClass) -> bool {
        let fields = match class.fields.as_deref() {
            Some(Type::Struct(structure)) => &structure.fields[..],
            _ => &[],
        };
        self.fields().all(|name| fields.iter().any(|field| field.name == *name))
    }

    /// That it names what its meaning needs.
    fn check(&self) -> Result<(), Error> {
        use MeaningRow::*;
        let needs: &[(&'static str, &Option<String>)] = match self.means {
            ThreadNamed | ThreadExists | ThreadEnds | ThreadRuns | ThreadStops => {
                &[("thread", &self.thread)]
            }
            Switch => &[("thread", &self.thread), ("next", &self.next)],
            InterruptEnters | InterruptExits => &[("number", &self.number)],
            FunctionEnters | FunctionExits => &[("function", &self.function)],
            StackDepth => &[("thread", &self.thread), ("bytes", &self.bytes)],
            HeapAlloc => &[("address", &self.address), ("bytes", &self.bytes)],
            HeapFree => &[("address", &self.address)],
            TransferStarts | TransferEnds => &[("interface", &self.interface)],
            TimerStarts | TimerStops => &[("timer", &self.timer)],
            WindowStarts | WindowStops | PauseStarts | PauseStops | Idle => &[],
        };
        match needs.iter().find(|(_, field)| field.is_none()) {
            Some((key, _)) => Err(Error::Field { event: self.name.clone(), key }),
            None => Ok(()),
        }
    }

    /// The meaning; `None` if a field is not of the type that it should be.
    fn meaning<'e>(&self, event: &'e Event) -> Option<Meaning<'e>> {
        let value = |field: &Option<String>| event.get(field.as_ref()?);
        let signed = |field| i64::try_from(value(field)?.number()?.wide()).ok();
        let unsigned = |field| value(field).and_then(Value::unsigned);
        let address = |field| u32::try_from(unsigned(field)?).ok();
        let text = |field: &Option<String>| value(field).map(shown);
        let thread = signed(&self.thread);
        let name = || text(&self.called).filter(|name| !name.is_empty());
        let meaning = match self.means {
            MeaningRow::ThreadNamed | MeaningRow::ThreadExists => {
                Meaning::Thread { thread: thread?, name: name() }
            }
            MeaningRow::ThreadEnds => Meaning::ThreadEnds { thread: thread? },
            MeaningRow::ThreadRuns => Meaning::Runs { thread: thread?, name: name() },
            MeaningRow::ThreadStops => Meaning::Stops { thread: thread? },
            MeaningRow::Switch => {
                Meaning::Switch { thread: thread?, next: signed(&self.next)?, name: name() }
            }
            MeaningRow::InterruptEnters | MeaningRow::InterruptExits => Meaning::Interrupt {
                number: signed(&self.number)?,
                enters: self.means == MeaningRow::InterruptEnters,
            },
            MeaningRow::FunctionEnters | MeaningRow::FunctionExits => Meaning::Function {
                thread: thread.unwrap_or(0),
                function: address(&self.function)?,
                enters: self.means == MeaningRow::FunctionEnters,
            },
            MeaningRow::StackDepth => Meaning::Stack {
                thread: thread?,
                function: address(&self.function).unwrap_or(0),
                bytes: unsigned(&self.bytes)?,
            },
            MeaningRow::HeapAlloc => Meaning::Alloc {
                thread,
                address: unsigned(&self.address)?,
                bytes: unsigned(&self.bytes)?,
                requested: unsigned(&self.requested),
                callers: self
                    .callers
                    .iter()
                    .filter_map(|field| u32::try_from(event.get(field)?.unsigned()?).ok())
                    // Where the target's unwinder had no more.
                    .filter(|caller| *caller != 0)
                    .collect(),
            },
            MeaningRow::HeapFree => Meaning::Free { address: unsigned(&self.address)? },
            MeaningRow::TransferStarts | MeaningRow::TransferEnds => Meaning::Transfer {
                interface: text(&self.interface)?,
                direction: text(&self.direction).unwrap_or_default(),
                bytes: unsigned(&self.bytes),
                starts: self.means == MeaningRow::TransferStarts,
            },
            MeaningRow::TimerStarts | MeaningRow::TimerStops => Meaning::Timer {
                timer: text(&self.timer)?,
                starts: self.means == MeaningRow::TimerStarts,
            },
            MeaningRow::WindowStarts => Meaning::Window { starts: true },
            MeaningRow::WindowStops => Meaning::Window { starts: false },
            MeaningRow::PauseStarts => Meaning::Pause { starts: true },
            MeaningRow::PauseStops => Meaning::Pause { starts: false },
            MeaningRow::Idle => Meaning::Idle,
        };
        Some(meaning)
    }
}

/// A value as a name: a text as it is, an enumeration's label, anything else as it is shown.
fn shown<'v>(value: &'v Value) -> Cow<'v, str> {
    match (value.text(), value.label()) {
        (Some(text), _) => text.into(),
        (None, Some(label)) => label.into(),
        (None, None) => value.to_string().into(),
    }
}
