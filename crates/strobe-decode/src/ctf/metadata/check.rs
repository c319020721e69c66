//! Checks that lengths and tags refer to integers that are read before them (section 7.3.2).

use super::super::error::{MetadataError, Problem};
use super::super::trace::Trace;
use super::super::types::{Path, Type};

/// A scope that references may begin with, and its root. Roots before the last are complete.
type Root<'t> = (&'static str, Option<&'t Type>);

/// Limit for the parts of all events' types together, shared types included.
const MAX_ALL: u64 = 1 << 24;

/// Checks all types of all streams; returns whether there are references.
pub(super) fn references(trace: &Trace) -> Result<bool, MetadataError> {
    let header: Root = ("trace.packet.header", trace.packet_header.as_deref());
    let types = trace.events.iter().flat_map(|event| [&event.context, &event.fields]).flatten();
    if types.map(|ty| ty.extent().parts).fold(0, u64::saturating_add) > MAX_ALL {
        return Err(MetadataError::Whole("types of events have more parts than any tracer's"));
    }
    let mut any = check(&[header])?;
    for stream in &trace.streams {
        let roots = [
            header,
            ("stream.packet.context", stream.packet_context.as_deref()),
            ("stream.event.header", stream.event_header.as_deref()),
            ("stream.event.context", stream.event_context.as_deref()),
        ];
        for count in 2..=roots.len() {
            any |= check(&roots[..count])?;
        }
        for event in trace.events.iter().filter(|event| event.stream == stream.id) {
            let context = ("event.context", event.context.as_deref());
            let fields = ("event.fields", event.fields.as_deref());
            let [a, b, c, d] = roots;
            any |= check(&[a, b, c, d, context])?;
            any |= check(&[a, b, c, d, context, fields])?;
        }
    }
    Ok(any)
}

/// Checks the last root, those before it are already read; returns whether it has references.
fn check(roots: &[Root]) -> Result<bool, MetadataError> {
    let Some(((_, Some(ty)), before)) = roots.split_last() else { return Ok(false) };
    let own = roots[before.len()].0;
    let mut walk = Walk { roots: before, own, open: Vec::new(), any: false };
    walk.visit(ty)?;
    Ok(walk.any)
}

struct Walk<'t> {
    roots: &'t [Root<'t>],
    own: &'static str,
    /// Fields read so far of each open structure, the innermost last.
    open: Vec<Vec<(&'t str, &'t Type)>>,
    /// A reference was found.
    any: bool,
}

impl<'t> Walk<'t> {
    fn visit(&mut self, ty: &'t Type) -> Result<(), MetadataError> {
        match ty {
            Type::Integer(_) | Type::Float(_) | Type::String | Type::Enumeration(_) => Ok(()),
            Type::Struct(structure) => {
                self.open.push(Vec::new());
                for field in structure.fields.iter() {
                    self.visit(&field.ty)?;
                    if let Some(open) = self.open.last_mut() {
                        open.push((&field.name, &field.ty));
                    }
                }
                self.open.pop();
                Ok(())
            }
            Type::Variant(variant) => {
                let Some(tag) = &variant.tag else { return Ok(()) };
                let is_tag = |ty: &Type| matches!(ty, Type::Enumeration(_));
                self.refer(tag, "an enumeration", is_tag)?;
                variant.options.iter().try_for_each(|option| self.visit(&option.ty))
            }
            Type::Array(array) => self.visit(&array.element),
            Type::Sequence(sequence) => {
                let is_length = |ty: &Type| match ty {
                    Type::Integer(integer) => !integer.signed,
                    Type::Enumeration(enumeration) => !enumeration.container.signed,
                    _ => false,
                };
                self.refer(&sequence.length, "an unsigned integer", is_length)?;
                self.visit(&sequence.element)
            }
        }
    }

    fn refer(
        &mut self,
        path: &Path,
        wanted: &'static str,
        fits: impl Fn(&Type) -> bool,
    ) -> Result<(), MetadataError> {
        self.any = true;
        if self.find(path).is_some_and(fits) {
            return Ok(());
        }
        let problem = Problem::Reference { path: path.text(), wanted };
        Err(MetadataError::Text { at: path.at, problem })
    }

    fn find(&self, path: &Path) -> Option<&'t Type> {
        let names: Vec<&str> = path.names.iter().map(String::as_str).collect();
        let outermost = self.open.first().map(Vec::as_slice).unwrap_or_default();
        if let Some(rest) = below(&names, self.own) {
            return among(outermost, rest);
        }
        for (scope, root) in self.roots {
            if let (Some(rest), Some(root)) = (below(&names, scope), root) {
                return inside(root, rest);
            }
        }
        let enclosing = self.open.iter().rev().find_map(|open| among(open, &names));
        enclosing.or_else(|| self.roots.iter().rev().find_map(|(_, root)| inside((*root)?, &names)))
    }
}

/// The remainder of a path after its scope.
pub(in super::super) fn below<'p, 'n>(names: &'p [&'n str], scope: &str) -> Option<&'p [&'n str]> {
    let count = scope.split('.').count();
    let (first, rest) = names.split_at_checked(count)?;
    (scope.split('.').eq(first.iter().copied()) && !rest.is_empty()).then_some(rest)
}

fn among<'t>(fields: &[(&'t str, &'t Type)], names: &[&str]) -> Option<&'t Type> {
    let (first, rest) = names.split_first()?;
    let (_, ty) = fields.iter().find(|(name, _)| name == first)?;
    inside(ty, rest)
}

fn inside<'t>(ty: &'t Type, names: &[&str]) -> Option<&'t Type> {
    let Some((first, rest)) = names.split_first() else { return Some(ty) };
    let Type::Struct(structure) = ty else { return None };
    let field = structure.fields.iter().find(|field| field.name == *first)?;
    inside(&field.ty, rest)
}
