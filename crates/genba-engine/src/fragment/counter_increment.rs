//! Emits the instructions that increment a block's counter, by the method that
//! [`crate::counter_placement`] has chosen.

use super::{BuildContext, Builder, RAX, RCX};
use crate::counter_placement::IncrementMethod;
use crate::recovery_marks::Mark;
use crate::thread_state;

impl<W: BuildContext> Builder<'_, W> {
    /// Emits the increment of a counter; none for [`IncrementMethod::SavedRcx`], whose increment
    /// comes later, by [`Self::count_through_saved_rcx`].
    pub(super) fn count(&mut self, method: IncrementMethod, counter: u32) {
        let offset = thread_state::counter(counter);
        match method {
            IncrementMethod::Memory => self.emitter().increment(offset),
            IncrementMethod::DeadRegister(register) => {
                let emitter = self.emitter();
                emitter.load(register, offset);
                emitter.add_one(register);
                emitter.store(register, offset);
            }
            IncrementMethod::SavedRcx => return,
            IncrementMethod::SpilledRax => {
                self.emitter().store(RAX, thread_state::RAX);
                self.mark(Mark::RaxSaved);
                self.emitter().load(RAX, offset);
                self.emitter().add_one(RAX);
                self.emitter().store(RAX, offset);
                self.mark(Mark::Counted);
                self.mark(Mark::RaxSaved);
                self.emitter().load(RAX, thread_state::RAX);
            }
        }
        self.mark(Mark::Counted);
    }

    /// Emits the increment of a counter where rcx is saved.
    pub(super) fn count_through_saved_rcx(&mut self, counter: Option<u32>) {
        let Some(counter) = counter else { return };
        self.emitter().load(RCX, thread_state::counter(counter));
        self.emitter().add_one(RCX);
        self.emitter().store(RCX, thread_state::counter(counter));
        self.mark(Mark::Counted);
        self.mark(Mark::RcxSaved);
    }
}
