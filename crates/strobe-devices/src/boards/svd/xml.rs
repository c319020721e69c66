//! The XML tree with bounds, and elements as text and numbers with their place.

use roxmltree::{Document, Node, ParsingOptions};

use super::SvdError;

/// No vendor's file comes near; trees take several times the text.
const MOST_BYTES: usize = 64 << 20;
const MOST_NODES: u32 = 4_000_000;
/// A tag with its attributes. The parser compares each attribute of a tag with every other.
const MOST_TAG_BYTES: usize = 4096;

/// The document's tree.
pub(super) fn parse(text: &str) -> Result<Document<'_>, SvdError> {
    let at_start = |problem: String| SvdError { problem, line: 1, column: 1 };
    if text.len() > MOST_BYTES {
        return Err(at_start(format!("more than {} MiB", MOST_BYTES >> 20)));
    }
    check_tags(text)?;
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let text = text.trim_start_matches('\u{feff}');
    Document::parse_with_options(text, options).map_err(|e| {
        let pos = e.pos();
        // The parser's text ends with its own form of the position.
        let text = e.to_string();
        let problem = text.rsplit_once(" at ").map_or(text.as_str(), |(what, _)| what);
        SvdError { problem: problem.to_owned(), line: pos.row, column: pos.col }
    })
}

/// No tag may be long: comments and character data may.
fn check_tags(text: &str) -> Result<(), SvdError> {
    let mut at = 0;
    while let Some(open) = text[at..].find('<') {
        let start = at + open;
        let rest = &text[start..];
        let (skip, end) = match rest {
            _ if rest.starts_with("<!--") => (4, "-->"),
            _ if rest.starts_with("<![CDATA[") => (9, "]]>"),
            _ => (1, ">"),
        };
        let Some(close) = rest[skip..].find(end) else { return Ok(()) };
        if end == ">" && close > MOST_TAG_BYTES {
            let line = text[..start].matches('\n').count() as u32 + 1;
            let column = text[..start].rsplit('\n').next().map_or(0, str::len) as u32 + 1;
            let problem = format!("a tag of more than {MOST_TAG_BYTES} bytes");
            return Err(SvdError { problem, line, column });
        }
        at = start + skip + close + end.len();
    }
    Ok(())
}

/// An error at an element.
pub(super) fn error(node: Node, problem: impl Into<String>) -> SvdError {
    let pos = node.document().text_pos_at(node.range().start);
    let (line, column) = (pos.row, pos.col);
    SvdError { problem: format!("<{}>: {}", node.tag_name().name(), problem.into()), line, column }
}

/// The child element of that name.
pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|c| c.has_tag_name(name))
}

/// Child elements of that name.
pub(super) fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |c| c.has_tag_name(name))
}

/// A child's text, if it is there and not empty.
pub(super) fn text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let text = child(node, name)?.text()?.trim();
    (!text.is_empty()).then_some(text)
}

/// A child's text, which must be there.
pub(super) fn required<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, SvdError> {
    text(node, name).ok_or_else(|| error(node, format!("has no <{name}>")))
}

/// A child as a number; `None` if it is not there.
pub(super) fn number(node: Node, name: &str) -> Result<Option<u64>, SvdError> {
    let Some(text) = text(node, name) else { return Ok(None) };
    let value = parse_number(text);
    let element = child(node, name).unwrap_or(node);
    value.map(Some).ok_or_else(|| error(element, format!("`{}` is no number", clipped(text))))
}

/// A child as a number of 32 bits, which must be there.
pub(super) fn required_u32(node: Node, name: &str) -> Result<u32, SvdError> {
    let value = number(node, name)?.ok_or_else(|| error(node, format!("has no <{name}>")))?;
    u32::try_from(value).map_err(|_| error(node, format!("<{name}> does not fit in 32 bits")))
}

/// Decimal, `0x` hexadecimal, `0b` or `#` binary with `x` for bits that do not matter.
fn parse_number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let binary = lower.strip_prefix("0b").or(lower.strip_prefix('#'));
    match (lower.strip_prefix("0x"), binary) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => u64::from_str_radix(&digits.replace('x', "0"), 2).ok(),
        _ => lower.parse().ok(),
    }
}

/// Text from the file as an error may show it.
pub(super) fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_every_form() {
        let numbers = ["12", "0x1F", "0X1f", "#01x1", "0b11", "ten", "0x", "-1"];
        let values: Vec<_> = numbers.iter().map(|n| parse_number(n)).collect();
        let expected = [Some(12), Some(31), Some(31), Some(5), Some(3), None, None, None];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_tag_has_a_length() {
        let long = format!("\n  <a {}/>", "b=\"1\" ".repeat(2000));
        let error = parse(&long).unwrap_err();
        assert_eq!((error.line, error.column), (2, 3));
        let comment = format!("<a><!-- {} --></a>", ">".repeat(10_000));
        assert!(parse(&comment).is_ok());
    }
}
