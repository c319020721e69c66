//! Text in Markdown, as GitHub and GitLab show it.

use crate::visible::is_obeyed;

/// Text without what Markdown or HTML would take for its own.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c if is_obeyed(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
