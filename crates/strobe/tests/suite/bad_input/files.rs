//! Files that are no firmware, or a damaged one.

use std::fs;

use insta::assert_snapshot;
use strobe_synth::{ElfBuilder, Section, Segment};

use super::{
    CODE_OFFSET, FLASH, Messages, STACK_TOP, assert_one_message, changed, image, in_directory,
    message, refused, reported, with_file,
};
use crate::common::prebuilt;

#[test]
fn files_that_are_no_elf_are_refused() {
    let mut messages = Messages::default();
    messages.add(
        "a script",
        &refused(b"#!/bin/sh\necho no firmware at all, but long enough for a header\n"),
    );
    messages.add("an empty file", &refused(b""));
    messages.add("a file of four bytes", &refused(b"\x7fELF"));
    assert_snapshot!(messages.0);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let mut messages = Messages::default();
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("build")).unwrap();
    let of = |name| message(&in_directory(&directory, &["run", name]), 66);
    messages.add("a directory", &of("build"));
    messages.add("a missing file", &of("missing.elf"));
    assert_snapshot!(messages.0);
}

#[test]
fn elf_files_for_other_machines_are_refused() {
    let mut messages = Messages::default();
    messages.add("64 bits", &refused(&changed(|elf| elf.class = 2)));
    messages.add("x86", &refused(&changed(|elf| elf.machine = 3)));
    messages.add("x86-64 in 32 bits", &refused(&changed(|elf| elf.machine = 62)));
    messages.add("big-endian", &refused(&changed(|elf| elf.encoding = 2)));
    messages.add("an object file", &refused(&changed(|elf| elf.file_type = 1)));
    messages.add(
        "a program of the host",
        &refused(&fs::read(std::env::current_exe().unwrap()).unwrap()[..4096]),
    );
    assert_snapshot!(messages.0);
}

/// Cut anywhere, a file is refused with one message, or still runs as it does whole.
#[test]
fn truncated_files_are_refused_or_run() {
    let whole = fs::read(prebuilt("loop-0ws")).unwrap();
    let headers = 0..256.min(whole.len());
    let lengths = headers.step_by(13).chain((256..whole.len()).step_by(whole.len() / 40));
    for length in lengths.chain([whole.len() - 1]) {
        let ran = with_file(&whole[..length], &["run", "firmware.elf"]);
        match ran.code {
            65 => {
                assert_eq!(ran.stdout, "", "{length} bytes");
                assert_one_message(&ran.stderr);
            }
            0 => assert_eq!(ran.stderr, "", "{length} bytes"),
            code => panic!("{length} bytes: exit code {code}\n{}", ran.stderr),
        }
    }
}

#[test]
fn broken_segments_and_sections_are_refused_or_run() {
    let mut messages = Messages::default();
    let segment = |change: fn(&mut Segment)| {
        changed(|elf| {
            let mut segment = Segment {
                virtual_address: 0x2000_0000,
                physical_address: 0x1000,
                data: vec![0xa5; 64],
                flags: 6,
                ..Segment::default()
            };
            change(&mut segment);
            elf.segment(segment);
        })
    };
    let section = |change: fn(&mut Section)| {
        changed(|elf| {
            let mut section = Section {
                name: ".debug_info".into(),
                kind: 1,
                data: vec![0xff; 64],
                ..Section::default()
            };
            change(&mut section);
            elf.section(section);
        })
    };
    messages.add(
        "more bytes than the file \
                  has",
        &refused(&segment(|s| s.file_size = Some(u32::MAX))),
    );
    messages.add(
        "bytes behind the end of the file",
        &refused(&segment(|s| s.file_offset = Some(u32::MAX - 8))),
    );
    messages.add("two segments at one place", &refused(&segment(|s| s.physical_address = 0x10)));
    messages.add(
        "a segment where there is no memory",
        &refused(&segment(|s| s.physical_address = 0x6000_0000)),
    );
    messages.add(
        "a segment over the end of the address space",
        &refused(&segment(|s| s.physical_address = 0xffff_fff0)),
    );
    messages.add(
        "more program headers than the file has",
        &refused(&changed(|elf| elf.segment_count = Some(0xfffe))),
    );
    messages.add(
        "program headers behind the end of the file",
        &refused(&changed(|elf| elf.segment_table_offset = Some(u32::MAX - 3))),
    );
    messages.add(
        "memory over the end of the address space",
        &refused(&segment(|s| s.memory_size = Some(u32::MAX))),
    );
    messages.add("a section larger than the file", &refused(&section(|s| s.size = Some(u32::MAX))));
    messages.add(
        "a section behind the end of the file",
        &refused(&section(|s| s.file_offset = Some(u32::MAX))),
    );
    messages.add(
        "more section headers than the file has",
        &refused(&changed(|elf| elf.section_count = Some(0xfeff))),
    );
    messages.add(
        "section headers behind the end of the file",
        &refused(&changed(|elf| elf.section_table_offset = Some(u32::MAX - 3))),
    );
    messages.add(
        "section names without sections",
        &refused(&changed(|elf| elf.section_count = Some(0))),
    );
    assert_snapshot!(messages.0);
    // What is wrong inside a section that only describes the code does not keep it from running.
    reported(&section(|_| ()), &[], 0);
}

#[test]
fn firmware_without_a_vector_table_is_refused() {
    let mut messages = Messages::default();
    let mut blank = ElfBuilder::new();
    blank.code(FLASH, &[0xff; 1024]);
    messages.add("blank flash", &refused(&blank.build()));
    messages.add("no segment", &refused(&ElfBuilder::new().build()));
    assert_snapshot!(messages.0);
}

#[test]
fn unusable_vector_table_is_refused() {
    let refused_image =
        |image: Vec<u8>| refused(ElfBuilder::new().code(FLASH, &image).build().as_slice());
    let spin = [0xfe, 0xe7];
    let mut messages = Messages::default();
    let entry = CODE_OFFSET | 1;
    messages.add("stack outside memory", &refused_image(image(0x5000_0000, entry, &spin)));
    messages.add(
        "entry without the Thumb \
                  bit",
        &refused_image(image(STACK_TOP, CODE_OFFSET, &spin)),
    );
    messages.add("entry outside memory", &refused_image(image(STACK_TOP, 0x6000_0001, &spin)));
    assert_snapshot!(messages.0);
}
