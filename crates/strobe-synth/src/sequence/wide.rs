//! 32-bit instructions from the table of encodings: registers only, and loads and stores of the
//! scratch window.

use super::{Gen, bit, layout};
use crate::insn::{DataOp, Insn, Reg};
use crate::wide::{Class, Extension, Form, Index, Mem, Wide, forms};

impl Gen {
    pub(super) fn is_v7m(&self) -> bool {
        self.options.core.is_v7m()
    }

    /// Whether the core has an extension.
    pub(super) fn has(&self, extension: Extension) -> bool {
        self.options.core.extensions().contains(&extension)
    }

    /// One instruction from the table, sometimes after some that prepare its operands.
    pub(super) fn wide(&mut self) {
        let form = self.some_form(|class| !matches!(class, Class::Special));
        match form.class {
            Class::Mem(mem) => self.wide_access(form, mem),
            Class::Literal { bytes, unit } => self.wide_literal(form, bytes, unit),
            _ => {
                if form.extension == Extension::Fp && self.rng.one_in(2) {
                    self.fp_operands();
                }
                self.operand_for(form);
                let insn = self.plain(form);
                self.emit(insn);
            }
        }
    }

    /// A form of this core; each extension has the same probability.
    fn some_form(&mut self, wanted: impl Fn(Class) -> bool) -> &'static Form {
        let extension = self.rng.pick(self.options.core.extensions());
        let fitting: Vec<&'static Form> =
            forms().iter().filter(|f| f.extension == extension && wanted(f.class)).collect();
        self.rng.pick(&fitting)
    }

    /// A register instruction of any form, ready to be emitted.
    pub(super) fn some_plain(&mut self) -> Insn {
        let form = self.some_form(|class| matches!(class, Class::Plain | Class::PlainSp));
        self.plain(form)
    }

    /// An instruction of a form that only uses registers, with random ones.
    pub(super) fn plain(&mut self, form: &'static Form) -> Insn {
        loop {
            let wide = self.plain_once(form);
            if wide.is_predictable() {
                return Insn::Wide(wide);
            }
        }
    }

    fn plain_once(&mut self, form: &'static Form) -> Wide {
        let mut fields = Vec::new();
        for letter in ['d', 'h', 'l'].into_iter().filter(|&l| form.has(l)) {
            fields.push((letter, u32::from(self.any_dest().number())));
        }
        for letter in ['n', 'm', 'a'].into_iter().filter(|&l| form.has(l)) {
            let sp = letter == 'n' && form.class == Class::PlainSp && self.rng.one_in(8);
            let r = if sp { Reg::SP } else { self.any_source() };
            fields.push((letter, u32::from(r.number())));
        }
        let filler = self.rng.next_u32();
        form.with(&fields, filler)
    }

    /// Sometimes a critical operand: a shift around 32, a divisor that is small or zero.
    fn operand_for(&mut self, form: &'static Form) {
        let shifts = form.name.ends_with("reg W");
        if (shifts || matches!(form.name, "SDIV" | "UDIV")) && self.rng.one_in(2) {
            let rd = self.dest();
            let value = self.rng.pick(&[0, 1, 2, 7, 31, 32, 33, 255]);
            self.mov(rd, value);
            let fields = [('m', u32::from(rd.number()))];
            let Insn::Wide(wide) = self.plain(form) else { return };
            let keep = ['d', 'n'].map(|l| (l, wide.field(l)));
            let filler = self.rng.next_u32();
            self.emit(Insn::Wide(form.with(&[fields[0], keep[0], keep[1]], filler)));
        }
    }

    /// A register to write: any but SP and PC.
    pub(super) fn any_dest(&mut self) -> Reg {
        match self.rng.below(4) {
            0 if self.lr_free && self.rng.one_in(3) => Reg::LR,
            0 | 1 => Reg::new(8 + self.rng.below(5) as u8),
            _ => self.dest(),
        }
    }

    /// The same, except these.
    pub(super) fn any_dest_besides(&mut self, others: &[Reg]) -> Reg {
        loop {
            let r = self.any_dest();
            if !others.contains(&r) {
                return r;
            }
        }
    }

    /// A register to read: any but SP and PC.
    pub(super) fn any_source(&mut self) -> Reg {
        let n = self.rng.below(14) as u8;
        if n == 13 { Reg::LR } else { Reg::new(n) }
    }

    /// Puts a value into a register, if necessary through a low one that is none of `others`.
    pub(super) fn put(&mut self, r: Reg, value: u32, others: &[Reg]) {
        if r.is_low() {
            return self.load(r, value);
        }
        let mask = others.iter().filter(|r| r.is_low()).fold(0, |mask, &r| mask | bit(r));
        let low = self.dest_besides(mask);
        self.load(low, value);
        self.emit(Insn::MovHigh { rd: r, rm: low });
    }

    /// A load or store of the scratch window.
    fn wide_access(&mut self, form: &'static Form, mem: Mem) {
        // Where the core allows it, an address need not be aligned.
        let natural = mem.bytes.min(4).max(mem.align);
        let align = if mem.align == 1 && self.rng.one_in(4) { 1 } else { natural };
        let target = self.scratch(mem.bytes, align);
        let writeback = matches!(mem.index, Index::Pre | Index::Post);
        let n = self.any_dest();
        let mut fields = vec![('n', u32::from(n.number()))];
        let mut used = vec![n];
        if mem.index == Index::Register {
            let m = self.any_dest_besides(&used);
            let (shift, offset) = (self.rng.below(4), self.rng.next_u32() >> 20);
            self.put(m, offset, &[]);
            self.put(n, target.wrapping_sub(offset << shift), &[m]);
            fields.extend([('m', u32::from(m.number())), ('s', shift)]);
        } else {
            let units = self.rng.below(1 << form.width('i'));
            let up = match mem.index {
                Index::Down => false,
                _ => !form.has('U') || self.rng.one_in(2),
            };
            if form.has('U') {
                fields.push(('U', u32::from(up)));
            }
            fields.push(('i', units));
            let offset = if up { units * mem.unit } else { (units * mem.unit).wrapping_neg() };
            let offset = if mem.index == Index::Post { 0 } else { offset };
            self.put(n, target.wrapping_sub(offset), &[]);
        }
        for letter in ['t', 'u'].into_iter().filter(|&l| form.has(l)) {
            let r = match (mem.load, writeback) {
                (true, true) => self.any_dest_besides(&used),
                (true, false) => self.any_dest_besides(&used[1..]),
                (false, _) => self.any_source(),
            };
            let r = if !mem.load && writeback && r == n { self.any_dest_besides(&used) } else { r };
            used.push(r);
            fields.push((letter, u32::from(r.number())));
        }
        let filler = self.rng.next_u32();
        self.emit(Insn::Wide(form.with(&fields, filler)));
    }

    /// A load relative to the PC: of the program itself, before the PC and a little ahead.
    fn wide_literal(&mut self, form: &'static Form, bytes: u32, unit: u32) {
        let mut fields = Vec::new();
        for letter in ['t', 'u'].into_iter().filter(|&l| form.has(l)) {
            let used: Vec<Reg> =
                fields.iter().map(|&(_, n): &(char, u32)| Reg::new(n as u8)).collect();
            let r = self.any_dest_besides(&used);
            fields.push((letter, u32::from(r.number())));
        }
        let base = (self.asm.here() + 4) & !3;
        let up = self.rng.one_in(3);
        let reach = if up { 24 } else { (base - layout::CODE).min(unit << form.width('i')) };
        let units = self.rng.below((reach / unit).max(1)).min((1 << form.width('i')) - 1);
        debug_assert!(bytes <= 8);
        fields.extend([('U', u32::from(up)), ('i', units)]);
        let filler = self.rng.next_u32();
        self.emit(Insn::Wide(form.with(&fields, filler)));
    }

    /// Several registers at once, from and to the scratch window.
    pub(super) fn wide_multiple(&mut self) {
        let name = self.rng.pick(&["LDMIA W", "LDMDB", "STMIA W", "STMDB"]);
        let form = Form::named(name);
        let (load, down) = (name.starts_with('L'), name.contains("DB"));
        let n = self.any_dest();
        let writeback = self.rng.one_in(2);
        let list = self.wide_list(load, if writeback || load { Some(n) } else { None });
        let target = self.scratch(64, 4);
        let base = if down { target + 4 * list.count_ones() } else { target };
        self.put(n, base, &[]);
        let fields = [
            ('n', u32::from(n.number())),
            ('W', u32::from(writeback)),
            ('M', list >> 14 & 1),
            ('r', list & 0x1fff),
        ];
        self.emit(Insn::Wide(form.with(&fields, 0)));
    }

    /// At least two of R0 to R12 and LR; for loads, those that may be overwritten.
    pub(super) fn wide_list(&mut self, load: bool, without: Option<Reg>) -> u32 {
        let mut allowed = 0x1f00 | if load { u32::from(self.free) } else { 0xff };
        if !load || self.lr_free {
            allowed |= 1 << 14;
        }
        if let Some(r) = without {
            allowed &= !(1 << r.number());
        }
        loop {
            let list = self.rng.next_u32() & allowed;
            if list.count_ones() >= 2 {
                return list;
            }
        }
    }

    /// PUSH and POP of any registers, and of one by pre- and post-indexing.
    pub(super) fn wide_push_pop(&mut self) {
        let sp = ('n', 13);
        if self.rng.one_in(3) {
            let (from, to) = (self.any_source(), self.any_dest());
            let push = [sp, ('t', u32::from(from.number())), ('U', 0), ('i', 4)];
            self.emit(Insn::Wide(Form::named("STR pre").with(&push, 0)));
            self.arith();
            let pop = [sp, ('t', u32::from(to.number())), ('U', 1), ('i', 4)];
            self.emit(Insn::Wide(Form::named("LDR post").with(&pop, 0)));
            return;
        }
        let (stored, mut loaded) = (self.wide_list(false, None), self.wide_list(true, None));
        let fields = |list: u32| [sp, ('W', 1), ('M', list >> 14 & 1), ('r', list & 0x1fff)];
        self.emit(Insn::Wide(Form::named("STMDB").with(&fields(stored), 0)));
        self.arith();
        while loaded.count_ones() > stored.count_ones() {
            loaded &= loaded - 1;
        }
        if loaded.count_ones() >= 2 {
            self.emit(Insn::Wide(Form::named("LDMIA W").with(&fields(loaded), 0)));
        }
        let left =
            stored.count_ones() - if loaded.count_ones() >= 2 { loaded.count_ones() } else { 0 };
        let fields = [('n', 13), ('d', 13), ('i', left * 4), ('S', 0)];
        self.emit(Insn::Wide(Form::named("ADD imm").with(&fields, 0)));
    }

    /// An exclusive load and store, sometimes with code in between that clears the monitor.
    pub(super) fn exclusive(&mut self) {
        let (suffix, bytes) = self.rng.pick(&[("", 4), ("B", 1), ("H", 2)]);
        let [load, store] = ["LDREX", "STREX"].map(|op| Form::named(&format!("{op}{suffix}")));
        let n = self.any_dest();
        let units = if bytes == 4 { self.rng.below(256) } else { 0 };
        let target = self.scratch(bytes, bytes);
        self.put(n, target - units * 4, &[]);
        let (t, s) = (self.any_dest_besides(&[n]), self.any_source());
        let d = self.any_dest_besides(&[n, s]);
        let (n, immediate) = (('n', u32::from(n.number())), ('i', units));
        let fields = |of: &[(char, u32)]| -> Vec<(char, u32)> {
            of.iter().copied().chain((bytes == 4).then_some(immediate)).collect()
        };
        if !self.rng.one_in(8) {
            self.emit(Insn::Wide(load.with(&fields(&[n, ('t', u32::from(t.number()))]), 0)));
        }
        if self.rng.one_in(4) {
            self.emit(Insn::Data { op: DataOp::Cmp, rdn: Reg::new(0), rm: Reg::new(1) });
        }
        if self.rng.one_in(4) {
            self.emit(Insn::Wide(Form::named("CLREX").with(&[], 0)));
        }
        let operands = [n, ('t', u32::from(s.number())), ('d', u32::from(d.number()))];
        self.emit(Insn::Wide(store.with(&fields(&operands), 0)));
    }
}
