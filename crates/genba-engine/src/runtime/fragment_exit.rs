//! Exits of fragments, which large programs have more than a million of.

use super::code_map::NONE;

/// The number of an exit, in [`Exit::packed`].
const NUMBER: u32 = (1 << 29) - 1;
/// Whether it is linked.
const LINKED: u32 = 1 << 29;
/// Whether it is one of observing code.
const OBSERVING: u32 = 1 << 30;
/// Whether it ends a burst.
const LEAVES_BURST: u32 = 1 << 31;

/// An exit of a fragment: a branch to a fixed address, whose displacement can be linked.
#[derive(Clone, Copy)]
pub struct Exit {
    /// Program address to which it leads.
    pub target: u64,
    /// Address of the branch's displacement.
    pub site: u64,
    /// Distance of its exit stub from there; 0 for none.
    stub: i32,
    /// The next exit that is linked to the same block or waits for it, and what is known of this one.
    packed: u32,
}

const _: () = assert!(size_of::<Exit>() == 24);

impl Exit {
    /// Returns an exit without a stub that is not linked.
    #[must_use]
    pub fn new(target: u64, site: u64) -> Self {
        Self {
            target,
            site,
            stub: 0,
            packed: NUMBER,
        }
    }

    /// Returns the address of its exit stub; 0 for none.
    #[must_use]
    pub fn stub(&self) -> u64 {
        match self.stub {
            0 => 0,
            distance => self.site.wrapping_add_signed(i64::from(distance)),
        }
    }

    /// Sets the address of its exit stub, which the branch must reach: otherwise there is none.
    pub fn set_stub(&mut self, stub: u64) {
        let distance = stub.wrapping_sub(self.site) as i64;
        self.stub = i32::try_from(distance).unwrap_or(0);
    }

    /// Returns the next exit that is linked to the same block, or waits for it; [`NONE`] if there is
    /// none.
    #[must_use]
    pub fn next(&self) -> u32 {
        match self.packed & NUMBER {
            NUMBER => NONE,
            number => number,
        }
    }

    /// Sets the next exit. There are fewer than its bits can number: each has four bytes of the code
    /// cache, which is less than 2 GiB.
    pub fn set_next(&mut self, number: u32) {
        self.packed = self.packed & !NUMBER | number.min(NUMBER);
    }

    /// Whether it is linked to a block.
    #[must_use]
    pub fn linked(&self) -> bool {
        self.packed & LINKED != 0
    }

    /// Sets whether it is linked to a block.
    pub fn set_linked(&mut self, linked: bool) {
        self.packed = self.packed & !LINKED | if linked { LINKED } else { 0 };
    }

    /// Whether it is one of observing code, and leads to such code.
    #[must_use]
    pub fn observing(&self) -> bool {
        self.packed & OBSERVING != 0
    }

    /// Whether it ends a burst.
    #[must_use]
    pub fn leaves_burst(&self) -> bool {
        self.packed & LEAVES_BURST != 0
    }

    /// Sets whether it is one of observing code, and whether it ends a burst.
    pub fn set_of_burst(&mut self, observing: bool, leaves: bool) {
        self.packed &= !(OBSERVING | LEAVES_BURST);
        self.packed |= if observing { OBSERVING } else { 0 };
        self.packed |= if leaves { LEAVES_BURST } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_property_is_kept_when_others_change() {
        let mut exit = Exit::new(0xFFFF_FFFF_8040_1000, 0x7000_1000);
        assert_eq!((exit.stub(), exit.next()), (0, NONE));
        exit.set_stub(0x7000_0F00);
        exit.set_next(12_345_678);
        exit.set_linked(true);
        exit.set_of_burst(true, false);
        assert_eq!((exit.stub(), exit.next()), (0x7000_0F00, 12_345_678));
        assert!(exit.linked() && exit.observing() && !exit.leaves_burst());
        exit.set_of_burst(false, true);
        exit.set_next(NONE);
        exit.set_linked(false);
        assert_eq!((exit.stub(), exit.next()), (0x7000_0F00, NONE));
        assert!(!exit.linked() && !exit.observing() && exit.leaves_burst());
        // Out of the branch's reach.
        exit.set_stub(0x1_7000_0F00);
        assert_eq!(exit.stub(), 0);
        assert_eq!(exit.target, 0xFFFF_FFFF_8040_1000);
    }
}
