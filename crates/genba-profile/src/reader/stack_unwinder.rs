//! Unwinding copies of stacks with DWARF call-frame information (framehop).

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Unwinder};
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSegment};

use super::FastMap;
use super::address_space::AddressSpace;
use super::frame_pointer_search::{CodeFile, Fit, MappedCode, candidates};
use super::sample_tables::{Module, ModuleId, ModuleKind};
use super::x86_64::UserRegs;

/// Most frames of a stack; malformed unwind information could loop.
const MAX_FRAMES: usize = 1024;
/// Largest section with unwind information that is decompressed, bytes.
const MAX_DECOMPRESSED_BYTES: u64 = 1 << 30;

/// Bytes of a section: a part of a mapped file, or decompressed.
#[derive(Clone)]
struct Bytes {
    owner: Arc<Owner>,
    range: Range<usize>,
}

enum Owner {
    Mapped(Mmap),
    Decompressed(Vec<u8>),
}

impl Owner {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(m) => m,
            Self::Decompressed(v) => v,
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.owner.all().get(self.range.clone()).unwrap_or(&[])
    }
}

/// Unwind information of one file.
struct Sections {
    info: ExplicitModuleSectionInfo<Bytes>,
    /// (file offset, address, size) of the loadable segments.
    segments: Vec<(u64, u64, u64)>,
    file: Arc<CodeFile>,
}

