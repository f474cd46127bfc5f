//! Bursts in code that the program writes while it runs.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use genba_count::BurstPlan;
use genba_model::{Burst, CodePoint, Observation, Observed};
use genba_run::Output;

use crate::generated_code::{PAGE, generated};
use crate::support;

/// Offset of the function that writes to its own page.
const OWN: u64 = 0x800;

/// At the page's start a function that is rewritten again and again, by code elsewhere; at [`OWN`] a
/// loop that patches its own next instruction.
const WRITES: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
typedef long (*function)(long);
static unsigned char *page;
__attribute__((noinline)) static void make(int32_t add) { memcpy(page + 3, &add, 4); }
int main(void) {
    page = mmap((void *)0x20000000, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != (void *)0x20000000) return 1;
    /* lea rax, [rdi + add]; ret */
    static const unsigned char plain[] = {0x48, 0x8D, 0x87, 0, 0, 0, 0, 0xC3};
    memcpy(page, plain, sizeof plain);
    /* mov ecx, 100; 1: mov [rip + 1], cl; mov eax, imm32; dec ecx; jnz 1b; ret */
    static const unsigned char self[] = {0xB9, 100, 0, 0, 0, 0x88, 0x0D, 1, 0, 0, 0,
                                         0xB8, 0, 0, 0, 0, 0xFF, 0xC9, 0x75, 0xF1, 0xC3};
    memcpy(page + 0x800, self, sizeof self);
    long sum = 0;
    for (int i = 0; i < 10000; i++) {
        make(i);
        for (int k = 0; k < 2000; k++) sum = sum * 3 + ((function)page)(k);
        if (i % 100 == 0) for (int k = 0; k < 3; k++) sum += ((function)(page + 0x800))(0);
    }
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Values that the generated function returned after the code was written in the same burst, with
/// what was added by the newest code and the function's argument.
fn returned_after_write(seen: &Observation, burst: &Burst) -> Vec<(u64, u64)> {
    let generated = |point: CodePoint| {
        let module = &seen.modules[point.module as usize];
        (module.path == "[generated]").then_some(point.address)
    };
    let (mut added, mut argument) = (None, None);
    let mut found = Vec::new();
    for event in &burst.events {
        match event.what {
            Observed::Store { address, value, .. } if address == PAGE + 3 => added = Some(value),
            Observed::Call { target, arguments } if generated(target) == Some(PAGE) => {
                argument = Some(arguments[0]);
            }
            Observed::Return { value } if generated(event.at) == Some(PAGE + 7) => {
                if let (Some(added), Some(argument)) = (added, argument) {
                    found.push((value, added.wrapping_add(argument)));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn bursts_go_through_code_that_is_rewritten_in_their_middle() {
    let test = "bursts_go_through_code_that_is_rewritten_in_their_middle";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = support::compile(directory.path(), test, WRITES, &[]) else {
        return;
    };
    let native = Command::new(&program).output().expect("it runs");
    assert!(native.status.success());
    let output = directory.path().join("output");
    let mut request = support::request(&program, Vec::<String>::new());
    request.spec.stdout = Output::File(output.clone());
    let plan = BurstPlan {
        bursts: 64,
        words: 100_000,
        interval: Duration::from_micros(200),
        seed: 3,
    };
    let counts = super::observe(request, plan);
    assert_eq!(counts.exit, 0);
    assert_eq!(std::fs::read(&output).expect("its output"), native.stdout);
    let (calls, own) = (10_000 * 2000, 300);
    let expected = BTreeMap::from([
        (0, calls),
        (7, calls),
        (OWN, own),
        (OWN + 5, own * 100),
        (OWN + 11, own * 100),
        (OWN + 16, own * 100),
        (OWN + 18, own * 100),
        (OWN + 20, own),
    ]);
    assert_eq!(generated(&counts), expected);
    let seen = super::observation(&counts);
    let returned: Vec<(u64, u64)> = (seen.bursts.iter())
        .flat_map(|burst| returned_after_write(seen, burst))
        .collect();
    let lengths = seen.bursts.iter().map(|burst| burst.instructions);
    assert!(
        returned.len() > 100,
        "{} in bursts of {:?} instructions; {:?}",
        returned.len(),
        lengths.collect::<Vec<_>>(),
        seen.notes
    );
    for (value, expected) in returned {
        assert_eq!(value, expected);
    }
}
