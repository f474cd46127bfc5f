//! Building samples within bounds.

use genba_model::{
    CodeKind, Event, Precision, SampleUnit, Sampled, SampledDetail, SampledDetailBuilder,
    SampledFrame, SampledFunction, SampledThread,
};

use crate::{ImportError, ImportFormat, Result};

/// Deepest stack that is kept; of deeper ones the innermost frames remain, as of recordings.
pub(crate) const MAX_DEPTH: usize = 512;
/// Most frames of all stacks together: repeated references make a small file name any number of them.
const MAX_FRAMES: u64 = 400_000_000;
/// Stands for the callers beyond [`MAX_DEPTH`].
const DEEPER: &str = "[deeper callers]";

/// Samples being read.
pub(crate) struct Stacks {
    pub(crate) builder: SampledDetailBuilder,
    format: ImportFormat,
    frames: u64,
}

impl Stacks {
    pub(crate) fn new(format: ImportFormat, event: &str, unit: SampleUnit) -> Self {
        let event = Event {
            name: event.to_owned(),
            hardware: unit != SampleUnit::Nanoseconds,
            frequency_hz: 0,
            kernel: false,
            precision: Precision::Skid,
        };
        Self {
            builder: SampledDetailBuilder::new(event, unit, Vec::new()),
            format,
            frames: 0,
        }
    }

    /// The index of a thread of which only the name is known.
    pub(crate) fn named_thread(&mut self, name: &str) -> u32 {
        self.builder.thread(SampledThread {
            name: name.to_owned(),
            ..SampledThread::default()
        })
    }

    /// The node of a stack of frames, the outermost first; `None` without frames.
    pub(crate) fn stack(&mut self, outermost_first: &[u32]) -> Result<Option<u32>> {
        let skipped = outermost_first.len().saturating_sub(MAX_DEPTH);
        let kept = &outermost_first[skipped..];
        self.frames += kept.len() as u64;
        if self.frames > MAX_FRAMES {
            let what = format!("more than {MAX_FRAMES} frames in its stacks");
            return Err(ImportError::damaged(self.format, what));
        }
        let mut node = None;
        if skipped > 0 {
            let deeper = self.builder.named_frame(DEEPER, CodeKind::User);
            node = Some(self.builder.stack(None, deeper));
        }
        for &frame in kept {
            node = Some(self.builder.stack(node, frame));
        }
        Ok(node)
    }

    /// A child of a node.
    pub(crate) fn child(&mut self, parent: Option<u32>, frame: u32) -> Result<u32> {
        self.frames += 1;
        if self.frames > MAX_FRAMES {
            let what = format!("more than {MAX_FRAMES} frames in its stacks");
            return Err(ImportError::damaged(self.format, what));
        }
        Ok(self.builder.stack(parent, frame))
    }

    /// The frame of a function.
    pub(crate) fn frame(
        &mut self,
        function: SampledFunction,
        file: Option<u32>,
        line: Option<u32>,
        inlined: bool,
    ) -> u32 {
        let function = self.builder.function(function);
        self.builder.frame(SampledFrame {
            function,
            address: None,
            file,
            line,
            inlined,
        })
    }

    pub(crate) fn sample(&mut self, sample: Sampled) {
        self.builder.detail.samples.push(sample);
    }

    /// The samples; those with a time in its order.
    pub(crate) fn finish(mut self) -> SampledDetail {
        let detail = &mut self.builder.detail;
        detail.event.kernel = (detail.functions.iter()).any(|one| one.kind == CodeKind::Kernel);
        if detail.is_timed() {
            detail.samples.sort_by_key(|one| one.time_ns);
        }
        self.builder.detail
    }
}

/// The kind of code of a module, by the names that programs give to the kernel.
pub(crate) fn kind_of_module(path: &str) -> CodeKind {
    let file = path.rsplit('/').next().unwrap_or(path);
    let kernel =
        path.starts_with("[kernel") || file.starts_with("vmlinux") || file.ends_with(".ko");
    let generated = file.starts_with("perf-") && file.ends_with(".map") || path == "JIT";
    match (kernel, generated) {
        (true, _) => CodeKind::Kernel,
        (_, true) => CodeKind::Generated,
        _ => CodeKind::User,
    }
}

/// The name of a function, an address in brackets where there is none.
pub(crate) fn name_or_address(name: &str, address: u64) -> String {
    match (name.is_empty(), address) {
        (false, _) => name.to_owned(),
        (true, 0) => "[unknown]".to_owned(),
        (true, address) => format!("[{address:#x}]"),
    }
}
