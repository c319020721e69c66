//! Arrays: one element that stands for several, with `%s` in its name (`dim`, `dimIncrement`,
//! `dimIndex`).

use roxmltree::Node;

use super::SvdError;
use super::xml::{clipped, error, number, required, text};

/// Elements that one array may have: words of a peripheral's own RAM are registers in some files.
const MOST: u64 = 16_384;

/// The names and offsets that an element stands for: itself, or those of an array.
pub(super) fn instances(node: Node) -> Result<Vec<(String, u32)>, SvdError> {
    let name = required(node, "name")?;
    let Some(count) = number(node, "dim")? else { return Ok(vec![(plain(name), 0)]) };
    if count > MOST {
        return Err(error(node, format!("an array of {count}, more than {MOST}")));
    }
    let step = number(node, "dimIncrement")?.unwrap_or(0);
    let indices = indices(text(node, "dimIndex"), count)
        .ok_or_else(|| error(node, "dimIndex has another number of entries than dim"))?;
    let one = |(n, index): (u64, String)| {
        let offset = n.checked_mul(step).and_then(|o| u32::try_from(o).ok());
        let offset = offset.ok_or_else(|| {
            error(node, format!("dimIncrement {step} leaves the address space at element {n}"))
        })?;
        Ok((plain(&name.replace("%s", &index)), offset))
    };
    (0..).zip(indices).map(one).collect()
}

/// Names as reports show them.
fn plain(name: &str) -> String {
    clipped(name)
}

/// `0-3`, `A-D` or `a,b,c`; without any, the numbers from 0.
fn indices(text: Option<&str>, count: u64) -> Option<Vec<String>> {
    let Some(text) = text else { return Some((0..count).map(|n| n.to_string()).collect()) };
    let list: Vec<String> = match text.split_once('-') {
        Some((first, last)) => range(first.trim(), last.trim(), count)?,
        None => text.split(',').take(MOST as usize + 1).map(|i| clipped(i.trim())).collect(),
    };
    (list.len() as u64 == count).then_some(list)
}

fn range(first: &str, last: &str, count: u64) -> Option<Vec<String>> {
    if let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) {
        // Counted before it is made.
        let fits = last.checked_sub(first)?.checked_add(1)? == count;
        return fits.then(|| (first..=last).map(|n| n.to_string()).collect());
    }
    let letter = |s: &str| (s.len() == 1).then(|| s.as_bytes()[0]).filter(u8::is_ascii_alphabetic);
    let (first, last) = (letter(first)?, letter(last)?);
    Some((first..=last).map(|b| char::from(b).to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_counted_from_a_range_or_a_list() {
        let join = |text, count| indices(text, count).map(|list| list.join(" "));
        assert_eq!(join(None, 3).as_deref(), Some("0 1 2"));
        assert_eq!(join(Some("3-5"), 3).as_deref(), Some("3 4 5"));
        assert_eq!(join(Some("A-C"), 3).as_deref(), Some("A B C"));
        assert_eq!(join(Some("x, y"), 2).as_deref(), Some("x y"));
        assert_eq!(join(Some("0-18446744073709551615"), 2), None);
        assert_eq!(join(Some("x,y"), 3), None);
    }
}
