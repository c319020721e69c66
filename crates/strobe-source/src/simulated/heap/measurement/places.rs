//! Where allocators are called: names of call sites, and call chains as a profile has them.

use std::collections::HashMap;

use strobe_model::measurement::{Address, Label, Profile};
use strobe_sim::observe::heap::Link;
use strobe_sim::observe::schedule::Who;
use strobe_symbols::Frame;

use super::Seen;
use crate::names::outermost_at;

/// Functions of a chain that are named in a sentence.
const MOST_NAMES: usize = 8;

/// Places of a chain that are listed.
const MOST_STEPS: usize = 32;

/// Where the sources of the libraries are: C++'s own where it was built, otherwise in `c++/` and a
/// version; Rust's on every system.
const LIBRARY_PATHS: [&str; 5] =
    ["/libstdc++", "/libcxx", "/library/alloc/src/", "/library/core/src/", "/library/std/src/"];

/// How the names of their functions begin.
const LIBRARY_NAMES: [&str; 5] = ["std::", "__gnu_cxx::", "alloc::", "core::", "hashbrown::"];

/// What linkers put between a far call and its target.
const VENEER: &str = "_veneer";

/// Names of places, each looked up once.
pub(super) struct Places<'a> {
    seen: &'a Seen<'a>,
    by_chain: HashMap<u32, Place>,
}

/// A call site.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub address: u32,
}

impl Place {
    /// `src/load.c:12`.
    pub fn spot(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => format!("{:#010x}", self.address),
        }
    }

    /// `load.c:12`, for tables; the profile has the whole path.
    pub fn short(&self) -> String {
        let spot = self.spot();
        spot.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
    }

    /// `load (src/load.c:12)`.
    pub fn shown(&self) -> String {
        format!("{} ({})", self.function, self.spot())
    }
}

impl<'a> Places<'a> {
    pub fn new(seen: &'a Seen<'a>) -> Self {
        Places { seen, by_chain: HashMap::new() }
    }

    /// The call site of a chain: the innermost place that is not of a language's library. Who grows
    /// a container allocates, and not the line of its header that all containers share.
    pub fn site(&mut self, chain: u32) -> Place {
        if let Some(known) = self.by_chain.get(&chain) {
            return known.clone();
        }
        let seen = self.seen;
        let first = self.first(chain);
        let mut at = first;
        let mut own = None;
        while let Some(link) = at
            && own.is_none()
        {
            own = own_place(seen, call_at(link));
            at = self.caller(link);
        }
        let place = own.unwrap_or_else(|| place(seen, first.map_or(0, call_at)));
        self.by_chain.insert(chain, place.clone());
        place
    }

    /// Where the function of a chain's innermost place was called, if that is known.
    pub fn called_at(&self, chain: u32) -> Option<Place> {
        let link = self.caller(self.first(chain)?)?;
        Some(place(self.seen, call_at(link)))
    }

    /// The chain's innermost link. What calls through a veneer is the place.
    fn first(&self, chain: u32) -> Option<&'a Link> {
        let seen = self.seen;
        let mut at = seen.log.chains.get(chain as usize);
        while let Some(link) = at
            && function(seen, call_at(link)).ends_with(VENEER)
            && let Some(caller) = self.caller(link)
        {
            at = Some(caller);
        }
        at
    }

    fn caller(&self, link: &Link) -> Option<&'a Link> {
        self.seen.log.chains.get(link.caller? as usize)
    }

    /// `#0 read_line (src/load.c:12)`, `#1 load (src/load.c:40)` and so on, inlined calls too.
    pub fn steps(&self, chain: u32) -> Vec<(String, String)> {
        let mut places = Vec::new();
        let mut at = self.first(chain);
        while let Some(link) = at
            && places.len() < MOST_STEPS
        {
            let address = call_at(link);
            let frames = self.seen.firmware.frames(address).frames;
            if frames.iter().any(|frame| frame.name.is_some()) {
                places.extend(frames.iter().map(|frame| of_frame(frame, address)))
            } else {
                places.push(place(self.seen, address))
            }
            at = self.caller(link);
        }
        let steps = (0u32..).zip(&places).take(MOST_STEPS);
        steps.map(|(n, place)| (format!("#{n}"), place.shown())).collect()
    }

    /// `main > load > read_line`.
    pub fn path(&self, chain: u32) -> String {
        let mut names = Vec::new();
        let mut at = self.seen.log.chains.get(chain as usize);
        while let Some(link) = at {
            names.push(function(self.seen, call_at(link)));
            if names.len() > MOST_NAMES {
                names.push("...".to_owned());
                break;
            }
            at = link.caller.and_then(|caller| self.seen.log.chains.get(caller as usize));
        }
        names.reverse();
        names.join(" > ")
    }
}

/// The call instruction, or an address inside it.
pub(super) fn call_at(link: &Link) -> u32 {
    if link.is_call { link.address & !1 } else { (link.address & !1).wrapping_sub(2) }
}

fn function(seen: &Seen, address: u32) -> String {
    let frames = seen.firmware.frames(address);
    let inner = frames.frames.first().and_then(|frame| frame.name);
    match inner.or_else(|| outermost_at(seen.firmware, address).map(|f| f.name.as_str())) {
        Some(name) => name.to_owned(),
        None => format!("{address:#010x}"),
    }
}

