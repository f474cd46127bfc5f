//! What crosses the socket between genba and its launcher, in both directions, and what the
//! launcher reads of `/proc`. The files are the launcher's own: it has no library.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/genba-run/launcher/procstat.rs"]
mod procstat;
#[allow(dead_code)]
#[path = "../../crates/genba-run/launcher/protocol.rs"]
mod protocol;

fuzz_target!(|bytes: &[u8]| {
    if let Some(header) = bytes.first_chunk().and_then(protocol::Header::decode) {
        let again = header.encode();
        assert_eq!(protocol::Header::decode(&again), Some(header));
    }
    if let Some(start) = protocol::Start::decode(bytes) {
        // What follows the fixed part counts: there must be bytes for all the strings.
        let mut again = start.encode().to_vec();
        again.extend_from_slice(&bytes[again.len().min(bytes.len())..]);
        assert_eq!(protocol::Start::decode(&again), Some(start));
        let _ = start.fds();
    }
    if let Some(reply) = bytes.first_chunk().and_then(protocol::Reply::decode) {
        let again = reply.encode();
        assert_eq!(protocol::Reply::decode(&again), Some(reply));
    }
    let _ = procstat::parse(1, bytes);
    let _ = procstat::number(bytes);
    let mut table: Vec<_> = bytes
        .split(|&b| b == b'\n')
        .take(200)
        .enumerate()
        .filter_map(|(pid, stat)| procstat::parse(pid as i32, stat))
        .collect();
    procstat::mark_descendants(&mut table, 1);
});
