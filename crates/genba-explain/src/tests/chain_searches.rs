//! Searches through chains that compare hashes first, walks to the end of a list, and their near misses.

use genba_model::{Fact, Fix, QuadraticFact};
use iced_x86::code_asm::*;

use crate::causes::quadratic;
use crate::input::analysis_input::FunctionInput;
use crate::tests::synthetic::{function, has_fact, program};

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
fn short_chains_and_filters_are_not_searches() {
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

/// What ends a walk along a list before its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    /// `p->next->used != 0`.
    AtConstant,
    /// The same, loaded first.
    AtLoadedConstant,
    /// The field is added to a sum.
    Nowhere,
}

/// `while (p->next != NULL && p->next->used != 0) p = p->next;` for each of many items.
fn walk_with_test(elements: u64, ends: Ends) -> FunctionInput {
    let all = SEARCHES * elements;
    let again = all - SEARCHES;
    function(
        "append",
        |a| {
            let (mut again, mut test, mut head) =
                (a.create_label(), a.create_label(), a.create_label());
            let mut out = a.create_label();
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(rax, qword_ptr(rdi))?;
            a.jmp(head)?;
            a.set_label(&mut test)?;
            match ends {
                Ends::AtConstant => {
                    a.cmp(qword_ptr(rax + 24), 0)?;
                    a.nop()?;
                    a.je(out)?;
                }
                Ends::AtLoadedConstant => {
                    a.mov(rcx, qword_ptr(rax + 24))?;
                    a.test(rcx, rcx)?;
                    a.je(out)?;
                }
                Ends::Nowhere => {
                    a.mov(rcx, qword_ptr(rax + 24))?;
                    a.add(qword_ptr(r12), rcx)?;
                    a.je(head)?;
                }
            }
            a.set_label(&mut head)?;
            a.mov(rbx, rax)?;
            a.mov(rax, qword_ptr(rax))?;
            a.test(rax, rax)?;
            a.jne(test)?;
            a.set_label(&mut out)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &[
            1, SEARCHES, SEARCHES, again, again, again, all, all, all, all, SEARCHES, SEARCHES, 1,
        ],
        &[
            0.0, 0.0, 0.0, 0.2, 0.1, 0.1, 0.1, 0.3, 0.1, 0.1, 0.0, 0.0, 0.0,
        ],
        &[(5, 0), (9, all - SEARCHES), (11, SEARCHES - 1)],
    )
}

#[test]
fn walk_that_ends_where_a_field_is_empty_is_quadratic() {
    let is_found = |elements, ends| {
        let found = quadratic::detect(&program(vec![walk_with_test(elements, ends)]));
        found.iter().any(|one| one.fix == Fix::RememberPlace)
    };
    assert!(is_found(2000, Ends::AtConstant));
    assert!(is_found(2000, Ends::AtLoadedConstant));
    assert!(!is_found(2000, Ends::Nowhere), "all elements are looked at");
    assert!(!is_found(12, Ends::AtConstant));
}

/// What a walk along a list does beside following it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Walk {
    Follows,
    Counts,
    /// `while (n-- > 0) p = p->next`.
    ToNumber,
    Sums,
    Marks,
    /// The next walk begins where this one ended.
    GoesOn,
}

/// `for (p = list; p->next != NULL; p = p->next);` in walks of so many links.
fn walk(elements: u64, kind: Walk) -> FunctionInput {
    let all = SEARCHES * elements;
    let each = 0.9 / 5.0;
    function(
        "append",
        |a| {
            let (mut again, mut head) = (a.create_label(), a.create_label());
            a.mov(rax, rdi)?;
            a.set_label(&mut again)?;
            match kind {
                Walk::GoesOn => a.nop()?,
                _ => a.mov(rax, rdi)?,
            }
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rax))?;
            match kind {
                Walk::Counts => a.add(rcx, 1)?,
                Walk::Sums => a.add(rcx, qword_ptr(rax + 8))?,
                Walk::Marks => a.mov(qword_ptr(rax + 8), rdx)?,
                _ => a.nop()?,
            }
            match kind {
                Walk::ToNumber => a.sub(rsi, 1)?,
                _ => a.test(rax, rax)?,
            }
            a.jne(head)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &[1, SEARCHES, all, all, all, all, SEARCHES, SEARCHES, 1],
        &[0.0, 0.0, each, each, each, each, 0.0, 0.0, 0.0],
        &[(5, all - SEARCHES), (7, SEARCHES - 1)],
    )
}

