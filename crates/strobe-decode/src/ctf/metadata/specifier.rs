//! Type specifiers: `integer { ... }`, `struct name { ... }`, names, and declarators with lengths
//! (section 4, annex C).

use std::sync::Arc;

use super::parser::Parser;
use super::token::Kind;
use crate::ctf::error::{MetadataError, Position, Problem};
use crate::ctf::types::{
    Array, Base, Enumeration, Extent, Field, Float, Integer, MAX_DEPTH, MAX_PARTS, Path, Sequence,
    Struct, Type, Variant,
};

impl Parser {
    /// A type, up to what follows it.
    pub(super) fn specifier(&mut self) -> Result<Arc<Type>, MetadataError> {
        while self.takes_word("const") {}
        let at = self.at();
        let Kind::Word(word) = self.peek() else { return Err(self.unexpected("a type")) };
        match word.as_str() {
            "integer" => self.block_type(Self::integer),
            "floating_point" => self.block_type(Self::float),
            "string" => {
                self.skip();
                // The encoding makes no difference: all text is shown as UTF-8.
                if *self.peek() == Kind::Sign("{") {
                    self.attributes()?;
                }
                Ok(Arc::new(Type::String))
            }
            "struct" => self.structure(),
            "variant" => self.variant(),
            "enum" => self.enumeration(),
            _ => {
                let name = self.type_name()?;
                self.find(at, &name)
            }
        }
    }

    fn block_type(
        &mut self,
        make: fn(&mut Self, Position) -> Result<Type, MetadataError>,
    ) -> Result<Arc<Type>, MetadataError> {
        let at = self.at();
        self.skip();
        Ok(Arc::new(make(self, at)?))
    }

    /// A type's name, which may be several words, as `unsigned long`.
    fn type_name(&mut self) -> Result<String, MetadataError> {
        let mut name = self.word("a type")?;
        // The next word belongs to the name while that gives a known type, or while the words are
        // those of C's types.
        while let Kind::Word(word) = self.peek() {
            let longer = format!("{name} {word}");
            let is_of_c = |word: &str| {
                matches!(
                    word,
                    "void"
                        | "char"
                        | "short"
                        | "int"
                        | "long"
                        | "float"
                        | "double"
                        | "signed"
                        | "unsigned"
                        | "_Bool"
                        | "_Complex"
                        | "_Imaginary"
                )
            };
            let continues_c = is_of_c(word) && name.split(' ').all(is_of_c);
            if !self.knows(&longer) && !continues_c {
                break;
            }
            self.skip();
            name = longer;
        }
        Ok(name)
    }

    fn integer(&mut self, at: Position) -> Result<Type, MetadataError> {
        let mut integer = Integer {
            bits: 0,
            align: 0,
            signed: false,
            order: None,
            base: Base::Decimal,
            is_text: false,
            clock: None,
        };
        for (at, name, value) in self.attributes()? {
            match name.as_str() {
                "size" => integer.bits = self.size(at, &name, &value)?,
                "align" => integer.align = self.alignment(at, &value)?,
                "signed" => integer.signed = self.flag(at, &name, &value)?,
                "byte_order" => integer.order = self.byte_order(at, &value)?,
                "base" => integer.base = self.base(at, &value)?,
                "encoding" => integer.is_text = self.encoding(at, &value)?,
                "map" => integer.clock = self.clock_of(at, &value)?,
                // Later versions may add attributes that this one can ignore.
                _ => {}
            }
        }
        if integer.bits == 0 {
            let problem = Problem::Missing { block: "integer", attribute: "size" };
            return Err(self.error(at, problem));
        }
        if integer.align == 0 {
            integer.align = if integer.bits.is_multiple_of(8) { 8 } else { 1 };
        }
        Ok(Type::Integer(integer))
    }

    fn float(&mut self, at: Position) -> Result<Type, MetadataError> {
        let (mut exponent, mut mantissa, mut align, mut order) = (0, 0, 0, None);
        for (at, name, value) in self.attributes()? {
            match name.as_str() {
                "exp_dig" => exponent = self.size(at, &name, &value)?,
                "mant_dig" => mantissa = self.size(at, &name, &value)?,
                "align" => align = self.alignment(at, &value)?,
                "byte_order" => order = self.byte_order(at, &value)?,
                _ => {}
            }
        }
        let bits = match (exponent, mantissa) {
            (8, 24) => 32,
            (11, 53) => 64,
            _ => {
                return Err(self.error(
                    at,
                    Problem::BadValue {
                        attribute: "floating_point".to_owned(),
                        value: format!("of exp_dig {exponent} and mant_dig {mantissa}"),
                        wanted: "expected 8 and 24, or 11 and 53",
                    },
                ));
            }
        };
        Ok(Type::Float(Float { bits, align: if align == 0 { 8 } else { align }, order }))
    }

