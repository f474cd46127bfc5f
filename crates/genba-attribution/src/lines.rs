//! Source lines, and how concentrated the time is.

use std::collections::HashMap;

use genba_code::Syntax;
use genba_model::{Concentration, LineRow};
use genba_profile::reader::ModuleId;

use crate::constants::CONCENTRATION_SHARE;
use crate::function_code::FunctionCode;
use crate::resolved_profile::ResolvedProfile;

/// Weight of one sampled instruction.
struct InstructionWeight {
    module: ModuleId,
    bytes: u64,
    weight: f64,
}

/// Weight by line and by instruction.
pub(crate) struct Lines {
    /// Largest first.
    pub rows: Vec<LineRow>,
    instructions: Vec<InstructionWeight>,
    /// Weight of the samples that have a line.
    lined: f64,
}

impl Lines {
    /// Attributes the samples of every function to lines and instructions.
    pub(crate) fn of(resolved: &ResolvedProfile, raw: bool) -> Self {
        let mut lines = Self {
            rows: Vec::new(),
            instructions: Vec::new(),
            lined: 0.0,
        };
        let mut weights: HashMap<(String, u32), (f64, String, Option<u64>)> = HashMap::new();
        for (id, hits) in resolved.function_hits() {
            let function = &resolved.functions[id as usize];
            let executed = resolved.executed(function);
            let spots: Vec<(u64, u64, f64)> =
                match FunctionCode::new(resolved, function, &hits, raw, Syntax::Intel) {
                    Ok(code) => code
                        .instructions
                        .iter()
                        .zip(&code.weight)
                        .filter(|(_, weight)| **weight > 0.0)
                        .map(|(i, &weight)| (i.address, u64::from(i.length), weight))
                        .collect(),
                    Err(_) => hits.iter().map(|h| (h.0, 0, h.1.weight as f64)).collect(),
                };
            for (address, bytes, weight) in spots {
                lines.instructions.push(InstructionWeight {
                    module: function.module,
                    bytes,
                    weight,
                });
                let frames = resolved.code.frames_at(function.module, address);
                let Some(inner) = frames.first() else {
                    continue;
                };
                let (Some(file), Some(line)) = (&inner.file, inner.line) else {
                    continue;
                };
                lines.lined += weight;
                let name = || {
                    let name = inner.function.as_deref();
                    name.unwrap_or(&function.name).to_owned()
                };
                let entry = weights
                    .entry((file.to_string(), line))
                    .or_insert_with(|| (0.0, name(), None));
                entry.0 += weight;
                entry.2 = entry
                    .2
                    .max(executed.map(|executed| executed.count(address)));
            }
        }
        lines.rows = weights
            .into_iter()
            .map(|((file, line), (weight, function, count))| {
                let self_share = resolved.share(weight);
                let all = resolved.hits.all.weight as f64;
                let cost = resolved.joined.as_ref().zip(count);
                LineRow {
                    file,
                    line,
                    function,
                    self_share,
                    text: None,
                    count,
                    cost_seconds: cost.and_then(|(joined, count)| {
                        joined.each(&resolved.event, self_share, all, count).0
                    }),
                }
            })
            .collect();
        lines.rows.sort_by(|a, b| {
            b.self_share
                .value
                .total_cmp(&a.self_share.value)
                .then_with(|| (&a.file, a.line).cmp(&(&b.file, b.line)))
        });
        lines
    }

    /// In how little of the code most of the time is; `function_weights` are self weights.
    pub(crate) fn concentration(
        &self,
        resolved: &ResolvedProfile,
        function_weights: &[u64],
    ) -> Option<Concentration> {
        let all = resolved.hits.all.weight as f64;
        let wanted = all * CONCENTRATION_SHARE;
        let functions =
            number_needed(function_weights.iter().map(|&w| w as f64).collect(), wanted)?;
        let shares = self
            .rows
            .iter()
            .map(|row| row.self_share.value * all)
            .collect();
        // Without line information for that much of the time no number of lines is true.
        let lines = if self.lined >= wanted {
            number_needed(shares, wanted)
        } else {
            None
        };
        Some(Concentration {
            share: CONCENTRATION_SHARE,
            functions,
            lines,
            code_share: self.code_share(resolved),
        })
    }

    /// Bytes of the hottest instructions as a share of the code that they are in. Code that
    /// cannot be read (the kernel's) stays out of both.
    fn code_share(&self, resolved: &ResolvedProfile) -> Option<f64> {
        let mut heat: Vec<&InstructionWeight> = self
            .instructions
            .iter()
            .filter(|hot| hot.bytes > 0)
            .collect();
        let wanted = CONCENTRATION_SHARE * heat.iter().map(|hot| hot.weight).sum::<f64>();
        heat.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut modules: Vec<ModuleId> = heat.iter().map(|hot| hot.module).collect();
        modules.sort_unstable();
        modules.dedup();
        let total: u64 = modules
            .iter()
            .filter_map(|&id| resolved.code.text_size(id))
            .sum();
        let mut sum = 0.0;
        let mut bytes = 0;
        for hot in heat {
            if sum >= wanted {
                break;
            }
            sum += hot.weight;
            bytes += hot.bytes;
        }
        (total > 0).then(|| bytes as f64 / total as f64)
    }
}

/// How many of the largest weights are needed for `wanted`; `None` if all do not suffice.
pub(crate) fn number_needed(mut weights: Vec<f64>, wanted: f64) -> Option<u32> {
    weights.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    for (index, weight) in weights.iter().enumerate() {
        sum += weight;
        // Sums of parts may stay under the whole by a rounding error.
        if sum >= wanted * (1.0 - 1e-9) {
            return u32::try_from(index + 1).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::number_needed;

    #[test]
    fn the_largest_weights_are_counted_until_the_share_is_reached() {
        assert_eq!(number_needed(vec![10.0, 60.0, 30.0], 80.0), Some(2));
        assert_eq!(number_needed(vec![100.0], 80.0), Some(1));
        assert_eq!(number_needed(vec![10.0, 20.0], 80.0), None);
        assert_eq!(number_needed(vec![], 0.1), None);
    }
}
