//! Writes what every subject prints to `DIR/NAME.expected`, computed by the same code on the host.

use std::path::PathBuf;
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("usage: subjects-host DIRECTORY")?);
    let heap: (&str, subjects_work::Work) = ("heap", subjects_heap::work);
    for (name, work) in subjects_work::SUBJECTS.iter().chain([&heap]) {
        let mut expected = String::new();
        work(&mut expected).map_err(|_| format!("subject {name} failed on the host"))?;
        fs::write(directory.join(name).with_extension("expected"), expected)?;
    }
    Ok(())
}
