//! Samples on a CPU in calls that read and write: which call, whether of a socket, whether the kernel copies.

use std::collections::HashMap;

use genba_model::WaitPlace;

use crate::stacks::NamedFrame;
use crate::view::Places;

/// Samples on a CPU in calls of one direction.
#[derive(Clone, Debug, Default)]
pub struct IoSamples {
    /// By place.
    pub places: Places,
    /// By chain.
    pub chain_places: HashMap<u32, Places>,
    /// Those in which the kernel copied data, by place.
    pub copies: Places,
    /// Samples that are not in these, by place: messages of a process that serves several connections, which no buffer
    /// gathers.
    pub served: Places,
}

/// Samples on a CPU in calls that ask a socket for few bytes.
#[derive(Clone, Debug, Default)]
pub struct SmallReceives {
    /// By place.
    pub places: Places,
    /// By chain.
    pub chain_places: HashMap<u32, Places>,
    /// Those in which the kernel copied data, by place.
    pub copies: Places,
    /// Bytes that were asked for, added up over samples.
    pub bytes: u64,
}

impl SmallReceives {
    /// Most bytes that a call asks for. Chosen: a page; the usual buffers of programs that have one are as large or larger.
    const MOST_BYTES: u64 = 4096;

    /// Adds a sample in a call that asks for `bytes`, if it is one.
    pub(crate) fn add(
        &mut self,
        stack: &[NamedFrame],
        place: &WaitPlace,
        (bytes, weight): (u64, u64),
        chain: Option<u32>,
    ) {
        let called = stack.iter().find(|frame| !frame.kernel);
        let is_receive = called
            .is_some_and(|frame| !frame.own && matches!(call_name(frame), "recv" | "recvfrom"));
        if !is_receive || bytes >= Self::MOST_BYTES {
            return;
        }
        *self.places.entry(place.clone()).or_default() += weight;
        *self.copies.entry(place.clone()).or_default() += u64::from(copies(stack)) * weight;
        self.bytes += bytes * weight;
        if let Some(chain) = chain {
            let of_chain = self.chain_places.entry(chain).or_default();
            *of_chain.entry(place.clone()).or_default() += weight;
        }
    }
}

impl IoSamples {
    /// Samples at the beginning and end of a call do not say whether it is a socket's: those of places at which most do are
    /// messages, too.
    pub(crate) fn complete_served(&mut self) {
        for (place, served) in &mut self.served {
            let Some(other) = self
                .places
                .get(place)
                .copied()
                .filter(|other| *other < *served)
            else {
                continue;
            };
            *served += other;
            self.places.remove(place);
            self.copies.remove(place);
            for places in self.chain_places.values_mut() {
                places.remove(place);
            }
        }
    }
}

/// 0 for a stack in a call of `read` or its like, 1 for one in `write` or its like.
pub(crate) fn reads_or_writes(stack: &[NamedFrame]) -> Option<usize> {
    const NAMES: [[&str; 9]; 2] = [
        [
            "read", "pread", "pread64", "readv", "preadv", "preadv64", "recv", "recvfrom",
            "recvmsg",
        ],
        [
            "write",
            "pwrite",
            "pwrite64",
            "writev",
            "pwritev",
            "pwritev64",
            "send",
            "sendto",
            "sendmsg",
        ],
    ];
    let mut frames = stack.iter().skip_while(|frame| frame.kernel).take(2);
    frames.find_map(|frame| {
        let name = call_name(frame);
        let direction = NAMES.iter().position(|names| names.contains(&name));
        direction.filter(|_| !frame.own)
    })
}

/// The name of the C library's function for a call, without its marks: `__GI___libc_recv` is `recv`.
fn call_name(frame: &NamedFrame) -> &str {
    let name = frame.place.function.trim_start_matches('_');
    let name = name.strip_prefix("GI_").unwrap_or(name);
    let name = name.trim_start_matches('_');
    let name = name.strip_prefix("libc_").unwrap_or(name);
    name.split('@').next().unwrap_or(name)
}

/// Whether a call that reads or writes does so on a socket: by what the kernel does for it.
pub(crate) fn is_of_socket(stack: &[NamedFrame]) -> bool {
    let kernels = stack.iter().take_while(|frame| frame.kernel);
    kernels.map(|frame| &frame.place.function).any(|name| {
        name.starts_with("sock_")
            || name.starts_with("__sys_send")
            || name.starts_with("__sys_recv")
    })
}

/// Whether the kernel copies data there.
pub(crate) fn copies(stack: &[NamedFrame]) -> bool {
    let kernels = stack.iter().take_while(|frame| frame.kernel);
    kernels
        .map(|frame| &frame.place.function)
        .any(|name| name.contains("copy") || name.contains("rep_movs"))
}
