//! Searches through chains that compare hashes first, and their near misses.

use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, program};

const SEARCHES: u64 = 10_000;

/// What is done where the hashes are equal.
#[derive(Clone, Copy, PartialEq)]
enum IfEqual {
    /// The names are compared, and equal ones end the search.
    ComparesNames,
    /// Such elements are counted.
    Counts,
}

/// `for (p = chain; p; p = p->next) if (p->hash == hash) …`, in chains of this length; of the
/// elements a part per thousand has the hash.
fn chain(elements: u64, if_equal: IfEqual, equal_per_mille: u64) -> FunctionInput {
    let all = SEARCHES * elements;
    let equal = all * equal_per_mille / 1000;
    function(
        "find",
        |a| {
            let (mut head, mut next) = (a.create_label(), a.create_label());
            let (mut same, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.cmp(dword_ptr(rdi + 8), esi)?;
            a.je(same)?;
            a.set_label(&mut next)?;
            a.mov(rdi, qword_ptr(rdi))?;
            a.test(rdi, rdi)?;
            a.jne(head)?;
            a.ret()?;
            a.set_label(&mut same)?;
            match if_equal {
                IfEqual::ComparesNames => {
                    a.mov(rax, qword_ptr(rdi + 16))?;
                    a.cmp(rax, rdx)?;
                    a.je(out)?;
                }
                IfEqual::Counts => {
                    a.add(rax, 1)?;
                    a.nop()?;
                    a.nop()?;
                }
            }
            a.jmp(next)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[
            SEARCHES, all, all, all, all, all, SEARCHES, equal, equal, equal, equal, 0,
        ],
        &[0.0, 0.2, 0.2, 0.2, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[(2, equal), (5, all - SEARCHES), (9, 0)],
    )
}

fn is_found(elements: u64, if_equal: IfEqual, equal_per_mille: u64) -> bool {
    !quadratic::detect(&program(vec![chain(elements, if_equal, equal_per_mille)])).is_empty()
}

#[test]
fn chain_whose_hashes_are_compared_first_is_searched() {
    assert!(is_found(2000, IfEqual::ComparesNames, 0));
    assert!(is_found(2000, IfEqual::ComparesNames, 1));
}

#[test]
fn short_chains_and_filters_are_no_searches() {
    assert!(!is_found(12, IfEqual::ComparesNames, 0));
    assert!(
        !is_found(2000, IfEqual::Counts, 1),
        "all elements are looked at"
    );
    assert!(
        !is_found(2000, IfEqual::ComparesNames, 200),
        "the names are what is compared"
    );
}
