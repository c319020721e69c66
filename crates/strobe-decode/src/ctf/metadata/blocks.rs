//! The blocks of a metadata: `trace`, `stream`, `event`, `clock`, `env` (section 7.3).

use std::sync::Arc;

use super::attributes::Setting;
use super::parser::Parser;
use super::token::Kind;
use crate::ctf::error::{MetadataError, Position, Problem};
use crate::ctf::trace::{Clock, EnvValue, EventClass, EventIds, StreamClass, Trace};
use crate::ctf::types::{ByteOrder, Type};

/// The content of a block: attributes and type assignments.
#[derive(Default)]
struct Block {
    settings: Vec<(Position, String, Setting)>,
    types: Vec<(String, Arc<Type>)>,
}

impl Block {
    fn get(&self, name: &str) -> Option<(Position, &Setting)> {
        self.settings.iter().find(|(_, n, _)| n == name).map(|(at, _, value)| (*at, value))
    }

    fn take_type(&mut self, name: &str) -> Option<Arc<Type>> {
        let index = self.types.iter().position(|(n, _)| n == name)?;
        Some(self.types.swap_remove(index).1)
    }

    /// A string, or an identifier in its place.
    fn text(&self, name: &str) -> Option<String> {
        match self.get(name)?.1 {
            Setting::Text(text) | Setting::Word(text) => Some(text.clone()),
            Setting::Number(number) => Some(number.to_string()),
        }
    }

    fn number<N: TryFrom<i128>>(
        &self,
        name: &str,
        wanted: &'static str,
    ) -> Result<Option<N>, MetadataError> {
        let Some((at, setting)) = self.get(name) else { return Ok(None) };
        let number = match setting {
            Setting::Number(number) => N::try_from(*number).ok(),
            _ => None,
        };
        let problem = || {
            let (attribute, value) = (name.to_owned(), setting.shown());
            MetadataError::Text { at, problem: Problem::BadValue { attribute, value, wanted } }
        };
        number.map(Some).ok_or_else(problem)
    }
}

/// The content of the `trace` block.
struct TraceBlock {
    order: Option<ByteOrder>,
    uuid: Option<[u8; 16]>,
    packet_header: Option<Arc<Type>>,
}

/// All blocks.
#[derive(Default)]
struct Found {
    trace: Option<TraceBlock>,
    streams: Vec<StreamClass>,
    /// Events with their places in the text and the streams they name.
    events: Vec<(Position, EventClass, Option<u64>)>,
    clocks: Vec<Clock>,
    environment: Vec<(String, EnvValue)>,
}

/// Reads all blocks.
pub(super) fn trace(mut parser: Parser) -> Result<Trace, MetadataError> {
    let mut found = Found::default();
    while *parser.peek() != Kind::End {
        if parser.takes(";") || parser.definition()? {
            continue;
        }
        let at = parser.at();
        let name = parser.word("a block or a definition")?;
        let mut block = parser.scoped(block)?;
        parser.expect(";")?;
        match name.as_str() {
            "trace" => {
                if found.trace.is_some() {
                    return Err(parser.error(at, Problem::Twice(name)));
                }
                let order = match block.get("byte_order") {
                    Some((at, order)) => parser.byte_order(at, order)?,
                    None => None,
                };
                let uuid = uuid(&block)?;
                let packet_header = block.take_type("packet.header");
                found.trace = Some(TraceBlock { order, uuid, packet_header });
            }
            "stream" => {
                let stream = stream(&mut block)?;
                if found.streams.iter().any(|other| other.id == stream.id) {
                    return Err(parser.error(at, Problem::Twice(format!("stream {}", stream.id))));
                }
                found.streams.push(stream);
            }
            "event" => {
                let (event, stream) = event(at, &mut block)?;
                found.events.push((at, event, stream));
            }
            "clock" => found.clocks.push(clock(at, &block)?),
            "env" => found.environment.extend(block.settings.into_iter().map(environment)),
            // Source locations of events; not needed to read streams.
            "callsite" => {}
            _ => {
                let wanted = "trace, stream, event, clock, env, callsite or a definition";
                let found = format!("`{name}`");
                return Err(parser.error(at, Problem::Expected { wanted, found }));
            }
        }
    }
    found.assemble(&parser)
}

fn block(parser: &mut Parser) -> Result<Block, MetadataError> {
    parser.expect("{")?;
    let mut block = Block::default();
    while !parser.takes("}") {
        if parser.takes(";") || parser.definition()? {
            continue;
        }
        let at = parser.at();
        let name = parser.dotted("an attribute, a definition or `}`")?;
        if parser.takes(":=") {
            let ty = parser.specifier()?;
            if block.types.iter().any(|(other, _)| *other == name) {
                return Err(parser.error(at, Problem::Twice(name)));
            }
            block.types.push((name, ty));
        } else {
            parser.expect("=")?;
            let value = parser.setting()?;
            block.settings.push((at, name, value));
        }
        parser.expect(";")?;
    }
    Ok(block)
}

