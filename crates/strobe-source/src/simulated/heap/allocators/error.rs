//! Errors in tables of allocators, and in the search for them.

/// The firmware has no allocator to watch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllocatorsError {
    /// The table is wrong.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The firmware has no symbols.
    #[error(
        "the firmware has no symbols (stripped?): allocators are found by the names of their \
         functions; build it without -s, or give the file before strip"
    )]
    NoSymbols,
    /// All calls of allocators are inlined.
    #[error(
        "no call of an allocator is to be seen: {}. Compile the allocator's file without -flto, \
         or its functions as __attribute__((noinline, noclone))",
        .inlined.join("; ")
    )]
    Inlined {
        /// The functions, with where their code is.
        inlined: Vec<String>,
    },
    /// No function of a known allocator.
    #[error(
        "the firmware has no memory allocator that is known by name; looked for {}{}. Describe \
         its own in a file, a few lines, and name that with --allocators (docs/heap.md)",
        .names.join(", "),
        and_more(*.more)
    )]
    NotFound {
        /// The first of the functions that were looked for.
        names: Vec<String>,
        /// Number of the others.
        more: usize,
    },
}

fn and_more(count: usize) -> String {
    if count > 0 { format!(" and {count} more") } else { String::new() }
}

/// Error in a table of allocators.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Not TOML, or an unknown or missing key.
    #[error("{message}")]
    Syntax {
        /// Message of the TOML parser, with the line.
        message: String,
    },
    /// No allocator.
    #[error("at least one [[allocator]] is needed")]
    Empty,
    /// An allocator without functions.
    #[error("allocator {allocator}: it has no functions")]
    NoFunctions {
        /// Name of the allocator.
        allocator: String,
    },
    /// The name of a list that the table does not have.
    #[error("allocator {allocator}: there is no list of functions {list}")]
    UnknownList {
        /// Name of the allocator.
        allocator: String,
        /// Name of the list.
        list: String,
    },
    /// An invalid function.
    #[error("allocator {allocator}: {function}: {error}")]
    Function {
        /// Name of the allocator.
        allocator: String,
        /// First name of the function.
        function: String,
        /// Problem of the function.
        error: FunctionError,
    },
    /// An invalid width of the field with the usable size.
    #[error("allocator {allocator}: usable: bytes are 1, 2 or 4")]
    UsableBytes {
        /// Name of the allocator.
        allocator: String,
    },
}

/// Error in a function of an allocator's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// No name, or an empty one.
    #[error("names are missing")]
    NoNames,
    /// `layout` with `size` or `pointer`.
    #[error("layout is of what allocates, in place of size")]
    Layout,
    /// An argument that is not in a register.
    #[error("only the first four arguments, 0 to 3, can be seen")]
    Argument,
    /// `at` without `pool`.
    #[error("at is where a pool keeps the size of its blocks: pool is missing")]
    NoPool,
    /// `own` with `passes`.
    #[error("it is either own, or passes")]
    OwnAndPasses,
    /// `own` or `passes` with arguments.
    #[error("{key} is without arguments")]
    Arguments {
        /// `own` or `passes`.
        key: &'static str,
    },
    /// `memory` without `size`, or with other keys.
    #[error("memory is with size alone")]
    Memory,
    /// No key that shows the role, or several.
    #[error("it needs size, pointer, both, pool, grows, memory, own or passes")]
    Role,
    /// `adds` of a function that does not free.
    #[error("adds is for what frees")]
    Adds,
}
