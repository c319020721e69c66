//! What comes in at an analog channel: a constant, one value for each conversion, or a course in
//! time.

/// The values of a channel, as a converter gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Analog {
    /// Always the same.
    Constant(u16),
    /// One for each conversion of this channel; the last one stays.
    Each(Vec<u16>),
    /// From so many nanoseconds since reset on, in order of time; before the first it has that
    /// one's value.
    Course(Vec<(u64, u16)>),
}

/// A channel with its place in the values.
#[derive(Debug, Clone)]
pub struct Channel {
    input: Analog,
    /// Conversions so far.
    taken: usize,
}

impl Channel {
    /// A channel of which nothing has been converted yet.
    pub fn new(input: Analog) -> Self {
        Channel { input, taken: 0 }
    }

    /// The value at a moment, without a conversion.
    pub fn at(&self, nanoseconds: u64) -> u16 {
        match &self.input {
            Analog::Constant(value) => *value,
            Analog::Each(values) => {
                let at = self.taken.min(values.len().saturating_sub(1));
                values.get(at).copied().unwrap_or(0)
            }
            Analog::Course(course) => {
                let after = course.partition_point(|&(since, _)| since <= nanoseconds);
                course.get(after.saturating_sub(1)).map_or(0, |&(_, value)| value)
            }
        }
    }

    /// The value that a conversion takes.
    pub fn convert(&mut self, nanoseconds: u64) -> u16 {
        let value = self.at(nanoseconds);
        self.taken = self.taken.saturating_add(1);
        value
    }

    /// When it changes next.
    pub fn next_change(&self, nanoseconds: u64) -> Option<u64> {
        let Analog::Course(course) = &self.input else { return None };
        let after = course.partition_point(|&(since, _)| since <= nanoseconds);
        course.get(after).map(|&(since, _)| since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_holds_each_value_up_to_the_next() {
        let mut channel = Channel::new(Analog::Course(vec![(10, 1), (20, 2)]));
        assert_eq!([0, 10, 19, 20, 99].map(|at| channel.convert(at)), [1, 1, 1, 2, 2]);
        assert_eq!([0, 10, 20].map(|at| channel.next_change(at)), [Some(10), Some(20), None]);
    }

    #[test]
    fn each_conversion_takes_the_next_value() {
        let mut channel = Channel::new(Analog::Each(vec![5, 6]));
        assert_eq!([0; 4].map(|at| channel.convert(at)), [5, 6, 6, 6]);
    }
}
