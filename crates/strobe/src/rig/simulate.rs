//! Running a rig, and what was measured of its chips.

use std::process::ExitCode;

use strobe_model::measurement::{Finding, Measurement};

use strobe_source::simulated::bounding_runs::{self, NoBounds, OTHER_END};
use strobe_source::simulated::rig::{self as simulated, Chip, Layout};
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{
    self as source, HeapSettings, Heaps, Host, Outcome, Recorder, Settings,
};

use super::{Member, Rig};
use crate::gallery::Gallery;
use crate::simulate::{self, Setup};
use crate::{ending, exit, host, input, interrupt};

/// A chip's run.
pub struct ChipRun {
    /// What was measured.
    pub record: RunRecord,
    /// The same in the low and the high model, where these were run.
    pub bounding_runs: Option<[RunRecord; 2]>,
    /// What became of its heaps, if that was asked for.
    pub heaps: Option<Heaps>,
}

impl ChipRun {
    fn measurement(&self) -> Measurement {
        match &self.bounding_runs {
            Some(runs) => bounding_runs::measurement(&self.record, runs),
            None => source::measurement(&self.record),
        }
    }
}

impl Rig {
    /// What was measured of the chips that are reported, each a part.
    pub fn measurement(&self, ran: &[ChipRun]) -> Measurement {
        let chip = |i: usize| (self.members[i].name.clone(), ran[i].measurement());
        source::rig_measurement(&self.name, self.reported().map(chip).collect(), &self.joined())
    }

    /// Runs all chips, the chosen one with these settings and whoever records its pins, and returns
    /// what was measured of each. Heaps are watched on all chips that are reported. `others` are
    /// the chosen chip's hosts in the runs of the low and the high model; none where these are of
    /// no use.
    pub fn simulate<H: Host + Send>(
        &self,
        setup: &Setup,
        asked: &Settings,
        recorder: Option<&mut dyn Recorder>,
        others: Option<&mut [H; 2]>,
    ) -> anyhow::Result<Vec<ChipRun>> {
        let without_heaps = self.without_heaps(asked.heap.as_ref())?;
        let asked =
            &ending::extend_limit(asked, self.members.iter().map(|member| &member.firmware));
        let chips = self.chips(asked, &without_heaps);
        let layout = Layout { chips: &chips, wires: &self.wires, delay: self.delay };
        let mut hosts = self.hosts(setup, recorder)?;
        let interrupted = interrupt::on_interrupt();
        let mut ends: Vec<&mut dyn Host> = hosts.iter_mut().map(|h| h as &mut dyn Host).collect();
        let outcomes = simulated::run(layout, &mut ends, &interrupted);
        let galleries = hosts.iter_mut().filter_map(host::Terminal::finish).collect();
        let outcomes = outcomes.map_err(|e| self.explain(e))?;
        let pictures = Gallery::finish(galleries)?;
        let wanted = simulate::needs_bounding_runs(setup, asked, &hosts[self.chosen], &outcomes);
        let others = others.filter(|_| wanted).map(|hosts| {
            let likely: Vec<&RunRecord> = outcomes.iter().map(|outcome| &outcome.record).collect();
            bounding_runs::run_rig(layout, &likely, (self.chosen, hosts), &interrupted)
        });
        let (others, mut alone) = match others {
            Some(Err(NoBounds::OtherEnd(text))) => (None, Some(Finding::warning(OTHER_END, text))),
            others => (others.and_then(Result::ok), None),
        };
        let others: Vec<Option<[RunRecord; 2]>> = match others {
            Some([low, high]) => low.into_iter().zip(high).map(|(a, b)| Some([a, b])).collect(),
            None => outcomes.iter().map(|_| None).collect(),
        };
        let mut ran = Vec::new();
        for ((i, Outcome { mut record, heaps, .. }), others) in
            outcomes.into_iter().enumerate().zip(others)
        {
            record.subject.name = input::file_name(&self.members[i].path);
            if i == self.chosen {
                simulate::complete(&mut record, &hosts[i], pictures);
                record.warnings.extend(alone.take());
            }
            let unwatched = without_heaps[i].as_ref();
            record.warnings.extend(unwatched.map(|why| Finding::warning("no-allocator", why)));
            ran.push(ChipRun { record, bounding_runs: others, heaps });
        }
        Ok(ran)
    }