#[test]
fn list_followed_to_its_end_for_each_item_is_quadratic() {
    for kind in [Walk::Follows, Walk::Counts, Walk::ToNumber] {
        let found = quadratic::detect(&program(vec![walk(2000, kind)]));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].site.clone(), &found[0].fix),
            (vec![2], &Fix::RememberPlace)
        );
        assert!(found[0].residual_fraction.high < 0.1);
        assert!(has_fact(&found, |fact| matches!(
            fact,
            Fact::Quadratic(QuadraticFact::ListWalks { walks: SEARCHES, elements, idle: false })
                if (elements - 2000.0).abs() < 1.0
        )));
    }
}

/// `while (number-- > 0) p = p->next`, two links an iteration; the second may be loaded from elsewhere.
fn unrolled(second_is_link: bool) -> FunctionInput {
    let all = SEARCHES * 1000;
    let each = 0.9 / 6.0;
    function(
        "place",
        |a| {
            let (mut again, mut head, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(rax, rdi)?;
            a.set_label(&mut head)?;
            a.mov(rax, qword_ptr(rax + 8))?;
            a.sub(rsi, 1)?;
            a.je(out)?;
            match second_is_link {
                true => a.mov(rax, qword_ptr(rax + 8))?,
                false => a.add(r12, qword_ptr(rax + 16))?,
            }
            a.sub(rsi, 1)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &[
            1, SEARCHES, all, all, all, all, all, all, SEARCHES, SEARCHES, 1,
        ],
        &[0.0, 0.0, each, each, each, each, each, each, 0.0, 0.0, 0.0],
        &[(4, 0), (7, all - SEARCHES), (9, SEARCHES - 1)],
    )
}

#[test]
fn walk_that_the_compiler_unrolled_follows_a_list() {
    let found = quadratic::detect(&program(vec![unrolled(true)]));
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Quadratic(QuadraticFact::ListWalks { elements, .. }) if (elements - 2000.0).abs() < 1.0
    )));
    // What the elements hold is read as well.
    assert!(quadratic::detect(&program(vec![unrolled(false)])).is_empty());
}

#[test]
fn walks_of_one_function_are_one_finding_wherever_it_was_inlined() {
    let copy = |name: &str, of: &str, share: f64| {
        let mut one = walk(2000, Walk::Follows);
        one.function = name.to_owned();
        one.heat.iter_mut().for_each(|heat| *heat *= share);
        for place in &mut one.places {
            place.function = Some(of.to_owned());
            place.file = Some("list.c".to_owned());
        }
        one
    };
    let all = |of: &[&str]| {
        let copies = of.iter().enumerate();
        let copies = copies.map(|(at, of)| copy(&format!("caller{at}"), of, 0.07));
        quadratic::detect(&program(copies.collect()))
    };
    let found = all(&["node", "node", "node"]);
    assert_eq!((found.len(), found[0].copies.len()), (1, 2));
    assert!((found[0].share.unwrap_or(0.0) - 3.0 * 0.07 * 0.9 * 4.0 / 5.0).abs() < 0.1);
    // Each is too little by itself; walks of other functions are other defects.
    assert!(all(&["node"]).is_empty());
    assert!(all(&["node", "last", "count"]).is_empty());
}

#[test]
fn walks_that_read_mark_or_go_on_and_short_ones_are_not_quadratic() {
    let is_found =
        |elements, kind| !quadratic::detect(&program(vec![walk(elements, kind)])).is_empty();
    for kind in [Walk::Sums, Walk::Marks, Walk::GoesOn] {
        assert!(!is_found(2000, kind), "{kind:?}");
    }
    assert!(!is_found(20, Walk::Follows));
}

