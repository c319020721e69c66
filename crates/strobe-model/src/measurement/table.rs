//! Tables: columns of one type each, whose cells may have bounds of their own.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::quantity::check;
use super::{Address, Invalid, Number, Problem, TableProblem, Trust, Unit};

/// A table: all columns have a cell for each row. Kept by columns, which is shorter than by rows
/// and easier to load elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Table {
    /// The columns, as they should be read.
    pub columns: Vec<Column>,
    /// Rows under the others that do not count as such: sums, what is idle, what is left. Each has
    /// a cell for every column.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub footer: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self")]
pub struct Column {
    /// Its name for programs, as `latency_max`.
    pub id: String,
    /// Its heading for people, as `latency max`.
    pub title: String,
    /// What its cells are.
    pub kind: CellKind,
    /// The unit of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// What its figures are shares of, for views that show percentages beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Number>,
    /// Views may leave it out where there is no room; the least goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worth: Option<u8>,
    /// Its figures are moments, not lengths of time: views show all digits of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moment: bool,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// What a column's cells are. Any of them may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// Words.
    Text,
    /// An address.
    Address,
    /// A figure.
    Figure,
}

/// A cell. In JSON `null`, a text, a number, or an object for a figure that is not exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// Nothing here.
    #[default]
    Empty,
    /// A figure that is exact.
    Exact(Number),
    /// Words. Comes before addresses, which look like words in JSON; the column's kind decides
    /// which they are.
    Text(String),
    /// An address.
    Address(Address),
    /// A figure with its trust; the column has the unit.
    Figure {
        /// The value; absent where it is unknown.
        value: Option<Number>,
        /// How far it can be trusted.
        #[serde(flatten)]
        trust: Trust,
    },
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<Address> for Cell {
    fn from(address: Address) -> Self {
        Cell::Address(address)
    }
}

macro_rules! exact {
    ($($number:ty),*) => {$(
        impl From<$number> for Cell {
            fn from(number: $number) -> Self {
                Cell::Exact(number.into())
            }
        }
    )*};
}

exact!(u64, i64, u32, usize, f64, Number);

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Empty, Into::into)
    }
}

impl From<crate::Bounds> for Cell {
    fn from(bounds: crate::Bounds) -> Self {
        super::Quantity::modelled(bounds, Unit::COUNT, None).into()
    }
}

/// Without the unit, which the column has.
impl From<super::Quantity> for Cell {
    fn from(quantity: super::Quantity) -> Self {
        match (quantity.value(), quantity.trust()) {
            (Some(value), Trust::Exact) => Cell::Exact(value),
            (value, trust) => Cell::Figure { value, trust: trust.clone() },
        }
    }
}

impl Cell {
    /// The value of a figure that has one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Cell::Exact(number) => Some(*number),
            Cell::Figure { value, .. } => *value,
            Cell::Empty | Cell::Address(_) | Cell::Text(_) => None,
        }
    }

    /// The words.
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it may stand in a column of that kind.
    fn fits(&self, kind: CellKind) -> bool {
        match self {
            Cell::Empty => true,
            Cell::Exact(_) | Cell::Figure { .. } => kind == CellKind::Figure,
            Cell::Address(_) => kind == CellKind::Address,
            Cell::Text(_) => kind == CellKind::Text,
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        match self {
            Cell::Figure { value: Some(_), trust: Trust::Unknown { .. } } => {
                Err(Invalid::HAS_VALUE)
            }
            Cell::Figure { value: None, trust } if !matches!(trust, Trust::Unknown { .. }) => {
                Err(Invalid::NO_VALUE)
            }
            Cell::Figure { value: Some(value), trust } => check(trust, *value),
            _ => Ok(()),
        }
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Column::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut column = Column::deserialize(deserializer)?;
        if column.kind == CellKind::Address {
            for cell in &mut column.cells {
                if let Cell::Text(text) = cell {
                    *cell = Cell::Address(text.parse().map_err(de::Error::custom)?);
                }
            }
        }
        Ok(column)
    }
}

impl Column {
    /// A column of words.
    pub fn text(id: &str, title: &str) -> Self {
        Column::new(id, title, CellKind::Text, None)
    }

    /// A column of addresses.
    pub fn address(id: &str, title: &str) -> Self {
        Column::new(id, title, CellKind::Address, None)
    }

    /// A column of moments on a time line.
    pub fn moment(id: &str, title: &str, unit: Unit) -> Self {
        Column { moment: true, ..Column::figure(id, title, unit) }
    }

    /// A column of figures.
    pub fn figure(id: &str, title: &str, unit: Unit) -> Self {
        Column::new(id, title, CellKind::Figure, Some(unit))
    }

    fn new(id: &str, title: &str, kind: CellKind, unit: Option<Unit>) -> Self {
        let (id, title) = (id.to_owned(), title.to_owned());
        Column { id, title, kind, unit, whole: None, worth: None, moment: false, cells: Vec::new() }
    }

    /// Its figures are shares of this.
    #[must_use]
    pub fn of(mut self, whole: impl Into<Number>) -> Self {
        self.whole = Some(whole.into());
        self
    }

    /// Views may leave it out; the least worth goes first.
    #[must_use]
    pub fn worth(mut self, worth: u8) -> Self {
        self.worth = Some(worth);
        self
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Table { columns, footer: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    ///
    /// # Panics
    /// When there are more or fewer cells than columns: the caller writes both.
    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of that name.
    pub fn column(&self, id: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        let rows = self.len();
        super::check::once(self.columns.iter().map(|column| &column.id))?;
        for column in &self.columns {
            let Column { id, cells, kind, .. } = column;
            if cells.len() != rows {
                let (column, cells) = (id.clone(), cells.len());
                return Err(TableProblem::Rows { column, cells, rows }.into());
            }
            for (i, cell) in cells.iter().enumerate() {
                if !cell.fits(*kind) {
                    return Err(TableProblem::Kind { column: id.clone(), row: i }.into());
                }
                cell.check().map_err(|error| {
                    let column = id.clone();
                    TableProblem::Cell { column, row: i, error }
                })?;
            }
        }
        for row in &self.footer {
            let (cells, columns) = (row.len(), self.columns.len());
            if cells != columns {
                return Err(TableProblem::FooterCells { cells, columns }.into());
            }
            for (cell, column) in row.iter().zip(&self.columns) {
                cell.check().map_err(|error| {
                    let column = column.id.clone();
                    TableProblem::Footer { column, error }
                })?;
            }
        }
        Ok(())
    }
}
