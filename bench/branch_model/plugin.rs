//! A plugin for qemu-user that runs a whole program through the model of a branch predictor that
//! genba's bursts use: the reference for what bursts say of mispredictions. For `bench-observe` alone.
//!
//! Argument: `out=FILE`, which gets a line for each conditional jump: file, offset in it, executions,
//! taken, mispredicted, with tabs between. One thread is followed: programs with several are measured
//! elsewhere.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

#[allow(dead_code)]
#[path = "../../crates/genba-count/plugin/block_ending.rs"]
mod block_ending;
#[path = "../../crates/genba-observe/src/branch_predictor.rs"]
mod branch_predictor;
#[allow(dead_code)]
#[path = "../../crates/genba-observe/src/fast_hash.rs"]
mod fast_hash;
#[path = "../../crates/genba-count/plugin/proc_maps.rs"]
mod proc_maps;
#[allow(dead_code)]
#[path = "../../crates/genba-count/plugin/qemu_api.rs"]
mod qemu_api;

use block_ending::Ending;
use branch_predictor::BranchPredictor;
use qemu_api::{Arguments, Id, Info, Tb};

unsafe extern "C" {
    fn qemu_plugin_register_atexit_cb(
        id: Id,
        callback: extern "C" fn(Id, *mut c_void),
        data: *mut c_void,
    );
}

/// A translated block; never freed, because QEMU may run it at any time.
struct Block {
    address: u64,
    end: u64,
    /// Address of its last instruction, if that is a conditional jump.
    branch: Option<u64>,
}

#[derive(Default)]
struct Outcomes {
    executions: u64,
    taken: u64,
    mispredicted: u64,
}

struct Model {
    predictor: BranchPredictor,
    last: Option<&'static Block>,
    branches: HashMap<u64, Outcomes>,
}

static OUTPUT: OnceLock<PathBuf> = OnceLock::new();
/// Files of the branches that were translated, by address.
static PLACES: Mutex<Option<HashMap<u64, (String, u64)>>> = Mutex::new(None);

thread_local! {
    static MODEL: RefCell<Option<Box<Model>>> = const { RefCell::new(None) };
}

/// Entry point, called by QEMU first.
///
/// # Safety
/// Called by QEMU with `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _info: *const Info,
    argc: c_int,
    argv: Arguments,
) -> c_int {
    for index in 0..usize::try_from(argc).unwrap_or(0) {
        // SAFETY: QEMU gives `argc` strings that end in zero.
        let argument = unsafe { CStr::from_ptr(*argv.add(index)) };
        match argument.to_str().ok().and_then(|text| text.split_once('=')) {
            Some(("out", path)) => drop(OUTPUT.set(PathBuf::from(path))),
            _ => return 1,
        }
    }
    // SAFETY: registers functions of the right types, that live as long as the process.
    unsafe {
        qemu_api::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        qemu_plugin_register_atexit_cb(id, at_exit, std::ptr::null_mut());
    }
    0
}

extern "C" fn translated(_: Id, tb: *mut Tb) {
    // SAFETY: QEMU's own block, and an index below its number of instructions.
    let (address, size, last, host) = unsafe {
        let count = qemu_api::qemu_plugin_tb_n_insns(tb);
        if count == 0 {
            return;
        }
        let size = |index| {
            let instruction = qemu_api::qemu_plugin_tb_get_insn(tb, index);
            qemu_api::qemu_plugin_insn_size(instruction)
        };
        let last = qemu_api::qemu_plugin_tb_get_insn(tb, count - 1);
        let bytes: *const u8 = qemu_api::qemu_plugin_insn_data(last).cast();
        (
            qemu_api::qemu_plugin_tb_vaddr(tb),
            (0..count).map(size).sum::<usize>() as u64,
            std::slice::from_raw_parts(bytes, size(count - 1)),
            qemu_api::qemu_plugin_insn_haddr(last) as u64,
        )
    };
    let end = address + size;
    let is_branch = block_ending::ending(last) == Ending::Conditional;
    let branch = is_branch.then(|| end - last.len() as u64);
    if let Some(branch) = branch {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let places = places.get_or_insert_default();
        if !places.contains_key(&branch) {
            let mut maps = proc_maps::Maps::default();
            maps.refresh();
            if let Some(place) = maps.find(host) {
                places.insert(branch, (place.new.unwrap_or_default(), place.offset));
            }
        }
    }
    let block: &'static Block = Box::leak(Box::new(Block {
        address,
        end,
        branch,
    }));
    let data = std::ptr::from_ref(block).cast_mut().cast();
    // SAFETY: the block lives for ever.
    unsafe {
        qemu_api::qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, qemu_api::NO_REGS, data);
    }
}

extern "C" fn executed(_: c_uint, data: *mut c_void) {
    // SAFETY: a leaked block, as registered.
    let block: &'static Block = unsafe { &*data.cast() };
    MODEL.with_borrow_mut(|model| {
        let model = model.get_or_insert_with(|| {
            Box::new(Model {
                predictor: BranchPredictor::new(),
                last: None,
                branches: HashMap::new(),
            })
        });
        let last = model.last.replace(block);
        let Some((last, branch)) = last.and_then(|last| Some((last, last.branch?))) else {
            return;
        };
        let taken = block.address != last.end;
        let right = model.predictor.predict(branch, taken);
        let outcomes = model.branches.entry(branch).or_default();
        outcomes.executions += 1;
        outcomes.taken += u64::from(taken);
        outcomes.mispredicted += u64::from(!right);
    });
}

/// Called by the thread that ends the process.
extern "C" fn at_exit(_: Id, _: *mut c_void) {
    let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    MODEL.with_borrow(|model| {
        let branches = model.iter().flat_map(|model| &model.branches);
        for (address, one) in branches {
            if let Some((file, offset)) = places.as_ref().and_then(|all| all.get(address)) {
                let _ = writeln!(
                    text,
                    "{file}\t{offset}\t{}\t{}\t{}",
                    one.executions, one.taken, one.mispredicted
                );
            }
        }
    });
    if let Some(path) = OUTPUT.get() {
        let _ = std::fs::write(path, text);
    }
}
