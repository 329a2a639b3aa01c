//! Formats of `/metrics`: OpenMetrics 1.0 for scrapers that ask for it, and the text format 0.0.4 for all others.
//!
//! The metrics are encoded as OpenMetrics. The text format differs in the header lines: the name of a family has the
//! suffix of its samples, information is a gauge, and there are no units and no end mark
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

/// Format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposition {
    OpenMetrics,
    Text,
}

pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Exposition {
    /// Returns the format for an `Accept` header (RFC 9110, section 12.5.1): OpenMetrics only if it is named, and not
    /// preferred less than text.
    pub(crate) fn of(accept: Option<&str>) -> Self {
        let weight = |media: &str| {
            let ranges = accept.unwrap_or_default().split(',').map(range);
            ranges.filter(|(named, _)| named.eq_ignore_ascii_case(media)).map(|(_, weight)| weight).max()
        };
        let open = weight("application/openmetrics-text").unwrap_or(0);
        if open > 0 && open >= weight("text/plain").unwrap_or(0) { Self::OpenMetrics } else { Self::Text }
    }

    pub(crate) const fn media(self) -> &'static str {
        match self {
            Self::OpenMetrics => OPEN_METRICS,
            Self::Text => TEXT,
        }
    }

    /// Returns metrics, given as OpenMetrics, in this format.
    pub(crate) fn of_open_metrics(self, metrics: String) -> String {
        match self {
            Self::OpenMetrics => metrics,
            Self::Text => text(&metrics),
        }
    }
}

/// Returns a media range and its weight in thousandths; a malformed weight is 0.
fn range(text: &str) -> (&str, u32) {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f64>().ok());
    let weight = weight.filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0);
    (media, (weight * 1000.0) as u32)
}

fn text(metrics: &str) -> String {
    let mut text = String::with_capacity(metrics.len());
    let mut help = None;
    for line in metrics.lines() {
        if let Some(line) = line.strip_prefix("# HELP ") {
            // The suffix follows from the type in the next line.
            help = line.split_once(' ').map(|(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                other => ("", other),
            };
            if let Some(help) = help.take() {
                text += &format!("# HELP {name}{suffix} {help}\n");
            }
            text += &format!("# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            text += line;
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_is_for_scrapers_that_prefer_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for accept in [prometheus, "application/openmetrics-text", "text/plain;q=0.5, Application/OpenMetrics-Text"] {
            assert_eq!(Exposition::of(Some(accept)), Exposition::OpenMetrics, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/plain",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.2,text/plain",
            "application/openmetrics-text;q=much",
        ] {
            assert_eq!(Exposition::of(Some(accept)), Exposition::Text, "{accept}");
        }
        assert_eq!(Exposition::of(None), Exposition::Text);
    }

    #[test]
    fn header_lines_of_the_text_format_have_the_names_of_samples() {
        let metrics = "# HELP a Help a.\n# TYPE a counter\na_total{x=\"# TYPE y counter\"} 1\n# HELP b_seconds Help b.\n\
            # TYPE b_seconds gauge\n# UNIT b_seconds seconds\nb_seconds 2.5\n# HELP c Help c.\n# TYPE c info\nc_info 1\n# EOF\n";
        let expected = "# HELP a_total Help a.\n# TYPE a_total counter\na_total{x=\"# TYPE y counter\"} 1\n# HELP b_seconds Help b.\n\
            # TYPE b_seconds gauge\nb_seconds 2.5\n# HELP c_info Help c.\n# TYPE c_info gauge\nc_info 1\n";
        assert_eq!(Exposition::Text.of_open_metrics(metrics.to_owned()), expected);
        assert_eq!(Exposition::OpenMetrics.of_open_metrics(metrics.to_owned()), metrics);
    }
}
