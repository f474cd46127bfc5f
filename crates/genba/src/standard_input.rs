//! A recording on standard input.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, IntoRawFd as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::builder::{PathBufValueParser, TypedValueParser};
use rustix::fs::{MemfdFlags, memfd_create};

/// Parses the name of a file to read; `-` is standard input.
pub fn parser() -> impl TypedValueParser<Value = PathBuf> {
    // The command line may be parsed twice, a pipe is read once.
    static NAME: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PathBufValueParser::new().try_map(|path| match path == Path::new("-") {
        true => (NAME.get_or_init(|| readable_again().map_err(|error| error.to_string()))).clone(),
        false => Ok(path),
    })
}

/// The name of a file with what is on standard input. Recordings are mapped and read several times, so that a pipe is
/// copied into memory.
fn readable_again() -> io::Result<PathBuf> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if input.metadata()?.is_file() {
        return Ok("/dev/stdin".into());
    }
    let mut copy = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    io::copy(&mut input, &mut copy)?;
    Ok(format!("/proc/self/fd/{}", copy.into_raw_fd()).into())
}
