//! Rewrites of source text that remove a cause: one file for each kind. Pure.
//!
//! A rewrite refuses where it cannot check in the source what it needs. What it cannot check and
//! assumes nevertheless (that two pointers do not overlap) it says.

mod accumulate_call;
mod accumulators;
mod appended_text;
mod cold_copy;
mod common_case;
mod computed_choice;
mod dead_stores;
mod direct_numbers;
mod direct_stream;
mod direct_text;
mod free_list;
mod grouped_fields;
mod hoisted_call;
mod hoisted_test;
mod inline_in_header;
mod kept_memory;
mod kept_pattern;
mod kept_times;
mod known_target;
mod local_pointers;
mod loop_interchange;
mod moved_copies;
mod object_uses;
mod one_division;
mod other_container;
mod overflow_test;
mod plain_counts;
mod realloc_growth;
mod repeated_call;
mod selected_store;
mod separate_lines;
mod short_runs;
mod string_stays;
mod table_steps;
mod tested_divisor;
mod tested_first;
mod thread_local_model;
mod unflushed_lines;
mod usual_one;
mod wide_compare;

use genba_model::{Cause, Fix};
use tree_sitter::Node;

use crate::declarations::Types;
use crate::edit::{Edit, apply};
use crate::effects::{Effect, Effects};
use crate::macro_expansion::expanded;
use crate::source_file::{DeclaredType, SourceFile, descendants, is_loop, lines};

/// The sources of a program.
pub struct Sources {
    /// The files of the tree.
    pub files: Vec<SourceFile>,
}

/// The place of a finding in the sources.
pub struct Place<'a> {
    /// Index of the file.
    pub file: usize,
    /// The function's name, as the finding has it.
    pub function: &'a str,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
}

/// A change of the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// What it does, in the imperative.
    pub title: String,
    /// What it needs to be true and could not check, a clause each.
    pub assumes: Vec<String>,
    /// Edits by index of the file.
    pub edits: Vec<(usize, Vec<Edit>)>,
}

/// What a kind of rewrite works on.
pub(crate) struct Subject<'a> {
    /// The sources.
    pub sources: &'a Sources,
    /// The finding's place.
    pub place: &'a Place<'a>,
    /// The change that the finding asks for, where the case has it.
    pub change: Option<&'a Fix>,
    /// The file of the place.
    pub file: &'a SourceFile,
    /// The function round the place.
    pub function: Node<'a>,
    /// What the code of the program changes.
    pub effects: &'a Effects<'a>,
    /// The types of its names.
    pub types: &'a Types<'a>,
}

impl<'a> Subject<'a> {
    /// Whether evaluating an expression changes nothing, as far as the sources and the libraries tell.
    fn is_pure(&self, expression: Node<'_>) -> bool {
        self.effects.is_pure(self.file, expression)
    }

    /// Whether a call itself changes nothing; its arguments are looked at apart.
    fn is_pure_call(&self, call: Node<'_>) -> bool {
        self.effects.of_call(self.file, call) < Effect::Changes
    }

    /// The type of an expression in the function, its aliases resolved.
    fn type_of(&self, expression: Node<'_>) -> Option<DeclaredType> {
        self.types.of(self.file, self.function, expression)
    }

    /// A rewrite of the file of the place.
    fn rewrite(&self, title: impl Into<String>, edits: Vec<Edit>) -> Rewrite {
        Rewrite {
            title: title.into(),
            assumes: Vec::new(),
            edits: vec![(self.place.file, edits)],
        }
    }

    /// Where code of one's own may begin: before the function, or the outermost thing around it.
    fn before_code(&self) -> usize {
        let mut outer = self.function;
        while let Some(parent) = outer
            .parent()
            .filter(|one| one.kind() != "translation_unit")
        {
            outer = parent;
        }
        self.file.line_start(outer.start_byte())
    }

    /// Where code for all functions of the file may begin: before the first of them.
    fn before_first_function(&self) -> usize {
        let first = (descendants(self.file.root()).into_iter())
            .find(|node| node.kind() == "function_definition");
        first.map_or(0, |node| self.file.line_start(node.start_byte()))
    }

