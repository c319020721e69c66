//! The one place that prints: on standard output and standard error nothing from a file, a wire or
//! an argument is obeyed by a terminal (`strobe_report::visible`).

use std::io::{self, IsTerminal, Write};

use strobe_report::visible;

/// Writes a message to standard error, its further lines indented; if nobody listens there the exit
/// code must do.
pub fn message(message: &str) {
    let shown = visible::text(message);
    let mut lines = shown.trim_end().lines();
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        text.push('\n');
        text.push_str(indent);
        text.push_str(line);
    }
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a result to standard output: text with the colours of reports if it is for a terminal
/// that shows them, JSON, or, as bytes that are no text, what it is.
///
/// # Errors
/// If nobody takes it.
pub fn result(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&safe(bytes, has_colours()))?;
    out.flush()
}

/// The same bytes without what a terminal would obey, but for colours if they have any.
pub fn safe(bytes: &[u8], colours: bool) -> std::borrow::Cow<'_, [u8]> {
    use std::borrow::Cow;
    let Ok(text) = std::str::from_utf8(bytes) else { return Cow::Borrowed(bytes) };
    let is_json = text.starts_with(['{', '[']);
    let shown = if is_json { visible::json(text) } else { visible::report(text, colours) };
    match shown {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Puts the cursor in the first place and removes what was shown.
///
/// # Errors
/// If nobody takes it.
pub fn clear() -> io::Result<()> {
    io::stdout().lock().write_all(b"\x1b[H\x1b[J")
}

/// Whether results on standard output are coloured.
pub fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// How wide the terminal on standard output is, if one is there: `COLUMNS` before what the terminal
/// has, because shells do not export it unless somebody wants it so.
pub fn columns() -> Option<usize> {
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || terminal_size::terminal_size_of(io::stdout()).map(|size| size.0.0.into());
    // A terminal that knows no size has 0 columns.
    wanted.or_else(of_terminal).filter(|columns| *columns > 0)
}

/// Whether people read standard output.
pub fn is_watched() -> bool {
    io::stdout().is_terminal()
}

/// Another handle of standard output, to find out what it is.
///
/// # Errors
/// If there is none.
#[cfg(unix)]
pub fn standard_output() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned()
}

/// Shows a stream of text as it comes, with everything visible: what a firmware prints.
pub struct Shown<W: Write> {
    stream: visible::Stream,
    out: W,
}

impl<W: Write> Shown<W> {
    /// Shows it there.
    pub fn on(out: W) -> Self {
        Shown { stream: visible::Stream::default(), out }
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write_all(self.stream.push(bytes).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Shown<W> {
    fn drop(&mut self) {
        let _ = self.out.write_all(self.stream.finish().as_bytes());
        let _ = self.out.flush();
    }
}
