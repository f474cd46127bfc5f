//! All samples of a recording with names, lines and threads, for exports.

use std::collections::HashMap;

use genba_model::{
    CodeKind, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder, SampledFrame,
    SampledFunction, SampledThread,
};
use genba_profile::reader::StackId;
use genba_symbols::{CodeFrame, ModuleKind};

use crate::constants::MAX_STACK_DEPTH;
use crate::resolved_profile::{FunctionId, ResolvedProfile, TimedSample};

impl ResolvedProfile {
    /// Returns the samples with all that is known of each. Lines are those of the sampled addresses,
    /// without skid correction. Of stacks deeper than [`MAX_STACK_DEPTH`] the innermost frames remain.
    #[must_use]
    pub fn sampled_detail(&self, samples: &[TimedSample]) -> SampledDetail {
        let unit = match self.event.hardware {
            true => SampleUnit::Count,
            false => SampleUnit::Nanoseconds,
        };
        let builder = SampledDetailBuilder::new(self.event.clone(), unit, self.command.clone());
        let mut conversion = Conversion {
            resolved: self,
            builder,
            functions: HashMap::new(),
            frames: HashMap::new(),
            nodes: vec![None; self.tables.frames.len()],
            depths: depths(self),
        };
        let first = self.tables.totals.first;
        for sample in samples {
            let thread = self.tables.thread(sample.thread);
            let thread = conversion.builder.thread(SampledThread {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.comm.clone(),
            });
            let stack = conversion.stack(sample.stack);
            conversion.builder.detail.samples.push(Sampled {
                thread,
                stack,
                time_ns: Some(sample.time.saturating_sub(first)),
                weight: sample.weight,
                samples: 1,
            });
        }
        let mut detail = conversion.builder.detail;
        detail.lost = self.tables.totals.lost;
        detail.notes.clone_from(&self.notes);
        detail
    }
}

/// Depth of each node of the tree of stacks; parents stand before their children.
fn depths(resolved: &ResolvedProfile) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(resolved.tables.frames.len());
    for frame in &resolved.tables.frames {
        let above = frame.parent.map_or(0, |parent| depths[parent.0 as usize]);
        depths.push(above.saturating_add(1));
    }
    depths
}

struct Conversion<'a> {
    resolved: &'a ResolvedProfile,
    builder: SampledDetailBuilder,
    functions: HashMap<FunctionId, u32>,
    /// By location and whether it is a return address: its frames, outermost first.
    frames: HashMap<(u32, bool), Vec<u32>>,
    /// By stack of the recording.
    nodes: Vec<Option<u32>>,
    depths: Vec<u32>,
}

impl Conversion<'_> {
    fn stack(&mut self, leaf: StackId) -> u32 {
        if let Some(known) = self.nodes[leaf.0 as usize] {
            return known;
        }
        let deep = self.depths[leaf.0 as usize] as usize > MAX_STACK_DEPTH;
        let mut path = Vec::new();
        let mut next = Some(leaf);
        let mut node = None;
        while let Some(id) = next {
            if deep && path.len() == MAX_STACK_DEPTH {
                let frame = self.builder.named_frame("[deeper callers]", CodeKind::User);
                node = Some(self.builder.stack(None, frame));
                break;
            }
            if !deep && let Some(known) = self.nodes[id.0 as usize] {
                node = Some(known);
                break;
            }
            path.push(id);
            next = self.resolved.tables.frame(id).parent;
        }
        for id in path.into_iter().rev() {
            for frame in self.frames(id) {
                node = Some(self.builder.stack(node, frame));
            }
            if !deep || id == leaf {
                self.nodes[id.0 as usize] = node;
            }
        }
        // A stack has at least its leaf.
        node.unwrap_or_default()
    }

    /// The frames at a node, outermost first.
    fn frames(&mut self, id: StackId) -> Vec<u32> {
        let frame = self.resolved.tables.frame(id);
        let key = (frame.location.0, frame.is_return_address);
        if let Some(known) = self.frames.get(&key) {
            return known.clone();
        }
        let found = self.resolve(id);
        self.frames.insert(key, found.clone());
        found
    }

    fn resolve(&mut self, id: StackId) -> Vec<u32> {
        let Some(place) = self.resolved.frame_place(id) else {
            return vec![self.builder.named_frame("[unknown]", CodeKind::User)];
        };
        let module = self.resolved.functions[place.function as usize].module;
        let function = self.function(place.function);
        let mut code = self.resolved.code.frames_at(module, place.address);
        // The last one is the function itself.
        let own = match code.last() {
            Some(last) if !last.inlined => code.pop(),
            _ => None,
        };
        let place_of = |builder: &mut SampledDetailBuilder, code: &CodeFrame| {
            let file = code.file.as_deref().map(|path| builder.file(path));
            (file, code.line)
        };
        let (file, line) = own.map_or((None, None), |own| place_of(&mut self.builder, &own));
        let mut found = vec![self.builder.frame(SampledFrame {
            function,
            address: Some(place.address),
            file,
            line,
            inlined: false,
        })];
        let module = self.builder.detail.functions[function as usize].module;
        for inlined in code.iter().rev().filter(|frame| frame.inlined) {
            let (file, line) = place_of(&mut self.builder, inlined);
            let name = inlined.function.as_deref().unwrap_or("[inlined]");
            let function = self.builder.function(SampledFunction {
                name: name.to_owned(),
                module,
                file,
                line: None,
                kind: CodeKind::User,
            });
            found.push(self.builder.frame(SampledFrame {
                function,
                address: Some(place.address),
                file,
                line,
                inlined: true,
            }));
        }
        found
    }

    fn function(&mut self, id: FunctionId) -> u32 {
        if let Some(&known) = self.functions.get(&id) {
            return known;
        }
        let resolved = self.resolved;
        let function = &resolved.functions[id as usize];
        let path = resolved.code.module_name(function.module);
        let (file, line) = match function.known {
            true => resolved.declaration(function.module, function.address),
            false => (None, None),
        };
        let kind = match resolved.tables.module(function.module).kind {
            ModuleKind::Kernel | ModuleKind::KernelModule => CodeKind::Kernel,
            ModuleKind::Jit => CodeKind::Generated,
            _ => CodeKind::User,
        };
        let name = match function.known {
            true => function.name.clone(),
            false => format!("[unknown in {path}]"),
        };
        let build_id = resolved.code.build_id(function.module);
        let module = Some(self.builder.module(&path, build_id));
        let file = file.map(|file| self.builder.file(&file));
        let found = self.builder.function(SampledFunction {
            name,
            module,
            file,
            line,
            kind,
        });
        self.functions.insert(id, found);
        found
    }
}
