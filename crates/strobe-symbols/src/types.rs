//! The places of values inside variables: resolves a path such as `_kernel.cpus[0].current` to
//! address steps.
//!
//! Offsets are taken from the debug information only, so they are right for the configuration of
//! this firmware was built with. The module reads no memory and knows no operating system.

mod index;
mod path;
mod shape;
mod units;

use std::collections::{BTreeMap, HashMap};

use gimli::{Dwarf, EndianSlice, LittleEndian, Unit};

use self::path::{Part, Path};
use self::shape::Shape;
use crate::Firmware;
use crate::dwarf::{Budget, Reader, open};
use crate::elf::Elf;

/// One step from an address towards a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Add an offset in bytes.
    Add(u32),
    /// Load the pointer at this address and continue from its target.
    Load,
}

/// The kind of value at the end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number: integers, characters, enumerations, truth values.
    Number {
        /// Size in bytes.
        bytes: u32,
        /// Signed, in two's complement.
        signed: bool,
    },
    /// A pointer.
    Pointer {
        /// The target is characters.
        to_text: bool,
    },
    /// An array of characters.
    Text {
        /// Size in bytes.
        bytes: u32,
    },
    /// A structure, a union or another array.
    Other,
}

/// The steps to a value, and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Steps from address 0 for a variable, from its start for a member.
    pub steps: Vec<Step>,
    /// The kind of value.
    pub value: Value,
    /// Its type; for a pointer, the type of its target.
    pub target: TypeId,
}

/// A type, of one [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId {
    unit: u32,
    offset: usize,
}

/// Why a path cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// Invalid syntax.
    #[error("`{path}` is not a path such as `variable.member[0].member`")]
    Syntax {
        /// The path.
        path: String,
    },
    /// The debug information has no such variable.
    #[error("the debug information describes no variable {name}")]
    NoVariable {
        /// The name.
        name: String,
    },
    /// Several variables have that name.
    #[error("there are {count} variables {name}")]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of variables.
        count: usize,
    },
    /// The debug information has no such type.
    #[error("the debug information describes no type {name}")]
    NoType {
        /// The name.
        name: String,
    },
    /// A structure has no such member.
    #[error("{of} has no member {member}")]
    NoMember {
        /// The structure.
        of: String,
        /// The member.
        member: String,
    },
    /// A member or element of something that has none.
    #[error("{what} is {kind}, so `{part}` does not apply")]
    Misfit {
        /// The part of the path before.
        what: String,
        /// The kind of its type.
        kind: &'static str,
        /// The part that does not apply.
        part: String,
    },
    /// An array has fewer elements.
    #[error("{what} has {count} elements, none with index {index}")]
    OutOfRange {
        /// The array.
        what: String,
        /// Its length.
        count: u64,
        /// The index.
        index: u32,
    },
    /// A bit field.
    #[error("{what} is a bit field, which is not supported")]
    BitField {
        /// The member.
        what: String,
    },
    /// The record is damaged, or has a form that no compiler emits.
    #[error("the debug information of {what} cannot be read")]
    Damaged {
        /// The type or variable.
        what: String,
    },
}

/// The types and variables in the debug information of a firmware.
pub struct Types<'a> {
    units: Vec<Unit<Reader<'a>>>,
    dwarf: Dwarf<Reader<'a>>,
    starts: Starts,
    /// Types in type units, by signature.
    signatures: HashMap<u64, TypeId>,
    variables: HashMap<String, Vec<Variable>>,
    structures: HashMap<String, TypeId>,
    typedefs: HashMap<String, TypeId>,
    enumerators: HashMap<String, i64>,
}

/// Offsets of units in `.debug_info`, sorted, with their indices.
#[derive(Default)]
struct Starts(Vec<(usize, u32)>);

impl Starts {
    /// The record at an offset in `.debug_info`.
    fn at(&self, offset: usize) -> Option<TypeId> {
        let at = self.0.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (start, unit) = self.0[at];
        Some(TypeId { unit, offset: offset - start })
    }
}

/// A variable with a fixed address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Variable {
    address: u32,
    of: TypeId,
}

impl Firmware {
    /// Reads the types and variables of the debug information. Damaged records are skipped.
    pub fn types(&self) -> Types<'_> {
        let dwarf = Elf::parse(&self.bytes).ok().and_then(|elf| open(&elf));
        let empty = || gimli::DwarfSections::default().borrow(nothing);
        index::read(dwarf.unwrap_or_else(empty))
    }

    /// The source files of variables by address: those of the compilation units that define them,
    /// short ([`short_path`](crate::short_path)). Empty without debug information.
    pub fn variable_files(&self) -> BTreeMap<u32, String> {
        let dwarf = Elf::parse(&self.bytes).ok().and_then(|elf| open(&elf));
        dwarf.map(|dwarf| units::files(&dwarf)).unwrap_or_default()
    }
}

fn nothing<'a>(_: &()) -> Reader<'a> {
    EndianSlice::new(&[], LittleEndian)
}

/// Maximum steps of a look-up: no real structure needs more.
const LOOK_UP: u64 = 1 << 20;

