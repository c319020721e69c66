//! Events of several streams in the order of time.

use super::stream::{Item, Lost, Reader};

/// Streams that are read together.
#[derive(Debug)]
pub struct Merged<'t, 'd> {
    readers: Vec<Reader<'t, 'd>>,
    /// What each reader has given that has not been passed on.
    next: Vec<Option<Item<'t>>>,
}

/// Reads streams together: events and losses by time, the earliest first, of the stream named first where times are the same. Packets and
/// undecodable bytes come as soon as they are met.
pub fn merge<'t, 'd>(mut readers: Vec<Reader<'t, 'd>>) -> Merged<'t, 'd> {
    let next = readers.iter_mut().map(Reader::next).collect();
    Merged { readers, next }
}

impl<'t, 'd> Merged<'t, 'd> {
    /// The readers, for what they have counted.
    pub fn readers(&self) -> &[Reader<'t, 'd>] {
        &self.readers
    }
}

impl<'t> Iterator for Merged<'t, '_> {
    /// What comes next, and the stream that it is from, by its place in the list.
    type Item = (usize, Item<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        let times = self.next.iter().enumerate();
        let (index, _) = times
            .filter_map(|(i, item)| Some((i, time(item.as_ref()?))))
            .min_by_key(|(_, t)| *t)?;
        let item = self.next[index].take();
        self.next[index] = self.readers[index].next();
        item.map(|item| (index, item))
    }
}

/// When an item is to be passed on; at once where it has no time.
fn time(item: &Item) -> i128 {
    match item {
        Item::Event(event) => event.nanoseconds().unwrap_or(i128::MIN),
        Item::Lost(Lost { clock: Some(clock), to: Some(to), .. }) => clock.nanoseconds(*to),
        Item::Lost(_) | Item::Packet(_) | Item::Undecodable(_) => i128::MIN,
    }
}
