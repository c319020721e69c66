//! What a Parquet file's descriptions of itself consist of: fields by number, and of what type each
//! is (parquet.thrift of Parquet's format). The library reads a field by its number and does not
//! look at the type that the file states for it.

use self::Kind::{Byte, Double, Fields, Int, List, Long, Short, Text, Truth};

/// Fields of a structure, by number.
pub type Shape = &'static [(i16, Kind)];

/// Type of a field, or of what is in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `bool`.
    Truth,
    /// `i8`.
    Byte,
    /// `i16`.
    Short,
    /// `i32`, and what is one of a few names.
    Int,
    /// `i64`.
    Long,
    /// `double`.
    Double,
    /// `string` and `binary`.
    Text,
    /// `list`.
    List(&'static Kind),
    /// `struct` and `union`.
    Fields(Shape),
}

impl Kind {
    /// Whether a file states this type by that number.
    pub fn is(self, wire: u8) -> bool {
        match self {
            Truth => matches!(wire, 1 | 2),
            Byte => wire == 3,
            Short => wire == 4,
            Int => wire == 5,
            Long => wire == 6,
            Double => wire == 7,
            Text => wire == 8,
            List(_) => wire == 9,
            Fields(_) => wire == 12,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Truth => "a truth",
            Byte => "an i8",
            Short => "an i16",
            Int => "an i32",
            Long => "an i64",
            Double => "a double",
            Text => "a text",
            List(_) => "a list",
            Fields(_) => "a structure",
        }
    }
}

/// The end of a file: FileMetaData.
pub const FILE: Shape = &[
    (1, Int),
    (2, List(&Fields(SCHEMA_ELEMENT))),
    (3, Long),
    (4, List(&Fields(ROW_GROUP))),
    (5, List(&Fields(KEY_VALUE))),
    (6, Text),
    (7, List(&Fields(COLUMN_ORDER))),
    (8, Fields(ENCRYPTION)),
    (9, Text),
];

/// PageHeader.
pub const PAGE: Shape = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Fields(DATA_PAGE)),
    (6, Fields(NONE)),
    (7, Fields(&[(1, Int), (2, Int), (3, Truth)])),
    (8, Fields(DATA_PAGE_2)),
];

/// Structures whose fields, if there are any, mean nothing.
pub const NONE: Shape = &[];

const SCHEMA_ELEMENT: Shape = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Text),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    (10, Fields(LOGICAL_TYPE)),
];

const LOGICAL_TYPE: Shape = &[
    (1, Fields(NONE)),
    (2, Fields(NONE)),
    (3, Fields(NONE)),
    (4, Fields(NONE)),
    (5, Fields(&[(1, Int), (2, Int)])),
    (6, Fields(NONE)),
    (7, Fields(TIME)),
    (8, Fields(TIME)),
    (10, Fields(&[(1, Byte), (2, Truth)])),
    (11, Fields(NONE)),
    (12, Fields(NONE)),
    (13, Fields(NONE)),
    (14, Fields(NONE)),
    (15, Fields(NONE)),
    (16, Fields(&[(1, Byte)])),
    (17, Fields(&[(1, Text)])),
    (18, Fields(&[(1, Text), (2, Int)])),
];

/// TimeType and TimestampType, with their unit.
const TIME: Shape =
    &[(1, Truth), (2, Fields(&[(1, Fields(NONE)), (2, Fields(NONE)), (3, Fields(NONE))]))];

const ROW_GROUP: Shape = &[
    (1, List(&Fields(COLUMN_CHUNK))),
    (2, Long),
    (3, Long),
    (4, List(&Fields(&[(1, Int), (2, Truth), (3, Truth)]))),
    (5, Long),
    (6, Long),
    (7, Short),
];

const COLUMN_CHUNK: Shape = &[
    (1, Text),
    (2, Long),
    (3, Fields(COLUMN)),
    (4, Long),
    (5, Int),
    (6, Long),
    (7, Int),
    (8, Fields(&[(1, Fields(NONE)), (2, Fields(&[(1, List(&Text)), (2, Text)]))])),
    (9, Text),
];

/// ColumnMetaData.
const COLUMN: Shape = &[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Text)),
    (4, Int),
    (5, Long),
    (6, Long),
    (7, Long),
    (8, List(&Fields(KEY_VALUE))),
    (9, Long),
    (10, Long),
    (11, Long),
    (12, Fields(STATISTICS)),
    (13, List(&Fields(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Long),
    (15, Int),
    (16, Fields(&[(1, Long), (2, List(&Long)), (3, List(&Long))])),
    (17, Fields(&[(1, Fields(BOX)), (2, List(&Int))])),
];

/// BoundingBox.
const BOX: Shape = &[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
];

const STATISTICS: Shape =
    &[(1, Text), (2, Text), (3, Long), (4, Long), (5, Text), (6, Text), (7, Truth), (8, Truth)];

const KEY_VALUE: Shape = &[(1, Text), (2, Text)];

const COLUMN_ORDER: Shape = &[(1, Fields(NONE))];

/// EncryptionAlgorithm: either way has the same fields.
const ENCRYPTION: Shape = &[
    (1, Fields(&[(1, Text), (2, Text), (3, Truth)])),
    (2, Fields(&[(1, Text), (2, Text), (3, Truth)])),
];

const DATA_PAGE: Shape = &[(1, Int), (2, Int), (3, Int), (4, Int), (5, Fields(STATISTICS))];

const DATA_PAGE_2: Shape = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Truth),
    (8, Fields(STATISTICS)),
];
