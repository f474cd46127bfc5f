//! x86-64: kernels assembled at run time.

mod assemble;
mod atomic;
mod caches;
mod control;
mod convert;
mod divide;
mod float;
mod integer;
mod load_store;
mod plan;
mod vector;
mod wide;

pub(crate) use assemble::{Assembled, Entry, REFERENCE_ADDITIONS, assemble};
pub(crate) use caches::cpuid_caches;
pub(crate) use control::{DIRECTIONS, DIRECTIONS_START};
pub(crate) use load_store::PLACE;
pub(crate) use plan::{Plan, Region, SCRATCH, write_constants};

/// All kernels that this CPU can run, in the order of printing, the reference chain apart.
pub(crate) fn kernels() -> Plan {
    let mut plan = Plan::default();
    integer::add(&mut plan);
    divide::add(&mut plan);
    load_store::add(&mut plan);
    float::add(&mut plan);
    vector::add(&mut plan);
    wide::add(&mut plan);
    convert::add(&mut plan);
    atomic::add(&mut plan);
    control::add(&mut plan);
    plan
}
