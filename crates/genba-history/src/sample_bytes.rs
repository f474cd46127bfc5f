//! Values as bytes: little-endian doubles, NaN for a missing one.

/// The bytes of values.
pub(crate) fn encode(values: &[Option<f64>]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.unwrap_or(f64::NAN).to_le_bytes())
        .collect()
}

/// The values of bytes; `None` if the length is not that of doubles.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Option<f64>>> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| {
        chunks
            .iter()
            .map(|chunk| Some(f64::from_le_bytes(*chunk)).filter(|value| !value.is_nan()))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_round_trip() {
        let values = [
            Some(1.5),
            None,
            Some(-0.0),
            Some(f64::MAX),
            Some(f64::INFINITY),
        ];
        assert_eq!(decode(&encode(&values)).unwrap(), values);
        assert_eq!(decode(&[1, 2, 3]), None);
    }
}
