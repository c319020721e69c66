//! Stroboscope's archive of measurements: years of builds as Parquet files, and what they show.
//!
//! [`figures`] makes rows of a measurement, [`write`](fn@write) a file of rows; [`Place`] is where
//! it belongs. [`open`] reads a file, [`Series`] puts the rows of many together, and [`history`]
//! answers the prepared questions with a measurement. The format is that of docs/history.md. Bytes
//! in, bytes out: whoever calls opens files, but for [`query`], whose engine reads the archive by
//! itself.
//!
//! ```
//! use strobe_archive::{Figure, Origin, open, write};
//!
//! let cycles = Figure { figure: "cycles".into(), value: Some(42.0), ..Figure::default() };
//! let bytes = write(&[(Origin::default(), vec![cycles])], "strobe")?;
//! let mut seen = 0;
//! open(strobe_archive::Bytes::from(bytes))?.each(|row| {
//!     assert_eq!((row.figure, row.value), ("cycles", Some(42.0)));
//!     seen += 1;
//! })?;
//! assert_eq!(seen, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
pub mod date;
mod flatten;
pub mod history;
mod place;
#[cfg_attr(not(feature = "query"), path = "query/without.rs")]
pub mod query;
mod read;
mod row;
mod schema;
mod series;
mod write;

pub use answer::{Answer, QueryError, Value};
pub use bytes::Bytes;
pub use flatten::figures;
pub use place::{Place, PlaceError, is_name, name_of};
pub use read::{File, Row, Unusable, open};
pub use row::{Figure, Origin};
pub use schema::{KEY, MESSAGE, VERSION};
pub use series::{Filter, Key, Point, Series};
pub use write::{WriteError, write};

use sha2::{Digest, Sha256};

/// A short name for bytes, by which the same are recognised: the first 16 digits of their SHA-256.
pub fn fingerprint(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A commit for people: twelve digits of a hash, `-dirty` if it ends so; other names are whole.
pub fn short(commit: &str) -> String {
    const DIGITS: usize = 12;
    let (name, dirty) = match commit.strip_suffix("-dirty") {
        Some(name) => (name, "-dirty"),
        None => (commit, ""),
    };
    let is_hash = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let shown = if is_hash { &name[..DIGITS] } else { name };
    format!("{shown}{dirty}")
}
