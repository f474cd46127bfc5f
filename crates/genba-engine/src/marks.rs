//! What holds where in a translation: from which offset on which registers of the program are
//! where. Made while code is emitted, read when a signal interrupts it.

/// What holds from a place in the cache on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// A block begins here, its counter has not gone up, its first instruction is next.
    Block,
    /// The block's next instruction begins here.
    Instruction,
    /// The block's counter has gone up; else nothing changes.
    Counted,
    /// rax is in its place (and whatever the register has is ours).
    Rax,
    /// rcx is in its place.
    Rcx,
    /// rax and rcx are in their places.
    Both,
    /// As [`Mark::Both`], and the top of the stack, a return address, has been overwritten; it
    /// is in register rcx.
    Overwritten,
    /// A call has pushed our address; else nothing has happened.
    Pushed,
    /// As [`Mark::Pushed`], rax and rcx in their places.
    PushedBoth,
    /// It has been popped again; nothing has happened.
    Popped,
    /// The same with rax and rcx in their places.
    PoppedBoth,
    /// The block's last instruction is done, and went where it says.
    Taken,
    /// As [`Mark::Taken`], but this has not been recorded yet.
    TakenUnrecorded,
    /// The same, and rax is in its place.
    TakenUnrecordedRax,
    /// As [`Mark::Taken`], and rax is in its place.
    TakenRax,
    /// The same, and did not go there.
    NotTaken,
    /// The block's last instruction, a call or jump, is done; rcx says where it goes; rax and
    /// rcx are in their places. It has not been recorded yet, where that is wanted.
    Gone,
    /// A landing: rcx says where control goes; rax and rcx are in their places.
    Landing,
    /// A landing: rcx + the block's address is where control goes.
    LandingDifference,
    /// A landing: it is the block; rax and rcx are in their places.
    Landed,
    /// After a system call, rcx is ours.
    SyscallDone,
    /// Nothing is here that could be interrupted (constants).
    Nothing,
    /// An exit's stub: see the fragment's exits.
    Stub,
}

/// A mark with its place and block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Offset in the fragment.
    pub offset: u16,
    /// What holds from there.
    pub mark: Mark,
    /// Index of the block in the fragment.
    pub block: u8,
}
