//! Facts about conversions by library routines.

use genba_model::{ConversionFact, ConversionKind};

use super::{count, cycle_range};

pub(super) fn sentence(fact: &ConversionFact) -> String {
    match fact {
        ConversionFact::Calls {
            routine,
            format,
            calls,
            places,
        } => {
            let format = format.as_ref().map_or(String::new(), |format| {
                format!(" with the format \"{format}\"")
            });
            let from = match places {
                0 | 1 => "from here".to_owned(),
                more => format!("from {more} places of this function"),
            };
            format!(
                "`{routine}`{format} is called {} times {from}",
                count(*calls)
            )
        }
        ConversionFact::WholeNumbers { calls } => format!(
            "takes a floating-point number and writes a whole one, in about {} calls",
            count(*calls)
        ),
        ConversionFact::DirectCost { kind, cycles } => {
            let cycles = format!("{} cycles", cycle_range(cycles));
            match kind {
                ConversionKind::FormatFloat => format!(
                    "converting the same numbers to text by code for that purpose takes {cycles}"
                ),
                ConversionKind::Format | ConversionKind::FormatInteger => {
                    format!("writing the same digits and text directly takes {cycles}")
                }
                ConversionKind::FormatWhole => {
                    format!("writing the digits of an integer takes {cycles}")
                }
                ConversionKind::FormatCharacter => {
                    format!("storing the characters directly takes {cycles}")
                }
                ConversionKind::FormatText => {
                    format!("appending short texts one after the other takes {cycles}")
                }
                ConversionKind::ParseFloat => {
                    format!("parsing a plain decimal number directly takes {cycles}")
                }
                ConversionKind::ParseInteger => {
                    format!("adding up the digits of a short number directly takes {cycles}")
                }
                ConversionKind::Scan => {
                    format!("parsing the same fields without a format takes {cycles}")
                }
                ConversionKind::LocalTime | ConversionKind::TimeText => {
                    format!("reusing what was converted for the same day or second takes {cycles}")
                }
                ConversionKind::Account => {
                    format!("finding a name that was looked up before takes {cycles}")
                }
                ConversionKind::Stream => {
                    format!(
                        "writing the same values and text into a string directly takes {cycles}"
                    )
                }
                ConversionKind::Encoding => {
                    format!("converting a short text directly takes {cycles}")
                }
                ConversionKind::AddressText => {
                    format!("writing or reading the numbers directly takes {cycles}")
                }
                ConversionKind::MatchPattern => {
                    format!("finding a short pattern in a line of text directly takes {cycles}")
                }
                ConversionKind::Exception => {
                    format!("testing an outcome that was returned takes {cycles}")
                }
                ConversionKind::TypeTest => {
                    format!("a virtual call or a test of a number takes {cycles}")
                }
                ConversionKind::KeyHash => {
                    format!("hashing a short key by multiplications takes {cycles}")
                }
                ConversionKind::CompilePattern => {
                    format!("finding a pattern that was compiled before takes {cycles}")
                }
            }
        }
    }
}
