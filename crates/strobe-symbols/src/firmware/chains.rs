//! Which functions an address belongs to, with those that were inlined there.

use std::collections::BTreeSet;

use super::Firmware;
use crate::code::CodeKind;
use crate::frames::{Frame, FrameLocation, Frames, FramesBatch, Missing, Place, StringId};
use crate::interval::Piece;

impl Firmware {
    /// The functions at an address, innermost first. The Thumb bit is ignored. For a return address
    /// look up [`ReturnAddress::call_site`](crate::ReturnAddress::call_site), for an interrupted
    /// program counter with the address itself.
    pub fn frames(&self, address: u32) -> Frames<'_> {
        match self.spot(address) {
            Some(piece) => Frames { frames: self.chain(piece.value), missing: None },
            None => Frames { frames: Vec::new(), missing: Some(self.why_missing(address)) },
        }
    }

    /// The source files that code is from, each once, as [`Frame::file`](crate::Frame::file) has
    /// them.
    pub fn source_files(&self) -> impl Iterator<Item = &str> {
        let lines = self.debug.line_pieces.iter().map(|piece| piece.value);
        let calls = self.debug.scopes.iter().filter_map(|scope| Some(scope.caller?.1));
        let files: BTreeSet<_> = lines.chain(calls).filter_map(|place| place.file).collect();
        files.into_iter().map(|id| self.debug.string(id))
    }

    /// The functions at each of many addresses, in any order.
    pub fn frames_batch(&self, addresses: &[u32]) -> FramesBatch<'_> {
        const UNSEEN: u32 = u32::MAX;
        let mut distinct: Vec<Frames<'_>> = Vec::new();
        let mut answer_of_spot = vec![UNSEEN; self.spots.len()];
        let mut answer_of_missing: Vec<(Missing, u32)> = Vec::new();
        let indices = addresses.iter().map(|&address| match self.spot_index(address) {
            Some(spot) => {
                if answer_of_spot[spot] == UNSEEN {
                    answer_of_spot[spot] = distinct.len() as u32;
                    distinct
                        .push(Frames { frames: self.chain(self.spots[spot].value), missing: None });
                }
                answer_of_spot[spot]
            }
            None => {
                let why = self.why_missing(address);
                if let Some(&(_, answer)) =
                    answer_of_missing.iter().find(|(missing, _)| *missing == why)
                {
                    return answer;
                }
                let answer = distinct.len() as u32;
                answer_of_missing.push((why, answer));
                distinct.push(Frames { frames: Vec::new(), missing: Some(why) });
                answer
            }
        });
        let indices = indices.collect();
        FramesBatch { indices, distinct }
    }

    fn spot_index(&self, address: u32) -> Option<usize> {
        let address = u64::from(address & !1);
        let index = self.spots.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        (address < self.spots[index].end).then_some(index)
    }

    pub(super) fn spot(&self, address: u32) -> Option<&Piece<FrameLocation>> {
        self.spot_index(address).map(|index| &self.spots[index])
    }

    fn why_missing(&self, address: u32) -> Missing {
        match self.code_kind(address & !1) {
            None => Missing::OutsideImage,
            Some(CodeKind::Data) => Missing::Data,
            Some(CodeKind::Thumb | CodeKind::Arm | CodeKind::Avr) => Missing::NoSymbol,
        }
    }

    pub(crate) fn chain(&self, spot: FrameLocation) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        let mut place = spot.place.unwrap_or_default();
        let mut next = spot.scope;
        while let Some(id) = next {
            let scope = &self.debug.scopes[id.0 as usize];
            let mut frame = self.frame(scope.linkage_name, scope.display_name, place);
            frame.inlined = scope.caller.is_some();
            frames.push(frame);
            next = scope.caller.map(|(caller, call)| {
                place = call;
                caller
            });
        }
        if frames.is_empty() {
            frames.push(self.frame(None, None, place));
        }
        if let (Some(outermost), Some(id)) = (frames.last_mut(), spot.function) {
            let function = self.function(id);
            outermost.name = Some(&function.name);
            outermost.linkage_name = Some(&function.linkage_name);
            outermost.function = Some(id);
            outermost.file = outermost.file.or(function.symbol_file.as_deref());
        }
        frames
    }

    fn frame(
        &self,
        linkage: Option<StringId>,
        display: Option<StringId>,
        place: Place,
    ) -> Frame<'_> {
        Frame {
            name: display.map(|id| self.debug.string(id)),
            linkage_name: linkage.map(|id| self.debug.string(id)),
            function: None,
            file: place.file.map(|id| self.debug.string(id)),
            line: (place.line != 0).then_some(place.line),
            column: (place.column != 0).then_some(place.column),
            inlined: false,
        }
    }
}
