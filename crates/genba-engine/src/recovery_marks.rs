//! Recovery marks: for each offset of a fragment, how to recover the program's state there. Made
//! while code is emitted, read when a signal interrupts it.

/// How to recover the program's state from a place in the code cache on. *Saved* means that the
/// thread's state has the program's value, and the register has the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mark {
    /// A block begins: its counter has not been incremented, its first instruction is next.
    Block,
    /// The block's next instruction begins here.
    Instruction,
    /// The block's counter has been incremented; nothing else changes.
    Counted,
    /// rax is saved.
    RaxSaved,
    /// rcx is saved.
    RcxSaved,
    /// rax and rcx are saved.
    RaxRcxSaved,
    /// rax, rcx and rdx are saved.
    RaxRcxRdxSaved,
    /// A call has pushed the return address in the code cache; nothing else has happened.
    ReturnPushed,
    /// As [`Mark::ReturnPushed`], and rcx is saved. Also where a return has pushed the landing
    /// pad's address.
    ReturnPushedRcxSaved,
    /// That return address has been popped again; nothing else has happened.
    ReturnPopped,
    /// As [`Mark::ReturnPopped`], and rcx is saved.
    ReturnPoppedRcxSaved,
    /// The block's last instruction, a branch, was executed and taken.
    Taken,
    /// As [`Mark::Taken`], and has not been recorded yet.
    TakenUnrecorded,
    /// As [`Mark::TakenUnrecorded`], and rax is saved.
    TakenUnrecordedRaxSaved,
    /// As [`Mark::Taken`], and rax is saved.
    TakenRaxSaved,
    /// The block's last instruction was executed and not taken.
    NotTaken,
    /// The block's last instruction, an indirect call or jump, was executed; TARGET is its target;
    /// rcx is saved. It has not been recorded yet, if it is to be.
    BranchedIndirectly,
    /// A landing pad for jumps and calls, before the target is checked: TARGET is the target; rcx
    /// is saved.
    JumpPad,
    /// A landing pad for returns, before the target is checked: the top of the stack is the target
    /// and is still to be popped; rcx is saved.
    ReturnPad,
    /// As [`Mark::ReturnPad`], after the pop: the target is below the top of the stack.
    ReturnPadPopped,
    /// A landing pad whose check has succeeded: the block is next; rcx is saved.
    PadMatched,
    /// A system call was executed; rcx has the engine's value.
    SyscallDone,
    /// Constants, which no thread executes.
    Data,
    /// An exit stub; the fragment's exits have the target.
    ExitStub,
}

/// A mark, from an offset on, for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Offset in the fragment.
    pub offset: u16,
    /// What holds from there on.
    pub mark: Mark,
    /// Index of the block in the fragment.
    pub block: u8,
}
