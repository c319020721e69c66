//! Stream numbers in the frames of a trace port, and which of them cannot have been sent.
//!
//! A wrong bit turns data into a number, or a number into another one, and what follows goes to the
//! wrong stream: up to the next number, which may never come where there is only one source. The
//! bytes are all there and every packet is sound, so nothing else shows it. But real streams leave
//! regular marks: their numbers come often, padding is zero, and a source is announced when it
//! changes. Some formatters announce it again every eight frames (CoreSight TPIU, DDI 0314H
//! 8.12.1); others, as that of the Cortex-M3 and M4, do not. What is announced has a byte. (By
//! DDI 0337I, 11.2.2, padding completes a frame; but an STM32F105 goes on in the midst of one where
//! more comes meanwhile.)

/// Numbers of streams.
const STREAMS: usize = 128;

/// The stream that is padding.
const PADDING: u8 = 0;

/// The first number that no source may have.
const RESERVED: u8 = 0x70;

/// Numbers of what the port itself has to say, a flush and a trigger (IHI 0029, table D4-1), and
/// the bytes behind such a number.
const FLUSH: u8 = 0x7b;
const TRIGGER: u8 = 0x7d;
const EVENT_BYTES: u64 = 1;

/// With fewer numbers of its own a stream may be made of wrong bits.
const OFTEN: u64 = 16;

/// A formatter that repeats the number of a source does so after this many frames without one.
const HABIT: u64 = 8;

/// What a formatter does not do is wrong if it comes in fewer than one of so many frames: repeats
/// before that, and numbers without a byte.
const SELDOM: u64 = 64;

/// Numbers seen so far.
#[derive(Debug, Clone)]
pub(super) struct Marks {
    /// How often each number came, and the bytes behind it.
    numbers: Box<[(u64, u64); STREAMS]>,
    /// The frame with the number before.
    last: Option<u64>,
    /// Numbers that changed nothing: within a few frames, and after that.
    early: u64,
    late: u64,
    /// Numbers without a byte.
    bare: u64,
    /// No byte has come since the number.
    is_bare: bool,
    /// How often a formatter would have repeated a number, and this one has not.
    silent: u64,
    /// Runs of padding with a byte that is not zero.
    filled: u64,
    /// The run of padding has one, or it is not known to be padding.
    is_filled: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Marks {
            numbers: Box::new([(0, 0); STREAMS]),
            last: None,
            early: 0,
            late: 0,
            bare: 0,
            is_bare: false,
            silent: 0,
            filled: 0,
            is_filled: true,
        }
    }
}

impl Marks {
    /// A number in place of another one, in a frame of that number.
    pub fn number(&mut self, before: u8, now: u8, frame: u64) {
        self.numbers[usize::from(now) % STREAMS].0 += 1;
        let since = self.last.map(|last| frame.saturating_sub(last));
        if let Some(since) = since {
            // One frame more or less, as the number finds its place.
            self.silent += (since / (HABIT + 1)).saturating_sub(u64::from(since <= 2 * HABIT));
            let is_early = since + 1 < HABIT;
            self.early += u64::from(before == now && is_early);
            self.late += u64::from(before == now && !is_early);
            self.bare += u64::from(since == 0 && self.is_bare);
        }
        self.last = Some(frame);
        self.is_filled = false;
        self.is_bare = true;
    }

    /// Bytes of a stream.
    pub fn data(&mut self, stream: u8, bytes: &[u8]) {
        self.numbers[usize::from(stream) % STREAMS].1 += bytes.len() as u64;
        self.is_bare &= bytes.is_empty();
        if stream == PADDING && !self.is_filled && bytes.iter().any(|byte| *byte != 0) {
            self.is_filled = true;
            self.filled += 1;
        }
    }

    /// Frames are missing: which stream goes on is not known, nor since when.
    pub fn gap(&mut self) {
        self.last = None;
        self.is_filled = true;
    }

