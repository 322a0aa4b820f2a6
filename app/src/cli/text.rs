//! Numbers as people read them.

/// Six significant digits, with an exponent only where the number is very large or very small.
pub fn number(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return value.to_string();
    }
    let rounded = format!("{value:.5e}");
    let (digits, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..7).contains(&exponent) {
        let places = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.places$}"));
    }
    format!("{}e{exponent}", trimmed(digits))
}

/// Without zeros at the end of a fraction.
fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// A name that someone else gave: without control characters, and not longer than a table bears.
pub fn plain(name: &str) -> String {
    const MOST: usize = 200;
    let seen = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut plain: String = name.chars().take(MOST).map(seen).collect();
    if name.chars().nth(MOST).is_some() {
        plain.push_str("...");
    }
    plain
}

/// Several numbers, separated by commas.
pub fn numbers(values: &[f64]) -> String {
    values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", ")
}

/// Rows as columns of equal width, two spaces apart; no spaces at the end.
pub fn table(rows: &[Vec<String>], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|w| w.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (word, width) in row.iter().zip(&widths).filter(|(_, w)| **w > 0) {
            line += &format!("{word:width$}  ");
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_and_no_noise() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (289.15234375, "289.152"),
            (-2.0199999809265137, "-2.02"),
            (1.0000000200408773e20, "1e20"),
            (99999.97, "100000"),
            (2359459.0, "2359459"),
            (-2.3594520576e10, "-2.35945e10"),
            (0.0009000000327524512, "0.0009"),
            (2.281117340316996e-9, "2.28112e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn tables_line_up_and_leave_out_empty_columns() {
        let rows = [vec!["a".into(), String::new(), "long".into()], vec!["bcd".into(), String::new(), "x".into()]];
        assert_eq!(table(&rows, 1), " a    long\n bcd  x\n");
    }
}
