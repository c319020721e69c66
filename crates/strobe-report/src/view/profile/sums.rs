//! The rows of sums in a flat profile, and what is below them: what is idle, lost or in no sample.

use strobe_analyse::attribution::{Amount, Sums, is_unbounded};
use strobe_model::measurement::ids;

use super::Shape;
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::view::causes::{figure_of, whole_figure, whole_of};
use crate::view::figure::{amount_spread, share};

impl Shape<'_> {
    /// A row of sums.
    pub(super) fn sum(&self, sums: &Sums, name: &str, paint: Paint, table: &mut Table) {
        self.sum_of((self.own(sums), sums.clone()), name, paint, table);
    }

    /// The same, whose own amount is known more closely than by adding up.
    pub(super) fn sum_of(
        &self,
        (own, mut sums): (Amount, Sums),
        name: &str,
        paint: Paint,
        table: &mut Table,
    ) {
        let mut cells = self.first(own);
        if self.has_call_counts {
            cells.extend(["", ""].map(Cell::from));
        }
        // How often functions were called means nothing when it is added up.
        for i in self.others.iter().filter(|i| self.profile.measures[**i].id == ids::measure::CALLS)
        {
            // Nothing at all has no other measures.
            sums.others.get_mut(*i).into_iter().for_each(|calls| *calls = None);
        }
        self.secondary_measures(&sums, &mut cells);
        cells.push(name.into());
        table.painted(cells, paint);
    }

    /// What is idle, what is lost, what no sample has; then everything together.
    pub(super) fn remainder(&self, idle_rows: &Sums, table: &mut Table) {
        let all = &self.flat.total;
        let taken = whole_of(self.page, self.measure, all.all);
        let balances = self.page.measurement.balances.iter().map(|balance| balance.parts());
        let balance = balances.into_iter().find(|parts| parts.unit == self.measure.unit);
        let lost = balance.map_or(0, |parts| i64::try_from(parts.lost.known()).unwrap_or(0));
        let lost = lost.min(taken.value - all.all.value);
        let missing = taken.value - all.all.value - lost;
        // Of a whole that is exact, the rest is as uncertain as what is not idle.
        let busy = all.busy().ordered();
        let idle = if all.idle.is_exact() && taken.is_exact() {
            let shift = all.idle.value.saturating_add(busy.value);
            let rest = |busy: i64| shift.saturating_sub(busy).max(0);
            Amount { low: rest(busy.high), value: all.idle.value, high: rest(busy.low) }
        } else {
            all.idle
        };
        let parts = [
            (idle, "idle", Paint::Idle, Some(idle_rows)),
            (Amount::exact(lost), "lost", Paint::Bad, None),
            (Amount::exact(missing), "in no sample", Paint::Warn, None),
        ];
        for (part, what, paint, sums) in parts.into_iter().filter(|(part, ..)| part.value > 0) {
            let name = format!("{what}, {} of all", share(part.value, taken.value));
            let is_open = is_unbounded(self.profile, self.measure);
            let is_inexact = !part.is_exact() || !taken.is_exact() || is_open;
            let figure = figure_of(self.measure, part.value, is_inexact);
            table.painted(self.plain([figure, amount_spread(part)], sums, &name), paint);
        }
        let whole = whole_figure(self.page, self.profile, self.measure, taken);
        let figures = [whole, amount_spread(taken)];
        table.painted(self.plain(figures, Some(all), &self.all()), Paint::Strong);
    }

    /// A row without shares: a figure and its spread, and what was executed.
    fn plain(&self, [own, spread]: [String; 2], sums: Option<&Sums>, name: &str) -> Vec<Cell> {
        let mut cells: Vec<Cell> = vec![own.into(), "".into(), spread.into()];
        if self.has_call_counts {
            cells.extend(["", ""].map(Cell::from));
        }
        for i in &self.others {
            let measure = &self.profile.measures[*i];
            let value = sums.and_then(|sums| sums.others.get(*i).copied().flatten());
            let value =
                value.filter(|amount| amount.value > 0 && measure.id != ids::measure::CALLS);
            cells.push(value.map(|amount| self.other(measure, amount)).unwrap_or_default().into());
        }
        if self.executions.is_some() {
            cells.push("".into());
        }
        cells.extend(["", name].map(Cell::from));
        cells
    }
}
