//! One end of the wires between two chips: reports levels of this chip's pins, and drives other
//! pins with those it receives.
//!
//! Only whoever runs both chips knows where wires lead. Options: `outputs`, pins whose levels go
//! out; `inputs`, pins that are driven. A pin that its chip does not hold is let go of at the other
//! end too.

use std::collections::VecDeque;

use serde::Deserialize;

use strobe_sim::kernel::device::part::Edge;
use strobe_sim::kernel::device::{CableEnd, Context, Create, Device, OptionError, PinWatch};
use strobe_sim::kernel::signal::SignalId;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    outputs: Vec<String>,
    inputs: Vec<String>,
}

struct Cable {
    outputs: Vec<SignalId>,
    inputs: Vec<SignalId>,
    /// What the other ends of the outputs have received last.
    last: Vec<Option<bool>>,
    out: Vec<Edge>,
    /// What is still on its way in, in order of time.
    coming: VecDeque<Edge>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let outputs = pins(cx, &options.outputs)?;
    let inputs = pins(cx, &options.inputs)?;
    outputs.iter().for_each(|&pin| cx.listen(pin));
    let last = vec![None; outputs.len()];
    Ok(Box::new(Cable { outputs, inputs, last, out: Vec::new(), coming: VecDeque::new() }))
}

fn pins(cx: &mut Create, names: &[String]) -> Result<Vec<SignalId>, OptionError> {
    names.iter().map(|name| cx.pin(name)).collect()
}

impl Cable {
    /// Notifies the other end of an output, if there is anything new.
    fn send(&mut self, wire: usize, cx: &Context) {
        let pin = self.outputs[wire];
        let level = cx.is_held(pin).then(|| cx.level(pin));
        if self.last[wire] != level {
            self.last[wire] = level;
            self.out.push(Edge { at: cx.now(), wire, level });
        }
    }
}

impl Device for Cable {
    fn signal(&mut self, id: SignalId, _: bool, cx: &mut Context) {
        // A pin may have several wires.
        for wire in 0..self.outputs.len() {
            if self.outputs[wire] == id {
                self.send(wire, cx);
            }
        }
    }

    fn event(&mut self, cx: &mut Context) {
        while let Some(edge) = self.coming.pop_front_if(|edge| edge.at <= cx.now()) {
            if let Some(&pin) = self.inputs.get(edge.wire) {
                cx.drive(pin, edge.level);
            }
        }
        cx.wake_at(self.coming.front().map_or(u64::MAX, |edge| edge.at));
    }

    fn reset(&mut self, cx: &mut Context) {
        (0..self.outputs.len()).for_each(|wire| self.send(wire, cx));
    }

    fn pin_watch(&mut self) -> Option<&mut dyn PinWatch> {
        Some(self)
    }

    fn cable_end(&mut self) -> Option<&mut dyn CableEnd> {
        Some(self)
    }
}

impl PinWatch for Cable {
    fn held(&mut self, id: SignalId, cx: &mut Context) {
        self.signal(id, false, cx);
    }
}

impl CableEnd for Cable {
    fn take_edges(&mut self) -> Vec<Edge> {
        std::mem::take(&mut self.out)
    }

    fn edges_come(&mut self, edges: &[Edge], cx: &mut Context) {
        self.coming.extend(edges);
        self.coming.make_contiguous().sort_by_key(|edge| edge.at);
        cx.wake_at(self.coming.front().map_or(u64::MAX, |edge| edge.at));
    }
}