    /// Whether a node has one of the lines of the place.
    fn is_at_place(&self, node: Node<'_>) -> bool {
        let (first, last) = lines(node);
        first <= self.place.end_line && last >= self.place.line
    }

    /// Refuses where numbers may have another decimal point, or grouped digits: a locale is process-wide, so it
    /// may be set in any of the sources.
    fn without_locale(&self) -> Result<(), String> {
        const SET_BY: [&str; 3] = ["setlocale", "std::locale", "imbue"];
        let mut files = self.sources.files.iter();
        match files.any(|file| SET_BY.iter().any(|name| file.source().contains(name))) {
            true => {
                Err("the program sets a locale, in which numbers may look otherwise".to_owned())
            }
            false => Ok(()),
        }
    }

    /// The nodes of the function with lines of the place first, then the other ones.
    fn nodes_by_place(&self) -> Vec<Node<'a>> {
        let mut nodes = descendants(self.function);
        nodes.sort_by_key(|node| !self.is_at_place(*node));
        nodes
    }

    /// The loops of the function that have lines of the place, the innermost first.
    fn loops(&self) -> Vec<Node<'a>> {
        let mut loops: Vec<Node<'a>> = descendants(self.function)
            .into_iter()
            .filter(|node| is_loop(*node) && self.is_at_place(*node))
            .collect();
        loops.sort_by_key(|node| node.end_byte() - node.start_byte());
        loops
    }
}

/// A kind of rewrite: the changes that it proposes, or why none, as a clause.
type Kind = fn(&Subject<'_>) -> Result<Vec<Rewrite>, String>;

/// The kinds that may remove a cause, in the order in which they are tried.
fn kinds(cause: &str) -> &'static [Kind] {
    let Some(cause) = Cause::ALL.iter().find(|one| one.id() == cause) else {
        return &[];
    };
    match cause {
        Cause::DuplicateDivision => &[one_division::rewrites],
        Cause::LoopInvariantCall | Cause::RedundantComputation => {
            &[hoisted_call::rewrites, repeated_call::rewrites]
        }
        Cause::ReallocGrowth => &[realloc_growth::rewrites],
        Cause::ExcessSyscalls => &[unflushed_lines::rewrites],
        Cause::ColdPathInHotFunction => &[cold_copy::rewrites],
        Cause::DivisionAsOverflowCheck => &[overflow_test::rewrites],
        Cause::BytewiseCompare => &[wide_compare::rewrites],
        Cause::StridedAccess => &[loop_interchange::rewrites],
        Cause::KnownOperand => &[usual_one::rewrites],
        Cause::NeedlessAtomic => &[plain_counts::rewrites],
        Cause::MissedVectorisation => &[local_pointers::rewrites],
        Cause::FieldOrder => &[grouped_fields::rewrites],
        Cause::TlsLookup => &[thread_local_model::rewrites],
        Cause::TinyCalleeNotInlined => &[inline_in_header::rewrites],
        Cause::UnpredictableBranch => &[selected_store::rewrites],
        Cause::FalseSharing => &[separate_lines::rewrites],
        Cause::LoopInvariantDivisor => &[tested_divisor::rewrites],
        Cause::IndirectCallOneTarget => &[known_target::rewrites],
        Cause::DeadStore => &[dead_stores::rewrites],
        Cause::DiscardedWork => &[tested_first::rewrites, dead_stores::rewrites],
        Cause::FpLatencyChain => &[accumulators::rewrites],
        Cause::IntegerLatencyChain => &[table_steps::rewrites],
        Cause::FirstTouch => &[kept_memory::rewrites],
        // A copy of an object allocates memory of its own.
        Cause::MallocChurn => &[free_list::rewrites, moved_copies::with_allocations],
        Cause::Quadratic => &[
            other_container::consumed_from_front,
            appended_text::rewrites,
        ],
        Cause::PointerChase => &[other_container::contiguous],
        Cause::ShortTripVectorLoop => &[short_runs::rewrites],
        Cause::GeneralCaseFirst => &[common_case::rewrites, tested_first::rewrites],
        Cause::InvariantCheck => &[hoisted_test::rewrites],
        Cause::CostlyConversion => &[
            direct_numbers::rewrites,
            direct_text::rewrites,
            kept_times::rewrites,
            kept_pattern::rewrites,
            direct_stream::rewrites,
        ],
        Cause::RepeatedCopy => &[moved_copies::rewrites],
        _ => &[],
    }
}

