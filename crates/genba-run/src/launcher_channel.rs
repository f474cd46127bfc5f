//! The connection to the launcher.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, send, sendmsg,
};

use crate::RunError;
use crate::protocol::{HEADER, Header, MAX_FDS, REPLY, Reply};

/// genba's end of the socket.
pub struct Channel {
    socket: OwnedFd,
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Channel {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Sends a whole frame with descriptors.
    pub fn send(&self, frame: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), RunError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(RunError::Protocol);
        }
        let mut at = 0;
        while at == 0 {
            match sendmsg(
                &self.socket,
                &[IoSlice::new(frame)],
                &mut control,
                SendFlags::NOSIGNAL,
            ) {
                Ok(count) => at = count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(gone(errno)),
            }
        }
        while let Some(rest) = frame.get(at..).filter(|rest| !rest.is_empty()) {
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(count) => at += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(gone(errno)),
            }
        }
        Ok(())
    }

    /// Sends a request with a short body and no descriptors.
    pub fn request(&self, kind: u32, body: &[u8]) -> Result<(), RunError> {
        let header = Header {
            kind,
            body: body.len() as u32,
            fds: 0,
        };
        let mut frame = Vec::with_capacity(HEADER + body.len());
        frame.extend_from_slice(&header.encode());
        frame.extend_from_slice(body);
        self.send(&frame, &[])
    }

    /// Waits for an answer.
    pub fn receive(&self) -> Result<Reply, RunError> {
        let mut bytes = [0; REPLY];
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match recv(&self.socket, rest, RecvFlags::WAITALL) {
                Ok((_, 0)) => return Err(RunError::LauncherDied),
                Ok((_, count)) => at += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(gone(errno)),
            }
        }
        Reply::decode(&bytes).ok_or(RunError::Protocol)
    }
}

fn gone(errno: Errno) -> RunError {
    match errno {
        Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => RunError::LauncherDied,
        errno => RunError::io("talk to the launcher", errno),
    }
}
