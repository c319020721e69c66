//! Parser state: the position in the tokens, and the names of types by scope.

use std::collections::HashMap;
use std::sync::Arc;

use super::token::{Kind, Token};
use crate::ctf::error::{MetadataError, Position, Problem};
use crate::ctf::types::{MAX_DEPTH, Type};

/// Position in the tokens, and definitions so far.
#[derive(Debug)]
pub(super) struct Parser {
    tokens: Vec<Token>,
    next: usize,
    /// Names of types by scope, the innermost last. Names of structures, variants and enumerations
    /// include the keyword.
    scopes: Vec<HashMap<String, Arc<Type>>>,
    /// Names of clocks in the order of first reference: types may refer to clocks that are
    /// described later.
    pub(super) clocks: Vec<(String, Position)>,
    depth: u32,
}

impl Parser {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        let scopes = vec![HashMap::new()];
        Parser { tokens, next: 0, scopes, clocks: Vec::new(), depth: 0 }
    }

    /// The next token; at the end `Kind::End`, repeatedly.
    pub(super) fn peek(&self) -> &Kind {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, tokens: usize) -> &Kind {
        self.tokens.get(self.next + tokens).map_or(&Kind::End, |token| &token.kind)
    }

    pub(super) fn at(&self) -> Position {
        let token = self.tokens.get(self.next).or(self.tokens.last());
        token.map_or(Position { line: 1, column: 1 }, |token| token.at)
    }

    pub(super) fn skip(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len());
    }

    /// Consumes the sign if it is next.
    pub(super) fn takes(&mut self, sign: &'static str) -> bool {
        let there = *self.peek() == Kind::Sign(sign);
        if there {
            self.skip();
        }
        there
    }

    /// Consumes the word if it is next.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Kind::Word(found) if found == word);
        if there {
            self.skip();
        }
        there
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), MetadataError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    pub(super) fn word(&mut self, wanted: &'static str) -> Result<String, MetadataError> {
        let Kind::Word(word) = self.peek() else { return Err(self.unexpected(wanted)) };
        let word = word.clone();
        self.skip();
        Ok(word)
    }

    /// The error for an unexpected token.
    pub(super) fn unexpected(&self, wanted: &'static str) -> MetadataError {
        self.error(self.at(), Problem::Expected { wanted, found: self.peek().shown() })
    }

    pub(super) fn error(&self, at: Position, problem: Problem) -> MetadataError {
        MetadataError::Text { at, problem }
    }

    /// Runs `inner` with a scope of its own, one level deeper.
    pub(super) fn scoped<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, MetadataError>,
    ) -> Result<T, MetadataError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(self.at(), Problem::TooDeep(MAX_DEPTH)));
        }
        self.depth += 1;
        self.scopes.push(HashMap::new());
        let result = inner(self);
        self.scopes.pop();
        self.depth -= 1;
        result
    }

    /// Whether the name of a type is visible.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains_key(name))
    }

    /// The type of that name in the innermost scope that defines it.
    pub(super) fn find(&self, at: Position, name: &str) -> Result<Arc<Type>, MetadataError> {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().ok_or_else(|| self.error(at, Problem::UnknownType(name.to_owned())))
    }

    /// Defines a name for a type in the innermost scope.
    pub(super) fn define(
        &mut self,
        at: Position,
        name: String,
        ty: Arc<Type>,
    ) -> Result<(), MetadataError> {
        let scope = self.scopes.last_mut();
        let twice = scope.is_some_and(|scope| scope.insert(name.clone(), ty).is_some());
        if twice { Err(self.error(at, Problem::Twice(name))) } else { Ok(()) }
    }

    /// The index of a clock name.
    pub(super) fn clock(&mut self, at: Position, name: &str) -> usize {
        let known = self.clocks.iter().position(|(clock, _)| clock == name);
        known.unwrap_or_else(|| {
            self.clocks.push((name.to_owned(), at));
            self.clocks.len() - 1
        })
    }
}
