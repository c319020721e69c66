//! From the XML tree to what the simulation uses: peripherals, registers with absolute addresses,
//! masks.

use std::collections::HashMap;
use std::sync::Arc;

use roxmltree::Node;

use super::ready::{self, Named};
use super::xml::{self, child, children, clipped, error, number, required, required_u32, text};
use super::{Cpu, Peripheral, Svd, SvdError, expand, fields};
use strobe_sim::kernel::unmodelled::Description;

/// Registers in all, arrays counted out.
const MOST_REGISTERS: usize = 400_000;
const MOST_PERIPHERALS: usize = 4096;
/// Clusters in clusters, and elements that derive from each other.
const DEEPEST: usize = 16;
/// Bytes of the file that may be looked at, those that arrays repeat counted each time.
const MOST_WORK: u64 = 512 << 20;
/// Names of registers that share a word are joined up to this length.
const LONGEST_NAME: usize = 80;

/// Properties that elements hand down.
#[derive(Debug, Clone)]
pub(super) struct Defaults {
    size_bits: u64,
    pub(super) access: String,
    reset: u64,
}

impl Defaults {
    /// An element's own values, and otherwise what was handed down to it.
    fn refined(&self, node: Node) -> Result<Defaults, SvdError> {
        Ok(Defaults {
            size_bits: number(node, "size")?.unwrap_or(self.size_bits),
            access: text(node, "access").map_or_else(|| self.access.clone(), clipped),
            reset: number(node, "resetValue")?.unwrap_or(self.reset),
        })
    }
}

/// A register in its place.
#[derive(Clone)]
struct Register {
    named: Named,
    bits: u32,
    reset: u32,
    read_only: u32,
    one_clears: u32,
}

impl Register {
    /// The same register elsewhere, as arrays have it.
    fn at(&self, name: String, address: u32) -> Register {
        let named = Named { name, address, fields: self.named.fields.clone() };
        Register { named, ..self.clone() }
    }
}

struct Reader<'a, 'i> {
    description: Description,
    by_name: HashMap<&'a str, Node<'a, 'i>>,
    registers: usize,
    work: u64,
}

pub(super) fn read(text: &str) -> Result<Svd, SvdError> {
    let document = xml::parse(text)?;
    let root = document.root_element();
    if !root.has_tag_name("device") {
        return Err(error(root, "expected <device>, the root of an SVD file"));
    }
    let defaults =
        Defaults { size_bits: 32, access: "read-write".to_owned(), reset: 0 }.refined(root)?;
    let list = child(root, "peripherals").ok_or_else(|| error(root, "has no <peripherals>"))?;
    let all: Vec<Node> = children(list, "peripheral").collect();
    if all.len() > MOST_PERIPHERALS {
        return Err(error(list, format!("more than {MOST_PERIPHERALS} peripherals")));
    }
    let by_name = all.iter().filter_map(|p| Some((xml::text(*p, "name")?, *p))).collect();
    let device = clipped(required(root, "name")?);
    let cpu = child(root, "cpu").map(cpu).transpose()?;
    let description = Description::default();
    let mut reader = Reader { description, by_name, registers: 0, work: 0 };
    for &node in &all {
        reader.peripheral(node, &defaults)?;
    }
    let mut description = reader.description;
    description.peripherals.sort_by_key(|p| (p.base, std::cmp::Reverse(p.size)));
    Ok(Svd { device, cpu, description: Arc::new(description) })
}

fn cpu(node: Node) -> Result<Cpu, SvdError> {
    Ok(Cpu {
        name: clipped(required(node, "name")?),
        fpu: matches!(text(node, "fpuPresent"), Some("1" | "true")),
        priority_bits: number(node, "nvicPrioBits")?.and_then(|n| u8::try_from(n).ok()),
    })
}

impl<'a, 'i> Reader<'a, 'i> {
    /// Accounts for so many bytes of the file being looked at, once more where arrays and derived
    /// elements look at the same ones again.
    fn spend(&mut self, node: Node, bytes: usize) -> Result<(), SvdError> {
        self.work += bytes as u64;
        if self.work > MOST_WORK {
            return Err(error(node, "arrays and derived elements make too much of the file"));
        }
        Ok(())
    }

    /// An element and those that it derives from, itself last.
    fn chain(&mut self, node: Node<'a, 'i>) -> Result<Vec<Node<'a, 'i>>, SvdError> {
        let mut all = vec![node];
        while let Some(path) = all[all.len() - 1].attribute("derivedFrom") {
            if all.len() > DEEPEST {
                return Err(error(node, "derives from itself, or from too long a chain"));
            }
            let base = self.find(all[all.len() - 1], path)?;
            all.push(base.ok_or_else(|| {
                error(node, format!("derives from `{}`, which is not there", clipped(path)))
            })?);
        }
        all.reverse();
        let bytes = all.iter().map(|one| one.range().len()).sum();
        self.spend(node, if node.has_tag_name("register") { bytes } else { 64 })?;
        Ok(all)
    }

    /// What `derivedFrom` names: a peripheral, a sibling, or something by its path from a
    /// peripheral on.
    fn find(&mut self, node: Node<'a, 'i>, path: &str) -> Result<Option<Node<'a, 'i>>, SvdError> {
        if node.has_tag_name("peripheral") {
            return Ok(self.by_name.get(path).copied());
        }
        let mut parts = path.split('.');
        let first = parts.next().unwrap_or_default();
        let peripheral = self.by_name.get(first).and_then(|p| child(*p, "registers"));
        let (mut at, parts) = match (path.contains('.'), peripheral) {
            (false, _) => (node.parent(), vec![first]),
            (true, found) => (found, parts.take(DEEPEST).collect()),
        };
        for part in parts {
            let Some(list) = at else { return Ok(None) };
            let mut looked_at = 0;
            at = list.children().find(|c| {
                looked_at += 1;
                c.is_element() && *c != node && text(*c, "name") == Some(part)
            });
            self.spend(node, 64 * looked_at)?;
        }
        Ok(at)
    }