/// `while (sum + p->count <= number) { sum += p->count; p = forward ? p->next : p->before; }`; the number is `given`
/// to the walk, or changes on the way.
fn walk_to_item(given: bool) -> FunctionInput {
    let all = SEARCHES * 2000;
    let each = 0.9 / 11.0;
    let mut counts = vec![1, SEARCHES, SEARCHES, SEARCHES];
    counts.extend([all; 4]);
    counts.push(all - SEARCHES);
    counts.extend([all; 6]);
    counts.extend([SEARCHES, SEARCHES, 1]);
    let mut heat = vec![0.0; 4];
    heat.extend([each; 11]);
    heat.extend([0.0; 3]);
    function(
        "item",
        |a| {
            let (mut again, mut head, mut out) =
                (a.create_label(), a.create_label(), a.create_label());
            let mut enter = a.create_label();
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(rax, rdi)?;
            a.xor(ecx, ecx)?;
            // Compilers enter such loops behind their test.
            a.jmp(enter)?;
            a.set_label(&mut head)?;
            a.movzx(edx, word_ptr(rax + 28))?;
            a.add(rdx, rcx)?;
            a.cmp(rsi, rdx)?;
            a.jb(out)?;
            a.mov(rcx, rdx)?;
            a.set_label(&mut enter)?;
            a.mov(rdx, qword_ptr(rax))?;
            match given {
                true => a.test(r8, r8)?,
                false => a.sub(rsi, 1)?,
            }
            a.cmovns(rdx, qword_ptr(rax + 8))?;
            a.mov(rax, rdx)?;
            a.test(rdx, rdx)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(7, SEARCHES), (14, all), (16, SEARCHES - 1)],
    )
}

#[test]
fn list_followed_to_the_item_of_a_number_is_quadratic() {
    let found = quadratic::detect(&program(vec![walk_to_item(true)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::RememberPlace);
    // Walks from the nearer end may still be long.
    assert!(found[0].residual_fraction.high > 0.4);
    // To a number that changes on the way no walk from the nearer end leads, but a place can be kept.
    let found = quadratic::detect(&program(vec![walk_to_item(false)]));
    assert!(found[0].residual_fraction.high < 0.1);
}

/// What a loop through names does with those that differ from its key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Names {
    Compares,
    Sums,
    Marks,
    /// The texts that begin at each byte.
    Bytes,
}

/// `for (e = names; e != end; e++) { for (p = *e, q = key; *p == *q; p++, q++); }`, so many names for each of many
/// keys.
fn named(elements: u64, kind: Names) -> FunctionInput {
    let all = SEARCHES * elements;
    let letters = 3 * all;
    let mut counts = vec![1, SEARCHES, all, all];
    counts.extend([letters; 4]);
    counts.extend([letters - all; 2]);
    counts.push(letters - all);
    counts.extend([all; 4]);
    counts.extend([SEARCHES, SEARCHES, 1]);
    let each = 0.9 / counts.len() as f64;
    let heat = vec![each; counts.len()];
    function(
        "member",
        |a| {
            let (mut again, mut element) = (a.create_label(), a.create_label());
            let (mut letter, mut next) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(r12, rdi)?;
            a.set_label(&mut element)?;
            match kind {
                Names::Bytes => a.mov(r14, r12)?,
                _ => a.mov(r14, qword_ptr(r12))?,
            }
            a.mov(r13, rsi)?;
            a.set_label(&mut letter)?;
            a.movzx(eax, byte_ptr(r13))?;
            a.movzx(ecx, byte_ptr(r14))?;
            a.cmp(al, cl)?;
            a.jne(next)?;
            a.add(r13, 1)?;
            a.add(r14, 1)?;
            a.jmp(letter)?;
            a.set_label(&mut next)?;
            match kind {
                Names::Sums => a.add(r8, rax)?,
                Names::Marks => a.mov(qword_ptr(r12 + 8), rax)?,
                _ => a.nop()?,
            }
            match kind {
                Names::Bytes => a.add(r12, 1)?,
                _ => a.add(r12, 8)?,
            }
            a.cmp(r12, rbx)?;
            a.jne(element)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &counts,
        &heat,
        &[(7, all), (14, all - SEARCHES), (16, SEARCHES - 1)],
    )
}

#[test]
fn names_compared_letter_by_letter_are_searched() {
    let is_found = |elements, kind| {
        let found = quadratic::detect(&program(vec![named(elements, kind)]));
        found
            .iter()
            .any(|one| one.fix == Fix::HashLookup { strings: true })
    };
    assert!(is_found(2000, Names::Compares));
    assert!(!is_found(10, Names::Compares), "few names");
    for kind in [Names::Sums, Names::Marks, Names::Bytes] {
        assert!(!is_found(2000, kind), "{kind:?}");
    }
}

/// What a loop through sets of numbers does with those that differ from its set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sets {
    /// Counts them in memory, and reads their number again there.
    Counts,
    Marks,
    /// Adds up the products of their numbers.
    Products,
}

/// `for (i = 1; i <= last; i++) { for (p = sets[i], q = set; *p == *q; p++, q++); differ++; }`.
fn sets_of_numbers(elements: u64, kind: Sets) -> FunctionInput {
    let all = SEARCHES * elements;
    let (numbers, counter) = (all, 0x40_1000);
    let mut counts = vec![1, SEARCHES, all, all];
    counts.extend([numbers + all / 10; 4]);
    counts.extend([all / 10; 2]);
    counts.extend([all; 5]);
    counts.extend([SEARCHES, SEARCHES, 1]);
    let heat = vec![0.9 / counts.len() as f64; counts.len()];
    function(
        "is_known",
        |a| {
            let (mut again, mut element) = (a.create_label(), a.create_label());
            let (mut number, mut next) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut again)?;
            a.mov(r12d, 1)?;
            a.set_label(&mut element)?;
            a.mov(r14, qword_ptr(rdi + r12 * 8))?;
            a.mov(eax, 1)?;
            a.set_label(&mut number)?;
            a.mov(ecx, dword_ptr(r14 + rax * 4))?;
            match kind {
                Sets::Products => a.imul_2(ecx, dword_ptr(rsi + rax * 4))?,
                _ => a.cmp(dword_ptr(rsi + rax * 4), ecx)?,
            }
            match kind {
                Sets::Products => a.add(r8d, ecx)?,
                _ => a.jne(next)?,
            }
            a.add(rax, 1)?;
            a.cmp(rax, rdx)?;
            a.jne(number)?;
            a.set_label(&mut next)?;
            match kind {
                Sets::Marks => a.mov(dword_ptr(rdi + r12 * 8 + 4), eax)?,
                _ => a.add(dword_ptr(counter), 1)?,
            }
            a.mov(ebx, dword_ptr(counter + 8))?;
            a.add(r12, 1)?;
            a.cmp(r12d, ebx)?;
            a.jne(element)?;
            a.dec(r9)?;
            a.jne(again)?;
            a.ret()
        },
        &counts,
        &heat,
        &[
            (6, all),
            (9, all / 10),
            (14, all - SEARCHES),
            (16, SEARCHES - 1),
        ],
    )
}