impl Sections {
    fn load(module: &Module) -> Option<Self> {
        let owner = match module.kind {
            ModuleKind::File => open(Path::new(&module.path))?,
            ModuleKind::Vdso => Owner::Decompressed(genba_symbols::vdso_image().ok()??),
            _ => return None,
        };
        let owner = Arc::new(owner);
        let elf = object::File::parse(owner.all()).ok()?;
        if let (Some(wanted), Ok(Some(found))) = (&module.build_id, elf.build_id())
            && !genba_symbols::same_build_id(wanted, found)
        {
            return None; // another build: its tables would unwind wrongly
        }
        let range = |name: &str| {
            let s = elf.section_by_name(name)?;
            Some(s.address()..s.address().checked_add(s.size())?)
        };
        let bytes = |name: &str| section_bytes(&elf, &owner, name);
        let segments: Vec<_> = elf
            .segments()
            .map(|s| (s.file_range().0, s.address(), s.size()))
            .collect();
        let info = ExplicitModuleSectionInfo {
            base_svma: segments.iter().map(|s| s.1).min()?,
            text_svma: range(".text"),
            text: bytes(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: bytes(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: bytes(".eh_frame_hdr"),
            debug_frame: bytes(".debug_frame"),
            stubs_svma: None,
            stub_helper_svma: None,
            unwind_info: None,
            text_segment_svma: None,
            text_segment: None,
        };
        Some(Self {
            info,
            segments,
            file: Arc::new(CodeFile::new(module.path.clone().into())),
        })
    }

    /// The load bias: added to an address in the file it gives the address in memory, where the file
    /// offset `pgoff` is mapped at `start`.
    fn bias(&self, start: u64, pgoff: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        let &(offset, address, _) = self
            .segments
            .iter()
            // Where two segments share a page, the mapping of that page is the later one's.
            .rfind(|(offset, _, size)| {
                let first = offset & !(PAGE - 1);
                (first..offset.saturating_add(*size)).contains(&pgoff)
            })?;
        let mapped = pgoff.wrapping_sub(offset).wrapping_add(address);
        Some(start.wrapping_sub(mapped))
    }
}

fn open(path: &Path) -> Option<Owner> {
    // The path comes from the recording.
    let file = genba_symbols::open_regular(path)?;
    // SAFETY: read-only and private; a file that is cut while in use ends the process, as with
    // every tool that maps executables.
    unsafe { Mmap::map(&file) }.ok().map(Owner::Mapped)
}

fn section_bytes(elf: &object::File<'_>, owner: &Arc<Owner>, name: &str) -> Option<Bytes> {
    let section = elf.section_by_name(name)?;
    let packed = section.compressed_data().ok()?;
    if packed.format == object::CompressionFormat::None {
        let (start, size) = section.file_range()?;
        let start = usize::try_from(start).ok()?;
        let range = start..start.checked_add(usize::try_from(size).ok()?)?;
        owner.all().get(range.clone())?;
        return Some(Bytes {
            owner: Arc::clone(owner),
            range,
        });
    }
    // The size that a compressed section claims is trusted only within deflate's highest ratio.
    if packed.uncompressed_size
        > MAX_DECOMPRESSED_BYTES.min((packed.data.len() as u64).saturating_mul(1032))
    {
        return None;
    }
    let data = packed.decompress().ok()?.into_owned();
    let range = 0..data.len();
    Some(Bytes {
        owner: Arc::new(Owner::Decompressed(data)),
        range,
    })
}

/// Unwind information by module, each read once.
#[derive(Default)]
pub struct ModuleCache {
    files: FastMap<u32, Option<Arc<Sections>>>,
}

impl ModuleCache {
    fn get(&mut self, id: ModuleId, module: &Module) -> Option<Arc<Sections>> {
        self.files
            .entry(id.0)
            .or_insert_with(|| Sections::load(module).map(Arc::new))
            .clone()
    }
}

/// Unwinds the stacks of one process.
pub struct ProcessUnwinder {
    generation: u64,
    unwinder: UnwinderX86_64<Bytes>,
    /// Where code is mapped, ascending.
    code: Vec<MappedCode>,
    // One per unwinder: framehop distinguishes module lists by a 16-bit count over all unwinders.
    cache: Box<CacheX86_64>,
}

impl ProcessUnwinder {
    /// An unwinder for the present mappings of a process.
    pub fn new(space: &AddressSpace, modules: &[Module], files: &mut ModuleCache) -> Self {
        let mut unwinder = UnwinderX86_64::new();
        let mut code = Vec::new();
        for map in space.maps() {
            let Some(module) = modules.get(map.module.0 as usize) else {
                continue;
            };
            let Some(sections) = files.get(map.module, module) else {
                continue;
            };
            let pgoff = map.start.wrapping_add(map.to_offset);
            let Some(bias) = sections.bias(map.start, pgoff) else {
                continue;
            };
            code.push(MappedCode {
                range: map.start..map.end,
                bias,
                file: Arc::clone(&sections.file),
            });
            unwinder.add_module(framehop::Module::new(
                module.path.clone(),
                map.start..map.end,
                bias.wrapping_add(sections.info.base_svma),
                sections.info.clone(),
            ));
        }
        code.sort_unstable_by_key(|map| map.range.start);
        Self {
            generation: space.generation,
            unwinder,
            code,
            cache: Box::new(CacheX86_64::new()),
        }
    }

    /// Whether the mappings have changed since it was made.
    pub fn is_stale(&self, space: &AddressSpace) -> bool {
        self.generation != space.generation
    }

    /// Appends the addresses of a stack to `out`, innermost first: the instruction pointer, then
    /// return addresses. Returns whether the outermost frame was reached.
    ///
    /// A frame pointer of 0 is one that is not known (a thread that was blocked in a system call).
    /// Where a function needs it, each word that may be its return address is tried for it: the
    /// right one leads to the outermost frame, is not that of another function's call, and leads
    /// through most frames.
    pub fn unwind(&mut self, regs: UserRegs, stack: &[u8], out: &mut Vec<u64>) -> bool {
        let start = out.len();
        let reached = self.unwind_from(regs, stack, out);
        if regs.bp != 0 {
            return reached;
        }
        let known = out.split_off(start);
        let last = match known.as_slice() {
            [] | [_] => regs.ip,
            // The call before the return address: what follows may be another function.
            [.., last] => last.wrapping_sub(1),
        };
        let mut best = ((reached, Fit::Unknown, known.len()), known);
        for candidate in candidates(&self.code, last, regs.sp, stack) {
            let bp = candidate.frame_pointer;
            let mut frames = Vec::new();
            let reached = self.unwind_from(UserRegs { bp, ..regs }, stack, &mut frames);
            let rank = (reached, candidate.fit, frames.len());
            if rank > best.0 {
                best = (rank, frames);
            }
        }
        let ((reached, ..), mut frames) = best;
        out.append(&mut frames);
        reached
    }

    fn unwind_from(&mut self, regs: UserRegs, stack: &[u8], out: &mut Vec<u64>) -> bool {
        let mut read = |address: u64| -> Result<u64, ()> {
            let offset = address.checked_sub(regs.sp).ok_or(())?;
            let offset = usize::try_from(offset).map_err(|_| ())?;
            let bytes = stack.get(offset..).and_then(|s| s.first_chunk::<8>());
            bytes.map(|b| u64::from_le_bytes(*b)).ok_or(())
        };
        let start = UnwindRegsX86_64::new(regs.ip, regs.sp, regs.bp);
        let mut frames = self
            .unwinder
            .iter_frames(regs.ip, start, &mut self.cache, &mut read);
        for _ in 0..MAX_FRAMES {
            match frames.next() {
                Ok(Some(frame)) => out.push(frame.address()),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    }
}
