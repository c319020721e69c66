//! A profile that somebody else published of the same samples, beside the share in our samples.

/// A published profile. `counted`, the sum of all samples that have a function, is the sum of the
/// counted samples in `functions` and of `missing`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// Its file.
    pub file: String,
    /// Hits that it has.
    pub total: u64,
    /// Samples that have a function.
    pub counted: u64,
    /// Its functions, in its order.
    pub functions: Vec<PublishedFunction>,
    /// Functions that it should have and has not, with their samples, most first.
    pub missing: Vec<(String, u64)>,
    /// Functions of which the same fault leaves the same hits.
    pub fault: Option<KnownFault>,
    /// Names of inlined functions come from debug information, of which there is none here: counts
    /// of single functions may differ for that.
    pub without_inlining: bool,
}

/// A function of a published profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedFunction {
    /// Its name.
    pub name: String,
    /// Hits, as published.
    pub published: u64,
    /// Samples, as counted.
    pub counted: u64,
    /// Hits that the known fault leaves of the same samples.
    pub with_fault: u64,
}

/// A fault that is known of the tool that made the profile, made again on the same samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownFault {
    /// What it is, in words.
    pub what: String,
    /// Hits that it leaves.
    pub total: u64,
    /// Functions whose hits are then the published ones.
    pub same: u64,
    /// Functions that it leaves.
    pub functions: u64,
    /// It leaves exactly the published functions with exactly their hits.
    pub exact: bool,
}
