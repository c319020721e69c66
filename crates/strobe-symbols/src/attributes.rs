//! The target of the compiler: the Arm build attributes (ABI for the Arm Architecture, "Addenda",
//! section 3).

use object::LittleEndian as LE;
use object::elf::{self, FileHeader32};
use object::read::elf::AttributesSection;

use crate::elf::Elf;

/// Tags of the public "aeabi" attributes that are parsed here.
const TAG_CPU_RAW_NAME: u64 = 4;
const TAG_CPU_NAME: u64 = 5;
const TAG_CPU_ARCH: u64 = 6;
const TAG_CPU_ARCH_PROFILE: u64 = 7;
const TAG_FP_ARCH: u64 = 10;
const TAG_COMPATIBILITY: u64 = 32;
/// Maximum number of attributes parsed; a file has some thirty.
const MOST_ATTRIBUTES: usize = 1000;

/// The processor that the code was built for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildTarget {
    /// The processor or architecture by name as the compiler wrote it, such as `6S-M` or
    /// `Cortex-M4`.
    pub cpu_name: Option<String>,
    /// The architecture, such as `ARMv6S-M`.
    pub architecture: Option<&'static str>,
    /// The profile: `M` for microcontrollers, `A` and `R` for others.
    pub profile: Option<char>,
    /// Whether it may use a floating-point unit.
    pub has_fpu: bool,
    /// Whether it is for a floating-point unit of the ARMv8 generation (FPv5), which a Cortex-M7
    /// has and a Cortex-M4 lacks.
    pub has_fpv5: bool,
}

/// Reads `.ARM.attributes`; `None` if the section is missing or damaged.
pub(crate) fn build_target(elf: &Elf<'_>) -> Option<BuildTarget> {
    let section = elf.sections.iter().find(|section| section.kind == elf::SHT_ARM_ATTRIBUTES)?;
    let attributes = AttributesSection::<FileHeader32<LE>>::new(LE, section.data).ok()?;
    let mut subsections = attributes.subsections().ok()?;
    while let Ok(Some(subsection)) = subsections.next() {
        if subsection.vendor() != b"aeabi" {
            continue;
        }
        let mut parts = subsection.subsubsections();
        while let Ok(Some(part)) = parts.next() {
            if part.tag() == elf::Tag_File {
                return Some(file_attributes(part.attributes()));
            }
        }
    }
    None
}

fn file_attributes(mut reader: object::read::elf::AttributeReader<'_>) -> BuildTarget {
    let mut target = BuildTarget::default();
    for _ in 0..MOST_ATTRIBUTES {
        let Ok(Some(tag)) = reader.read_tag() else { break };
        // Strings have odd tags from 32 on; below, only the two names are strings.
        let is_text = matches!(tag, TAG_CPU_RAW_NAME | TAG_CPU_NAME)
            || (tag > TAG_COMPATIBILITY && tag % 2 == 1);
        if is_text {
            let Ok(text) = reader.read_string() else { break };
            if tag == TAG_CPU_NAME && text.len() <= 64 {
                target.cpu_name = Some(String::from_utf8_lossy(text).into_owned());
            }
            continue;
        }
        let Ok(value) = reader.read_integer() else { break };
        match tag {
            TAG_CPU_ARCH => target.architecture = architecture(value),
            // With all registers, or with sixteen of them.
            TAG_FP_ARCH => (target.has_fpu, target.has_fpv5) = (value != 0, matches!(value, 7 | 8)),
            TAG_CPU_ARCH_PROFILE => {
                target.profile =
                    u8::try_from(value).ok().filter(u8::is_ascii_uppercase).map(char::from)
            }
            // An integer and a string.
            TAG_COMPATIBILITY if reader.read_string().is_err() => break,
            _ => {}
        }
    }
    target
}

/// Values of `Tag_CPU_arch`.
fn architecture(value: u64) -> Option<&'static str> {
    Some(match value {
        1 => "ARMv4",
        2 => "ARMv4T",
        3 => "ARMv5T",
        4 => "ARMv5TE",
        5 => "ARMv5TEJ",
        6 => "ARMv6",
        7 => "ARMv6KZ",
        8 => "ARMv6T2",
        9 => "ARMv6K",
        10 => "ARMv7",
        11 => "ARMv6-M",
        12 => "ARMv6S-M",
        13 => "ARMv7E-M",
        14 => "ARMv8-A",
        15 => "ARMv8-R",
        16 => "ARMv8-M.baseline",
        17 => "ARMv8-M.mainline",
        21 => "ARMv8.1-M.mainline",
        _ => return None,
    })
}
