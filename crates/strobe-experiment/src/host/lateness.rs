//! How late the machine wakes a thread that is due every few milliseconds.
//!
//! Lateness counts from the schedule, which does not wait for whoever is late: a probe that slept
//! through ten of its times was late ten times, by less and less. Counted from the last time it
//! woke, it would have been late once.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A probe that runs until it is asked for what it saw.
#[derive(Debug)]
pub struct Lateness {
    end: Sender<()>,
    probe: Option<JoinHandle<Vec<u64>>>,
}

/// Times of one probe that are kept.
const MOST: usize = 1 << 20;

impl Lateness {
    /// Starts a probe that is due that often.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(every: Duration) -> std::io::Result<Lateness> {
        let (end, ended) = mpsc::channel();
        let probe = std::thread::Builder::new().name("lateness".to_owned()).spawn(move || {
            let (begin, mut late) = (Instant::now(), Vec::new());
            let mut due = every;
            loop {
                let left = due.saturating_sub(begin.elapsed());
                match ended.recv_timeout(left) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return late,
                }
                due = overdue(due, begin.elapsed(), every, &mut late);
            }
        })?;
        Ok(Lateness { end, probe: Some(probe) })
    }

    /// Ends it: how late it was each time, in nanoseconds.
    pub fn end(mut self) -> Vec<u64> {
        let _ = self.end.send(());
        self.probe.take().and_then(|probe| probe.join().ok()).unwrap_or_default()
    }
}

/// Adds the lateness of every time that is over; when the next one is due.
fn overdue(mut due: Duration, now: Duration, every: Duration, late: &mut Vec<u64>) -> Duration {
    while due <= now {
        if late.len() < MOST {
            late.push(u64::try_from((now - due).as_nanos()).unwrap_or(u64::MAX));
        }
        due += every.max(Duration::from_micros(1));
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_sleeps_through_ten_times_was_late_ten_times() {
        let ms = Duration::from_millis;
        let mut late = Vec::new();
        // Due at 10 ms, awake at 105 ms: late for 10, 20, .. 100.
        assert_eq!(overdue(ms(10), ms(105), ms(10), &mut late), ms(110));
        let wanted: Vec<u64> = (0..10).map(|n| (95 - 10 * n) * 1_000_000).collect();
        assert_eq!(late, wanted);
        assert_eq!(overdue(ms(110), ms(109), ms(10), &mut late), ms(110));
        assert_eq!(late.len(), 10);
    }

    #[test]
    fn it_wakes_as_often_as_it_is_due() {
        let probe = Lateness::start(Duration::from_millis(2)).expect("a thread");
        let begin = Instant::now();
        std::thread::sleep(Duration::from_millis(200));
        let (most, late) = (begin.elapsed(), probe.end());
        // A busy machine starts the thread late, but no thread sees more times than have passed.
        assert!(!late.is_empty() && late.len() <= 2 + most.as_millis() as usize, "{late:?}");
    }
}