fn uuid(block: &Block) -> Result<Option<[u8; 16]>, MetadataError> {
    let Some((at, setting)) = block.get("uuid") else { return Ok(None) };
    let digits: Option<String> = match setting {
        Setting::Text(text) => Some(text.chars().filter(|c| *c != '-').collect()),
        _ => None,
    };
    let number = digits
        .filter(|digits| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|digits| u128::from_str_radix(&digits, 16).ok());
    let problem = || {
        let (attribute, value) = ("uuid".to_owned(), setting.shown());
        let wanted = "expected 32 quoted hexadecimal digits";
        MetadataError::Text { at, problem: Problem::BadValue { attribute, value, wanted } }
    };
    number.map(|number| Some(number.to_be_bytes())).ok_or_else(problem)
}

fn stream(block: &mut Block) -> Result<StreamClass, MetadataError> {
    Ok(StreamClass {
        id: block.number("id", "expected a number of 0 or more")?.unwrap_or(0),
        packet_context: block.take_type("packet.context"),
        event_header: block.take_type("event.header"),
        event_context: block.take_type("event.context"),
    })
}

fn event(at: Position, block: &mut Block) -> Result<(EventClass, Option<u64>), MetadataError> {
    let missing = Problem::Missing { block: "event", attribute: "name" };
    let name = block.text("name").ok_or(MetadataError::Text { at, problem: missing })?;
    let stream = block.number("stream_id", "expected a number of 0 or more")?;
    let event = EventClass {
        name,
        // Set when the trace is complete.
        index: 0,
        id: block.number("id", "expected a number of 0 or more")?.unwrap_or(0),
        stream: stream.unwrap_or(0),
        log_level: block.number("loglevel", "expected a number of 0 or more")?,
        context: block.take_type("context"),
        fields: block.take_type("fields"),
    };
    Ok((event, stream))
}

fn clock(at: Position, block: &Block) -> Result<Clock, MetadataError> {
    let missing = Problem::Missing { block: "clock", attribute: "name" };
    let name = block.text("name").ok_or(MetadataError::Text { at, problem: missing })?;
    let hz = block.number::<u64>("freq", "expected ticks per second")?;
    if let (Some(0), Some((at, _))) = (hz, block.get("freq")) {
        let (attribute, value) = ("freq".to_owned(), "0".to_owned());
        let wanted = "expected ticks per second";
        let problem = Problem::BadValue { attribute, value, wanted };
        return Err(MetadataError::Text { at, problem });
    }
    let whole = "expected a 64-bit integer";
    Ok(Clock {
        name,
        hz: hz.unwrap_or(1_000_000_000),
        precision: block.number("precision", whole)?.unwrap_or(0),
        offset_s: block.number("offset_s", whole)?.unwrap_or(0),
        offset: block.number("offset", whole)?.unwrap_or(0),
        description: block.text("description").unwrap_or_default(),
    })
}

fn environment((_, name, value): (Position, String, Setting)) -> (String, EnvValue) {
    let value = match value {
        Setting::Number(number) => EnvValue::Number(number),
        Setting::Text(text) | Setting::Word(text) => EnvValue::Text(text),
    };
    (name, value)
}

impl Found {
    fn assemble(self, parser: &Parser) -> Result<Trace, MetadataError> {
        let Some(TraceBlock { order, uuid, packet_header }) = self.trace else {
            return Err(MetadataError::Whole("there is no `trace` block; is this CTF metadata?"));
        };
        let lacks = "the `trace` block lacks `byte_order = le;` or `be`";
        let order = order.ok_or(MetadataError::Whole(lacks))?;
        let mut streams = self.streams;
        if streams.is_empty() {
            let (packet_context, event_header, event_context) = (None, None, None);
            streams.push(StreamClass { id: 0, packet_context, event_header, event_context });
        }
        let clocks = clocks(self.clocks, parser)?;
        let only = (streams.len() == 1).then(|| streams[0].id);
        let mut by_id = EventIds::default();
        let mut events = Vec::with_capacity(self.events.len());
        for (at, mut event, stream) in self.events {
            event.stream = stream.or(only).unwrap_or(0);
            event.index = events.len();
            if !streams.iter().any(|stream| stream.id == event.stream) {
                return Err(parser.error(at, Problem::UnknownStream(event.stream)));
            }
            if !by_id.insert(event.stream, event.id, events.len()) {
                let name = format!("event {} of stream {}", event.id, event.stream);
                return Err(parser.error(at, Problem::Twice(name)));
            }
            events.push(event);
        }
        let environment = self.environment;
        Ok(Trace {
            order,
            uuid,
            packet_header,
            streams,
            events,
            clocks,
            environment,
            by_id,
            has_references: false,
        })
    }
}

/// Clocks in the order of first reference by a type, then the others.
fn clocks(mut described: Vec<Clock>, parser: &Parser) -> Result<Vec<Clock>, MetadataError> {
    let mut clocks = Vec::new();
    for (name, at) in &parser.clocks {
        let Some(index) = described.iter().position(|clock| clock.name == *name) else {
            let (attribute, value) = ("map".to_owned(), format!("clock `{name}`"));
            let wanted = "no clock of that name is described";
            return Err(parser.error(*at, Problem::BadValue { attribute, value, wanted }));
        };
        clocks.push(described.remove(index));
    }
    clocks.append(&mut described);
    Ok(clocks)
}
