//! A form's parts.

/// The kind of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// General register of this many bits.
    Register(u32),
    /// `xmm`, `ymm`, `zmm` by their bits.
    Vector(u32),
    /// Mask register.
    Mask,
    /// MMX register.
    Mmx,
    /// Memory of this many bits; 0 if unknown.
    Memory(u32),
    /// Immediate.
    Immediate,
}

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "r8" => Self::Register(8),
            "r16" => Self::Register(16),
            "r32" => Self::Register(32),
            "r64" => Self::Register(64),
            "xmm" => Self::Vector(128),
            "ymm" => Self::Vector(256),
            "zmm" => Self::Vector(512),
            "k" => Self::Mask,
            "mm" => Self::Mmx,
            "i" => Self::Immediate,
            "m" => Self::Memory(0),
            _ => {
                let bits = text.strip_prefix('m')?.parse().ok()?;
                return (8..=4096).contains(&bits).then_some(Self::Memory(bits));
            }
        })
    }

    /// As it is written; memory keeps its size.
    pub(super) fn text(self) -> String {
        match self {
            Self::Register(bits) => format!("r{bits}"),
            Self::Vector(128) => "xmm".to_owned(),
            Self::Vector(256) => "ymm".to_owned(),
            Self::Vector(_) => "zmm".to_owned(),
            Self::Mask => "k".to_owned(),
            Self::Mmx => "mm".to_owned(),
            Self::Memory(0) => "m".to_owned(),
            Self::Memory(bits) => format!("m{bits}"),
            Self::Immediate => "i".to_owned(),
        }
    }

    pub(super) fn is_memory(self) -> bool {
        matches!(self, Self::Memory(_))
    }

    pub(super) fn is_vector(self) -> bool {
        matches!(self, Self::Vector(_))
    }
}

/// A form taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// With its prefix, as in `lock add`.
    pub(super) mnemonic: String,
    pub(super) operands: Vec<Kind>,
}

const PREFIXES: [&str; 6] = ["lock ", "rep ", "repe ", "repne ", "bnd ", "notrack "];
const MOST_OPERANDS: usize = 5;

impl Form {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let start = PREFIXES
            .iter()
            .find(|prefix| text.starts_with(**prefix))
            .map_or(0, |prefix| prefix.len());
        let (mnemonic, operands) = match text[start..].split_once(' ') {
            Some((mnemonic, operands)) => (&text[..start + mnemonic.len()], operands),
            None => (text, ""),
        };
        let mnemonic = mnemonic
            .strip_prefix("bnd ")
            .or_else(|| mnemonic.strip_prefix("notrack "))
            .unwrap_or(mnemonic);
        let operands = match operands {
            "" => Vec::new(),
            operands => operands
                .split(", ")
                .take(MOST_OPERANDS + 1)
                .map(Kind::parse)
                .collect::<Option<Vec<_>>>()?,
        };
        (operands.len() <= MOST_OPERANDS && !mnemonic.is_empty()).then(|| Self {
            mnemonic: mnemonic.to_owned(),
            operands,
        })
    }

    pub(super) fn text(&self) -> String {
        let operands: Vec<String> = self.operands.iter().map(|kind| kind.text()).collect();
        if operands.is_empty() {
            self.mnemonic.clone()
        } else {
            format!("{} {}", self.mnemonic, operands.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_are_parsed() {
        for text in [
            "add r32, i",
            "div r64",
            "mov r64, m64",
            "vaddpd ymm, ymm, m256",
            "jne",
            "lock add m64, r64",
            "rep movsb",
            "kmovw k, r32",
        ] {
            assert_eq!(
                Form::parse(text).map(|form| form.text()),
                Some(text.to_owned())
            );
        }
        for wrong in [
            "",
            "add r7",
            "add r64,r64",
            "add m1",
            "x i, i, i, i, i, i",
            "add r64, ",
        ] {
            assert_eq!(Form::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn anything_may_be_asked(text in ".{0,40}") {
            if let Some(form) = Form::parse(&text) {
                let _ = form.text();
            }
        }
    }
}
