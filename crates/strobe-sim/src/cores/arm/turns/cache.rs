//! Whether the flash accelerator does in each turn what it did in the recorded one.

use super::Head;
use crate::cores::arm::block::BlockId;
use crate::cores::arm::core::Machine;
use crate::kernel::flash::accelerator;
use crate::kernel::observe::Observer;

impl<O: Observer> Machine<O> {
    /// What it holds, and how many lines it has brought in.
    pub(super) fn cache_state(&self) -> (accelerator::State, u64) {
        let accelerator = &self.bus.flash_interface.accelerator;
        (accelerator.state(), accelerator.epoch)
    }

    /// Whether the flash accelerator brings in again what it has in the turn.
    pub(super) fn cache_repeats(&self, head: &Head) -> bool {
        let accelerator = &self.bus.flash_interface.accelerator;
        let (state, epoch) = self.cache_state();
        let mut blocks = self.turns.recording.blocks.iter();
        // Behind a line that was brought in, nothing is known to be there.
        let is_same = epoch == head.cache.1 || blocks.all(|&(id, had)| accelerator.has(id) == had);
        is_same && state == head.cache.0
    }

    /// A block begins on the careful path.
    pub(in crate::cores::arm) fn note_block(&mut self, id: BlockId) {
        let Some(head) = &self.turns.head else { return };
        let accelerator = &self.bus.flash_interface.accelerator;
        let blocks = &mut self.turns.recording.blocks;
        if accelerator.epoch == head.cache.1 && !blocks.iter().any(|block| block.0 == id) {
            blocks.push((id, accelerator.has(id)));
        }
    }
}