    /// The name after `struct`, `variant` or `enum`, as the scopes store it.
    fn tag_name(&mut self, keyword: &str) -> Option<(Position, String)> {
        let at = self.at();
        let Kind::Word(word) = self.peek() else { return None };
        let name = format!("{keyword} {word}");
        self.skip();
        Some((at, name))
    }

    fn structure(&mut self) -> Result<Arc<Type>, MetadataError> {
        self.skip();
        let name = self.tag_name("struct");
        if *self.peek() != Kind::Sign("{") {
            let Some((at, name)) = name else {
                return Err(self.unexpected("a structure's name or `{`"));
            };
            return self.find(at, &name);
        }
        let at = self.at();
        let fields = self.scoped(Self::fields)?;
        let mut align = fields.iter().map(|field| field.ty.align()).max().unwrap_or(1);
        if self.takes_word("align") {
            self.expect("(")?;
            let at = self.at();
            let value = self.setting()?;
            align = align.max(self.alignment(at, &value)?);
            self.expect(")")?;
        }
        let extent = self.checked(at, Extent::around(fields.iter().map(|field| &*field.ty)))?;
        let ty = Arc::new(Type::Struct(Struct { fields: fields.into(), align, extent }));
        if let Some((at, name)) = name {
            self.define(at, name, Arc::clone(&ty))?;
        }
        Ok(ty)
    }

    fn checked(&self, at: Position, extent: Extent) -> Result<Extent, MetadataError> {
        if extent.depth > MAX_DEPTH {
            return Err(self.error(at, Problem::TooDeep(MAX_DEPTH)));
        }
        if extent.parts > MAX_PARTS {
            return Err(self.error(at, Problem::TooBig(MAX_PARTS)));
        }
        Ok(extent)
    }

