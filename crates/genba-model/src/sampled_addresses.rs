//! Samples of a recording added up by address: what code can be annotated with, without the recording.

use serde::{Deserialize, Serialize};

use crate::Event;

/// All samples of one event by address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledAddresses {
    /// The sampled event.
    pub event: Event,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Files and other regions that hold the addresses.
    pub modules: Vec<SampledRegion>,
    /// Sampled addresses; see [`AddressWeight`].
    pub addresses: Vec<AddressWeight>,
    /// Number of samples and sum of their weights: nanoseconds for a clock, events for a counter.
    pub all: [u64; 2],
    /// The same of those in the kernel.
    pub kernel: [u64; 2],
    /// Sum of the squared weights: upper and lower half of 128 bits.
    pub squares: [u64; 2],
    /// Release of the kernel, if the recording has it.
    pub kernel_release: Option<String>,
    /// A symbol of the kernel and its address at the time of the recording.
    pub kernel_reference: Option<(String, u64)>,
    /// What the reader must know of the recording, a sentence each.
    pub notes: Vec<String>,
}

/// Index into [`SampledAddresses::modules`], offset in it, number of samples, and sum of their weights.
pub type AddressWeight = (u32, u64, u64, u64);

/// What holds sampled addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledRegion {
    /// Path as the kernel gave it, or a name in brackets.
    pub path: String,
    /// GNU build id, in hexadecimal digits.
    pub build_id: Option<String>,
    /// Its kind, which decides what offsets count from.
    pub kind: SampledRegionKind,
    /// The process, for memory that belongs to one.
    pub pid: Option<i32>,
}

/// Kind of a [`SampledRegion`]. Generated code is not among them: its artifacts lie beside the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampledRegionKind {
    /// An executable or library; offsets are file offsets.
    File,
    /// The kernel's image; offsets are absolute addresses.
    Kernel,
    /// A module of the kernel; offsets are absolute addresses.
    KernelModule,
    /// The vDSO; offsets are from its start.
    Vdso,
    /// No mapping is known there; absolute addresses.
    Unknown,
}
