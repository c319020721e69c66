//! A published profile: for each function its file, its hits, and the hits of its addresses. The
//! form resembles JSON but is not valid JSON.

use super::{Error, begun};

/// A function of a published profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// Its file, as published.
    pub file: String,
    /// Hits.
    pub hits: u64,
    /// Addresses with their hits.
    pub addresses: Vec<(u32, u64)>,
}

/// Reads a profile; functions stay in file order.
///
/// # Errors
/// When a line does not match the format, or there is no function.
pub fn parse(bytes: &[u8]) -> Result<Vec<Published>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut functions: Vec<Published> = Vec::new();
    let mut file = String::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |wanted| Error::Line { line: n + 1, wanted, found: begun(line) };
        if let Some(path) = line.strip_prefix("file: ") {
            file = path.to_owned();
        } else if let Some(name) = line.strip_prefix("function: ") {
            let (name, file) = (name.to_owned(), std::mem::take(&mut file));
            functions.push(Published { name, file, ..Published::default() });
        } else if let Some(hits) = line.strip_prefix("hits: ") {
            let function = functions.last_mut().ok_or_else(|| wrong("a function before hits"))?;
            function.hits = hits.parse().map_err(|_| wrong("a number of hits"))?;
        } else if line.starts_with('{') {
            let function =
                functions.last_mut().ok_or_else(|| wrong("a function before details"))?;
            let detail = detail(line);
            function.addresses.push(detail.ok_or_else(|| wrong("hits and an address"))?);
        } else if !["", "details: [", "]", "],"].contains(&line) {
            return Err(wrong("file, function, hits or details"));
        }
    }
    if functions.is_empty() {
        return Err(Error::Lacks("not a published profile: it has no line `function: `"));
    }
    Ok(functions)
}

/// `{ hits: 2, line: 176, address: 8000724},`, where the address is hexadecimal.
fn detail(line: &str) -> Option<(u32, u64)> {
    let inner = line.trim_end_matches(',').strip_prefix('{')?.strip_suffix('}')?;
    let (mut hits, mut address) = (None, None);
    for part in inner.split(',') {
        match part.split_once(':')? {
            (name, value) if name.trim() == "hits" => hits = value.trim().parse().ok(),
            (name, value) if name.trim() == "address" => {
                address = u32::from_str_radix(value.trim(), 16).ok();
            }
            _ => {}
        }
    }
    Some((address?, hits?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_hits_and_addresses() {
        let text = "\nfile: /a/b.c\nfunction: f\nhits: 3\ndetails: [\n\
                    \t{ hits: 2, line: 1, address: 8000724},\n\
                    \t{ hits: 1, line: 2, address: 80007a0},\n\n]\n";
        let functions = parse(text.as_bytes()).unwrap();
        assert_eq!(functions[0].addresses, [(0x0800_0724, 2), (0x0800_07a0, 1)]);
        assert_eq!((functions[0].name.as_str(), functions[0].hits), ("f", 3));
        let error = parse(b"function: f\nhits: many").unwrap_err().to_string();
        assert_eq!(error, "line 2: expected a number of hits, found `hits: many`");
        assert!(parse(b"").is_err() && parse(b"\xff\xfe").is_err() && parse(b"{").is_err());
    }
}
