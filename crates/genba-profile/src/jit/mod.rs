//! Code that would be gone when a recording is read: generated code, and libraries that a JIT
//! wrote, loaded and deleted.
//!
//! While recording, a [`JitArtifactRecorder`] watches the processes of the target. For each process
//! that generated code it writes an ELF file with the names and (as far as they can be read) the
//! bytes of the code into `RECORDING.kept/`, with an index of the addresses and times. It also
//! copies shared objects and C files from the directory for temporary files whose names contain the
//! id of one of these processes. [`JitArtifacts`] is that directory as the reader uses it.

mod artifact_recorder;
mod artifacts;
pub mod code_index;
mod dwarf_lines;
pub mod elf_image;
mod generated_functions;
pub mod jitdump;
mod process_code;
mod size_limits;
mod temp_file_watch;

pub use artifact_recorder::JitArtifactRecorder;
pub use artifacts::JitArtifacts;
pub use code_index::directory_of;

pub(crate) use artifacts::GeneratedCode;

/// Creates the directory for artifacts, readable by its owner only, unless it exists.
///
/// # Errors
/// When it cannot be created.
pub fn create_directory(directory: &std::path::Path) -> std::io::Result<()> {
    use std::io::ErrorKind::AlreadyExists;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let there = |error: &std::io::Error| error.kind() == AlreadyExists;
    let made = std::fs::DirBuilder::new().mode(0o700).create(directory);
    made.or_else(|error| if there(&error) { Ok(()) } else { Err(error) })?;
    let list = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(directory.join(code_index::FILE_LIST));
    list.map(drop)
        .or_else(|error| if there(&error) { Ok(()) } else { Err(error) })
}
