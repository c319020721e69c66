//! Merges the events of several streams by time.

use super::stream::{Item, Lost, Reader};

/// Streams read in parallel.
#[derive(Debug)]
pub struct Merged<'t, 'd> {
    readers: Vec<Reader<'t, 'd>>,
    /// The next item of each reader, not yet returned.
    next: Vec<Option<Item<'t>>>,
}

/// Merges streams: events and losses by time, the earliest first; at equal times the stream listed
/// first wins. Packets and undecodable bytes are returned as soon as they are read.
pub fn merge<'t, 'd>(mut readers: Vec<Reader<'t, 'd>>) -> Merged<'t, 'd> {
    let next = readers.iter_mut().map(Reader::next).collect();
    Merged { readers, next }
}

impl<'t, 'd> Merged<'t, 'd> {
    /// The readers, for their statistics.
    pub fn readers(&self) -> &[Reader<'t, 'd>] {
        &self.readers
    }
}

impl<'t> Iterator for Merged<'t, '_> {
    /// The next item and the index of its stream.
    type Item = (usize, Item<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        if let ([next], [reader]) = (&mut *self.next, &mut *self.readers) {
            return next.take().or_else(|| reader.next()).map(|item| (0, item));
        }
        let times = self.next.iter().enumerate();
        let (index, _) = times
            .filter_map(|(i, item)| Some((i, time(item.as_ref()?))))
            .min_by_key(|(_, t)| *t)?;
        let item = self.next[index].take();
        self.next[index] = self.readers[index].next();
        item.map(|item| (index, item))
    }
}

/// The time an item is sorted by; without a time it is returned at once.
fn time(item: &Item) -> i128 {
    match item {
        Item::Event(event) => event.nanoseconds().unwrap_or(i128::MIN),
        Item::Lost(Lost { clock: Some(clock), to: Some(to), .. }) => clock.nanoseconds(*to),
        Item::Lost(_) | Item::Packet(_) | Item::Undecodable(_) => i128::MIN,
    }
}
