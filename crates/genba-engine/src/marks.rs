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
    /// A call has pushed our address; else nothing has happened.
    Pushed,
    /// As [`Mark::Pushed`], rcx in its place. So it is when a return has pushed our address.
    PushedRcx,
    /// It has been popped again; nothing has happened.
    Popped,
    /// The same with rcx in its place.
    PoppedRcx,
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
    /// The block's last instruction, a call or jump, is done; TARGET says where it goes; rcx is
    /// in its place. It has not been recorded yet, where that is wanted.
    Gone,
    /// A landing: TARGET says where control goes; rcx is in its place.
    Landing,
    /// A landing behind a return: the top of the stack says where control goes, and is to be
    /// popped; rcx is in its place.
    Returned,
    /// The same, and it has been popped: it is below the top of the stack.
    ReturnedPopped,
    /// A landing: it is the block; rcx is in its place.
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
