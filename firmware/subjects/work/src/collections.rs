//! Collections: `heapless`, in a small event scheduler.

use crate::data::Stream;
use core::cmp::Reverse;
use core::fmt::{self, Write};
use heapless::binary_heap::{BinaryHeap, Max};
use heapless::index_map::FnvIndexMap;
use heapless::{Deque, String, Vec};

/// Runs ten thousand timed events of 24 named tasks and prints who ran how often and who ran last.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let mut stream = Stream::new(0x4ea9);
    let mut queue: BinaryHeap<Reverse<(u32, u8)>, Max, 32> = BinaryHeap::new();
    let mut names: Vec<String<12>, 24> = Vec::new();
    let mut counts: FnvIndexMap<String<12>, u32, 32> = FnvIndexMap::new();
    let mut recent: Deque<u8, 8> = Deque::new();

    for task in 0..24_u8 {
        let mut name = String::new();
        write!(name, "task-{task:02}")?;
        names.push(name).map_err(|_| fmt::Error)?;
        queue.push(Reverse((stream.word() % 1000, task))).map_err(|_| fmt::Error)?;
    }
    let mut now = 0;
    for _ in 0..10_000 {
        let Reverse((due, task)) = queue.pop().ok_or(fmt::Error)?;
        now = due;
        count(&mut counts, &names[usize::from(task)])?;
        if recent.is_full() {
            recent.pop_front();
        }
        recent.push_back(task).map_err(|_| fmt::Error)?;
        let next = due + 1 + stream.word() % (100 + 20 * u32::from(task));
        queue.push(Reverse((next, task))).map_err(|_| fmt::Error)?;
    }

    for (name, count) in &counts {
        writeln!(out, "{name} {count}")?;
    }
    writeln!(out, "at {now}, last {:?}", recent)
}

fn count(counts: &mut FnvIndexMap<String<12>, u32, 32>, name: &String<12>) -> fmt::Result {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            counts.insert(name.clone(), 1).map_err(|_| fmt::Error)?;
        }
    }
    Ok(())
}
