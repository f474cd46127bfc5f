//! Keys hashed by SipHash, and other code that rotates.

use iced_x86::code_asm::*;

use genba_model::{ConversionKind, Fix};

use crate::candidate::Candidate;
use crate::causes::costly_conversion;
use crate::input::analysis_input::{FunctionInput, UserCall};
use crate::tests::synthetic::{ALL, function, program};

/// Rounds of a hash that is made so often, with rotations by these distances in each, that take a half of the time.
fn found(rounds: usize, rotations: [u32; 6], hashes: u64) -> Vec<Candidate> {
    costly_conversion::detect(&program(vec![hashing("find", rounds, rotations, hashes)]))
}

/// The function that does so.
fn hashing(name: &str, rounds: usize, rotations: [u32; 6], hashes: u64) -> FunctionInput {
    let length = rounds * 2 * rotations.len();
    let mut counts = vec![hashes; length];
    counts.push(hashes);
    let mut heat = vec![0.5 / length as f64; length];
    heat.push(0.5);
    function(
        name,
        |a| {
            for _ in 0..rounds {
                for by in rotations {
                    a.add(rax, rcx)?;
                    a.rol(rcx, by)?;
                }
            }
            a.ret()
        },
        &counts,
        &heat,
        &[],
    )
}

const SIP: [u32; 6] = [13, 16, 32, 17, 21, 32];

/// Hashes that take so many cycles each.
fn hashes_of(cycles: f64) -> u64 {
    (0.5 * ALL / cycles) as u64
}

#[test]
fn hash_by_sip_rounds_is_a_costly_conversion() {
    let found = found(4, SIP, hashes_of(40.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ConvertDirectly(ConversionKind::KeyHash));
    let left = found[0].residual_fraction.value;
    assert!((left - 3.0 / 40.0).abs() < 0.01, "{left}");
}

#[test]
fn other_rotations_short_or_rare_hashes_are_none() {
    assert!(found(4, [13, 16, 32, 17, 22, 32], hashes_of(40.0)).is_empty());
    assert!(
        found(2, SIP, hashes_of(40.0)).is_empty(),
        "nothing finishes"
    );
    assert!(found(4, SIP, hashes_of(4.0)).is_empty(), "hardly slower");
    assert!(found(4, SIP, 10).is_empty(), "rare");
}

#[test]
fn hasher_of_the_library_hashes_with_all_its_code() {
    let share = |name: &str| {
        let mut one = hashing(name, 4, SIP, hashes_of(40.0));
        one.of_library = vec![true; one.code.len()];
        one.user_callers = vec![UserCall::default()];
        costly_conversion::detect(&program(vec![one]))[0].share
    };
    let of = |name| share(name).unwrap_or(0.0);
    assert!((of("core::hash::BuildHasher::hash_one") - 1.0).abs() < 1e-9);
    assert!((of("hashbrown::map::HashMap::get") - 0.5).abs() < 0.02);
}