    /// The chips with what is wanted of their runs.
    fn chips(&self, asked: &Settings, without_heaps: &[Option<String>]) -> Vec<Chip<'_>> {
        let watched: Vec<usize> = self.reported().filter(|i| without_heaps[*i].is_none()).collect();
        let chip = |(i, member): (usize, &'_ Member)| {
            let settings =
                if i == self.chosen { asked.clone() } else { simulate::elsewhere(asked) };
            let heap = asked.heap.clone().filter(|_| watched.contains(&i));
            Settings { media: member.media(&asked.media), heap, ..settings }
        };
        let settings: Vec<Settings> = self.members.iter().enumerate().map(chip).collect();
        let chips = self.members.iter().zip(settings).map(|(member, settings)| Chip {
            name: member.name.clone(),
            firmware: &member.firmware,
            board: member.board.clone(),
            settings,
        });
        chips.collect()
    }

    /// The terminal as the chosen chip's host, and silent ones.
    fn hosts<'a>(
        &self,
        setup: &Setup,
        mut recorder: Option<&'a mut dyn Recorder>,
    ) -> anyhow::Result<Vec<host::Terminal<'a>>> {
        let one = |i: usize| {
            let host = if i == self.chosen {
                setup.host()?.with_hidden_serial().with_recorder(recorder.take())
            } else {
                host::Terminal::new(true, Vec::new(), Vec::new())
            };
            let gallery = setup.world.pictures.as_deref().map(Gallery::new).transpose()?;
            Ok(host.with_gallery(gallery))
        };
        (0..self.members.len()).map(one).collect()
    }

    fn explain(&self, e: simulated::RigError) -> anyhow::Error {
        let text = match e.error {
            source::Error::Wires(_) => format!("rig file {}: {e}", self.path.display()),
            _ => e.to_string(),
        };
        simulate::explain_as(e.error, text)
    }

    /// Why a chip's heaps cannot be watched, if they are to be: an error if those of no chip can.
    fn without_heaps(&self, asked: Option<&HeapSettings>) -> anyhow::Result<Vec<Option<String>>> {
        let Some(asked) = asked else { return Ok(vec![None; self.members.len()]) };
        let own = asked.allocators.as_ref();
        let why = |member: &Member| {
            source::allocators(&member.firmware, own).err().map(|error| error.to_string())
        };
        let all: Vec<Option<String>> = self.members.iter().map(why).collect();
        if self.reported().any(|i| all[i].is_none()) {
            return Ok(all);
        }
        let name = &self.members[self.chosen].name;
        let why = all[self.chosen].as_deref().unwrap_or_default();
        Err(exit::data(if self.alone {
            format!("chip {name}: {why}")
        } else {
            format!("no chip of the rig has a heap; chip {name}: {why}")
        }))
    }
}

/// The exit code for how a rig ended: that of the chip that ended first, or that of what was asked
/// for and never reached.
pub fn code_for(ran: &[ChipRun]) -> ExitCode {
    let mut ended = ran.iter().map(|ran| &ran.record);
    let first = ended.find(|r| !matches!(r.window.end_reason, EndReason::OtherChip { .. }));
    let code = first.map_or(ExitCode::SUCCESS, exit::code_for);
    let missed = ran.iter().map(|ran| &ran.record).find(|record| !record.unreached.is_empty());
    if code == ExitCode::SUCCESS { missed.map_or(code, exit::code_for) } else { code }
}