impl Types<'_> {
    /// Whether there are any variables or types.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.structures.is_empty()
    }

    /// The value of an enumeration's constant.
    pub fn enumerator(&self, name: &str) -> Option<i64> {
        self.enumerators.get(name).copied()
    }

    /// The type of that name: a structure, union, enumeration or typedef.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn named(&self, name: &str) -> Result<TypeId, TypeError> {
        let found = self.structures.get(name).or_else(|| self.typedefs.get(name));
        found.copied().ok_or_else(|| TypeError::NoType { name: name.to_owned() })
    }

    /// The size of a value of that type in bytes, if known.
    pub fn bytes(&self, of: TypeId) -> Option<u32> {
        self.size(of, &mut Budget::of(LOOK_UP))
    }

    /// Resolves a path from address 0: a variable, then members and elements. Pointers on the way
    /// are followed.
    ///
    /// # Errors
    /// When a part of it does not exist.
    pub fn variable(&self, path: &str) -> Result<Route, TypeError> {
        let path = Path::parse(path)?;
        let name = path.name;
        let known = self.variables.get(name).map(Vec::as_slice).unwrap_or_default();
        let variable = match known {
            [] => return Err(TypeError::NoVariable { name: name.to_owned() }),
            [one] => one,
            [..] => {
                return Err(TypeError::Ambiguous { name: name.to_owned(), count: known.len() });
            }
        };
        self.follow(vec![Step::Add(variable.address)], variable.of, name, &path.parts)
    }

    /// Resolves a path from the start of a value of type `of` to a member.
    ///
    /// # Errors
    /// When a part of the path does not exist.
    pub fn member(&self, of: TypeId, path: &str) -> Result<Route, TypeError> {
        let path = Path::parse(path)?;
        let first = Part::Member(path.name);
        let parts: Vec<Part<'_>> = [first].into_iter().chain(path.parts).collect();
        let name = self.name(of);
        self.follow(Vec::new(), of, &name, &parts)
    }

    fn follow(
        &self,
        mut steps: Vec<Step>,
        mut at: TypeId,
        name: &str,
        parts: &[Part<'_>],
    ) -> Result<Route, TypeError> {
        let mut budget = Budget::of(LOOK_UP);
        let mut what = name.to_owned();
        let damaged = |what: &str| TypeError::Damaged { what: what.to_owned() };
        for part in parts {
            let mut shape = self.shape(at, &mut budget).ok_or_else(|| damaged(&what))?;
            if let Shape::Pointer(Some(to)) = shape {
                steps.push(Step::Load);
                at = to;
                shape = self.shape(at, &mut budget).ok_or_else(|| damaged(&what))?;
                if let Part::Element(index) = part {
                    // A pointer to the first of several elements.
                    let size = self.size(at, &mut budget).ok_or_else(|| damaged(&what))?;
                    steps.push(Step::Add(size.wrapping_mul(*index)));
                    what = format!("{what}{part}");
                    continue;
                }
            }
            let misfit =
                |kind| TypeError::Misfit { what: what.clone(), kind, part: part.to_string() };
            (at, what) = match (part, shape) {
                (Part::Member(member), Shape::Structure) => {
                    let found = self.find_member(at, member, &mut budget);
                    let (offset, of) = found.map_err(|found| match found {
                        shape::Lost::Missing => {
                            TypeError::NoMember { of: self.name(at), member: (*member).to_owned() }
                        }
                        shape::Lost::BitField => {
                            TypeError::BitField { what: format!("{what}{part}") }
                        }
                        shape::Lost::Damaged => damaged(&format!("{what}{part}")),
                    })?;
                    steps.push(Step::Add(offset));
                    (of, format!("{what}{part}"))
                }
                (Part::Element(index), Shape::Array { of, count }) => {
                    if u64::from(*index) >= count {
                        return Err(TypeError::OutOfRange { what, count, index: *index });
                    }
                    let size = self.size(of, &mut budget).ok_or_else(|| damaged(&what))?;
                    steps.push(Step::Add(size.wrapping_mul(*index)));
                    (of, format!("{what}{part}"))
                }
                (_, shape) => return Err(misfit(shape.kind())),
            };
        }
        let value = self.value(at, &mut budget).ok_or_else(|| damaged(&what))?;
        let target = match self.shape(at, &mut budget) {
            Some(Shape::Pointer(Some(to))) => to,
            _ => at,
        };
        Ok(Route { steps: joined(steps), value, target })
    }

    /// The kind of value at the end of a path; arrays of characters and pointers to them are
    /// distinguished.
    fn value(&self, at: TypeId, budget: &mut Budget) -> Option<Value> {
        Some(match self.shape(at, budget)? {
            Shape::Number { bytes, signed } => Value::Number { bytes, signed },
            Shape::Pointer(to) => {
                let to = to.and_then(|to| self.shape(to, budget));
                Value::Pointer { to_text: matches!(to, Some(Shape::Number { bytes: 1, .. })) }
            }
            Shape::Array { of, count } => match self.shape(of, budget)? {
                Shape::Number { bytes: 1, .. } => Value::Text { bytes: u32::try_from(count).ok()? },
                _ => Value::Other,
            },
            Shape::Structure | Shape::Other => Value::Other,
        })
    }
}

/// Merges adjacent additions.
fn joined(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    for step in steps {
        match (out.last_mut(), step) {
            (Some(Step::Add(sum)), Step::Add(more)) => *sum = sum.wrapping_add(more),
            _ => out.push(step),
        }
    }
    out.retain(|step| *step != Step::Add(0));
    out
}
