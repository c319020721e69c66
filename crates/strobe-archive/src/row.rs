//! Rows of the archive: one for each figure, with where it is from.

/// Where figures are from: the same for all of one measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// What the measurement is recognised by: the same bytes have the same.
    pub measurement: String,
    /// When it was measured: microseconds since 1970-01-01 UTC.
    pub time: i64,
    /// The commit of the firmware's source.
    pub commit: Option<String>,
    /// When that was made: microseconds since 1970-01-01 UTC.
    pub commit_time: Option<i64>,
    /// The branch it is on.
    pub branch: Option<String>,
    /// What was measured: a file without its directories, a command.
    pub subject: String,
    /// Its SHA-256, hex.
    pub sha256: Option<String>,
    /// Its build id, hex.
    pub build_id: Option<String>,
    /// What measured it, as `simulated board`.
    pub instrument: String,
    /// Tool and version.
    pub tool: String,
    /// A hash of everything that influenced the result.
    pub settings: String,
}

impl Origin {
    /// What builds are put in order by: when the source was committed, else when it was measured.
    pub fn order(&self) -> (i64, i64) {
        (self.commit_time.unwrap_or(self.time), self.time)
    }

    /// Whether both measured the same program.
    pub fn is_same_build(&self, other: &Origin) -> bool {
        match (&self.sha256, &other.sha256) {
            (Some(a), Some(b)) => a == b,
            _ => self.commit.is_some() && self.commit == other.commit,
        }
    }
}

/// One figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// `totals`, `coverage`, or a section of the measurement.
    pub section: String,
    /// Whose figure it is: a function, an interrupt, a thread; none of the whole.
    pub item: Option<String>,
    /// The measure, column or total.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// None where it is unknown.
    pub value: Option<f64>,
    /// The least that it may be, where that is not the value.
    pub low: Option<f64>,
    /// The most that it may be.
    pub high: Option<f64>,
    /// How far it can be trusted, by the names of a measurement's file.
    pub trust: String,
    /// Samples that it rests on, where it was sampled.
    pub n: Option<i64>,
}
