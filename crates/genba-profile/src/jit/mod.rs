//! What would be gone when a recording is read: generated code, and libraries that a compiler at
//! run time wrote, loaded and deleted.
//!
//! While recording, a [`JitArtifactRecorder`] watches the processes of the target. Beside the recording, in
//! `RECORDING.kept/`, it leaves for each process that generated code an ELF file with its names
//! and (as far as it could be read) its bytes, with an index of what stood where and when; and
//! copies of shared objects and C files from the directory for temporary files whose names hold
//! the number of one of these processes. [`JitArtifacts`] is that directory as the reader sees it.

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

/// Makes the directory of what is kept, readable by its owner only, unless it is there.
///
/// # Errors
/// What the system says.
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
        .open(directory.join(code_index::FILES));
    list.map(drop)
        .or_else(|error| if there(&error) { Ok(()) } else { Err(error) })
}
