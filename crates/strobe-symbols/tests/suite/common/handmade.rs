//! ELF files built byte by byte, for debug information that no compiler emits.

/// A firmware image with 64 bytes of code at 0x0800_0000 and the given sections.
pub(crate) fn elf(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    const CODE_AT: u32 = 0x100;
    let mut names = vec![0];
    let mut headers = vec![[0_u32; 10]];
    let mut bytes = vec![0; CODE_AT as usize];
    bytes.extend([0x00, 0xbf].repeat(32));
    headers.push([name(&mut names, ".text"), 1, 6, 0x0800_0000, CODE_AT, 64, 0, 0, 4, 0]);
    for (section, contents) in sections {
        headers.push([
            name(&mut names, section),
            1,
            0,
            0,
            bytes.len() as u32,
            contents.len() as u32,
            0,
            0,
            1,
            0,
        ]);
        bytes.extend(contents);
    }
    let own_name = name(&mut names, ".shstrtab");
    headers.push([own_name, 3, 0, 0, bytes.len() as u32, names.len() as u32, 0, 0, 1, 0]);
    bytes.extend(&names);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let table = bytes.len() as u32;
    bytes.extend(headers.iter().flatten().flat_map(|word| word.to_le_bytes()));

    bytes[..16].copy_from_slice(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0");
    let count = headers.len() as u16;
    put(&mut bytes, 16, &[2_u16, 40].map(u16::to_le_bytes).concat());
    put(
        &mut bytes,
        20,
        &[1_u32, 0x0800_0001, 52, table, 0x0500_0200].map(u32::to_le_bytes).concat(),
    );
    put(&mut bytes, 40, &[52_u16, 32, 1, 40, count, count - 1].map(u16::to_le_bytes).concat());
    let segment = [1_u32, CODE_AT, 0x0800_0000, 0x0800_0000, 64, 64, 5, 4];
    put(&mut bytes, 52, &segment.map(u32::to_le_bytes).concat());
    bytes
}

fn name(names: &mut Vec<u8>, text: &str) -> u32 {
    let at = names.len() as u32;
    names.extend(text.bytes().chain([0]));
    at
}

fn put(bytes: &mut [u8], at: usize, contents: &[u8]) {
    bytes[at..at + contents.len()].copy_from_slice(contents);
}

/// A unit of DWARF 4 with that abbreviation table and those entries.
pub(crate) fn unit(abbreviations_at: u32, entries: &[u8]) -> Vec<u8> {
    let mut unit = (7 + entries.len() as u32).to_le_bytes().to_vec();
    unit.extend(4_u16.to_le_bytes());
    unit.extend(abbreviations_at.to_le_bytes());
    unit.push(4);
    unit.extend(entries);
    unit
}

/// A number in LEB128.
pub(crate) fn leb(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// An abbreviation: code, tag, whether it has children, attributes with forms.
pub(crate) fn abbreviation(
    code: u32,
    tag: u32,
    children: bool,
    attributes: &[(u32, u32)],
) -> Vec<u8> {
    let mut bytes = [leb(code), leb(tag), vec![u8::from(children)]].concat();
    for &(attribute, form) in attributes {
        bytes.extend([leb(attribute), leb(form)].concat());
    }
    bytes.extend([0, 0]);
    bytes
}
