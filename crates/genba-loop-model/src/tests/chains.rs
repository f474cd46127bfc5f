//! The chain of loops as compilers write them.

use genba_model::{LoopVerdict, NoLoopChain, OpaqueReason};
use iced_x86::code_asm::*;

use super::{Function, Table};
use crate::LoopAnalysis;

fn chain_of(function: Function) -> (f64, String, LoopAnalysis) {
    let function = function.iterations(1_000_000, 1000);
    let cost = function.cost();
    let text = function.chain(&cost);
    let cycles = cost.chain_cycles.expect("modelled").value;
    (cycles, text, cost)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6 * b.max(1.0)
}

/// `while (n) { s += n % b; n /= b; }`, as gcc 12 -O2 has it: one division.
#[test]
fn chain_of_dependent_divisions_is_their_latency() {
    let (cycles, text, cost) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, rdi).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rsi).unwrap();
        a.add(rcx, rdx).unwrap();
        a.mov(rdx, rdi).unwrap();
        a.mov(rdi, rax).unwrap();
        a.cmp(rdx, rsi).unwrap();
        a.jae(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 18.0), "{cycles}");
    assert_eq!(text, "div");
    assert_eq!((cost.iterations, cost.entries), (1_000_000, Some(1000)));
}

/// The same with a division for the remainder and one for the quotient: the second one does not
/// wait for the first one's result, but for the unit, which is taken for 10 cycles.
#[test]
fn independent_divisions_of_one_value_share_the_divider() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, rsi).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rcx).unwrap();
        a.movzx(r8d, byte_ptr(r9 + rdx)).unwrap();
        a.mov(rax, rsi).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rcx).unwrap();
        a.mov(rsi, rax).unwrap();
        a.test(rsi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 28.0), "{cycles}");
    assert_eq!(text, "div → div");
}

/// The second division takes the first one's quotient.
#[test]
fn divisions_in_sequence_add_their_latencies() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rcx).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rcx).unwrap();
        a.test(rax, rax).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 36.0), "{cycles}");
    assert_eq!(text, "div → div");
}

/// Each iteration divides another element twice, the second time by the first one's quotient: nothing goes
/// from iteration to iteration, so the divider works on other iterations while the second one waits.
#[test]
fn divisions_of_other_iterations_pass_one_that_waits_for_its_operand() {
    let (cycles, _, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, ptr(rsi)).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rcx).unwrap();
        a.xor(edx, edx).unwrap();
        a.div(rdi).unwrap();
        a.add(rsi, 8).unwrap();
        a.cmp(rsi, r8).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    // The counter; that the divider is taken for twice 10 cycles bounds the throughput.
    assert!(near(cycles, 1.0), "{cycles}");
}

#[test]
fn pointer_chase_is_chained_through_its_load() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, ptr(rax)).unwrap();
        a.test(rax, rax).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 4.0), "{cycles}");
    assert_eq!(text, "load");
}

#[test]
fn sum_of_doubles_is_chained_through_the_addition() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.addsd(xmm0, qword_ptr(rdi)).unwrap();
        a.add(rdi, 8).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 3.0), "{cycles}");
    assert_eq!(text, "addsd");
}

#[test]
fn independent_sums_are_bound_by_throughput() {
    let (cycles, _, cost) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        for (k, sum) in [rax, rcx, rdx, r8, r9, r10, r11, rbx]
            .into_iter()
            .enumerate()
        {
            a.add(sum, ptr(rdi + 8 * k as i32)).unwrap();
        }
        a.add(rdi, 64).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 1.0), "{cycles}");
    // Eight loads of a third of a cycle each; ten integer operations of a quarter.
    let bound = cost.throughput_cycles.expect("known").value;
    assert!(near(bound, 8.0 * 0.33), "{bound}");
}

#[test]
fn hash_is_chained_through_multiplication_and_xor() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.movzx(edx, byte_ptr(rdi)).unwrap();
        a.add(rdi, 1).unwrap();
        a.xor(eax, edx).unwrap();
        a.imul_3(eax, eax, 0x0100_0193).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 4.0), "{cycles}");
    assert_eq!(text, "xor → imul");
}

/// An accumulator in the stack frame, as without optimisation: the store hands its value to the
/// next iteration's load.
#[test]
fn accumulator_on_the_stack_is_chained_through_store_forwarding() {
    let function = || {
        Function::assemble(|a| {
            let mut again = a.create_label();
            a.set_label(&mut again).unwrap();
            a.mov(eax, dword_ptr(rbp - 8)).unwrap();
            a.add(dword_ptr(rbp - 4), eax).unwrap();
            a.add(dword_ptr(rbp - 8), 1).unwrap();
            a.cmp(dword_ptr(rbp - 8), 99).unwrap();
            a.jle(again).unwrap();
            a.ret().unwrap();
        })
        .iterations(1_000_000, 1000)
    };
    let cost = function().cost();
    assert!(near(cost.chain_cycles.expect("modelled").value, 5.0));
    // A processor that renames memory.
    let quick = Table {
        forward: 0.0,
        ..Table::default()
    };
    let cost = function().cost_by(&quick);
    assert!(near(cost.chain_cycles.expect("modelled").value, 1.0));
}

