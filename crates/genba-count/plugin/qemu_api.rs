//! QEMU's plugin interface, version 1 (`qemu-plugin.h` of QEMU 7.2), as far as it is used.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Version of the interface that the plugin uses.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

/// A plugin's number.
pub type Id = u64;
/// A block being translated.
pub enum Tb {}
/// An instruction of it.
pub enum Insn {}

/// `QEMU_PLUGIN_CB_NO_REGS`.
pub const NO_REGS: c_int = 0;

pub type TranslateCb = extern "C" fn(Id, *mut Tb);
pub type VcpuCb = extern "C" fn(Id, c_uint);
pub type ExecuteCb = extern "C" fn(c_uint, *mut c_void);
pub type SyscallCb = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub type SyscallReturnCb = extern "C" fn(Id, c_uint, i64, i64);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, cb: VcpuCb);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, cb: TranslateCb);
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut Tb,
        cb: ExecuteCb,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, cb: SyscallCb);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, cb: SyscallReturnCb);
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    pub fn qemu_plugin_tb_vaddr(tb: *const Tb) -> u64;
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_data(insn: *const Insn) -> *const c_void;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub fn qemu_plugin_insn_haddr(insn: *const Insn) -> *const c_void;
}

// libc, of which QEMU has one anyway.
unsafe extern "C" {
    pub fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn posix_fallocate(fd: c_int, offset: i64, length: i64) -> c_int;
    pub fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
    pub fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

pub const RLIMIT_CORE: c_int = 4;
pub const PROT_READ_WRITE: c_int = 1 | 2;
pub const MAP_SHARED: c_int = 1;
pub const MAP_PRIVATE: c_int = 2;
pub const MAP_FIXED: c_int = 0x10;
pub const MAP_ANONYMOUS: c_int = 0x20;

/// Information about QEMU, which is not used.
pub enum Info {}

pub type Arguments = *mut *mut c_char;