#[test]
fn sets_of_numbers_are_searched_although_those_that_differ_are_counted() {
    let is_found = |elements, kind| {
        let found = quadratic::detect(&program(vec![sets_of_numbers(elements, kind)]));
        found
            .iter()
            .any(|one| one.fix == Fix::HashLookup { strings: false })
    };
    assert!(is_found(2000, Sets::Counts));
    assert!(!is_found(10, Sets::Counts), "few sets");
    for kind in [Sets::Marks, Sets::Products] {
        assert!(!is_found(2000, kind), "{kind:?}");
    }
}

/// `for (p = list; p; p = p->next) if (p->slot->name == name) return p;`, in searches of this many elements; or the name
/// is compared with the slot itself.
fn records(searches: u64, elements: u64, in_record: bool) -> FunctionInput {
    let all = searches * elements;
    function(
        "find_slot",
        |a| {
            let (mut head, mut out) = (a.create_label(), a.create_label());
            a.nop()?;
            a.set_label(&mut head)?;
            a.mov(rsi, qword_ptr(rax + 8))?;
            match in_record {
                true => a.cmp(qword_ptr(rsi + 8), rdx)?,
                false => a.cmp(qword_ptr(rcx + 8), rdx)?,
            }
            a.je(out)?;
            a.mov(rax, qword_ptr(rax + 16))?;
            a.test(rax, rax)?;
            a.jne(head)?;
            a.set_label(&mut out)?;
            a.ret()
        },
        &[searches, all, all, all, all, all, all, searches],
        &[0.0, 0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.0],
        &[(3, searches), (6, all - searches)],
    )
}

#[test]
fn dozens_of_records_behind_links_are_searched_where_that_is_slow() {
    let is_found = |searches, elements, in_record| {
        !quadratic::detect(&program(vec![records(searches, elements, in_record)])).is_empty()
    };
    assert!(is_found(1_000_000, 70, true), "900 cycles each");
    assert!(!is_found(3_000_000, 70, true), "300 cycles each");
    assert!(!is_found(1_000_000, 20, true), "few elements");
    assert!(!is_found(1_000_000, 70, false), "not of the element");
}
