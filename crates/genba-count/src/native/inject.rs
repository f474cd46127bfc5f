//! Putting the engine into a process that stands at its program's first instruction.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use genba_engine::layout::{Control, FILE_SIZE, MAGIC, STRETCHES, Stretch, VERSION};
use genba_engine::start::Boot;

use super::image;
use super::ptrace::{Memory, Registers, Tracee};

/// Stack for the engine's start.
const STACK: u64 = 256 << 10;
/// Code segment of 64-bit programs.
const LONG_MODE: u64 = 0x33;

/// What the engine is to do.
pub struct Wanted {
    /// Count in children.
    pub children: bool,
    /// Which jumps to record: one of the `TRANSFERS_` constants.
    pub transfers: u64,
    /// Where, for `TRANSFERS_WITHIN`.
    pub stretches: Vec<Stretch>,
}

/// A process in which we make system calls.
struct Remote<'a> {
    tracee: &'a mut Tracee,
    memory: Memory,
    registers: Registers,
}

impl Remote<'_> {
    /// Makes a system call in the process, from the two bytes at its first instruction.
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
}

fn said<T>(what: &str, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{what}: {error}")))
}

/// Waits for the program, and starts the engine in it; the file of its counts. When this
/// returns, the process runs by itself.
pub fn inject(tracee: &mut Tracee, wanted: &Wanted) -> io::Result<File> {
    tracee.wait_for_program()?;
    place(tracee, wanted)
}

/// The same for a process that stands there.
pub fn place(tracee: &mut Tracee, wanted: &Wanted) -> io::Result<File> {
    const SYSCALL: [u8; 2] = [0x0F, 0x05];
    let registers = tracee.registers()?;
    if registers.cs != LONG_MODE {
        return Err(io::Error::other("it is not a 64-bit x86 program"));
    }
    let memory = said("its memory cannot be opened", tracee.memory())?;
    let mask = tracee.exchange_mask(u64::MAX)?;
    let mut first = [0u8; 2];
    memory.read(registers.rip, &mut first)?;
    memory.write(registers.rip, &SYSCALL)?;
    let mut remote = Remote {
        tracee,
        memory,
        registers,
    };
    let file = make_file(&mut remote, wanted)?;
    let (counts, shared) = file;
    let boot = Boot {
        shared,
        registers: general(&registers),
        flags: registers.eflags,
        pc: registers.rip,
        mask,
        children: u64::from(wanted.children),
        transfers: wanted.transfers,
    };
    let (entry, argument, stack) = said("there is no memory", load(&mut remote, &boot))?;
    remote.memory.write(registers.rip, &first)?;
    let mut start = registers;
    start.rip = entry;
    start.rdi = argument;
    start.rsp = stack;
    start.orig_rax = u64::MAX;
    remote.tracee.set_registers(&start)?;
    Ok(counts)
}

/// Makes the file of counts and maps it; it stays mapped, no descriptor stays open.
fn make_file(remote: &mut Remote<'_>, wanted: &Wanted) -> io::Result<(File, u64)> {
    let name = remote.registers.rsp - 512;
    remote.memory.write(name, b"genba-counts\0")?;
    let flags = u64::from(libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
    let fd = remote.call(libc::SYS_memfd_create, [name, flags, 0, 0, 0, 0]);
    let fd = said("it may not make a file in memory", fd)?;
    remote.memory.write(name, &[0; 13])?;
    let path = format!("/proc/{}/fd/{fd}", remote.tracee.pid());
    let file = File::options().read(true).write(true).open(path)?;
    file.set_len(FILE_SIZE)?;
    file.write_all_at(&MAGIC.to_le_bytes(), 0)?;
    file.write_all_at(&VERSION.to_le_bytes(), 8)?;
    write_stretches(&file, &wanted.stretches)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a descriptor of ours.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE) as u64;
    let arguments = [0, FILE_SIZE, protection, flags, fd, 0];
    let shared = said(
        "its address space is too small (ulimit -v)",
        remote.call(libc::SYS_mmap, arguments),
    )?;
    remote.call(libc::SYS_close, [fd, 0, 0, 0, 0, 0])?;
    // It is large, and not the program's: it must not be in a core dump.
    let advice = libc::MADV_DONTDUMP as u64;
    remote.call(libc::SYS_madvise, [shared, FILE_SIZE, advice, 0, 0, 0])?;
    Ok((file, shared))
}

/// Tells the engine where jumps are to be recorded.
fn write_stretches(file: &File, stretches: &[Stretch]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(size_of_val(stretches));
    for stretch in stretches {
        for word in [stretch.path, stretch.begin, stretch.end] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    file.write_all_at(&bytes, STRETCHES)?;
    let count = stretches.len() as u32;
    let at = std::mem::offset_of!(Control, stretches) as u64;
    file.write_all_at(&count.to_le_bytes(), at)
}

/// Loads the image: where it begins, its argument, its stack.
fn load(remote: &mut Remote<'_>, boot: &Boot) -> io::Result<(u64, u64, u64)> {
    let bad = || io::Error::other("the engine's image is damaged");
    let page = |size: u64| (size + 4095) & !4095;
    let size = image::lay_out(genba_engine::IMAGE, 0)
        .ok_or_else(bad)?
        .bytes
        .len() as u64;
    let whole = page(size) + 4096 + STACK;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let arguments = [0, whole, protection, flags, u64::MAX, 0];
    let base = remote.call(libc::SYS_mmap, arguments)?;
    let image = image::lay_out(genba_engine::IMAGE, base).ok_or_else(bad)?;
    remote.memory.write(base, &image.bytes)?;
    let argument = base + page(size);
    remote.memory.write(argument, as_bytes(boot))?;
    let (from, to) = (image.code.0 & !4095, page(image.code.0 + image.code.1));
    let protection = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    remote.call(
        libc::SYS_mprotect,
        [base + from, to - from, protection, 0, 0, 0],
    )?;
    // Nor is this the program's.
    let advice = libc::MADV_DONTDUMP as u64;
    remote.call(libc::SYS_madvise, [base, whole, advice, 0, 0, 0])?;
    // As at the entry of a function: a return address would be there.
    Ok((base + image.start, argument, base + whole - 8))
}

fn as_bytes(boot: &Boot) -> &[u8] {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts((&raw const *boot).cast(), size_of::<Boot>()) }
}

/// By their numbers.
fn general(registers: &Registers) -> [u64; 16] {
    let r = registers;
    [
        r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12,
        r.r13, r.r14, r.r15,
    ]
}
