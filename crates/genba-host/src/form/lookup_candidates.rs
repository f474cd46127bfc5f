//! Which forms may speak for one that is not in the table.

use super::equivalent_forms::{any_width, representative};
use super::parse_form::{Form, Kind};

/// The mnemonic without `v` where the rest is one that is known of vectors.
pub(super) fn base(form: &Form) -> (&str, bool) {
    let vector = form.operands.iter().any(|kind| kind.is_vector());
    match form.mnemonic.strip_prefix('v') {
        Some(rest) if vector => (rest, true),
        _ => (&form.mnemonic, false),
    }
}

/// The forms that may speak for this one, nearest first.
pub(super) fn candidates(form: &Form) -> Vec<Form> {
    let mut all = vec![form.clone()];
    let (name, vex) = base(form);
    let named = representative(name);
    if let Some(named) = named {
        let mut other = form.clone();
        other.mnemonic = if vex {
            format!("v{named}")
        } else {
            named.to_owned()
        };
        all.push(other);
    }
    let general = named.unwrap_or(name);
    if !form.operands.iter().any(|kind| kind.is_vector()) {
        general_registers(&mut all, form, general);
    } else {
        vectors(&mut all, form, general, vex);
    }
    all
}

fn general_registers(all: &mut Vec<Form>, form: &Form, name: &str) {
    let mut push = |operands: Vec<Kind>| {
        all.push(Form {
            mnemonic: name.to_owned(),
            operands,
        });
    };
    match name {
        "setcc" => push(vec![Kind::Register(8)]),
        "nop" => push(Vec::new()),
        "kandw" => push(vec![Kind::Mask; 3]),
        // One operand: the product is twice as wide, signed or not.
        "imul" if form.operands.len() == 1 => all.push(Form {
            mnemonic: "mul".to_owned(),
            operands: form.operands.clone(),
        }),
        "imul" if form.operands == [Kind::Register(32), Kind::Register(32), Kind::Immediate] => {
            push(vec![Kind::Register(32); 2]);
        }
        "movzx" | "movsx" => push(vec![
            Kind::Register(if name == "movzx" { 32 } else { 64 }),
            Kind::Register(8),
        ]),
        _ => {}
    }
    if !any_width(name) {
        return;
    }
    let count_in_register = matches!(name, "shl" | "shr" | "sar" | "rol")
        && form.operands.len() == 2
        && matches!(form.operands[1], Kind::Register(_));
    let mut wide = widened(form);
    if count_in_register {
        wide[1] = Kind::Register(8);
        let shift = if name == "rol" { "rol" } else { "shl" };
        all.push(Form {
            mnemonic: shift.to_owned(),
            operands: wide,
        });
        return;
    }
    if name == "movsxd" {
        wide = vec![Kind::Register(64), Kind::Register(32)];
    }
    all.push(Form {
        mnemonic: name.to_owned(),
        operands: wide.clone(),
    });
    // An immediate or a register is the same to these.
    if wide.len() == 2 && name != "mov" {
        for second in [Kind::Register(64), Kind::Immediate] {
            all.push(Form {
                mnemonic: name.to_owned(),
                operands: vec![wide[0], second],
            });
        }
    }
    if name == "push" {
        all.push(Form {
            mnemonic: name.to_owned(),
            operands: vec![Kind::Register(64)],
        });
    }
    if name == "mov" && form.operands.get(1) == Some(&Kind::Immediate) {
        all.push(Form {
            mnemonic: name.to_owned(),
            operands: vec![Kind::Register(32), Kind::Immediate],
        });
    }
}

/// The operands of a form, its registers of 64 bits.
fn widened(form: &Form) -> Vec<Kind> {
    let wide = |&kind: &Kind| match kind {
        Kind::Register(_) => Kind::Register(64),
        other => other,
    };
    form.operands.iter().map(wide).collect()
}

fn vectors(all: &mut Vec<Form>, form: &Form, name: &str, vex: bool) {
    let fused = name == "fmadd231pd" && form.operands.first() == Some(&Kind::Vector(128));
    if fused {
        all.push(Form {
            mnemonic: "vfmadd231sd".to_owned(),
            operands: form.operands.clone(),
        });
    }
    let mut push = |mnemonic: &str, operands: &[Kind]| {
        all.push(Form {
            mnemonic: mnemonic.to_owned(),
            operands: operands.to_vec(),
        });
    };
    let xmm_only = !form
        .operands
        .iter()
        .any(|kind| matches!(kind, Kind::Vector(256 | 512)));
    if vex && xmm_only {
        push(name, &form.operands);
        if form.operands.len() >= 2 && form.operands[1].is_vector() && form.operands.len() > 2 {
            push(name, &form.operands[1..]);
        }
    }
    // `movd` is `movq` of fewer bits.
    if matches!(name, "movd" | "movq") {
        let wide = widened(form);
        push("movq", &wide);
    }
    if matches!(name, "pmovmskb") {
        push(name, &[Kind::Register(32), Kind::Vector(128)]);
    }
}