    fn peripheral(&mut self, node: Node<'a, 'i>, defaults: &Defaults) -> Result<(), SvdError> {
        let chain = self.chain(node)?;
        let defaults = chain.iter().try_fold(defaults.clone(), |all, &one| all.refined(one))?;
        let base = required_u32(node, "baseAddress")?;
        let size = block_size(&chain)?;
        let lists: Vec<Node> = chain.iter().filter_map(|&one| child(one, "registers")).collect();
        let mut interrupts = Vec::new();
        for interrupt in children(node, "interrupt") {
            interrupts.extend(u16::try_from(required_u32(interrupt, "value")?).ok());
        }
        for (name, offset) in expand::instances(node)? {
            let base = base
                .checked_add(offset)
                .ok_or_else(|| error(node, format!("{name} lies outside the address space")))?;
            let mut registers = Vec::new();
            for &list in &lists {
                self.registers(list, (&name, base), &defaults, 0, &mut registers)?;
            }
            self.place(&name, base, size, registers);
            // An array shares its interrupts, which are named after its first element.
            for number in interrupts.drain(..) {
                self.description.interrupts.entry(number).or_insert_with(|| name.clone());
            }
        }
        Ok(())
    }

    /// Registers and clusters of one level, `prefix` being the name and address of what they are
    /// in.
    fn registers(
        &mut self,
        list: Node<'a, 'i>,
        (prefix, base): (&str, u32),
        defaults: &Defaults,
        depth: usize,
        out: &mut Vec<Register>,
    ) -> Result<(), SvdError> {
        if depth > DEEPEST {
            return Err(error(list, format!("clusters more than {DEEPEST} deep")));
        }
        for node in list.children() {
            self.spend(node, 16)?;
            let is_cluster = node.has_tag_name("cluster");
            if !is_cluster && !node.has_tag_name("register") {
                continue;
            }
            let chain = self.chain(node)?;
            let defaults = chain.iter().try_fold(defaults.clone(), |all, &one| all.refined(one))?;
            let offset = required_u32(node, "addressOffset")?;
            let template = if is_cluster { None } else { Some(register(&chain, &defaults)?) };
            for (name, step) in expand::instances(node)? {
                self.registers += 1;
                if self.registers > MOST_REGISTERS {
                    return Err(error(node, format!("more than {MOST_REGISTERS} registers")));
                }
                let address = base.checked_add(offset).and_then(|a| a.checked_add(step));
                let address = address
                    .ok_or_else(|| error(node, format!("{name} lies outside the address space")))?;
                let name = format!("{prefix}.{name}");
                match &template {
                    Some(template) => out.push(template.at(name, address)),
                    None => {
                        for &one in &chain {
                            self.registers(one, (&name, address), &defaults, depth + 1, out)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a peripheral with its registers to what is known.
    fn place(&mut self, name: &str, base: u32, size: u32, registers: Vec<Register>) {
        let ends = registers.iter().map(|r| r.named.address - base + r.bits.div_ceil(8));
        let size = size.max(ends.max().unwrap_or(0)).max(4);
        self.description.peripherals.push(Peripheral { name: name.to_owned(), base, size });
        for register in &registers {
            self.know(register);
        }
        let named: Vec<Named> = registers.into_iter().map(|r| r.named).collect();
        self.description.rules.extend(ready::rules(&named));
    }

    /// Adds a register to the word that holds it. Registers may share a word, or a place in it.
    fn know(&mut self, register: &Register) {
        let (word, shift) = (register.named.address & !3, 8 * (register.named.address & 3));
        let mask = u32::MAX >> (32 - register.bits.min(32));
        let known = self.description.known.entry(word).or_default();
        let lanes = mask << shift;
        let shared = known.lanes & lanes;
        if known.name.is_empty() {
            known.name.clone_from(&register.named.name);
        } else if known.name.len() < LONGEST_NAME {
            known.name.push('/');
            let local = register.named.name.rsplit('.').next().unwrap_or_default();
            known.name.push_str(local);
        }
        // Where two views of a place differ, the first one's reset value and the more permissive
        // access hold.
        known.reset |= (register.reset & mask) << shift & !shared;
        let read_only = (register.read_only & mask) << shift;
        known.read_only = known.read_only & !lanes | read_only & (known.read_only | !shared);
        known.one_clears |= (register.one_clears & mask) << shift;
        known.lanes |= lanes;
    }
}

/// A register from its element and those that it derives from, without its place.
fn register(chain: &[Node], defaults: &Defaults) -> Result<Register, SvdError> {
    let mut all = Vec::new();
    for &one in chain {
        all.extend(fields::read(one, defaults)?);
    }
    let (read_only, one_clears) = fields::masks(&all, defaults.access == "read-only");
    Ok(Register {
        named: Named { name: String::new(), address: 0, fields: all.into() },
        bits: defaults.size_bits.clamp(1, 64) as u32,
        reset: defaults.reset as u32,
        read_only,
        one_clears,
    })
}

/// The end of a peripheral's address blocks, from its base on.
fn block_size(chain: &[Node]) -> Result<u32, SvdError> {
    let mut size = 0;
    for block in chain.iter().flat_map(|&one| children(one, "addressBlock")) {
        let end =
            u64::from(required_u32(block, "offset")?) + u64::from(required_u32(block, "size")?);
        size = size.max(u32::try_from(end).unwrap_or(u32::MAX));
    }
    Ok(size)
}