fn kinds_of(cause: &str) -> Result<&'static [Kind], String> {
    match kinds(cause) {
        [] => Err("genba has no rewrite for this cause".to_owned()),
        kinds => Ok(kinds),
    }
}

/// Whether there is a kind of rewrite for a cause at all.
///
/// # Errors
/// There is none, as a clause.
pub fn check_cause(cause: &str) -> Result<(), String> {
    kinds_of(cause).map(drop)
}

/// The changes that may remove a cause at a place, the most promising first.
///
/// # Errors
/// Why there is none, as a clause.
pub fn rewrites(
    cause: &str,
    change: Option<&Fix>,
    sources: &Sources,
    place: &Place<'_>,
) -> Result<Vec<Rewrite>, String> {
    let kinds = kinds_of(cause)?;
    let reason = match of_sources(kinds, change, sources, place) {
        Err(reason) => reason,
        found => return found,
    };
    with_macros_expanded(kinds, change, sources, place).ok_or(reason)
}

/// The changes of sources in which the function-like macros at the place are expanded.
fn with_macros_expanded(
    kinds: &[Kind],
    change: Option<&Fix>,
    sources: &Sources,
    place: &Place<'_>,
) -> Option<Vec<Rewrite>> {
    let file = sources.files.get(place.file)?;
    let function = function_of(file, place)?;
    let (text, names) = expanded(sources, file, function, place)?;
    let mut files = Vec::new();
    for one in &sources.files {
        let text = match std::ptr::eq(one, file) {
            true => text.clone(),
            false => one.source().to_owned(),
        };
        files.push(SourceFile::new(&one.path, text.into_bytes(), one.dialect).ok()?);
    }
    let after = Sources { files };
    let mut found = of_sources(kinds, change, &after, place).ok()?;
    for rewrite in &mut found {
        rewrite.title = format!("{}, {} written out", rewrite.title, names.join(" and "));
        // Edits of the expanded text as one of the original.
        for (index, edits) in &mut rewrite.edits {
            if *index == place.file {
                let all = apply(&text, edits)?;
                *edits = vec![Edit::replace(0..file.source().len(), all)];
            }
        }
    }
    Some(found)
}

/// The function around a place.
fn function_of<'a>(file: &'a SourceFile, place: &Place<'_>) -> Option<Node<'a>> {
    file.function_at(place.line)
        .or_else(|| file.function_at(place.end_line))
}

fn of_sources(
    kinds: &[Kind],
    change: Option<&Fix>,
    sources: &Sources,
    place: &Place<'_>,
) -> Result<Vec<Rewrite>, String> {
    let file = (sources.files.get(place.file)).ok_or("its file is not among the sources")?;
    let function = function_of(file, place)
        .ok_or_else(|| format!("line {} of {} is in no function", place.line, file.path))?;
    let (effects, types) = (Effects::new(sources), Types::new(sources));
    let subject = Subject {
        sources,
        place,
        change,
        file,
        function,
        effects: &effects,
        types: &types,
    };
    let mut found = Vec::new();
    let mut reasons = Vec::new();
    for kind in kinds {
        match kind(&subject) {
            Ok(rewrites) => found.extend(rewrites),
            Err(reason) if reason.is_empty() => {}
            Err(reason) => reasons.push(reason),
        }
    }
    match found.is_empty() {
        true => Err(reasons.join("; ")),
        false => Ok(found),
    }
}
