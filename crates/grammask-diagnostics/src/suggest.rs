//! Suggestions for misspelled names, by edit distance.
//!
//! Cost: bounded per candidate, since long names and names of different lengths are skipped.

/// Maximum length of a candidate, in bytes: bounds the quadratic cost of the edit distance.
const MAX_NAME_BYTES: usize = 64;

/// The closest of `names` at an edit distance of at most 2 from `name` (less for short names); the first of equals.
pub fn closest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = match name.len() {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in names {
        if candidate == name
            || candidate.len().abs_diff(name.len()) > allowed
            || candidate.len() > MAX_NAME_BYTES
        {
            continue;
        }
        let distance = if candidate.eq_ignore_ascii_case(name) { 0 } else { edit_distance(name, candidate) };
        if distance <= allowed && best.is_none_or(|(best_distance, _)| distance < best_distance) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The optimal string alignment distance over bytes: insertions, deletions, substitutions and adjacent transpositions.
fn edit_distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, &a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in right.iter().enumerate() {
            let mut min = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == right[j - 1] && left[i - 1] == b {
                min = min.min(before_last[j - 1] + 1);
            }
            row.push(min);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_closest_name() {
        let names = ["number", "string", "numbers", "value"];
        assert_eq!(closest("nubmer", names), Some("number"));
        assert_eq!(closest("Value", names), Some("value"));
        assert_eq!(closest("strings", names), Some("string"));
        assert_eq!(closest("object", names), None);
        assert_eq!(closest("number", ["number"]), None);
        assert_eq!(closest("", names), None);
        assert_eq!(closest("a", ["b", "A"]), Some("A"));
        assert_eq!(closest("a", ["b"]), None);
        assert_eq!(closest(&"x".repeat(100_000), [&*"x".repeat(99_999)]), None);
    }

    #[test]
    fn counts_edits() {
        for (left, right, distance) in
            [("", "", 0), ("ab", "ba", 1), ("abc", "", 3), ("kitten", "sitting", 3), ("abcd", "acbd", 1)]
        {
            assert_eq!(edit_distance(left, right), distance, "{left} {right}");
        }
    }
}
