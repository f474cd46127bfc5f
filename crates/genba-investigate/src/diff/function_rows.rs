//! Functions of one side by name, and functions with another name on the other side. Pure.

use std::collections::BTreeMap;

use genba_model::Estimate;

use super::Side;

/// A function of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub name: String,
    pub module: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub time: Option<Estimate>,
    pub calls: Option<u64>,
    pub instructions: Option<u64>,
}

/// Name of a function and of its shared library; empty for the program, whose name may differ between
/// the sides.
pub(super) type Key = (String, String);

pub(super) fn key(function: &str, module: &str) -> Key {
    let file = module.rsplit('/').next().unwrap_or(module);
    let shared = file.contains(".so") || file.starts_with('[');
    (
        function.to_owned(),
        if shared {
            file.to_owned()
        } else {
            String::new()
        },
    )
}

impl Row {
    /// Sets name and place; a place that is known already is retained.
    fn set_place(&mut self, name: &str, module: &str, file: Option<&String>, line: Option<u32>) {
        name.clone_into(&mut self.name);
        module.clone_into(&mut self.module);
        self.file = self.file.take().or_else(|| file.cloned());
        self.line = self.line.or(line);
    }
}

/// Returns the functions of a side, a run of which takes `run`.
pub(super) fn rows(side: &Side, run: f64) -> BTreeMap<Key, Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for function in side.profile.iter().flat_map(|profile| &profile.functions) {
        let (name, module) = (&function.function, &function.module);
        let row = rows.entry(key(name, module)).or_default();
        row.set_place(name, module, function.file.as_ref(), function.line);
        let share = function.self_share;
        let time = Estimate {
            value: share.value * run,
            low: share.low * run,
            high: share.high * run,
        };
        row.time = Some(row.time.map_or(time, |sum| Estimate {
            value: sum.value + time.value,
            low: sum.low + time.low,
            high: sum.high + time.high,
        }));
    }
    for function in side.counts.iter().flat_map(|counts| &counts.functions) {
        let (name, module) = (&function.function, &function.module);
        let row = rows.entry(key(name, module)).or_default();
        row.set_place(name, module, function.file.as_ref(), function.line);
        row.calls = Some(row.calls.unwrap_or(0) + function.calls);
        row.instructions = Some(row.instructions.unwrap_or(0) + function.instructions);
    }
    rows
}

/// Returns functions that have a name with a compiler's clone suffix on one of the sides.
pub(super) fn renamed<'a>(
    before: &'a BTreeMap<Key, Row>,
    after: &'a BTreeMap<Key, Row>,
) -> BTreeMap<&'a Key, &'a Key> {
    let by_base = |rows: &'a BTreeMap<Key, Row>, others: &BTreeMap<Key, Row>| {
        let mut found: BTreeMap<(&'a str, &'a str), Vec<&'a Key>> = BTreeMap::new();
        for key in rows.keys().filter(|key| !others.contains_key(*key)) {
            found
                .entry((base(&key.0), key.1.as_str()))
                .or_default()
                .push(key);
        }
        found
    };
    let (left, right) = (by_base(before, after), by_base(after, before));
    let pairs = left.into_iter().filter_map(|(name, keys)| {
        // Of several clones, none is the function itself.
        match (&keys[..], right.get(&name).map(Vec::as_slice)) {
            ([one], Some([two])) => Some((*one, *two)),
            _ => None,
        }
    });
    pairs.collect()
}

/// Returns the name without the suffixes that compilers give to clones.
pub(super) fn base(name: &str) -> &str {
    let marks = [
        ".constprop.",
        ".isra.",
        ".part.",
        ".cold",
        ".lto_priv.",
        ".llvm.",
        ".localalias",
    ];
    let places = marks.iter().filter_map(|mark| name.find(mark));
    places.min().map_or(name, |place| &name[..place])
}
