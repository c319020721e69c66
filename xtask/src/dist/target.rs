//! The targets of release archives, and the tools each needs besides cargo, by Debian's package
//! names.

/// A platform that gets an archive.
pub(super) struct Target {
    /// The target triple.
    pub(super) triple: &'static str,
    /// The C compiler for capstone and linking, and its package.
    pub(super) compiler: Program,
    pub(super) format: Format,
    /// The program that runs its programs on another machine, with its first arguments.
    pub(super) runner: Option<(Program, &'static [&'static str])>,
}

/// A program from a package.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
}

/// The archive format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    TarGz,
    Zip,
}

impl Target {
    /// The command's file name on the target.
    pub(super) fn binary(&self) -> &'static str {
        if self.triple.contains("windows") { "strobe.exe" } else { "strobe" }
    }
}

pub(super) const TARGETS: [Target; 3] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        compiler: Program { name: "x86_64-linux-gnu-gcc", package: "gcc-x86-64-linux-gnu" },
        format: Format::TarGz,
        runner: Some((
            Program { name: "qemu-x86_64-static", package: "qemu-user-static" },
            &["-L", "/usr/x86_64-linux-gnu"],
        )),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        compiler: Program { name: "aarch64-linux-gnu-gcc", package: "gcc-aarch64-linux-gnu" },
        format: Format::TarGz,
        runner: Some((
            Program { name: "qemu-aarch64-static", package: "qemu-user-static" },
            &["-L", "/usr/aarch64-linux-gnu"],
        )),
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        compiler: Program { name: "x86_64-w64-mingw32-gcc", package: "gcc-mingw-w64-x86-64" },
        format: Format::Zip,
        // The path of Debian's wine64 loader, which is not in PATH without the package wine.
        runner: Some((Program { name: "/usr/lib/wine/wine64", package: "wine64" }, &[])),
    },
];
