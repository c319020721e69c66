//! The format of callgrind, for KCachegrind, QCachegrind and callgrind_annotate: costs by
//! instruction and line, and calls with what they cost altogether.
//!
//! Own costs are those of places, calls those of call chains. Labels are functions without costs
//! that call what runs under them. As in callgrind's own files, what a function of a recursion
//! costs with its calls can be more than the total.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use strobe_model::measurement::ids;

use strobe_model::measurement::Measurement;

use super::chains::{At, Chains, Name, Sample};
use super::{About, Choice, Export, ExportError, InputKind, Output};
use crate::visible::is_obeyed;

/// The format.
pub(super) struct Callgrind;

/// Costs of each event.
type Costs = Vec<i128>;

/// A place in a function: file, address, line. Where something is not known it is 0.
type Place = (Option<u32>, u64, u32);

/// What a function costs.
#[derive(Default)]
struct Function {
    own: BTreeMap<Place, Costs>,
    /// By who is called and from where: how often, and all that it cost.
    calls: BTreeMap<(Name, Place), (i128, Costs)>,
}

impl Export for Callgrind {
    fn about(&self) -> About {
        About {
            name: "callgrind",
            aliases: &["cachegrind"],
            extension: Some("callgrind"),
            takes: InputKind::Profile,
            help: "costs by line, address and call, for KCachegrind and callgrind_annotate",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let profile = super::profile(measurement, choice, self.about())?;
        let of = |by_place| Chains::new(profile, &Choice { by_place, ..choice.clone() });
        let (places, chains) = (of(true)?, of(false)?);
        let events: Vec<usize> = (0..places.measures.len()).collect();
        places.without_negative(&events, self.about().name)?;
        chains.without_negative(&events, self.about().name)?;
        let mut functions = BTreeMap::new();
        own(&places, &mut functions);
        calls(&chains, &mut functions);
        let mut names = Names { chains: &places, files: HashMap::new(), functions: HashMap::new() };
        let out = out.file("")?;
        write!(out, "{}", header(measurement, &places))?;
        for (name, function) in &functions {
            write!(out, "{}", names.function(*name, function))?;
        }
        writeln!(out, "\ntotals:{}", costs(&events.iter().map(|i| places.total(*i)).collect()))?;
        Ok(())
    }
}

fn header(measurement: &Measurement, chains: &Chains) -> String {
    let mut text = format!(
        "# callgrind format\nversion: 1\ncreator: {}\ncmd: {}\n",
        plain(&measurement.instrument.tool),
        plain(&measurement.subject.name)
    );
    let mut names: Vec<String> = Vec::new();
    for (i, measure) in chains.measures.iter().enumerate() {
        let name = event(&measure.id);
        let taken = name.is_empty() || names.contains(&name);
        names.push(if taken { format!("{name}Event{i}") } else { name });
    }
    text += "positions: instr line\n";
    for (name, measure) in names.iter().zip(&chains.measures) {
        let _ = writeln!(text, "event: {name} : {} ({})", plain(&measure.title), measure.unit);
    }
    let _ = writeln!(text, "events: {}", names.join(" "));
    let all = (0..names.len()).map(|i| chains.total(i)).collect();
    let _ =
        writeln!(text, "summary:{}\n\nob=(1) {}", costs(&all), plain(&measurement.subject.name));
    text
}

/// A measure's name as an event's, which has letters and digits only: `load-store` is `LoadStore`.
fn event(id: &str) -> String {
    let words = id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let name: String = words.map(capital).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("E{name}") } else { name }
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect()
}

fn add(costs: &mut Costs, values: &[i64]) {
    costs.resize(values.len(), 0);
    costs.iter_mut().zip(values).for_each(|(cost, value)| *cost += i128::from(*value));
}

fn costs(costs: &Costs) -> String {
    costs.iter().fold(String::new(), |text, cost| text + " " + &cost.to_string())
}

/// Where a location is: the innermost function's file and line, even where that is inlined.
fn place(chains: &Chains, location: u32) -> Place {
    let profile = chains.profile;
    let function = profile.function_at(location);
    let of_function = function.and_then(|f| profile.functions.address[f as usize]);
    let address = profile.locations.address[location as usize].or(of_function);
    let frame = profile.frames_at(location).next();
    let file = match frame {
        Some(frame) => profile.frames.file[frame],
        None => function.and_then(|f| profile.functions.file[f as usize]),
    };
    let line = frame.and_then(|frame| profile.frames.line[frame]);
    (file, address.map_or(0, |address| address.0), line.unwrap_or(0))
}

const NOWHERE: Place = (None, 0, 0);

/// The innermost location of a sample.
fn leaf(chains: &Chains, sample: &Sample) -> Option<u32> {
    match sample.at {
        At::Nowhere => None,
        At::Location(location) => Some(location),
        At::Stack(stack) => chains.location(stack),
    }
}

