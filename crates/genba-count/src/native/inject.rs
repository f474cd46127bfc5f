//! Injects the engine into a process that is stopped at its program's first instruction.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use genba_engine::count_file_layout::{CODE_RANGES, CodeRange, Control, FILE_SIZE, MAGIC, VERSION};
use genba_engine::duet_layout::{DuetParameters, EDITS, Edit};
use genba_engine::runtime::bursts::BurstParameters;
use genba_engine::startup::BootParameters;

use super::engine_binary::relocate;
use super::ptrace::{Memory, Registers, Tracee};
use super::resource_limits;

/// Stack on which the engine starts, bytes.
const START_STACK_BYTES: u64 = 256 << 10;
/// Selector of the code segment of 64-bit programs.
const LONG_MODE_CODE_SEGMENT: u64 = 0x33;

/// What the engine is to record.
pub struct EngineOptions {
    /// Whether child processes are counted.
    pub children: bool,
    /// Which jumps to record: one of the `TRANSFERS_` constants.
    pub transfers: u64,
    /// For `TRANSFERS_WITHIN`: the code in which jumps are recorded.
    pub code_ranges: Vec<CodeRange>,
    /// Which bursts are requested.
    pub bursts: BurstParameters,
    /// Which duet is requested.
    pub duet: DuetParameters,
    /// What it edits.
    pub edits: Vec<Edit>,
}

/// Why the engine was not started in a process.
#[derive(Debug)]
pub struct Failure {
    /// The reason.
    pub error: io::Error,
    /// Whether the process is as it was, and can run without the engine.
    pub restored: bool,
}

impl From<io::Error> for Failure {
    /// Returns a failure that leaves the process in an unknown state.
    fn from(error: io::Error) -> Self {
        Self {
            error,
            restored: false,
        }
    }
}

/// A stopped process that makes system calls for us.
struct Remote<'a> {
    tracee: &'a mut Tracee,
    memory: Memory,
    registers: Registers,
    /// System calls that undo those made so far, the last first to be made.
    undo: Vec<(i64, [u64; 6])>,
}

impl Remote<'_> {
    /// Makes a system call in the process by the `syscall` instruction that was written over its
    /// first one; the result, or the kernel's error.
    fn call(&mut self, number: i64, arguments: [u64; 6]) -> io::Result<u64> {
        let mut registers = self.registers;
        registers.rax = number as u64;
        registers.orig_rax = u64::MAX;
        let [a, b, c, d, e, f] = arguments;
        registers.rdi = a;
        registers.rsi = b;
        registers.rdx = c;
        registers.r10 = d;
        registers.r8 = e;
        registers.r9 = f;
        self.tracee.set_registers(&registers)?;
        self.tracee.step()?;
        let result = self.tracee.registers()?.rax as i64;
        if (-4095..0).contains(&result) {
            return Err(io::Error::from_raw_os_error(-result as i32));
        }
        Ok(result as u64)
    }

    /// Unmaps and closes what was mapped and opened for the engine.
    fn undo(&mut self) -> io::Result<()> {
        while let Some((number, arguments)) = self.undo.pop() {
            self.call(number, arguments)?;
        }
        Ok(())
    }
}

/// Adds what failed to an error.
fn with_context<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{what}: {error}")))
}

/// Waits until the process has executed its program, and starts the engine in it; the count file.
/// When this returns, the process runs and is no longer stopped by us.
pub fn inject(tracee: &mut Tracee, options: &EngineOptions) -> Result<File, Failure> {
    tracee.wait_for_program()?;
    inject_stopped(tracee, options)
}

