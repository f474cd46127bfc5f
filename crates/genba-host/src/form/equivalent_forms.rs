//! Which operations cost the same on every x86-64 CPU known, so that one of them is measured
//! for all.
//!
//! Source: the tables of A. Fog (*Instruction tables*) and uops.info, where the members of a
//! row have equal latencies within each microarchitecture.

/// The operation measured for this one, by mnemonics without the `v` of VEX; `None` if it is
/// measured itself or not at all.
pub(super) fn representative(base: &str) -> Option<&'static str> {
    if let Some(rest) = base.strip_prefix("set") {
        return is_condition(rest).then_some("setcc");
    }
    if let Some(rest) = base.strip_prefix("cmov") {
        return is_condition(rest).then_some("cmovcc");
    }
    if let Some(fused) = fused(base) {
        return Some(fused);
    }
    ROWS.iter()
        .find(|(_, members)| members.split(' ').any(|member| member == base))
        .map(|(measured, _)| *measured)
}

const ROWS: &[(&str, &str)] = &[
    // Integer.
    ("inc", "dec"),
    ("shl", "sal"),
    ("rol", "ror"),
    ("mov", "movabs"),
    ("cdqe", "cwde cbw"),
    ("cqo", "cdq cwd"),
    ("bts", "btr btc"),
    ("blsr", "blsi blsmsk"),
    ("shlx", "shrx sarx"),
    ("nop", "endbr64 endbr32 fnop"),
    // Floating point.
    ("addsd", "subsd"),
    ("addss", "subss"),
    ("maxsd", "minsd maxss minss maxpd minpd maxps minps"),
    ("addpd", "subpd addps subps"),
    ("mulpd", "mulps"),
    ("roundsd", "roundss roundpd roundps"),
    ("andps", "andpd andnps andnpd orps orpd xorps xorpd"),
    ("cmpsd", "cmpss cmppd cmpps"),
    ("comisd", "ucomisd comiss ucomiss"),
    // Vectors of integers.
    ("paddd", "paddb paddw paddq psubb psubw psubd psubq"),
    (
        "pand",
        "por pxor pandn pandd pandq pord porq pxord pxorq pandnd pandnq",
    ),
    ("pcmpeqd", "pcmpeqb pcmpeqw"),
    ("pcmpgtd", "pcmpgtb pcmpgtw"),
    ("pminub", "pmaxub pminsw pmaxsw"),
    ("pminud", "pmaxud pminsd pmaxsd pminsb pmaxsb pminuw pmaxuw"),
    ("pslld", "psllw psllq"),
    ("psrld", "psrlw psrlq psraw psrad"),
    ("pmullw", "pmulhw pmulhuw"),
    ("psllvd", "psrlvd psllvq psrlvq"),
    // Moves and shuffles.
    (
        "movaps",
        "movapd movups movupd movdqa movdqu movdqa32 movdqa64 movdqu8 movdqu16 movdqu32 movdqu64",
    ),
    ("shufps", "shufpd"),
    ("unpcklpd", "unpckhpd unpcklps unpckhps movhlps movlhps"),
    (
        "punpckldq",
        "punpcklbw punpcklwd punpcklqdq punpckhbw punpckhwd punpckhdq punpckhqdq",
    ),
    ("pshufd", "pshuflw pshufhw"),
    ("psrldq", "pslldq"),
    ("aesenc", "aesenclast aesdec aesdeclast"),
    ("pbroadcastd", "pbroadcastq"),
    ("permq", "permpd"),
    ("permd", "permps"),
    ("perm2i128", "perm2f128"),
    ("extracti128", "extractf128"),
    ("inserti128", "insertf128"),
    (
        "kandw",
        "kandb kandd kandq korb korw kord korq kxorb kxorw kxord kxorq",
    ),
];

/// The twelve orders and signs of fused multiplications, for scalars and for vectors.
fn fused(base: &str) -> Option<&'static str> {
    let rest = ["fmadd", "fmsub", "fnmadd", "fnmsub"]
        .iter()
        .find_map(|start| base.strip_prefix(start))?;
    let rest = ["132", "213", "231"]
        .iter()
        .find_map(|order| rest.strip_prefix(order))?;
    match rest {
        "sd" | "ss" => Some("fmadd231sd"),
        "pd" | "ps" => Some("fmadd231pd"),
        _ => None,
    }
}

const CONDITIONS: &str =
    " o no b c nae ae nb nc e z ne nz be na a nbe s ns p pe np po l nge ge nl le ng g nle cc ";

/// Whether this is what follows `j`, `set` and `cmov`.
pub(super) fn is_condition(text: &str) -> bool {
    !text.is_empty() && !text.contains(' ') && CONDITIONS.contains(&format!(" {text} "))
}

/// Operations of general registers whose cost does not depend on the operands' width.
pub(super) fn any_width(mnemonic: &str) -> bool {
    const ANY: &str = " add sub and or xor cmp test adc sbb inc dec neg not shl shr sar rol \
        mov setcc cmovcc xchg bt bts andn blsr bextr shlx rorx popcnt tzcnt lzcnt movsx movzx \
        movsxd crc32 nop push pop ";
    ANY.contains(&format!(" {mnemonic} "))
}

/// Operations that change what their first operand, in memory, holds.
pub(super) fn changes_memory(mnemonic: &str) -> bool {
    const CHANGE: &str = " add sub and or xor adc sbb inc dec neg not shl shr sar rol bts ";
    CHANGE.contains(&format!(" {mnemonic} "))
}

/// Operations that only move, so that an operand in memory is a load or a store.
pub(super) fn moves(base: &str) -> bool {
    const MOVES: &str = " mov movzx movsx movsxd movbe movaps movsd movss movd movq movlps movlpd \
        movhps movhpd lddqu movnti movntdq movntps movntpd movntdqa movddup broadcastss \
        broadcastsd broadcastf128 broadcasti128 ";
    MOVES.contains(&format!(" {base} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_one_row() {
        let mut seen = std::collections::BTreeSet::new();
        for (measured, members) in ROWS {
            for member in members.split(' ').filter(|member| !member.is_empty()) {
                assert!(seen.insert(member), "{member} is in two rows");
                assert!(!ROWS.iter().any(|(other, _)| other == &member), "{member}");
                assert_ne!(measured, &member);
            }
        }
    }

    #[test]
    fn forms_that_differ_by_condition_or_order_are_equivalent() {
        assert_eq!(representative("setnbe"), Some("setcc"));
        assert_eq!(representative("setssbsy"), None);
        assert_eq!(representative("cmovl"), Some("cmovcc"));
        assert_eq!(representative("fnmsub213ps"), Some("fmadd231pd"));
        assert_eq!(representative("fmaddsub213ps"), None);
        assert_eq!(representative("add"), None);
    }
}
