//! Functions as comma-separated values: `address,size,kind,name` in any order, named by the first
//! line.

use super::{Error, address, begun};

/// Reads a list: name, first address and size of each function, in the list's order.
///
/// # Errors
/// When the header line lacks address or name, or a line lacks a value for them.
pub fn parse(bytes: &[u8]) -> Result<Vec<(String, u32, u32)>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().enumerate();
    let head = lines.next().map_or("", |(_, line)| line);
    let column = |name: &str| head.split(',').position(|column| column.trim() == name);
    let (Some(at), Some(name)) = (column("address"), column("name")) else {
        return Err(Error::Lacks(
            "not a list of functions: its first line should be address,size,kind,name",
        ));
    };
    let size = column("size");
    let mut functions = Vec::new();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |wanted| Error::Line { line: n + 1, wanted, found: begun(line) };
        // C++ names contain commas; the name must be the last column then.
        let parts: Vec<&str> = line.splitn(head.split(',').count(), ',').map(str::trim).collect();
        let get = |column: usize| parts.get(column).copied().unwrap_or_default();
        let start = address(get(at)).ok_or_else(|| wrong("an address such as 0x08000123"))?;
        let size = size.map_or(Ok(0), |column| get(column).parse::<u32>());
        let size = size.map_err(|_| wrong("a size in bytes"))?;
        functions.push((get(name).to_owned(), start, size));
    }
    Ok(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_their_names() {
        let list = parse(b"address,size,kind,name\n0x10,4,T,f(int, int)\n\n0x20,0,t,g\n").unwrap();
        assert_eq!(list, [("f(int, int)".to_owned(), 0x10, 4), ("g".to_owned(), 0x20, 0)]);
        assert_eq!(parse(b"name,address\nf,0x10").unwrap(), [("f".to_owned(), 0x10, 0)]);
        let error = parse(b"address,size,name\n16,4,f").unwrap_err().to_string();
        assert_eq!(error, "line 2: expected an address such as 0x08000123, found `16,4,f`");
        assert!(parse(b"").is_err() && parse(b"a,b").is_err());
    }
}