/// `a[i + 1] = a[i] * x`: the store is found again at another displacement, since the pointer
/// moved by as much.
#[test]
fn recurrence_through_an_array_is_chained_through_memory() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rax, ptr(rdi)).unwrap();
        a.imul_2(rax, rdx).unwrap();
        a.mov(ptr(rdi + 8), rax).unwrap();
        a.add(rdi, 8).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 7.0), "{cycles}");
    assert_eq!(text, "load → imul");
}

/// A copy: nothing but the pointers goes from iteration to iteration.
#[test]
fn copy_loop_has_only_the_chain_of_its_counter() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.movups(xmm0, xmmword_ptr(rsi + rax)).unwrap();
        a.movups(xmmword_ptr(rdi + rax), xmm0).unwrap();
        a.add(rax, 16).unwrap();
        a.cmp(rax, rdx).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 1.0), "{cycles}");
    assert_eq!(text, "add");
}

#[test]
fn dot_product_is_chained_through_the_addend_of_fma() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.movsd_2(xmm1, qword_ptr(rdi + rax * 8)).unwrap();
        a.vfmadd231sd(xmm0, xmm1, qword_ptr(rsi + rax * 8)).unwrap();
        a.add(rax, 1).unwrap();
        a.cmp(rax, rdx).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 4.0), "{cycles}");
    assert_eq!(text, "vfmadd231sd");
}

/// The x87 stack turns, and comes back with every pair of push and pop.
#[test]
fn x87_sum_is_chained_through_the_register_stack() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.fld(tbyte_ptr(rdi)).unwrap();
        a.faddp(st1, st0).unwrap();
        a.add(rdi, 16).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 1.0), "{cycles}");
    assert!(text == "faddp" || text == "add", "{text}");
}

/// A value kept in a register that is pushed and popped each iteration.
#[test]
fn values_are_followed_through_push_and_pop() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.push(rax).unwrap();
        a.imul_2(rcx, rdx).unwrap();
        a.pop(rax).unwrap();
        a.imul_2(rax, rdx).unwrap();
        a.cmp(rax, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    // Forwarding 4 and multiplication 3; the stack pointer's own changes cost nothing.
    assert!(near(cycles, 7.0), "{cycles}");
    assert_eq!(text, "pop → imul");
}

#[test]
fn zeroing_idiom_breaks_the_chain() {
    let (cycles, _, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.xor(eax, eax).unwrap();
        a.imul_2(rax, rdx).unwrap();
        a.imul_2(rax, rdx).unwrap();
        a.add(rdi, 1).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 1.0), "{cycles}");
}

/// `sete al` waits for the rest of `rax`, which `xor eax, eax` would have cut.
#[test]
fn byte_write_depends_on_the_whole_register() {
    let (cycles, text, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.imul_2(rax, rdx).unwrap();
        a.mov(al, cl).unwrap();
        a.add(rdi, 1).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    assert!(near(cycles, 3.0), "{cycles}");
    assert_eq!(text, "imul");
}

/// A chain with period two: `a` and `b` change places each iteration.
#[test]
fn chain_over_two_iterations_is_divided_by_two() {
    let (cycles, _, _) = chain_of(Function::assemble(|a| {
        let mut again = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(r8, rax).unwrap();
        a.mov(rax, rcx).unwrap();
        a.imul_2(r8, rdx).unwrap();
        a.imul_2(r8, rdx).unwrap();
        a.mov(rcx, r8).unwrap();
        a.add(rdi, 1).unwrap();
        a.cmp(rdi, rsi).unwrap();
        a.jne(again).unwrap();
        a.ret().unwrap();
    }));
    // Six cycles every other iteration.
    assert!(near(cycles, 3.0), "{cycles}");
}

#[test]
fn calls_make_the_chain_unknown() {
    let function = Function::assemble(|a| {
        let mut again = a.create_label();
        let mut callee = a.create_label();
        a.set_label(&mut again).unwrap();
        a.mov(rdi, rax).unwrap();
        a.call(callee).unwrap();
        a.add(rbx, 1).unwrap();
        a.cmp(rbx, rbp).unwrap();
        a.jne(again).unwrap();
        a.set_label(&mut callee).unwrap();
        a.ret().unwrap();
    })
    .iterations(1_000_000, 1000)
    .time(30.0, &[]);
    let cost = function.cost();
    assert_eq!(cost.chain_cycles, None);
    let LoopVerdict::Unexplained { model, .. } = &cost.verdict else {
        panic!("{:?}", cost.verdict);
    };
    assert!(
        matches!(
            &model.chain,
            Err(NoLoopChain::Opaque {
                reason: OpaqueReason::Call,
                ..
            })
        ),
        "{model:?}"
    );
}