/// The same as [`inject`] for a process that is already stopped at its first instruction. If this
/// fails, the process is restored if possible.
pub fn inject_stopped(tracee: &mut Tracee, options: &EngineOptions) -> Result<File, Failure> {
    const SYSCALL: [u8; 2] = [0x0F, 0x05];
    let registers = tracee.registers()?;
    if registers.cs != LONG_MODE_CODE_SEGMENT {
        return Err(Failure {
            error: io::Error::other("it is not a 64-bit x86 program"),
            restored: true,
        });
    }
    let near = match resource_limits::check(tracee.pid()) {
        Ok(near) => near,
        Err(error) => {
            return Err(Failure {
                error,
                restored: true,
            });
        }
    };
    let memory = with_context("cannot open its memory", tracee.memory())?;
    let mask = tracee.exchange_mask(u64::MAX)?;
    let mut first = [0u8; 2];
    memory.read(registers.rip, &mut first)?;
    memory.write(registers.rip, &SYSCALL)?;
    let mut remote = Remote {
        tracee,
        memory,
        registers,
        undo: Vec::new(),
    };
    let loaded = load(&mut remote, options, mask);
    let undone = match &loaded {
        Ok(_) => Ok(()),
        Err(_) => remote.undo(),
    };
    let restored = undone.and_then(|()| remote.memory.write(registers.rip, &first));
    let (counts, (entry, argument, stack)) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            let restored = restored
                .and_then(|()| tracee.exchange_mask(mask))
                .and_then(|_| tracee.set_registers(&registers));
            return Err(Failure {
                error,
                restored: restored.is_ok(),
            });
        }
    };
    restored?;
    set_limited(&counts, near)?;
    let mut start = registers;
    start.rip = entry;
    start.rdi = argument;
    start.rsp = stack;
    start.orig_rax = u64::MAX;
    tracee.set_registers(&start)?;
    Ok(counts)
}

/// Entry point, argument and stack pointer of the loaded engine.
type Start = (u64, u64, u64);

/// Makes the count file and loads the engine.
fn load(remote: &mut Remote<'_>, options: &EngineOptions, mask: u64) -> io::Result<(File, Start)> {
    let (counts, shared) = make_count_file(remote, options)?;
    let registers = remote.registers;
    let boot = BootParameters {
        shared,
        registers: general(&registers),
        flags: registers.eflags,
        pc: registers.rip,
        mask,
        children: u64::from(options.children),
        transfers: options.transfers,
        bursts: options.bursts,
        duet: options.duet,
    };
    let start = with_context("cannot load the engine", load_engine(remote, &boot))?;
    Ok((counts, start))
}

/// Notes in the count file whether the process's memory is limited.
fn set_limited(counts: &File, near: bool) -> io::Result<()> {
    let at = std::mem::offset_of!(Control, limited) as u64;
    counts.write_all_at(&u32::from(near).to_le_bytes(), at)
}

/// Gives a new count file its size, and writes its first fields.
pub fn initialise_count_file(file: &File) -> io::Result<()> {
    resource_limits::set_size(file)?;
    file.write_all_at(&MAGIC.to_le_bytes(), 0)?;
    file.write_all_at(&VERSION.to_le_bytes(), 8)
}

