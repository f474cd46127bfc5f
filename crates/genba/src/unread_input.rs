//! Standard input that verbs do not pass on: they run the command more than once, and a pipe can be
//! read once only.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::Output;

/// Says that the command does not get what is on genba's standard input, if there is something and
/// the user has not said where the command reads.
pub fn note(output: &Output) {
    let said = std::env::args_os().any(|word| word.as_encoded_bytes().starts_with(b"--input"));
    let stdin = io::stdin();
    if !said && !stdin.is_terminal() && has_data(stdin.as_fd()) {
        output.note(
            "note: the command may run several times and reads /dev/null, not genba's standard input; to let it \
             read a file in each run: --input FILE",
        );
    }
}

/// Whether standard input is a pipe, or a file with content: what perf would let the command read.
pub fn is_given() -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let copy = io::stdin().as_fd().try_clone_to_owned();
    let status = copy.and_then(|copy| File::from(copy).metadata());
    status.is_ok_and(|status| {
        let kind = status.file_type();
        kind.is_fifo() || kind.is_file() && status.len() > 0
    })
}

/// Whether a pipe has data, or a file content.
fn has_data(input: BorrowedFd<'_>) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let status = input
        .try_clone_to_owned()
        .and_then(|copy| File::from(copy).metadata());
    let Ok(status) = status else {
        return false;
    };
    let kind = status.file_type();
    if kind.is_file() {
        return status.len() > 0;
    }
    let mut fds = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    // A socket at its end is readable, too, so only pipes are asked.
    kind.is_fifo()
        && poll(&mut fds, Some(&Timespec::default())).is_ok()
        && fds[0].revents().contains(PollFlags::IN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn pipe_has_data_once_written_and_none_when_only_closed() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        assert!(!has_data(reader.as_fd()));
        writer.write_all(b"abc").expect("written");
        assert!(has_data(reader.as_fd()));
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(writer);
        assert!(!has_data(reader.as_fd()));
    }

    #[test]
    fn dev_null_and_empty_files_have_no_data() {
        let null = File::open("/dev/null").expect("it exists");
        assert!(!has_data(null.as_fd()));
        let mut file = tempfile::tempfile().expect("a file");
        assert!(!has_data(file.as_fd()));
        file.write_all(b"abc").expect("written");
        assert!(has_data(file.as_fd()));
    }
}
