//! Threads as the kit reports them: who makes the calls that follow, and what handles are called.
//!
//! The kit sends a thread only where it is another than before. So where a record is missing, who
//! runs is not known until the next one states it.

use std::collections::{BTreeMap, HashMap};

use strobe_symbols::Firmware;

use super::super::record::thread_name;
use super::reader::ThreadWhat;

/// Threads kept apart; noise could bring more.
const MOST: usize = 1024;
/// Above the numbers of exceptions.
const FIRST: i64 = 1 << 32;

#[derive(Debug, Clone)]
struct Thread {
    handle: u32,
    name: Option<String>,
}

/// A name of which a part has come.
#[derive(Debug, Clone)]
struct Naming {
    handle: u32,
    length: usize,
    bytes: Vec<u8>,
}

/// What was reported.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    all: Vec<Thread>,
    /// The thread that has a handle.
    index: HashMap<u32, u32>,
    current: Option<u32>,
    naming: Option<Naming>,
}

impl Threads {
    /// The thread that runs, by number, if it is known.
    pub fn current(&self) -> Option<u32> {
        self.current
    }

    /// Whether threads are kept apart.
    pub fn are_known(&self) -> bool {
        !self.all.is_empty()
    }

    /// Records are missing: another thread may run, and what has come of a name lacks the rest.
    pub fn lost(&mut self) {
        (self.current, self.naming) = (None, None);
    }

    /// A record about a thread.
    pub fn take(&mut self, what: ThreadWhat) {
        match what {
            ThreadWhat::Runs(handle) => self.current = self.of(handle),
            ThreadWhat::Named { handle, length } => {
                self.naming = Some(Naming { handle, length, bytes: Vec::new() });
            }
            ThreadWhat::Letters { place, bytes } => self.letters(place, bytes),
        }
    }

    fn letters(&mut self, place: usize, bytes: [u8; 4]) {
        let follows = |naming: &Naming| naming.bytes.len() == place * 4;
        let Some(mut naming) = self.naming.take().filter(follows) else { return };
        naming.bytes.extend(bytes);
        if naming.bytes.len() < naming.length {
            self.naming = Some(naming);
            return;
        }
        naming.bytes.truncate(naming.length);
        self.named(naming.handle, String::from_utf8_lossy(&naming.bytes).into_owned());
    }

    /// A handle that gets another name is of another thread: the one before is over.
    fn named(&mut self, handle: u32, name: String) {
        let before = self.index.get(&handle).copied();
        let known = before.and_then(|at| self.all.get_mut(at as usize));
        match known {
            Some(thread) if thread.name.is_none() => thread.name = Some(name),
            Some(thread) if thread.name.as_ref() == Some(&name) => {}
            _ => {
                let thread = self.add(Thread { handle, name: Some(name) });
                if before.is_some() && self.current == before {
                    self.current = thread;
                }
            }
        }
    }

    fn of(&mut self, handle: u32) -> Option<u32> {
        match self.index.get(&handle) {
            Some(&thread) => Some(thread),
            None => self.add(Thread { handle, name: None }),
        }
    }

    fn add(&mut self, thread: Thread) -> Option<u32> {
        let number = self.all.len() as u32;
        if self.all.len() == MOST {
            // Better none than the one before.
            self.index.remove(&thread.handle);
            return None;
        }
        self.index.insert(thread.handle, number);
        self.all.push(thread);
        Some(number)
    }

    /// What a thread is in tables where exceptions have their own numbers.
    pub fn number(thread: u32) -> i64 {
        FIRST + i64::from(thread)
    }

    /// What they are called: as the firmware names them, or the variable that the handle points
    /// to, or the handle. Several of one name have the handle as well.
    pub fn names(&self, firmware: Option<&Firmware>) -> BTreeMap<i64, String> {
        let name = |thread: &Thread| match (&thread.name, thread.handle) {
            (Some(name), _) => name.clone(),
            // No thread yet; and what is at address 0 is none.
            (None, 0) => thread_name(0, None),
            (None, handle) => thread_name(handle, firmware),
        };
        let mut names: Vec<String> = self.all.iter().map(name).collect();
        let mut count: HashMap<String, usize> = HashMap::new();
        names.iter().for_each(|name| *count.entry(name.clone()).or_default() += 1);
        for (name, thread) in names.iter_mut().zip(&self.all) {
            if count.get(name).is_some_and(|&count| count > 1) {
                *name = format!("{name} ({:#010x})", thread.handle);
            }
        }
        (0..).map(Threads::number).zip(names).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(threads: &mut Threads, handle: u32, name: &str) {
        threads.take(ThreadWhat::Named { handle, length: name.len() });
        for (place, letters) in name.as_bytes().chunks(4).enumerate() {
            let mut bytes = [0; 4];
            bytes[..letters.len()].copy_from_slice(letters);
            threads.take(ThreadWhat::Letters { place, bytes });
        }
    }

    fn names(threads: &Threads) -> Vec<String> {
        threads.names(None).into_values().collect()
    }

    #[test]
    fn loss_leaves_the_running_thread_unknown_until_stated() {
        let mut threads = Threads::default();
        threads.take(ThreadWhat::Runs(0x100));
        assert_eq!(threads.current(), Some(0));
        threads.lost();
        assert_eq!(threads.current(), None);
        name(&mut threads, 0x100, "idle");
        assert_eq!(threads.current(), None);
        threads.take(ThreadWhat::Runs(0x200));
        assert_eq!(threads.current(), Some(1));
        assert_eq!(names(&threads), ["idle", "0x00000200"]);
    }

    #[test]
    fn a_name_is_whole_or_none() {
        let mut threads = Threads::default();
        name(&mut threads, 0x100, "sensor");
        // Its second word is missing, with and without a number that shows it.
        threads.take(ThreadWhat::Named { handle: 0x200, length: 6 });
        threads.take(ThreadWhat::Letters { place: 0, bytes: *b"filt" });
        threads.lost();
        threads.take(ThreadWhat::Letters { place: 1, bytes: *b"er\0\0" });
        threads.take(ThreadWhat::Named { handle: 0x200, length: 9 });
        threads.take(ThreadWhat::Letters { place: 0, bytes: *b"filt" });
        threads.take(ThreadWhat::Letters { place: 2, bytes: *b"er\0\0" });
        threads.take(ThreadWhat::Letters { place: 1, bytes: *b"er\0\0" });
        threads.take(ThreadWhat::Runs(0x200));
        assert_eq!(names(&threads), ["sensor", "0x00000200"]);
    }

    #[test]
    fn a_handle_with_another_name_is_another_thread() {
        let mut threads = Threads::default();
        name(&mut threads, 0x100, "once");
        threads.take(ThreadWhat::Runs(0x100));
        name(&mut threads, 0x100, "once");
        assert_eq!(threads.current(), Some(0));
        name(&mut threads, 0x100, "again");
        assert_eq!(threads.current(), Some(1));
        name(&mut threads, 0x200, "again");
        assert_eq!(names(&threads), ["once", "again (0x00000100)", "again (0x00000200)"]);
    }

    #[test]
    fn of_too_many_the_rest_is_unknown() {
        let mut threads = Threads::default();
        (0..=MOST as u32).for_each(|handle| threads.take(ThreadWhat::Runs(handle)));
        assert_eq!((threads.current(), threads.all.len()), (None, MOST));
        name(&mut threads, 7, "a");
        threads.take(ThreadWhat::Runs(7));
        name(&mut threads, 7, "b");
        assert_eq!(threads.current(), None);
        assert_eq!(names(&threads)[7], "a");
    }
}