fn place(seen: &Seen, address: u32) -> Place {
    let frames = seen.firmware.frames(address);
    let inner = frames.frames.first();
    Place {
        function: function(seen, address),
        file: inner.and_then(|frame| frame.file).map(str::to_owned),
        line: inner.and_then(|frame| frame.line),
        address,
    }
}

fn of_frame(frame: &Frame, address: u32) -> Place {
    Place {
        function: frame.name.unwrap_or("(no name)").to_owned(),
        file: frame.file.map(str::to_owned),
        line: frame.line,
        address,
    }
}

/// The innermost of the functions at an address that is not of a language's library.
fn own_place(seen: &Seen, address: u32) -> Option<Place> {
    let frames = seen.firmware.frames(address).frames;
    if !frames.iter().any(|frame| frame.name.is_some()) {
        return Some(place(seen, address));
    }
    let own = frames.iter().find(|frame| !is_of_library(frame))?;
    Some(of_frame(own, address))
}

/// Whether a function is of the library of C++ or Rust, by its source or, without one, its name.
fn is_of_library(frame: &Frame) -> bool {
    let is_version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'v');
    match frame.file {
        Some(file) => {
            LIBRARY_PATHS.iter().any(|path| file.contains(path))
                || file.split_once("/c++/").is_some_and(|(_, rest)| is_version(rest))
        }
        None => frame.name.is_some_and(|name| {
            let name = name.trim_start_matches("void ").trim_start_matches('<');
            LIBRARY_NAMES.iter().any(|begin| name.starts_with(begin))
        }),
    }
}

/// A profile's tables of functions, locations and stacks, filled by chain.
pub(super) struct Stacks<'a> {
    seen: &'a Seen<'a>,
    profile: Profile,
    files: HashMap<String, u32>,
    functions: HashMap<(String, Option<u32>), u32>,
    locations: HashMap<u32, u32>,
    stacks: HashMap<u32, u32>,
}

impl<'a> Stacks<'a> {
    pub fn new(seen: &'a Seen<'a>) -> Self {
        Stacks {
            seen,
            profile: Profile::default(),
            files: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    /// The stack of a chain.
    fn stack(&mut self, chain: u32) -> Option<u32> {
        let mut path = Vec::new();
        let mut at = Some(chain);
        let mut known = None;
        while let Some(id) = at {
            known = self.stacks.get(&id).copied();
            if known.is_some() {
                break;
            }
            let link = *self.seen.log.chains.get(id as usize)?;
            path.push((id, link));
            at = link.caller;
        }
        for (id, link) in path.into_iter().rev() {
            let location = self.location(call_at(&link));
            let stacks = &mut self.profile.stacks;
            stacks.parent.push(known);
            stacks.location.push(location);
            let new = stacks.location.len() as u32 - 1;
            self.stacks.insert(id, new);
            known = Some(new);
        }
        known
    }

    /// The profile of these chains, apart by who made the calls; values are the caller's business.
    pub fn of_chains(mut self, chains: &[(u32, Who)]) -> Profile {
        let mut labels: Vec<Label> = Vec::new();
        for &(chain, who) in chains {
            let at = self.stack(chain);
            let (kind, name) = self.seen.who(who);
            let wanted = Label { key: kind.to_owned(), value: name };
            let known = labels.iter().position(|known| *known == wanted);
            let label = known.unwrap_or_else(|| {
                labels.push(wanted);
                labels.len() - 1
            });
            self.profile.chains.at.push(at);
            self.profile.chains.label.push(Some(label as u32));
        }
        self.profile.labels = labels;
        self.profile
    }

    fn location(&mut self, address: u32) -> u32 {
        if let Some(&known) = self.locations.get(&address) {
            return known;
        }
        let outer = outermost_at(self.seen.firmware, address);
        let outer = outer.map(|f| (f.name.clone(), f.start));
        let function = outer.map(|(name, start)| self.function(&name, Some(start), None));
        let frames = self.seen.firmware.frames(address);
        let mut frame = None;
        for source in frames.frames.iter().rev() {
            let of = match (source.inlined, function, source.name) {
                (false, Some(function), _) => function,
                (_, _, Some(name)) => self.function(name, None, source.file),
                _ => continue,
            };
            let file = source.file.map(|file| self.file(file));
            if let (false, Some(own)) =
                (source.inlined, self.profile.functions.file.get_mut(of as usize))
                && own.is_none()
            {
                *own = file;
            }
            let all = &mut self.profile.frames;
            all.function.push(of);
            all.file.push(file);
            all.line.push(source.line);
            all.outer.push(frame);
            frame = Some(all.function.len() as u32 - 1);
        }
        let locations = &mut self.profile.locations;
        locations.address.push(Some(Address(u64::from(address))));
        locations.function.push(function);
        locations.frame.push(frame);
        let new = locations.address.len() as u32 - 1;
        self.locations.insert(address, new);
        new
    }

    fn function(&mut self, name: &str, address: Option<u32>, file: Option<&str>) -> u32 {
        let key = (name.to_owned(), address);
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let file = file.map(|file| self.file(file));
        let functions = &mut self.profile.functions;
        functions.name.push(name.to_owned());
        functions.address.push(address.map(|address| Address(u64::from(address))));
        functions.file.push(file);
        let new = functions.name.len() as u32 - 1;
        self.functions.insert(key, new);
        new
    }

    fn file(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.files.get(name) {
            return known;
        }
        self.profile.files.push(name.to_owned());
        let new = self.profile.files.len() as u32 - 1;
        self.files.insert(name.to_owned(), new);
        new
    }
}
