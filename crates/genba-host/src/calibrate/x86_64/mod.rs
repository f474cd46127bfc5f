//! x86-64: kernels assembled at run time.

mod assemble;
mod atomic;
mod avx512;
mod branches_and_calls;
mod caches;
mod conversions;
mod division;
mod floating_point;
mod integer;
mod kernel_plan;
mod load_store;
mod vector;

pub(crate) use assemble::{Assembled, Entry, REFERENCE_ADDITIONS, assemble};
pub(crate) use branches_and_calls::{DIRECTIONS, DIRECTIONS_START};
pub(crate) use caches::cpuid_caches;
pub(crate) use kernel_plan::{Plan, Region, SCRATCH, write_constants};
pub(crate) use load_store::PLACE;

/// All kernels that this CPU can run, in the order of printing, the reference chain apart.
pub(crate) fn kernels() -> Plan {
    let mut plan = Plan::default();
    integer::add(&mut plan);
    division::add(&mut plan);
    load_store::add(&mut plan);
    floating_point::add(&mut plan);
    vector::add(&mut plan);
    avx512::add(&mut plan);
    conversions::add(&mut plan);
    atomic::add(&mut plan);
    branches_and_calls::add(&mut plan);
    plan
}
