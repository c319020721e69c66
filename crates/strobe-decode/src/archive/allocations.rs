//! The output of a traced allocator, character by character, over a trace pin: a line
//! `alloc SIZE ADDRESS`, then a line `ADDRESS NAME` for each caller, the outermost first.
//! Characters may be lost or damaged. Also the call tree published from such a text.

use serde_json::Value;

use super::{Error, address};

/// One allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The line of the text, from 1.
    pub line: usize,
    /// The size, as printed.
    pub size: u64,
    /// The address of the block.
    pub address: u32,
    /// Callers, the outermost first.
    pub frames: Vec<Frame>,
}

/// A caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The address, if it can be parsed.
    pub address: Option<u32>,
    /// The name, or the whole line if there is no address; invalid UTF-8 is replaced.
    pub name: String,
    /// The line is damaged: it lacks an address or a name, or has bytes that cannot be in a name.
    pub damaged: bool,
}

/// A text of allocations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// In the order of the text.
    pub allocations: Vec<Allocation>,
    /// Lines before the first allocation.
    pub before: u64,
    /// Messages of the unwinder in place of a caller, as
    /// `0x00000000 <reached end of unwind table>`.
    pub remarks: u64,
    /// Damaged heads: lines that begin with `alloc` and cannot be parsed. Their callers are not
    /// counted.
    pub damaged_heads: Vec<(usize, String)>,
}

/// Whether a text looks like one of these.
pub fn is_text(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').take(50);
    lines.filter_map(|line| std::str::from_utf8(line).ok()).any(|line| head(line.trim()).is_some())
}

/// Reads a text. Accepts any bytes; the result may have no allocations.
pub fn parse(bytes: &[u8]) -> Text {
    let mut text = Text::default();
    let mut inside = false;
    for (n, raw) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = String::from_utf8_lossy(raw);
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if let Some((size, address)) = head(line) {
            inside = true;
            text.allocations.push(Allocation { line: n + 1, size, address, frames: Vec::new() });
        } else if line.starts_with("alloc") {
            inside = false;
            text.damaged_heads.push((n + 1, line.to_owned()));
        } else if line.starts_with("0x00000000 <") && line.ends_with('>') {
            text.remarks += 1;
        } else if let (true, Some(last)) = (inside, text.allocations.last_mut()) {
            last.frames.push(frame(line));
        } else {
            text.before += 1;
        }
    }
    text
}

fn head(line: &str) -> Option<(u64, u32)> {
    let (size, place) = line.strip_prefix("alloc ")?.split_once(' ')?;
    (place.len() == 10).then_some(())?;
    Some((size.parse().ok()?, address(place)?))
}

fn frame(line: &str) -> Frame {
    let parts = line.split_at_checked(10).and_then(|(at, name)| Some((address(at)?, name)));
    let Some((address, name)) = parts else {
        return Frame { address: None, name: line.to_owned(), damaged: true };
    };
    let name = name.trim();
    let damaged = name.is_empty() || !name.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    Frame { address: Some(address), name: name.to_owned(), damaged }
}

/// A node of a published call tree, with what it calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// `ADDRESS NAME`.
    pub key: String,
    /// The published name of the function at the address.
    pub function: String,
    /// Allocations below it.
    pub count: u64,
    /// Their sizes: how many of each.
    pub blocks: Vec<(u64, u64)>,
    /// What it calls.
    pub children: Vec<Node>,
}

/// A published call tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The outermost callers.
    pub roots: Vec<Node>,
    /// Bytes that are not UTF-8.
    pub not_utf8: u64,
}

/// Reads a published call tree.
///
/// # Errors
/// When it is not JSON, or no node has the expected form.
pub fn parse_tree(bytes: &[u8]) -> Result<Tree, Error> {
    let not_utf8 = bytes.utf8_chunks().map(|chunk| chunk.invalid().len() as u64).sum();
    let text = String::from_utf8_lossy(bytes);
    let Value::Object(top) = serde_json::from_str(&text)? else {
        return Err(Error::Lacks("not a call tree of allocations: it is not a JSON object"));
    };
    let roots: Vec<Node> = top.iter().filter_map(|(key, value)| node(key, value)).collect();
    if roots.is_empty() {
        return Err(Error::Lacks("not a call tree of allocations: no node has `allocated-blks`"));
    }
    Ok(Tree { roots, not_utf8 })
}

/// The JSON parser limits the depth to 128 levels, so this recursion is bounded too.
fn node(key: &str, value: &Value) -> Option<Node> {
    let fields = value.as_object()?;
    let blocks = fields.get("allocated-blks")?.as_array()?;
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
    let block = |block: &Value| Some((number(block, "size")?, number(block, "count")?));
    Some(Node {
        key: key.to_owned(),
        function: fields.get("function").and_then(Value::as_str).unwrap_or_default().to_owned(),
        count: number(value, "count").unwrap_or(0),
        blocks: blocks.iter().filter_map(block).collect(),
        children: fields.iter().filter_map(|(key, value)| node(key, value)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_lines_are_kept_and_marked() {
        let text = b"boot\nalloc 24 0x20000010\n0x08000100 main\r\n0x08000200 \xf1lloc\n\
                     0x0800020\nalloc 4x 0x20000000\n\
                     0x08000300 lost\nalloc 40 0x00000000\n\
                     0x00000000 <reached end of unwind table>\n";
        let read = parse(text);
        assert!(is_text(text) && !is_text(b"hello\n"));
        assert_eq!((read.before, read.allocations.len()), (2, 2));
        assert_eq!(read.damaged_heads, [(6, "alloc 4x 0x20000000".to_owned())]);
        let first = &read.allocations[0];
        assert_eq!((first.line, first.size, first.address), (2, 24, 0x2000_0010));
        let frames: Vec<_> =
            first.frames.iter().map(|f| (f.address, f.name.as_str(), f.damaged)).collect();
        let wanted = [
            (Some(0x0800_0100), "main", false),
            (Some(0x0800_0200), "\u{fffd}lloc", true),
            (None, "0x0800020", true),
        ];
        assert_eq!(frames, wanted);
        assert_eq!((read.allocations[1].frames.len(), read.remarks), (0, 1));
    }

    #[test]
    fn trees_have_counts_and_blocks() {
        let json = b"{\"0x1 a\xff\": {\"function\": \"a\", \"count\": 2, \"allocated-blks\": \
                     [{\"count\": 2, \"size\": 24}],
                     \"0x2 b\": {\"count\": 2, \"allocated-blks\": []}}, \"note\": 1}";
        let tree = parse_tree(json).unwrap();
        assert_eq!((tree.not_utf8, tree.roots.len()), (1, 1));
        let root = &tree.roots[0];
        assert_eq!((root.count, &root.blocks[..], root.children.len()), (2, &[(24, 2)][..], 1));
        assert!(parse_tree(b"{}").is_err() && parse_tree(b"{\"a\": ").is_err());
    }
}
