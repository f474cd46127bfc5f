use proptest::prelude::*;

use super::*;

fn entry(form: &str, latency: f64, throughput: f64) -> HostTableEntry {
    HostTableEntry {
        form: form.to_owned(),
        latency_cycles: (latency >= 0.0).then(|| Estimate::exact(latency)),
        reciprocal_throughput_cycles: (throughput >= 0.0).then(|| Estimate::exact(throughput)),
        ..HostTableEntry::default()
    }
}

fn table() -> HostTable {
    let entries = [
        ("add r64, r64", 1.0, 0.25),
        ("add r64, i", 1.0, 0.25),
        ("cmovcc r64, r64", 1.0, 0.5),
        ("setcc r8", 1.0, 0.5),
        ("shl r64, i", 1.0, 0.5),
        ("shl r64, r8", 2.0, 1.0),
        ("inc r64", 1.0, 0.25),
        ("imul r64, r64", 3.0, 1.0),
        ("imul r32, r32", 3.0, 1.0),
        ("mul r64", 4.0, 2.0),
        ("cmp r64, r64", 1.0, 0.25),
        ("div r64 [zero]", 7.0, 4.0),
        ("div r64 [small]", 9.0, 5.0),
        ("div r64 [large]", 18.0, 11.0),
        ("div r64 [128-bit dividend]", 90.0, 80.0),
        ("lea r64, m [base + index]", 1.0, 0.25),
        ("lea r64, m [3 components]", 2.0, 0.5),
        ("mov r64, m64", 4.0, 0.5),
        ("mov m64, r64", -1.0, 1.0),
        ("add m64, r64 [same address]", 2.0, 1.0),
        ("add m64, r64 [new address]", 7.0, -1.0),
        ("movzx r32, r8", 1.0, 0.25),
        ("movq xmm, m64", 6.0, 0.5),
        ("movups xmm, m128", -1.0, 0.5),
        ("vmovups ymm, m256", 7.0, 0.5),
        ("movups m128, xmm", -1.0, 1.0),
        ("addsd xmm, xmm", 3.0, 0.5),
        ("addpd xmm, xmm", 3.0, 0.5),
        ("sqrtsd xmm, xmm", 20.0, 5.0),
        ("vaddpd ymm, ymm, ymm", 3.5, 0.5),
        ("vfmadd231sd xmm, xmm, xmm", 4.0, 0.5),
        ("pshufd xmm, xmm, i", 1.0, 0.5),
        ("paddd xmm, xmm", 1.0, 0.25),
        ("cvtsi2sd xmm, r64", 7.0, 1.0),
        ("movq xmm, r64", 2.0, 1.0),
        ("lock add m64, r64", 18.0, 18.0),
        ("xchg m64, r64", 19.0, 18.0),
        ("jmp [taken]", -1.0, 1.0),
        ("jcc [taken]", -1.0, 1.0),
        ("jcc [not taken]", -1.0, 0.5),
        ("call + ret", -1.0, 4.0),
        ("call [indirect] + ret", -1.0, 6.0),
        ("push r64", -1.0, 1.0),
    ];
    HostTable {
        host: crate::fingerprint(false),
        measured: String::new(),
        frequency_hz: 1e9,
        frequency_range_hz: (1e9, 1e9),
        seconds: 1.0,
        entries: entries
            .into_iter()
            .map(|(form, latency, throughput)| entry(form, latency, throughput))
            .collect(),
        notes: Vec::new(),
    }
}

/// Latency as value, low and high.
fn latency(form: &str) -> Option<(f64, f64, f64)> {
    let table = table();
    let latency = cost_of(&table, form)?.latency?;
    Some((latency.value, latency.low, latency.high))
}

fn one(value: f64) -> Option<(f64, f64, f64)> {
    Some((value, value, value))
}

#[test]
fn narrower_forms_and_immediates_cost_what_64_bit_forms_do() {
    for form in [
        "add r64, r64",
        "add r32, i",
        "add r8, r8",
        "cmovne r32, r32",
        "setg r8",
        "dec r32",
        "sal r32, i",
        "cmp r16, i",
        "movzx r64, r16",
    ] {
        assert_eq!(latency(form), one(1.0), "{form}");
    }
    assert_eq!(latency("shr r32, r8"), one(2.0));
    assert_eq!(latency("imul r32, r32, i"), one(3.0));
    assert_eq!(latency("imul r64"), one(4.0));
}

#[test]
fn unknown_operands_give_a_range() {
    assert_eq!(latency("div r64"), Some((12.5, 7.0, 18.0)));
    assert_eq!(latency("lea r32, m"), Some((1.5, 1.0, 2.0)));
    let table = table();
    let cost = cost_of(&table, "div r64").expect("a cost");
    assert_eq!(
        cost.entries,
        ["div r64 [zero]", "div r64 [small]", "div r64 [large]"]
    );
    // An entry can be asked for by its whole name.
    assert_eq!(latency("div r64 [small]"), one(9.0));
}

