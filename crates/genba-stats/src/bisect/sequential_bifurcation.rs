//! Sequential bifurcation: elements of a set that change a metric without noise, by halving.

/// An element, or elements that act only together, with their effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The items.
    pub items: Vec<usize>,
    /// Change of the metric by these items alone, in its unit.
    pub effect: f64,
    /// Whether it was measured that no smaller part of them alone has this effect, or there is
    /// only one.
    pub split: bool,
}

/// Finds the items behind an effect by halving (sequential bifurcation: Bettonville and
/// Kleijnen, "Searching for important factors in simulation models with many factors", European
/// Journal of Operational Research 96 (1997)). `effect_of` measures a subset alone: value with
/// these items on less the value with none. A single culprit takes log₂ n measurements, since a
/// half that holds the whole effect acquits the other. Effects up to `negligible` are none.
/// Where the halves by themselves do not add up to the whole, the items act together; they are
/// handed back unsplit, for [`reduce`](crate::reduce).
///
/// # Errors
/// The first error of `effect_of`.
pub fn bifurcate<E>(
    items: &[usize],
    whole: f64,
    negligible: f64,
    effect_of: &mut dyn FnMut(&[usize]) -> Result<f64, E>,
) -> Result<Vec<Share>, E> {
    if whole.abs() <= negligible || items.is_empty() {
        return Ok(Vec::new());
    }
    if items.len() == 1 {
        return Ok(vec![Share {
            items: items.to_vec(),
            effect: whole,
            split: true,
        }]);
    }
    let (left, right) = items.split_at(items.len() / 2);
    let of_left = effect_of(left)?;
    // A half that shows all of it acquits the other, unless its effects cancel.
    if (of_left - whole).abs() <= negligible {
        return bifurcate(left, of_left, negligible, effect_of);
    }
    let of_right = effect_of(right)?;
    if (of_left + of_right - whole).abs() > 2.0 * negligible {
        return Ok(vec![Share {
            items: items.to_vec(),
            effect: whole,
            split: false,
        }]);
    }
    let mut shares = bifurcate(left, of_left, negligible, effect_of)?;
    shares.extend(bifurcate(right, of_right, negligible, effect_of)?);
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn shares(effects: &[f64]) -> (Vec<Share>, usize) {
        let items: Vec<usize> = (0..effects.len()).collect();
        let mut measured = 0;
        let found = bifurcate(&items, effects.iter().sum(), 0.5, &mut |subset| {
            measured += 1;
            Ok::<_, Infallible>(subset.iter().map(|item| effects[*item]).sum())
        })
        .unwrap();
        (found, measured)
    }

    #[test]
    fn one_culprit_takes_at_most_two_logarithms_of_measurements() {
        let mut effects = vec![0.0; 1024];
        effects[0] = 100.0;
        let (found, measured) = shares(&effects);
        assert_eq!((found[0].items[0], found.len(), measured), (0, 1, 10));
        effects.swap(0, 1023);
        let (found, measured) = shares(&effects);
        assert_eq!((found[0].items[0], found.len(), measured), (1023, 1, 20));
    }

    #[test]
    fn interacting_elements_are_not_split() {
        let found = bifurcate(&[0, 1, 2, 3], 10.0, 0.5, &mut |subset: &[usize]| {
            let both = subset.contains(&1) && subset.contains(&2);
            Ok::<_, Infallible>(if both { 10.0 } else { 0.0 })
        })
        .unwrap();
        assert_eq!((found.len(), found[0].split), (1, false));
    }

    proptest! {
        #[test]
        fn additive_effects_are_all_found(effects in prop::collection::vec(prop_oneof![4 => Just(0.0), 1 => 10.0..1e3f64], 1..60)) {
            let (found, _) = shares(&effects);
            let expected: Vec<usize> = (0..effects.len()).filter(|item| effects[*item] != 0.0).collect();
            let items: Vec<usize> = found.iter().flat_map(|share| share.items.clone()).collect();
            prop_assert_eq!(items, expected);
        }
    }
}