/// Creates the count file in the process and maps it there; the file, and its address in the process.
/// The mapping stays, no descriptor of the process stays open.
fn make_count_file(remote: &mut Remote<'_>, options: &EngineOptions) -> io::Result<(File, u64)> {
    let name = remote.registers.rsp - 512;
    remote.memory.write(name, b"genba-counts\0")?;
    let flags = u64::from(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
    let pid = remote.tracee.pid();
    let arguments = [name, flags, 0, 0, 0, 0];
    let mut fd = remote.call(libc::SYS_memfd_create, arguments);
    if fd.as_ref().map_err(io::Error::raw_os_error) == Err(Some(libc::EMFILE)) {
        let again = || remote.call(libc::SYS_memfd_create, arguments);
        fd = resource_limits::with_more_descriptors(pid, again);
    }
    let fd = with_context("cannot create its count file", fd)?;
    remote.undo.push((libc::SYS_close, [fd, 0, 0, 0, 0, 0]));
    remote.memory.write(name, &[0; 13])?;
    let path = format!("/proc/{pid}/fd/{fd}");
    let file = File::options().read(true).write(true).open(path)?;
    initialise_count_file(&file)?;
    write_code_ranges(&file, &options.code_ranges)?;
    write_edits(&file, &options.edits)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a descriptor of ours.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE) as u64;
    let arguments = [0, FILE_SIZE, protection, flags, fd, 0];
    let shared = with_context(
        "there is no room in its address space",
        remote.call(libc::SYS_mmap, arguments),
    )?;
    remote.undo.clear();
    remote.call(libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    let unmap = [shared, FILE_SIZE, 0, 0, 0, 0];
    remote.undo.push((libc::SYS_munmap, unmap));
    // The file is large and not the program's, so it must not be in a core dump.
    let advice = libc::MADV_DONTDUMP as u64;
    remote.call(libc::SYS_madvise, [shared, FILE_SIZE, advice, 0, 0, 0])?;
    Ok((file, shared))
}

/// Writes the code in which jumps are recorded to where the engine reads it.
fn write_code_ranges(file: &File, code_ranges: &[CodeRange]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(size_of_val(code_ranges));
    for range in code_ranges {
        for word in [range.path, range.begin, range.end] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    file.write_all_at(&bytes, CODE_RANGES)?;
    let count = code_ranges.len() as u32;
    let at = std::mem::offset_of!(Control, code_ranges) as u64;
    file.write_all_at(&count.to_le_bytes(), at)
}

/// Writes the edits of a duet to where the engine reads them.
fn write_edits(file: &File, edits: &[Edit]) -> io::Result<()> {
    for (at, edit) in (EDITS..).step_by(size_of::<Edit>()).zip(edits) {
        file.write_all_at(as_bytes(edit), at)?;
    }
    let at = std::mem::offset_of!(Control, edits) as u64;
    file.write_all_at(&(edits.len() as u32).to_le_bytes(), at)
}

/// Loads the engine binary into the process; its entry point, argument and stack pointer.
fn load_engine(remote: &mut Remote<'_>, boot: &BootParameters) -> io::Result<(u64, u64, u64)> {
    let damaged = || io::Error::other("the engine binary is damaged");
    let page = |size: u64| (size + 4095) & !4095;
    let size = relocate(genba_engine::ENGINE_BINARY, 0)
        .ok_or_else(damaged)?
        .bytes
        .len() as u64;
    let whole = page(size) + 4096 + START_STACK_BYTES;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let arguments = [0, whole, protection, flags, u64::MAX, 0];
    let base = remote.call(libc::SYS_mmap, arguments)?;
    let unmap = [base, whole, 0, 0, 0, 0];
    remote.undo.push((libc::SYS_munmap, unmap));
    let binary = relocate(genba_engine::ENGINE_BINARY, base).ok_or_else(damaged)?;
    remote.memory.write(base, &binary.bytes)?;
    let argument = base + page(size);
    remote.memory.write(argument, as_bytes(boot))?;
    let (from, to) = (binary.code.0 & !4095, page(binary.code.0 + binary.code.1));
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    remote.call(
        libc::SYS_mprotect,
        [base + from, to - from, protection, 0, 0, 0],
    )?;
    // The engine is not the program's either.
    let advice = libc::MADV_DONTDUMP as u64;
    remote.call(libc::SYS_madvise, [base, whole, advice, 0, 0, 0])?;
    // Aligned as at the entry of a function, where a return address was pushed.
    Ok((base + binary.start, argument, base + whole - 8))
}

/// Returns the bytes of a structure of plain numbers without padding.
fn as_bytes<T: Copy>(of: &T) -> &[u8] {
    // SAFETY: the engine's structures, which have no padding.
    unsafe { std::slice::from_raw_parts((&raw const *of).cast(), size_of::<T>()) }
}

/// General registers in the order of their numbers in instructions.
fn general(registers: &Registers) -> [u64; 16] {
    let r = registers;
    [
        r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12,
        r.r13, r.r14, r.r15,
    ]
}
