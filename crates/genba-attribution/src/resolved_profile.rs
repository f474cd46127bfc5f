//! A recording joined with the code that it is about: the material of profiles and annotations.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use genba_model::{Estimate, Event};
use genba_profile::reader::{LocationId, ModuleId, Sample, StackId, Tables, ThreadId};
use genba_profile::{ReadOptions, Recording};
use genba_symbols::{KernelSymbols, RecordedKernel, Symbolizer};

use crate::AttributionError;
use crate::constants::CONFIDENCE;
use crate::counted::{FunctionCounts, Joined};
use crate::sample_sums::{AddressHits, Histogram};
use crate::single_function::Focus;

/// Index of a function in [`ResolvedProfile`].
pub type FunctionId = u32;

/// A function that samples or stacks touch.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its module.
    pub module: ModuleId,
    /// Address in the module; of no meaning where `known` is false.
    pub address: u64,
    /// Bytes of code; 0 if unknown.
    pub size: u64,
    /// Demangled, without parameters.
    pub name: String,
    /// As in the symbol table, where it differs.
    pub linkage_name: Option<String>,
    /// False for the row that gathers all that has no function in a module.
    pub known: bool,
}

/// Where a location is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The function.
    pub function: FunctionId,
    /// Address in the module, as `objdump` prints it.
    pub address: u64,
}

/// A sample with its time.
#[derive(Clone, Copy, Debug)]
pub struct TimedSample {
    /// Time in the recording's clock, ns.
    pub time: u64,
    /// Its thread.
    pub thread: ThreadId,
    /// Its stack.
    pub stack: StackId,
    /// Its weight, at least 1.
    pub weight: u64,
}

/// A recording resolved against the code that it is about.
pub struct ResolvedProfile {
    /// The event that was sampled.
    pub event: Event,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Modules, locations, stacks and threads of the recording.
    pub tables: Tables,
    /// Samples added up.
    pub hits: Histogram,
    /// The modules' symbols and code.
    pub code: Symbolizer,
    /// By [`FunctionId`].
    pub functions: Vec<Function>,
    /// By location id: the place of the location itself, and of the byte before it (a call).
    pub(crate) places: Vec<[Option<Place>; 2]>,
    /// What the reader must know of the recording, a sentence each.
    pub notes: Vec<String>,
    /// Release of the kernel of the recording, if that is known.
    pub(crate) kernel_release: Option<String>,
    /// Exact counts, once joined.
    pub joined: Option<Joined>,
}

impl std::fmt::Debug for ResolvedProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResolvedProfile")
            .field("event", &self.event)
            .finish_non_exhaustive()
    }
}

/// What to read of a recording.
#[derive(Clone, Debug)]
pub struct ResolveOptions {
    /// Which event, by name or number; the first if `None`.
    pub event: Option<String>,
    /// Whether call stacks are wanted.
    pub stacks: bool,
    /// Whether functions of the kernel are to be named: reading its symbols takes tens of
    /// milliseconds.
    pub kernel_names: bool,
}

impl Default for ResolveOptions {
    /// Everything of the first event.
    fn default() -> Self {
        Self {
            event: None,
            stacks: true,
            kernel_names: true,
        }
    }
}

impl ResolvedProfile {
    /// Opens a recording and joins it with the files it names.
    ///
    /// # Errors
    /// When the file is not a recording, or has no samples.
    pub fn open(path: &Path, options: &ResolveOptions) -> Result<Self, AttributionError> {
        let recording = Recording::open(path)?;
        Self::of(&recording, &path.display().to_string(), options)
    }

    /// The same of an opened recording; `name` is for messages.
    ///
    /// # Errors
    /// As [`ResolvedProfile::open`].
    pub fn of(
        recording: &Recording,
        name: &str,
        options: &ResolveOptions,
    ) -> Result<Self, AttributionError> {
        Self::read(recording, name, options, None, &mut |_| {})
    }

