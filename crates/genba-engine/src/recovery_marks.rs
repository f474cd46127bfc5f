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
    RaxSaved,
    /// rcx is in its place.
    RcxSaved,
    /// A call has pushed our address; else nothing has happened.
    ReturnPushed,
    /// As [`Mark::ReturnPushed`], rcx in its place. So it is when a return has pushed our address.
    ReturnPushedRcxSaved,
    /// It has been popped again; nothing has happened.
    ReturnPopped,
    /// The same with rcx in its place.
    ReturnPoppedRcxSaved,
    /// The block's last instruction is done, and went where it says.
    Taken,
    /// As [`Mark::Taken`], but this has not been recorded yet.
    TakenUnrecorded,
    /// The same, and rax is in its place.
    TakenUnrecordedRaxSaved,
    /// As [`Mark::Taken`], and rax is in its place.
    TakenRaxSaved,
    /// The same, and did not go there.
    NotTaken,
    /// The block's last instruction, a call or jump, is done; TARGET says where it goes; rcx is
    /// in its place. It has not been recorded yet, where that is wanted.
    BranchedIndirectly,
    /// A landing pad: TARGET says where control goes; rcx is in its place.
    JumpPad,
    /// A landing pad behind a return: the top of the stack says where control goes, and is to be
    /// popped; rcx is in its place.
    ReturnPad,
    /// The same, and it has been popped: it is below the top of the stack.
    ReturnPadPopped,
    /// A landing pad: it is the block; rcx is in its place.
    PadMatched,
    /// After a system call, rcx is ours.
    SyscallDone,
    /// Nothing is here that could be interrupted (constants).
    Data,
    /// An exit's stub: see the fragment's exits.
    ExitStub,
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
