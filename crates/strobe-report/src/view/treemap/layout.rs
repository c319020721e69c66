//! Areas of letters, and how one is divided among parts.

/// A rectangle between lines: those at its left and top belong to it, those at its right and bottom
/// to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Letters that a part has at least, unless it stands with others: enough for a short name.
pub(super) const MIN_CELLS: usize = 20;
/// Letters are so much higher than wide.
const HIGH: usize = 2;
/// Columns that a part has at least, as long as it may have lines instead.
const MIN_WIDTH: usize = 9;

impl Area {
    pub(super) fn cells(&self) -> usize {
        self.width * self.height
    }

    /// What is left under a line with a title; `None` if nothing could be read in it.
    pub(super) fn below_title(self) -> Option<Area> {
        let room = Area { y: self.y + 1, height: self.height.checked_sub(1)?, ..self };
        (room.height > 0 && room.cells() >= 2 * MIN_CELLS).then_some(room)
    }

    /// Two areas side by side, the first with a part of the weight; `None` where there is no room
    /// for two.
    fn split(self, part: i128, whole: i128) -> Option<(Area, Area)> {
        let share = part as f64 / whole.max(1) as f64;
        let cut = |length: usize| ((length as f64 * share).round() as usize).clamp(1, length - 1);
        let width = (self.width > 1).then(|| cut(self.width));
        let height = (self.height > 1).then(|| cut(self.height));
        let is_wide = self.width >= HIGH * self.height;
        let is_readable = width.is_some_and(|width| width.min(self.width - width) >= MIN_WIDTH);
        match (width, height) {
            (Some(width), None) => Some(self.across(width)),
            (Some(width), Some(_)) if is_wide && is_readable => Some(self.across(width)),
            (_, Some(height)) => Some(self.down(height)),
            (None, None) => None,
        }
    }

    fn across(self, width: usize) -> (Area, Area) {
        let rest = Area { x: self.x + width, width: self.width - width, ..self };
        (Area { width, ..self }, rest)
    }

    fn down(self, height: usize) -> (Area, Area) {
        let rest = Area { y: self.y + height, height: self.height - height, ..self };
        (Area { height, ..self }, rest)
    }
}

/// An area for each of the weights, which come in falling order: halves of about equal weight side
/// by side, each divided again. `None` for a weight that no letter is left for.
pub(super) fn divide(weights: &[i64], area: Area) -> Vec<Option<Area>> {
    let mut areas = vec![None; weights.len()];
    let mut waiting = vec![(0, weights.len(), area)];
    while let Some((start, end, area)) = waiting.pop() {
        match end - start {
            0 => {}
            1 => areas[start] = Some(area),
            _ => {
                let (middle, part, whole) = halves(&weights[start..end]);
                match area.split(part, whole) {
                    Some((first, second)) => {
                        waiting.push((start, start + middle, first));
                        waiting.push((start + middle, end, second));
                    }
                    None => areas[start] = Some(area),
                }
            }
        }
    }
    areas
}

/// Where to cut so that both halves weigh about the same: how many are in the first, its weight,
/// and that of all.
fn halves(weights: &[i64]) -> (usize, i128, i128) {
    let whole: i128 = weights.iter().copied().map(i128::from).sum();
    let (mut count, mut part) = (1, i128::from(weights[0]));
    while count + 1 < weights.len() {
        let more = part + i128::from(weights[count]);
        // Nearer to the half with the next one than without it?
        if (whole / 2).abs_diff(more) >= (whole / 2).abs_diff(part) {
            break;
        }
        (count, part) = (count + 1, more);
    }
    (count, part, whole)
}