    /// Opens a recording and returns its samples as well, in the order of time.
    ///
    /// # Errors
    /// As [`ResolvedProfile::open`].
    pub fn open_with_samples(
        path: &Path,
        options: &ResolveOptions,
    ) -> Result<(Self, Vec<TimedSample>), AttributionError> {
        let recording = Recording::open(path)?;
        let mut samples = Vec::new();
        let mut keep = |sample: &Sample| {
            samples.push(TimedSample {
                time: sample.time,
                thread: sample.thread,
                stack: sample.stack,
                weight: sample.weight.max(1),
            });
        };
        let name = path.display().to_string();
        let resolved = Self::read(&recording, &name, options, None, &mut keep)?;
        Ok((resolved, samples))
    }

    /// Opens a recording for [`ResolvedProfile::annotate`] of the function of this name and nothing else:
    /// no other function is resolved. `None` where a name does not tell beforehand
    /// which code it means, or the function may be the kernel's: open the whole then.
    ///
    /// # Errors
    /// As [`ResolvedProfile::open`].
    pub fn open_for(
        path: &Path,
        options: &ResolveOptions,
        function: &str,
    ) -> Result<Option<Self>, AttributionError> {
        let Some(focus) = Focus::new(function) else {
            return Ok(None);
        };
        let recording = Recording::open(path)?;
        let options = ResolveOptions {
            event: options.event.clone(),
            stacks: false,
            kernel_names: false,
        };
        let name = path.display().to_string();
        Self::read(&recording, &name, &options, Some(focus), &mut |_| {}).map(Some)
    }

    /// Reads the recording, all of it or what the focus is on.
    pub(crate) fn read(
        recording: &Recording,
        name: &str,
        options: &ResolveOptions,
        focus: Option<Focus<'_>>,
        keep: &mut dyn FnMut(&Sample),
    ) -> Result<Self, AttributionError> {
        let info = recording.info();
        let index = match &options.event {
            Some(event) => recording.find_event(event)?,
            None => 0,
        };
        let mut hits = Histogram::default();
        let read = ReadOptions {
            event: options.event.clone(),
            stacks: options.stacks,
        };
        let mut sink = |sample: &Sample, tables: &Tables| {
            hits.add(sample, tables);
            keep(sample);
        };
        let tables = recording.scan(&read, &mut sink)?;
        if hits.all.samples == 0 {
            return Err(AttributionError::NoSamples {
                recording: name.to_owned(),
            });
        }
        hits.locations
            .resize(tables.locations.len(), Default::default());
        hits.stacks.resize(tables.frames.len(), Default::default());
        hits.threads
            .resize(tables.threads.len(), Default::default());
        let kernel = if options.kernel_names {
            KernelSymbols::of_recording(RecordedKernel {
                release: info.os_release.clone(),
                reference: tables.kernel_reference.clone(),
            })
        } else {
            KernelSymbols::unwanted()
        };
        let code = Symbolizer::new(tables.modules.clone(), kernel);
        let mut resolved = Self {
            event: info.events[index].event(),
            command: info.command.clone(),
            places: vec![[None; 2]; tables.locations.len()],
            notes: notes(recording, index, &tables),
            kernel_release: info.os_release.clone(),
            tables,
            hits,
            code,
            functions: Vec::new(),
            joined: None,
        };
        resolved.resolve(focus.as_ref());
        Ok(resolved)
    }

    /// Finds the function of every location that a sample or a stack names; with a focus, of
    /// those that may be in it.
    pub(crate) fn resolve(&mut self, focus: Option<&Focus<'_>>) {
        let mut ranges: HashMap<ModuleId, Vec<Range<u64>>> = HashMap::new();
        let mut ids: HashMap<(ModuleId, Option<u64>), FunctionId> = HashMap::new();
        let mut wanted: Vec<(LocationId, bool)> = self
            .tables
            .frames
            .iter()
            .map(|frame| (frame.location, frame.is_return_address))
            .collect();
        let sampled = (0u32..)
            .zip(&self.hits.locations)
            .filter(|(_, hits)| hits.samples > 0);
        wanted.extend(sampled.map(|(id, _)| (LocationId(id), false)));
        for (id, returns) in wanted {
            let slot = usize::from(returns);
            if self.places[id.0 as usize][slot].is_some() {
                continue;
            }
            let location = self.tables.location(id);
            let module = location.module;
            let ranges = focus.map(|focus| {
                let code = &self.code;
                &*ranges
                    .entry(module)
                    .or_insert_with(|| focus.ranges(code, module))
            });
            if ranges.is_some_and(Vec::is_empty) {
                continue;
            }
            let offset = location.offset.saturating_sub(u64::from(returns));
            let address = self.code.address(module, offset);
            if ranges.is_some_and(|all| !all.iter().any(|one| one.contains(&address))) {
                continue;
            }
            let named = self.code.function_at(location.module, address);
            let key = (location.module, named.as_ref().map(|named| named.address));
            let functions = &mut self.functions;
            let function = *ids.entry(key).or_insert_with(|| {
                functions.push(match named {
                    Some(named) => Function {
                        module: location.module,
                        address: named.address,
                        size: named.size,
                        name: named.name,
                        linkage_name: named.linkage_name,
                        known: true,
                    },
                    None => Function {
                        module: location.module,
                        address: 0,
                        size: 0,
                        name: "[unknown]".to_owned(),
                        linkage_name: None,
                        known: false,
                    },
                });
                functions.len() as FunctionId - 1
            });
            self.places[id.0 as usize][slot] = Some(Place { function, address });
        }
    }

