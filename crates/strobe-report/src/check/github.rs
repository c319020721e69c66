//! Annotations of GitHub Actions: a workflow command for each budget that is not held
//! ("Workflow commands for GitHub Actions", section "Setting an error message").

use strobe_analyse::budget::Line;

use super::line;

/// A command in a line for each budget that is not held, about that file.
pub fn annotations(lines: &[Line], file: &str) -> String {
    let failed = lines.iter().filter(|line| !line.is_held());
    let one = |line: &Line| {
        let mut text = line::sentence(line);
        let functions = line::functions(line);
        if !functions.is_empty() {
            text.push_str(&format!("\nfunctions: {}", functions.join(", ")));
        }
        let title = format!("budget {}: {}", line.judged.verdict.name(), line::title(line));
        format!("::error file={},title={}::{}\n", property(file), property(&title), data(&text))
    };
    failed.map(one).collect()
}

/// What the runner undoes in the text.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same in a property, where two more separate.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