    /// Places where a number must be wrong in so many frames, if `own` is the stream that is read
    /// and `is_known` is true of what else was recognised.
    pub fn wrong(&self, own: u8, frames: u64, is_known: impl Fn(u8) -> bool) -> u64 {
        // Beside a stream that comes often and that nobody recognises, one that comes seldom is a
        // part of it. Two sources that take turns come as often as each other.
        let times = |stream: u8| self.numbers[usize::from(stream) % STREAMS].0;
        let least = OFTEN.max(2 * times(own));
        let has_rival =
            (1..RESERVED).any(|other| other != own && times(other) >= least && !is_known(other));
        let strange = (0u8..).zip(self.numbers.iter()).map(|(stream, &(times, bytes))| {
            let sound = match stream {
                PADDING => true,
                _ if stream == own => !has_rival || times >= OFTEN,
                FLUSH | TRIGGER => bytes <= times.saturating_mul(EVENT_BYTES),
                // No source may have them, whatever its bytes look like.
                RESERVED.. => false,
                _ => is_known(stream) || times >= OFTEN,
            };
            if sound { 0 } else { times }
        });
        let silent = self.silent + self.last.map_or(0, |last| frames.saturating_sub(last) / HABIT);
        let late = if self.late.saturating_mul(HABIT) > silent { 0 } else { self.late };
        let early = if self.early.saturating_mul(SELDOM) > frames { 0 } else { self.early };
        // One alone is no habit, however few frames there are.
        let is_habit = self.bare > 1 && self.bare.saturating_mul(SELDOM) > frames;
        let bare = if is_habit { 0 } else { self.bare };
        strange.sum::<u64>() + self.filled + late + early + bare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(numbers: &[u8], bytes: usize) -> Marks {
        let mut marks = Marks::default();
        let mut before = PADDING;
        for (n, &now) in numbers.iter().enumerate() {
            marks.number(before, now, (n * (bytes + 1) / 15) as u64);
            marks.data(now, &vec![u8::from(now != PADDING); bytes]);
            before = now;
        }
        marks
    }

    #[test]
    fn one_source_is_announced_once_or_time_and_again() {
        assert_eq!(marks(&[1], 5000).wrong(1, 300, |_| false), 0);
        assert_eq!(marks(&[1; 100], 120).wrong(1, 800, |_| false), 0);
        assert_eq!(marks(&[1, 0].repeat(50), 12).wrong(1, 80, |_| false), 0);
    }

    #[test]
    fn a_number_that_comes_seldom_is_wrong() {
        assert_eq!(marks(&[1, 9], 5000).wrong(1, 600, |_| false), 1);
        assert_eq!(marks(&[1, 9], 5000).wrong(9, 600, |_| false), 1);
        assert_eq!(marks(&[1, 2], 5000).wrong(1, 600, |stream| stream == 2), 0);
        assert_eq!(marks(&[1, 2].repeat(40), 100).wrong(1, 600, |_| false), 0);
        assert_eq!(marks(&[1, 0x72], 5000).wrong(1, 600, |_| false), 1);
        assert_eq!(marks(&[1, 0x7f], 5000).wrong(1, 600, |_| true), 1);
    }

    #[test]
    fn rare_stream_next_to_an_unknown_is_wrong() {
        let mut numbers = [1, 2].repeat(40);
        numbers.push(5);
        assert_eq!(marks(&numbers, 100).wrong(5, 600, |stream| stream == 2), 1);
        assert_eq!(marks(&[2, 5, 2, 5, 2], 100).wrong(5, 600, |stream| stream == 2), 0);
        let mut repeated = vec![2; 40];
        repeated.push(5);
        assert_eq!(marks(&repeated, 120).wrong(5, 800, |stream| stream == 2), 0);
    }

    #[test]
    fn a_trigger_has_a_byte_and_padding_none() {
        assert_eq!(marks(&[1, TRIGGER, 1], 1).wrong(1, 1, |_| false), 0);
        assert_eq!(marks(&[1, TRIGGER], 300).wrong(1, 20, |_| false), 1);
        let mut padded = marks(&[1], 300);
        padded.number(1, PADDING, 20);
        padded.data(PADDING, &[0, 0, 0]);
        assert_eq!(padded.wrong(1, 20, |_| false), 0);
        padded.data(PADDING, &[0, 0x17, 0x80]);
        padded.data(PADDING, &[0x17]);
        assert_eq!(padded.wrong(1, 20, |_| false), 1);
    }

    /// Numbers in one frame, each with so many bytes behind it, behind some sound frames.
    fn in_one_frame(numbers: &[(u8, usize)]) -> u64 {
        let mut marks = marks(&[1, 2].repeat(100), 20);
        let mut before = 2;
        for &(now, bytes) in numbers {
            marks.number(before, now, 300);
            marks.data(now, &vec![u8::from(now != PADDING); bytes]);
            before = now;
        }
        marks.wrong(1, 301, |_| false)
    }

    #[test]
    fn announced_stream_without_a_byte_is_wrong() {
        assert_eq!(in_one_frame(&[(1, 3), (2, 1), (1, 4), (PADDING, 3)]), 0);
        assert_eq!(in_one_frame(&[(1, 3), (2, 0), (1, 4)]), 1);
        assert_eq!(in_one_frame(&[(1, 3), (PADDING, 0), (2, 4)]), 1);
        // While a frame is completed more may come.
        assert_eq!(in_one_frame(&[(1, 3), (PADDING, 1), (2, 4)]), 0);
    }

    #[test]
    fn constant_formatter_behaviour_is_not_an_error() {
        let mut marks = marks(&[1], 20);
        for frame in 2..100 {
            marks.number(1, 2, frame);
            marks.number(2, 1, frame);
            marks.data(1, &[7; 11]);
        }
        assert_eq!(marks.wrong(1, 100, |_| false), 0);
    }

    #[test]
    fn unusual_repetition_of_a_number_is_wrong() {
        let mut numbers = [1, 2].repeat(2000);
        numbers.insert(77, 1);
        assert_eq!(marks(&numbers, 9).wrong(1, 3000, |_| false), 1);
    }
}
