//! What commands are called in tables if nobody has named them.

/// Characters of a name that fit into a table.
const MOST: usize = 32;

/// Whether no two are the same.
pub fn all_differ(names: &[String]) -> bool {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Names for commands that fit into a table: their beginnings or, where those are the same, their
/// ends. The same command twice is numbered.
pub fn of(lines: &[&str]) -> Vec<String> {
    let starts: Vec<String> = lines.iter().map(|line| short(line)).collect();
    if all_differ(&starts) {
        return starts;
    }
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        let name = end(line);
        let again = |n: &usize| !names.contains(&format!("{name} ({n})"));
        let free = (2..).find(again).filter(|_| names.contains(&name));
        names.push(free.map_or(name.clone(), |n| format!("{name} ({n})")));
    }
    names
}

/// A name that fits into a table: how the command begins.
fn short(line: &str) -> String {
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let start: String = line.chars().take(MOST - 3).collect();
    format!("{start}...")
}

/// The same by its end.
fn end(line: &str) -> String {
    let count = line.chars().count();
    if count <= MOST {
        return line.to_owned();
    }
    let end: String = line.chars().skip(count - (MOST - 3)).collect();
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn names_are_short_and_differ() {
        assert_eq!(of(&["sort -n a", "sort a"]), ["sort -n a", "sort a"]);
        let long = "/usr/local/lib/builds/before-the-change/prog --size 3";
        let begins = "/usr/local/lib/builds/before-...";
        assert_eq!(of(&[long, "true"]), [begins, "true"]);
        let other = "/usr/local/lib/builds/before-another-change/prog --size 3";
        let ends = ["...fore-the-change/prog --size 3", "...-another-change/prog --size 3"];
        assert_eq!(of(&[long, other]), ends);
        assert_eq!(of(&["true", "true", "true"]), ["true", "true (2)", "true (3)"]);
        assert_eq!(of(&["a (2)", "a", "a"]), ["a (2)", "a", "a (3)"]);
    }
}
