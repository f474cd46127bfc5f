//! A token that ends a run from elsewhere: another thread, or a signal handler.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::RunError;

/// Asks whatever watches it to stop; once triggered, triggered for good. Clones are the same
/// token.
#[derive(Clone, Debug)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    triggered: AtomicBool,
    protected: AtomicU32,
    event: OwnedFd,
}

impl Cancel {
    /// A token that nobody has triggered.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn new() -> Result<Self, RunError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).map_err(|errno| RunError::io("make an event", errno))?;
        let triggered = AtomicBool::new(false);
        Ok(Self {
            inner: Arc::new(Inner {
                triggered,
                protected: AtomicU32::new(0),
                event,
            }),
        })
    }

    /// Triggers it. Safe in a signal handler: an atomic store and a `write`.
    pub fn trigger(&self) {
        self.inner.triggered.store(true, Ordering::Release);
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight readable bytes and a descriptor that `self` owns. libc's `write` is
        // async-signal-safe; a full counter fails with EAGAIN, and is readable anyway.
        unsafe { libc::write(self.inner.event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Whether it has been triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.inner.triggered.load(Ordering::Acquire)
    }
}

/// As long as it lives, what was cancelled still does something that must be done.
#[derive(Debug)]
pub struct Protected(Cancel);

impl Cancel {
    /// Announces something that must be done even after cancelling, such as the user's clean-up
    /// commands, and that may take longer than the user is usually left waiting.
    #[must_use]
    pub fn protect(&self) -> Protected {
        self.inner.protected.fetch_add(1, Ordering::AcqRel);
        Protected(self.clone())
    }

    /// Whether something is being done that must be done.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        self.inner.protected.load(Ordering::Acquire) > 0
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        self.0.inner.protected.fetch_sub(1, Ordering::AcqRel);
    }
}

impl AsFd for Cancel {
    /// Readable once it has been triggered, for `poll`. Never read from it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn a_trigger_shows_in_every_clone_and_in_poll() {
        let cancel = Cancel::new().expect("a token");
        let clone = cancel.clone();
        let ready = |cancel: &Cancel| {
            let mut fds = [PollFd::new(cancel, PollFlags::IN)];
            poll(&mut fds, Some(&rustix::event::Timespec::default())).expect("poll")
        };
        assert!(!clone.is_triggered());
        assert_eq!(ready(&clone), 0);
        cancel.trigger();
        cancel.trigger();
        assert!(clone.is_triggered());
        assert_eq!(ready(&clone), 1);
    }
}
