//! `--pictures DIR`: what displays and lamps beside the chips show, as PNG files with a list of
//! when.

use std::path::{Path, PathBuf};

use strobe_report::picture::{self, Shown};
use strobe_sim::device::part::Picture;

use crate::{exit, files};

/// The list's name.
const LIST: &str = "pictures.json";

/// Picture files that one run may write; a firmware that draws wildly shall not fill the disk.
const MOST_FILES: usize = 100_000;

/// What `--pictures` wrote.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Pictures that were left out.
    pub left_out: u64,
}

/// Writes each picture that is not the same as the one before.
pub struct Gallery {
    directory: PathBuf,
    shown: Vec<Shown>,
    /// By part: its last picture, and where that is in `shown`.
    last: Vec<(String, Picture, usize)>,
    failed: Option<anyhow::Error>,
    left_out: u64,
}

impl Gallery {
    /// Pictures go to this directory, which is made if need be.
    pub fn new(directory: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(directory).map_err(|e| {
            exit::output(format!("cannot make the directory {}: {e}", directory.display()))
        })?;
        Ok(Gallery {
            directory: directory.to_owned(),
            shown: Vec::new(),
            last: Vec::new(),
            failed: None,
            left_out: 0,
        })
    }

    /// A part shows a picture.
    pub fn show(&mut self, part: &str, at: u64, picture: &Picture) {
        let known = self.last.iter().position(|(name, ..)| name == part);
        if let Some((_, _, entry)) = known.map(|i| &self.last[i]).filter(|l| l.1 == *picture) {
            let shown = &mut self.shown[*entry];
            (shown.last_ns, shown.times) = (at, shown.times + 1);
            return;
        }
        if self.shown.len() >= MOST_FILES {
            self.left_out += 1;
            return;
        }
        let number = 1 + self.shown.iter().filter(|shown| shown.part == part).count();
        let file = format!("{}-{number:05}.png", file_name(part));
        self.write(&file, picture);
        let zoom = zoom(picture) as u32;
        let (part, times) = (part.to_owned(), 1);
        let shown = Shown { part, file, zoom, first_ns: at, last_ns: at, times };
        let entry = (shown.part.clone(), picture.clone(), self.shown.len());
        match known {
            Some(i) => self.last[i] = entry,
            None => self.last.push(entry),
        }
        self.shown.push(shown);
    }

    fn write(&mut self, file: &str, picture: &Picture) {
        let path = self.directory.join(file);
        let zoom = zoom(picture);
        let (width, height) =
            (u32::from(picture.width) * zoom as u32, u32::from(picture.height) * zoom as u32);
        let written = picture::png(width, height, &enlarged(picture, zoom))
            .map_err(|e| e.to_string())
            .map_err(|e| exit::output(format!("cannot write {}: {e}", path.display())))
            .and_then(|bytes| files::within(&self.directory, file, &bytes));
        if let Err(problem) = written {
            self.failed.get_or_insert(problem);
        }
    }

    /// Writes the list; `Err` if any file could not be written, `None` if none was asked for.
    pub fn finish(mut galleries: Vec<Gallery>) -> anyhow::Result<Option<Written>> {
        let Some(directory) = galleries.first().map(|g| g.directory.clone()) else {
            return Ok(None);
        };
        let left_out = galleries.iter().map(|g| g.left_out).sum();
        if let Some(problem) = galleries.iter_mut().find_map(|g| g.failed.take()) {
            return Err(problem);
        }
        let mut all: Vec<Shown> = galleries.into_iter().flat_map(|g| g.shown).collect();
        all.sort_by(|a, b| (&a.part, a.first_ns).cmp(&(&b.part, b.first_ns)));
        files::within(&directory, LIST, strobe_report::picture::list(&all)?.as_bytes())?;
        Ok(Some(Written { files: all.len(), left_out }))
    }
}

/// Pixels that an enlarged picture has in a row and in a column at most.
const LARGE: u16 = 480;

/// How many times small pictures are enlarged, so that people can see something of a few lamps.
fn zoom(picture: &Picture) -> usize {
    usize::from(LARGE / picture.width.max(picture.height).max(1)).clamp(1, 16)
}

/// The picture with each pixel made `zoom` times as wide and high.
fn enlarged(picture: &Picture, zoom: usize) -> Vec<u8> {
    let rows = picture.rgb.chunks_exact(3 * usize::from(picture.width).max(1));
    let rows = rows.flat_map(|row| std::iter::repeat_n(row, zoom));
    let pixels = rows.flat_map(|row| row.as_chunks::<3>().0);
    pixels.flat_map(|pixel| std::iter::repeat_n(*pixel, zoom).flatten()).collect()
}

/// A part's name without what a file's name should not have.
fn file_name(part: &str) -> String {
    part.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