#[test]
fn memory_operands_add_a_load() {
    assert_eq!(latency("mov r64, m64"), one(4.0));
    assert_eq!(latency("movzx r32, m8"), one(4.0));
    assert_eq!(latency("add r64, m64"), one(5.0));
    assert_eq!(latency("imul r64, m64"), one(7.0));
    assert_eq!(latency("cmp m64, r64"), one(5.0));
    assert_eq!(latency("cmp m8, i"), one(5.0));
    assert_eq!(latency("div m64"), Some((16.5, 11.0, 22.0)));
    assert_eq!(latency("addsd xmm, m64"), one(9.0));
    assert_eq!(latency("vaddpd ymm, ymm, m256"), one(10.5));
    assert_eq!(latency("cvtsi2sd xmm, m64"), one(11.0 + 2.0));
    assert_eq!(latency("vmovdqu ymm, m256"), one(7.0));
    assert_eq!(latency("movsd xmm, m64"), one(6.0));
}

#[test]
fn read_modify_write_costs_load_operation_and_store() {
    let table = table();
    let store = cost_of(&table, "mov m32, r32").expect("a cost");
    assert_eq!(
        (store.latency, store.throughput),
        (None, Some(Estimate::exact(1.0)))
    );
    assert_eq!(
        cost_of(&table, "movsd m64, xmm").expect("a cost").entries,
        ["movups m128, xmm"]
    );
    assert_eq!(latency("add m8, i"), Some((4.5, 2.0, 7.0)));
    assert_eq!(latency("shl m64, r8"), Some((5.5, 3.0, 8.0)));
    assert_eq!(latency("lock inc m32"), one(18.0));
    assert_eq!(latency("xchg m32, r32"), one(19.0));
    assert_eq!(
        cost_of(&table, "push i").expect("a cost").entries,
        ["push r64"]
    );
}

#[test]
fn vex_forms_cost_what_legacy_forms_do() {
    assert_eq!(latency("vaddsd xmm, xmm, xmm"), one(3.0));
    assert_eq!(latency("vsubps xmm, xmm, xmm"), one(3.0));
    assert_eq!(latency("vsqrtsd xmm, xmm, xmm"), one(20.0));
    assert_eq!(latency("vsubps ymm, ymm, ymm"), one(3.5));
    assert_eq!(latency("vfnmadd213pd xmm, xmm, xmm"), one(4.0));
    assert_eq!(latency("vpshufd xmm, xmm, i"), one(1.0));
    assert_eq!(latency("vpsubq xmm, xmm, xmm"), one(1.0));
    assert_eq!(latency("vcvtsi2sd xmm, xmm, r64"), one(7.0));
    assert_eq!(latency("movd xmm, r32"), one(2.0));
    let table = table();
    let wide = cost_of(&table, "vpsubq ymm, ymm, ymm").expect("a cost");
    assert_eq!(
        (wide.latency, wide.throughput),
        (Some(Estimate::exact(1.0)), None)
    );
}

#[test]
fn branches_have_no_latency() {
    let table = table();
    for (form, value, low, high) in [
        ("jne", 0.75, 0.5, 1.0),
        ("jmp", 1.0, 1.0, 1.0),
        ("call", 2.0, 0.0, 4.0),
        ("ret", 2.0, 0.0, 4.0),
        ("call m64", 3.0, 0.0, 6.0),
    ] {
        let cost = cost_of(&table, form).expect(form);
        assert_eq!(cost.latency, None);
        assert_eq!(
            cost.throughput,
            Some(Estimate { value, low, high }),
            "{form}"
        );
    }
}

#[test]
fn form_without_an_entry_has_no_cost() {
    let table = table();
    for form in [
        "",
        "div r16",
        "div r32",
        "imul r16, r16",
        "jmp r64",
        "jrcxz_",
        "cpuid",
        "fadd",
        "vdivpd ymm, ymm, ymm",
        "vaddpd zmm, zmm, zmm",
        "rep movsb",
        "add xmm, xmm",
        "vextractf128 m128, ymm, i",
        "add r64, nonsense",
        "div r64 [none]",
    ] {
        assert_eq!(cost_of(&table, form), None, "{form}");
    }
}

proptest! {
    #[test]
    fn anything_may_be_asked(text in "(lock )?[a-z]{1,8} ?((r64|r8|m64|xmm|ymm|m|i)(, )?){0,4}") {
        let table = table();
        if let Some(cost) = cost_of(&table, &text) {
            prop_assert!(!cost.entries.is_empty());
            for entry in &cost.entries {
                prop_assert!(table.entry(entry).is_some());
            }
            if let Some(latency) = cost.latency {
                prop_assert!(latency.low <= latency.value && latency.value <= latency.high);
            }
        }
    }
}