    /// Joins exact counts: what follows has executions and costs per execution.
    pub fn join_counts(&mut self, counts: Joined) {
        self.joined = Some(counts);
    }

    /// The counts of a function, if its module was counted.
    pub fn executed(&self, function: &Function) -> Option<FunctionCounts<'_>> {
        let joined = self.joined.as_ref().filter(|_| function.known)?;
        let path = self.code.module_name(function.module);
        let build_id = self.code.build_id(function.module);
        let module = joined.index.module(&path, build_id.as_deref())?;
        Some(FunctionCounts::new(
            joined,
            module,
            function.address,
            function.size,
        ))
    }

    /// Where a sampled location is.
    pub fn place(&self, id: LocationId) -> Option<Place> {
        self.places[id.0 as usize][0]
    }

    /// Where the frame of a stack is.
    pub fn frame_place(&self, id: StackId) -> Option<Place> {
        let frame = self.tables.frame(id);
        self.places[frame.location.0 as usize][usize::from(frame.is_return_address)]
    }

    /// A share of all samples by weight, with its 95 % interval: Wilson's, on the effective
    /// number of samples.
    pub fn share(&self, weight: f64) -> Estimate {
        share_of(
            weight,
            self.hits.all.weight as f64,
            self.hits.squares as f64,
        )
    }

    /// Samples by address of one function as recorded: number and weight.
    pub fn function_hits(&self) -> HashMap<FunctionId, AddressHits> {
        let mut by_function: HashMap<FunctionId, AddressHits> = HashMap::new();
        for (id, hits) in (0u32..).zip(&self.hits.locations) {
            if hits.samples == 0 {
                continue;
            }
            if let Some(place) = self.place(LocationId(id)) {
                by_function
                    .entry(place.function)
                    .or_default()
                    .push((place.address, *hits));
            }
        }
        by_function
    }
}

/// A weight as a share of a total, with its 95 % interval.
pub fn share_of(weight: f64, total: f64, squares: f64) -> Estimate {
    let inside = weight.clamp(0.0, total);
    genba_stats::wilson_weighted(inside, total, squares, CONFIDENCE).unwrap_or(Estimate {
        value: 0.0,
        low: 0.0,
        high: 1.0,
    })
}

/// What the reader of this recording must know.
fn notes(recording: &Recording, index: usize, tables: &Tables) -> Vec<String> {
    let info = recording.info();
    let mut notes = Vec::new();
    if let Some(reason) = &info.cut_short {
        notes.push(format!("the recording is cut short: {reason}"));
    } else if tables.totals.cut_short {
        notes.push("the recording is cut short: it ends in the middle of a record".to_owned());
    }
    if info.events.len() > 1 {
        let others: Vec<&str> = info
            .events
            .iter()
            .enumerate()
            .filter(|&(i, _)| i != index)
            .map(|(_, event)| event.name.as_str())
            .collect();
        notes.push(format!(
            "only event {} is shown; the recording also has {}",
            info.events[index].name,
            others.join(", ")
        ));
    }
    if tables.totals.damaged > 0 {
        notes.push(format!(
            "{} damaged records were skipped",
            tables.totals.damaged
        ));
    }
    notes
}
