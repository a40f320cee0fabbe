//! "Did you mean": the known name closest to an unknown one.
//!
//! Cost: bounded per name, because long names and names of other lengths are not compared.

/// Longest name that is worth a comparison, in bytes.
const LONGEST: usize = 64;

/// The name among `names` that is at most two edits (fewer for short names) away from `name`, the closest first.
pub fn closest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = match name.len() {
        0..=1 => 0,
        2..=3 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in names {
        if candidate == name || candidate.len().abs_diff(name.len()) > allowed || candidate.len() > LONGEST {
            continue;
        }
        let distance = if candidate.eq_ignore_ascii_case(name) { 0 } else { edits(name, candidate) };
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance over bytes: insertions, deletions, replacements and swaps of neighbours.
fn edits(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, &a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in right.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a == right[j - 1] && left[i - 1] == b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
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
            assert_eq!(edits(left, right), distance, "{left} {right}");
        }
    }
}
