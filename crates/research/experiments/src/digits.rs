//! Numbers for readers: three digits, and no more than were measured.

use wayleave_report::numbers;

/// Returns a number with three digits or, from a thousand on, without a fraction.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "-".to_owned(),
        _ if size >= 99.95 => {
            let whole = numbers::count(size.round() as usize);
            if value < 0.0 { format!("-{whole}") } else { whole }
        }
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 || size == 0.0 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.3}")),
    }
}

/// Returns a number without trailing zeros.
pub(crate) fn mark(value: f64) -> String {
    trimmed(number(value))
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        let shown = [0.0, 0.012_34, 0.5, 1.0, 3.456, 42.26, 99.97, 1_940.4, 16_000.0, -123.0, f64::NAN].map(number);
        assert_eq!(shown, ["0", "0.012", "0.5", "1", "3.46", "42.3", "100", "1,940", "16,000", "-123", "-"]);
    }
}