    /// Fields and definitions in braces.
    fn fields(&mut self) -> Result<Vec<Field>, MetadataError> {
        self.expect("{")?;
        let mut fields: Vec<Field> = Vec::new();
        while !self.takes("}") {
            if self.definition()? {
                continue;
            }
            let base = self.specifier()?;
            loop {
                let at = self.at();
                let (name, ty) = self.declarator(&base)?;
                let name = unescaped(&name).to_owned();
                // Linear, but only hand-written structures get this far, and they are small.
                if fields.iter().any(|field| field.name == name) {
                    return Err(self.error(at, Problem::Twice(name)));
                }
                fields.push(Field { name, ty });
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        Ok(fields)
    }

    /// A name and its array lengths.
    fn declarator(&mut self, base: &Arc<Type>) -> Result<(String, Arc<Type>), MetadataError> {
        let name = self.word("a field's name")?;
        Ok((name, self.lengths(base)?))
    }

    /// `[length]` repeated, the innermost last.
    fn lengths(&mut self, base: &Arc<Type>) -> Result<Arc<Type>, MetadataError> {
        let mut lengths = Vec::new();
        while self.takes("[") {
            let at = self.at();
            match *self.peek() {
                Kind::Number(length) => {
                    self.skip();
                    lengths.push((at, Ok(length)));
                }
                _ => lengths.push((at, Err(self.path()?))),
            }
            self.expect("]")?;
        }
        let mut ty = Arc::clone(base);
        for (at, length) in lengths.into_iter().rev() {
            let extent = self.checked(at, Extent::around(std::iter::once(&*ty)))?;
            ty = Arc::new(match length {
                Ok(length) => Type::Array(Array { length, element: ty, extent }),
                Err(length) => Type::Sequence(Sequence { length, element: ty, extent }),
            });
        }
        Ok(ty)
    }

    /// A field path: names joined by dots.
    fn path(&mut self) -> Result<Path, MetadataError> {
        let at = self.at();
        let text = self.dotted("a length or a field's name")?;
        let names = text.split('.').map(|name| unescaped(name).to_owned()).collect();
        Ok(Path { names, at })
    }

    fn variant(&mut self) -> Result<Arc<Type>, MetadataError> {
        self.skip();
        let name = self.tag_name("variant");
        let tag = if self.takes("<") {
            let path = self.path()?;
            self.expect(">")?;
            Some(path)
        } else {
            None
        };
        if *self.peek() != Kind::Sign("{") {
            let Some((at, name)) = name else {
                return Err(self.unexpected("a variant's name or `{`"));
            };
            let known = self.find(at, &name)?;
            return Ok(match (&*known, tag) {
                (Type::Variant(variant), Some(tag)) => {
                    Arc::new(Type::Variant(Variant { tag: Some(tag), ..variant.clone() }))
                }
                _ => known,
            });
        }
        let at = self.at();
        let options = self.scoped(Self::fields)?;
        let extent = self.checked(at, Extent::around(options.iter().map(|option| &*option.ty)))?;
        let ty = Arc::new(Type::Variant(Variant { tag, options: options.into(), extent }));
        if let Some((at, name)) = name {
            self.define(at, name, Arc::clone(&ty))?;
        }
        Ok(ty)
    }

    fn enumeration(&mut self) -> Result<Arc<Type>, MetadataError> {
        let begin = self.at();
        self.skip();
        let name = self.tag_name("enum");
        // The default container is `int`, which must be defined.
        let container = if self.takes(":") {
            self.specifier()?
        } else if *self.peek() == Kind::Sign("{") {
            self.find(begin, "int")?
        } else {
            let Some((at, name)) = name else {
                return Err(self.unexpected("an enumeration's name or `{`"));
            };
            return self.find(at, &name);
        };
        let Type::Integer(container) = &*container else {
            return Err(self.error(
                begin,
                Problem::BadValue {
                    attribute: "an enumeration's container".to_owned(),
                    value: "another type".to_owned(),
                    wanted: "expected an integer",
                },
            ));
        };
        let container = container.clone();
        self.expect("{")?;
        let mut labels = Vec::new();
        let mut next = 0;
        while !self.takes("}") {
            labels.push(self.label(&mut next)?);
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        let ty = Arc::new(Type::Enumeration(Enumeration { container, labels }));
        if let Some((at, name)) = name {
            self.define(at, name, Arc::clone(&ty))?;
        }
        Ok(ty)
    }

    /// `label`, `label = value` or `label = from ... to`.
    fn label(&mut self, next: &mut i128) -> Result<(String, i128, i128), MetadataError> {
        let label = match self.peek().clone() {
            Kind::Word(word) => word,
            Kind::Text(text) => text,
            _ => return Err(self.unexpected("a label or `}`")),
        };
        self.skip();
        let (mut from, mut to) = (*next, *next);
        if self.takes("=") {
            from = self.signed_number()?;
            to = if self.takes("...") { self.signed_number()? } else { from };
        }
        *next = to + 1;
        Ok((label, from, to))
    }

    /// `typedef`, `typealias`, or a type definition without a field; returns whether there was one.
    pub(super) fn definition(&mut self) -> Result<bool, MetadataError> {
        let Kind::Word(word) = self.peek() else { return Ok(false) };
        match word.as_str() {
            "typealias" => self.typealias()?,
            "typedef" => self.typedef()?,
            "struct" | "variant" | "enum" if self.defines_only() => {
                self.specifier()?;
            }
            _ => return Ok(false),
        }
        self.expect(";")?;
        Ok(true)
    }

    /// Whether the closing brace is followed by `;` and not by a field's name.
    fn defines_only(&self) -> bool {
        let (mut ahead, mut open) = (0, 0);
        loop {
            match self.ahead(ahead) {
                Kind::Sign("{") => open += 1,
                Kind::Sign("}") if open > 0 => open -= 1,
                Kind::Sign(";") if open == 0 => {
                    // The end of `struct a b;` follows a field, that of `struct a { } align(8);`
                    // does not.
                    return matches!(self.ahead(ahead - 1), Kind::Sign("}" | ")"));
                }
                Kind::End => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    /// `typealias TYPE := NAME`, where the name may be several words or `struct NAME`.
    fn typealias(&mut self) -> Result<(), MetadataError> {
        self.skip();
        let base = self.specifier()?;
        let ty = self.lengths(&base)?;
        self.expect(":=")?;
        let at = self.at();
        let mut name = self.word("a type's name")?;
        while let Kind::Word(word) = self.peek() {
            name = format!("{name} {word}");
            self.skip();
        }
        self.define(at, name, ty)
    }

    /// `typedef TYPE NAME, NAME[LENGTH]`.
    fn typedef(&mut self) -> Result<(), MetadataError> {
        self.skip();
        let base = self.specifier()?;
        loop {
            let at = self.at();
            let (name, ty) = self.declarator(&base)?;
            self.define(at, name, ty)?;
            if !self.takes(",") {
                return Ok(());
            }
        }
    }
}

/// A name without the leading underscore that protects it from being a keyword.
pub(super) fn unescaped(name: &str) -> &str {
    name.strip_prefix('_').filter(|rest| !rest.is_empty()).unwrap_or(name)
}
