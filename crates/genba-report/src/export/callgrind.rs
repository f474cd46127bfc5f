//! Callgrind's format, which callgrind_annotate and KCachegrind read.
//!
//! The format is that of the chapter "Callgrind Format Specification" of Valgrind's manual: cost
//! lines by instruction and line, names that are written once and then numbered, after each
//! `calls=` line the inclusive cost of those calls.

use std::fmt::Write as _;

use genba_model::{CountedDetail, DetailCall, DetailFunction, DetailSite};

use crate::safe_text;
use crate::wording::counts;

/// Renders a file for callgrind_annotate and KCachegrind. Inclusive costs of calls are estimated,
/// as a `desc:` line says; everything else is counted.
#[must_use]
pub fn callgrind(detail: &CountedDetail) -> String {
    let sites: usize = detail.functions.iter().map(|f| f.sites.len()).sum();
    let mut out = String::with_capacity(4096 + sites * 16);
    let total = detail
        .functions
        .iter()
        .flat_map(|f| &f.sites)
        .fold(0u64, |sum, site| sum.saturating_add(site.count));
    head(&mut out, detail, total);
    let mut writer = Writer {
        detail,
        out,
        objects: vec![false; detail.modules.len() + 1],
        files: vec![false; detail.files.len() + 1],
        functions: vec![false; detail.functions.len()],
        at_file: None,
    };
    for index in 0..detail.functions.len() {
        writer.function(index);
    }
    let mut out = writer.out;
    let _ = write!(out, "\ntotals: {total}\n");
    out
}

fn head(out: &mut String, detail: &CountedDetail, total: u64) {
    let engine = counts::engine(&detail.engine.name, &detail.engine.version);
    let _ = write!(
        out,
        "# callgrind format\nversion: 1\ncreator: genba {}\npid: {}\ncmd: {}\n\
         desc: Counted by: {}\n\
         desc: Inclusive cost of calls: estimated as gprof does, every call of a function costs \
         the same\n",
        env!("CARGO_PKG_VERSION"),
        detail.pid,
        safe_text::command(&detail.command),
        safe_text::sanitise(&engine),
    );
    for gap in detail.engine.gaps.iter().take(20) {
        let _ = writeln!(out, "desc: Limitation: {}", safe_text::sanitise(gap));
    }
    if let Some(why) = &detail.cut_short {
        let _ = writeln!(
            out,
            "desc: Warning: {}",
            safe_text::sanitise(&counts::cut_short(why))
        );
    }
    let _ = write!(
        out,
        "\npositions: instr line\nevents: Ir\nsummary: {total}\n"
    );
}

/// The state of the file: a name is written out the first time only.
struct Writer<'a> {
    detail: &'a CountedDetail,
    out: String,
    /// Which modules were named; the last is for missing modules.
    objects: Vec<bool>,
    /// Which files were named; the last is for places without file.
    files: Vec<bool>,
    functions: Vec<bool>,
    /// The file of the next cost lines.
    at_file: Option<u32>,
}

impl Writer<'_> {
    fn function(&mut self, index: usize) {
        let detail = self.detail;
        let Some(function) = detail.functions.get(index) else {
            return;
        };
        self.out.push('\n');
        self.object("ob", function.module);
        self.file("fl", function.file);
        self.at_file = function.file;
        self.name("fn", index);
        // Sites and calls in the order of addresses, the site first.
        let mut calls = function.call_sites.iter().peekable();
        for site in &function.sites {
            while let Some(call) = calls.next_if(|call| call.address < site.address) {
                self.call(function, call);
            }
            self.site(function, site);
            while let Some(call) = calls.next_if(|call| call.address == site.address) {
                self.call(function, call);
            }
        }
        for call in calls {
            self.call(function, call);
        }
    }

    fn site(&mut self, function: &DetailFunction, site: &DetailSite) {
        self.go_to(function, site.file);
        let line = site.line.unwrap_or(0);
        let _ = writeln!(self.out, "0x{:x} {line} {}", site.address, site.count);
    }

    fn call(&mut self, function: &DetailFunction, call: &DetailCall) {
        let detail = self.detail;
        let Some(callee) = detail.functions.get(call.callee as usize) else {
            return;
        };
        self.go_to(function, call.file);
        self.object("cob", callee.module);
        self.file("cfi", callee.file);
        self.name("cfn", call.callee as usize);
        // The conversion saturates; NaN becomes 0.
        let cost = call.total_instructions.round() as u64;
        let _ = writeln!(
            self.out,
            "calls={} 0x{:x} {}\n0x{:x} {} {cost}",
            call.count,
            callee.address,
            callee.line.unwrap_or(0),
            call.address,
            call.line.unwrap_or(0),
        );
    }

    /// Switches the file of the next cost lines: the function's or one inlined into it. A place
    /// without file counts as the function's.
    fn go_to(&mut self, function: &DetailFunction, file: Option<u32>) {
        let file = file.or(function.file);
        if self.at_file != file {
            let key = if file == function.file { "fe" } else { "fi" };
            self.file(key, file);
            self.at_file = file;
        }
    }

    fn object(&mut self, key: &str, module: u32) {
        let index = (module as usize).min(self.detail.modules.len());
        let path = self.detail.modules.get(index);
        let path = path.map_or("???", |module| &module.path);
        let seen = self.objects.get_mut(index);
        reference(&mut self.out, key, index, seen, path);
    }

    fn file(&mut self, key: &str, file: Option<u32>) {
        let none = self.detail.files.len();
        let index = file.map_or(none, |file| (file as usize).min(none));
        let path = self.detail.files.get(index).map_or("???", String::as_str);
        let seen = self.files.get_mut(index);
        reference(&mut self.out, key, index, seen, path);
    }

    fn name(&mut self, key: &str, index: usize) {
        let name = self.detail.functions.get(index);
        let name = name.map_or("???", |function| &function.name);
        let seen = self.functions.get_mut(index);
        reference(&mut self.out, key, index, seen, name);
    }
}

/// Writes `fn=(12) name` the first time and `fn=(12)` later.
pub(super) fn reference(
    out: &mut String,
    key: &str,
    index: usize,
    seen: Option<&mut bool>,
    name: &str,
) {
    let number = index + 1;
    match seen {
        Some(true) => {
            let _ = writeln!(out, "{key}=({number})");
        }
        seen => {
            let name = safe_text::sanitise(name);
            let name = match name.trim() {
                "" => "???",
                name => name,
            };
            let _ = writeln!(out, "{key}=({number}) {name}");
            if let Some(seen) = seen {
                *seen = true;
            }
        }
    }
}
