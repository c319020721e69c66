//! Packs files into reproducible archives: the same files give the same bytes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use zip::write::SimpleFileOptions;

use super::build::{Time, output};
use super::contents::Files;
use super::target::Format;

/// Writes an archive NAME.EXTENSION into the folder, with all files below a folder `name`.
pub(super) fn write(
    format: Format,
    folder: &Path,
    name: &str,
    files: &Files,
    time: Time,
) -> Result<PathBuf> {
    let (ending, bytes) = match format {
        Format::TarGz => ("tar", tar(name, files, time)?),
        Format::Zip => ("zip", zip(name, files, time)?),
    };
    let path = folder.join(format!("{name}.{ending}"));
    std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    if format == Format::Zip {
        return Ok(path);
    }
    // -n: neither a time nor a file name in the header.
    output(Command::new("gzip").args(["-9", "-n", "--force"]).arg(&path))?;
    Ok(folder.join(format!("{name}.tar.gz")))
}

fn tar(name: &str, files: &Files, time: Time) -> Result<Vec<u8>> {
    let mut tar = Vec::new();
    for (path, file) in files {
        let mode = if file.executable { 0o755 } else { 0o644 };
        tar.extend(header(&format!("{name}/{path}"), mode, file.bytes.len(), time)?);
        tar.extend(&file.bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    // Two empty blocks end an archive.
    tar.resize(tar.len() + 1024, 0);
    Ok(tar)
}

/// A file's header (POSIX.1-2017, pax, "ustar Interchange Format"): it belongs to user and group 0.
fn header(path: &str, mode: u32, size_bytes: usize, time: Time) -> Result<[u8; 512]> {
    let mut header = [0; 512];
    if path.len() > 100 {
        bail!("{path} is too long for a tar header");
    }
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, path.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size_bytes:011o}").as_bytes());
    put(136, format!("{:011o}", time.unix_seconds).as_bytes());
    // The sum is taken with blanks in its place; '0' is a regular file.
    put(148, b"        0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

fn zip(name: &str, files: &Files, time: Time) -> Result<Vec<u8>> {
    let [year, month, day, hours, minutes, seconds] = time.civil;
    let [month, day, hours, minutes, seconds] =
        [month, day, hours, minutes, seconds].map(|part| u8::try_from(part).unwrap_or(0));
    let time = zip::DateTime::from_date_and_time(year, month, day, hours, minutes, seconds)?;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, file) in files {
        let mode = if file.executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default().last_modified_time(time).unix_permissions(mode);
        writer.start_file(format!("{name}/{path}"), options)?;
        writer.write_all(&file.bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::super::contents::File;
    use super::*;

    const TIME: Time = Time { unix_seconds: 1_700_000_000, civil: [2023, 11, 14, 22, 13, 20] };

    fn files() -> Files {
        let file = |bytes: &[u8], executable| File { bytes: bytes.to_vec(), executable };
        let files = [
            ("strobe", file(&[7; 1000], true)),
            ("README.md", file(b"what it is\n", false)),
            ("man/man1/strobe.1", file(&[b'x'; 512], false)),
        ];
        files.map(|(path, file)| (path.to_owned(), file)).into()
    }

    fn listed(program: &str, arguments: &[&str], archive: &Path) -> String {
        let mut command = Command::new(program);
        command.env("TZ", "UTC").args(arguments).arg(archive);
        output(&mut command).expect("it can be listed")
    }

    #[test]
    fn tar_reads_sorted_entries_with_owner_0() {
        let folder = tempfile::tempdir().expect("a folder");
        let path =
            write(Format::TarGz, folder.path(), "strobe-1", &files(), TIME).expect("written");
        let listing = listed("tar", &["--utc", "--full-time", "--numeric-owner", "-tvf"], &path);
        let lines: Vec<String> = listing
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "-rw-r--r-- 0/0 11 2023-11-14 22:13:20 strobe-1/README.md",
                "-rw-r--r-- 0/0 512 2023-11-14 22:13:20 strobe-1/man/man1/strobe.1",
                "-rwxr-xr-x 0/0 1000 2023-11-14 22:13:20 strobe-1/strobe",
            ]
        );
        listed("tar", &["-C", &folder.path().display().to_string(), "-xf"], &path);
        for (name, file) in files() {
            let unpacked = folder.path().join("strobe-1").join(&name);
            assert_eq!(std::fs::read(unpacked).expect(&name), file.bytes, "{name}");
        }
    }

    #[test]
    fn python_reads_the_zip_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(Format::Zip, folder.path(), "strobe-1", &files(), TIME).expect("written");
        let script = "import sys, zipfile\n\
            z = zipfile.ZipFile(sys.argv[1])\n\
            assert z.testzip() is None\n\
            for i in z.infolist():\n    \
                print(i.filename, i.file_size, *i.date_time, oct(i.external_attr >> 16))";
        assert_eq!(
            listed("python3", &["-c", script], &path),
            "strobe-1/README.md 11 2023 11 14 22 13 20 0o100644\n\
             strobe-1/man/man1/strobe.1 512 2023 11 14 22 13 20 0o100644\n\
             strobe-1/strobe 1000 2023 11 14 22 13 20 0o100755"
        );
    }

    #[test]
    fn the_same_files_are_the_same_bytes() {
        for format in [Format::TarGz, Format::Zip] {
            let write = || {
                let folder = tempfile::tempdir().expect("a folder");
                let path = write(format, folder.path(), "strobe-1", &files(), TIME);
                std::fs::read(path.expect("written")).expect("the archive")
            };
            let first = write();
            // More than the two-second resolution of zip times, if a time of day were in it.
            std::thread::sleep(std::time::Duration::from_millis(2100));
            assert!(first == write(), "{format:?}");
        }
    }
}