/// What functions cost by themselves.
fn own(chains: &Chains, functions: &mut BTreeMap<Name, Function>) {
    for sample in &chains.samples {
        let leaf = leaf(chains, sample);
        let at = leaf.map_or(NOWHERE, |location| place(chains, location));
        let name = leaf.map_or(Name::NoFunction, |location| chains.physical(location));
        let (name, at) = match sample.idle.map(Name::Idle) {
            Some(idle) => {
                let caller = functions.entry(name).or_default();
                let (_, costs) = caller.calls.entry((idle, at)).or_default();
                add(costs, &sample.values);
                (idle, NOWHERE)
            }
            None => (name, at),
        };
        add(functions.entry(name).or_default().own.entry(at).or_default(), &sample.values);
    }
}

/// What functions' calls cost altogether.
fn calls(chains: &Chains, functions: &mut BTreeMap<Name, Function>) {
    let has_chains = chains.samples.iter().any(|sample| matches!(sample.at, At::Stack(_)));
    let counts = chains.measures.iter().position(|measure| measure.id == ids::measure::CALLS);
    for sample in &chains.samples {
        let mut path: Vec<(Name, Place)> = Vec::new();
        path.extend(sample.label.map(|label| (Name::Label(label), NOWHERE)));
        match sample.at {
            At::Nowhere => path.push((Name::NoFunction, NOWHERE)),
            // Of what is known by place only, nobody knows who called.
            At::Location(_) if has_chains => continue,
            At::Location(location) => {
                path.push((chains.physical(location), place(chains, location)));
            }
            At::Stack(stack) => {
                let outer_first = chains.locations(stack).into_iter().rev();
                path.extend(outer_first.map(|l| (chains.physical(l), place(chains, l))));
            }
        }
        let mut seen = BTreeSet::new();
        let last = path.len().saturating_sub(2);
        for (i, pair) in path.windows(2).enumerate() {
            let [(caller, at), (callee, _)] = pair else { continue };
            if caller == callee || !seen.insert((*caller, *callee)) {
                continue;
            }
            let function = functions.entry(*caller).or_default();
            let (times, costs) = function.calls.entry((*callee, *at)).or_default();
            add(costs, &sample.values);
            if i == last {
                *times += counts.map_or(0, |calls| i128::from(sample.values[calls]));
            }
        }
    }
}

/// Names are written once and are numbers from then on.
struct Names<'a> {
    chains: &'a Chains<'a>,
    files: HashMap<Option<u32>, usize>,
    functions: HashMap<Name, usize>,
}

impl Names<'_> {
    fn file(&mut self, file: Option<u32>) -> String {
        let next = self.files.len() + 1;
        let number = *self.files.entry(file).or_insert(next);
        let name = file.and_then(|file| self.chains.profile.files.get(file as usize));
        if number == next {
            // As callgrind calls what it does not know.
            format!("({number}) {}", name.map_or("???".to_owned(), |name| plain(name)))
        } else {
            format!("({number})")
        }
    }

    fn name(&mut self, name: Name) -> String {
        let next = self.functions.len() + 1;
        let number = *self.functions.entry(name).or_insert(next);
        if number == next {
            format!("({number}) {}", plain(&self.chains.name(name)))
        } else {
            format!("({number})")
        }
    }

    /// The file that a function is defined in.
    fn home(&self, name: Name) -> Option<u32> {
        let Name::Function(function) = name else { return None };
        self.chains.profile.functions.file.get(function as usize).copied().flatten()
    }

    /// The address of a function, where it has one.
    fn entry(&self, name: Name) -> u64 {
        let Name::Function(function) = name else { return 0 };
        let address = self.chains.profile.functions.address.get(function as usize);
        address.copied().flatten().map_or(0, |address| address.0)
    }

    fn function(&mut self, name: Name, function: &Function) -> String {
        let home = self.home(name);
        let mut text = format!("\nfl={}\nfn={}\n", self.file(home), self.name(name));
        let mut current = home;
        let mut enter = |names: &mut Self, file: Option<u32>, text: &mut String| {
            if file != current && file.is_some() {
                let key = if file == home { "fe" } else { "fi" };
                let _ = writeln!(text, "{key}={}", names.file(file));
                current = file;
            }
        };
        for ((file, address, line), own) in &function.own {
            enter(self, *file, &mut text);
            let _ = writeln!(text, "{address:#x} {line}{}", costs(own));
        }
        for ((callee, (file, address, line)), (times, all)) in &function.calls {
            enter(self, *file, &mut text);
            let file = self.home(*callee);
            let _ = writeln!(text, "cfi={}", self.file(file));
            let _ = writeln!(text, "cfn={}", self.name(*callee));
            // Never 0, where nobody counted: callgrind_annotate would take the costs of the next
            // line for the caller's own.
            let (times, entry) = ((*times).max(1), self.entry(*callee));
            let _ = writeln!(text, "calls={times} {entry:#x} 0");
            let _ = writeln!(text, "{address:#x} {line}{}", costs(all));
        }
        text
    }
}

#[cfg(test)]
mod tests;
