//! Checks of `/metrics` against the rules of OpenMetrics 1.0 (<https://prometheus.io/docs/specs/om/open_metrics_spec/>), of the
//! text format 0.0.4 (<https://prometheus.io/docs/instrumenting/exposition_formats/>), and those of `promtool check metrics`. A scrape that
//! breaks one of them is discarded as a whole, or shows wrong data.

use std::collections::{BTreeMap, BTreeSet};

/// A family of series: the header lines above its samples.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    help: bool,
    unit: Option<String>,
    /// Samples by name and labels.
    samples: BTreeMap<(String, String), f64>,
}

/// Everything that is wrong with metrics in the text format 0.0.4.
pub(crate) fn text_faults(text: &str) -> Vec<String> {
    let mut reader = Reader { is_text: true, ..Reader::default() };
    if !text.ends_with('\n') {
        reader.faults.push("its last line does not end".to_owned());
    }
    text.lines().for_each(|line| reader.line(line));
    for (name, family) in &reader.families {
        let plain = match family.kind.as_str() {
            "counter" => name.strip_suffix("_total"),
            // Information is a gauge in this format.
            _ => Some(name.strip_suffix("_info").unwrap_or(name)),
        };
        match plain {
            Some(plain) => check(plain, family, &mut reader.faults),
            None => reader.faults.push(format!("{name}: a counter without `_total`")),
        }
    }
    reader.faults
}

/// Everything that is wrong with metrics in OpenMetrics; nothing if Prometheus takes them.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let mut reader = Reader::default();
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.pop() != Some("") || lines.pop() != Some("# EOF") {
        reader.faults.push("it does not end with `# EOF` and a line feed".to_owned());
    }
    lines.iter().for_each(|line| reader.line(line));
    for (name, family) in &reader.families {
        check(name, family, &mut reader.faults);
    }
    reader.faults
}

#[derive(Default)]
struct Reader {
    families: BTreeMap<String, Family>,
    current: String,
    faults: Vec<String>,
    /// The text format 0.0.4: families have the names of their samples.
    is_text: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Err(fault) = self.read(line) {
            self.faults.push(format!("{fault}: {line}"));
        }
    }

    fn read(&mut self, line: &str) -> Result<(), &'static str> {
        let Some(comment) = line.strip_prefix("# ") else { return self.sample(line) };
        let (word, rest) = comment.split_once(' ').ok_or("a comment without a name")?;
        let (name, words) = rest.split_once(' ').ok_or("nothing stands behind the name")?;
        if !is_name(name, ":") {
            return Err("no name of a metric");
        }
        if self.current != name && self.families.contains_key(name) {
            return Err("the family stands in two places");
        }
        name.clone_into(&mut self.current);
        let family = self.families.entry(name.to_owned()).or_default();
        if !family.samples.is_empty() {
            return Err("it stands behind samples of its family");
        }
        match word {
            "HELP" if !family.help && !words.trim().is_empty() => family.help = true,
            "TYPE" if family.kind.is_empty() => words.clone_into(&mut family.kind),
            "UNIT" if !self.is_text && family.unit.is_none() => family.unit = Some(words.to_owned()),
            _ => return Err("it is there twice, or means nothing"),
        }
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), &'static str> {
        let end = line.find(['{', ' ']).ok_or("no sample")?;
        let (name, rest) = line.split_at(end);
        if !is_name(name, ":") {
            return Err("no name of a metric");
        }
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (BTreeMap::new(), rest),
        };
        let value = value.strip_prefix(' ').ok_or("no value behind one space")?;
        let value: f64 = value.parse().map_err(|_| "the value is no number")?;
        let family = self.families.get_mut(&self.current).ok_or("a sample without a family")?;
        let suffix = name.strip_prefix(self.current.as_str()).ok_or("it is of another family")?;
        let suffixes: &[&str] = match family.kind.as_str() {
            "counter" | "gauge" if self.is_text => &[""],
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" if !self.is_text => &["_info"],
            _ => return Err("the type is unknown"),
        };
        if !suffixes.contains(&suffix) {
            return Err("the end of its name does not fit its type");
        }
        if labels.contains_key("le") != (suffix == "_bucket") && family.kind != "gauge" {
            return Err("buckets have a label le, and nothing else has");
        }
        let is_odd =
            value.is_nan() || (family.kind != "gauge" && value < 0.0) || (family.kind == "info" && value != 1.0);
        if is_odd {
            return Err("a value that such a sample cannot have");
        }
        let key = (name.to_owned(), format!("{labels:?}"));
        if family.samples.insert(key, value).is_some() {
            return Err("the series is there twice");
        }
        Ok(())
    }
}

/// Parses labels; returns the labels and the rest of the line.
fn labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), &'static str> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, behind) = rest.split_once("=\"").ok_or("a label without a value")?;
        if !is_name(name, "") || name.starts_with("__") {
            return Err("no name of a label");
        }
        let (mut value, mut chars) = (String::new(), behind.char_indices());
        let end = loop {
            match chars.next().ok_or("a value without an end")? {
                (at, '"') => break at,
                (_, '\\') => match chars.next() {
                    Some((_, escaped @ ('\\' | '"' | 'n'))) => value.push(escaped),
                    _ => return Err("an escape that there is not"),
                },
                (_, other) => value.push(other),
            }
        };
        if labels.insert(name.to_owned(), value).is_some() {
            return Err("a label is there twice");
        }
        rest = &behind[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn is_name(name: &str, more: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || more.contains(c);
    name.chars().all(fits) && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

fn check(name: &str, family: &Family, faults: &mut Vec<String>) {
    let mut wrong = |what: &str| faults.push(format!("{name}: {what}"));
    if !family.help || family.kind.is_empty() {
        wrong("it needs HELP and TYPE");
    }
    if let Some(unit) = &family.unit
        && !name.ends_with(&format!("_{unit}"))
    {
        wrong("its name does not end with its unit");
    }
    let words: BTreeSet<&str> = name.split('_').collect();
    let abbreviated = ["s", "ms", "us", "ns", "sec", "secs", "min", "kb", "mb", "kib", "mib", "bps", "pct", "percent"];
    let of_type = ["counter", "gauge", "histogram", "info", "total", "bucket", "count", "sum"];
    if let Some(word) = abbreviated.iter().chain(&of_type).find(|word| words.contains(*word)) {
        wrong(&format!("`{word}` in its name: units are written out, and types are not in names"));
    }
    if name.to_lowercase() != *name {
        wrong("capitals in its name");
    }
    if family.kind == "histogram" {
        check_buckets(name, family, faults);
    }
}

/// Buckets count up to the number of all.
fn check_buckets(name: &str, family: &Family, faults: &mut Vec<String>) {
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for ((sample, labels), &value) in &family.samples {
        if !sample.ends_with("_bucket") {
            continue;
        }
        let parts: Vec<&str> = labels.trim_matches(['{', '}']).split(", ").collect();
        let (le, others): (Vec<&str>, Vec<&str>) = parts.into_iter().partition(|part| part.starts_with("\"le\""));
        let le = le.first().and_then(|part| part.split('"').nth(3)?.parse().ok()).unwrap_or(f64::NAN);
        series.entry(format!("{{{}}}", others.join(", "))).or_default().push((le, value));
    }
    for (labels, mut buckets) in series {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let grows = buckets.windows(2).all(|two| two[0].1 <= two[1].1);
        let count = family.samples.get(&(format!("{name}_count"), labels.clone()));
        let sum = family.samples.get(&(format!("{name}_sum"), labels.clone()));
        let last = buckets.last().copied();
        if !grows
            || last.map(|(le, _)| le) != Some(f64::INFINITY)
            || last.map(|(_, all)| all) != count.copied()
            || sum.is_none()
        {
            faults.push(format!("{name}{labels}: buckets do not count up to the number of all: {buckets:?}"));
        }
    }
}

#[test]
fn violations_of_the_exposition_format_are_found() {
    let good = "# HELP a_seconds Help.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\na_seconds_sum{x=\"1\"} 3.5\n\
                a_seconds_count{x=\"1\"} 2\na_seconds_bucket{le=\"1.0\",x=\"1\"} 1\na_seconds_bucket{le=\"+Inf\",x=\"1\"} 2\n\
                # HELP b Help.\n# TYPE b counter\nb_total{y=\"a\\\\\\\"b\\n\"} 7\n# HELP c Help.\n# TYPE c gauge\nc -1\n# EOF\n";
    assert_eq!(faults(good), Vec::<String>::new());
    let text =
        "# HELP b_total Help.\n# TYPE b_total counter\nb_total 7\n# HELP c_info Help.\n# TYPE c_info gauge\nc_info 1\n";
    assert_eq!(text_faults(text), Vec::<String>::new());
    assert!(!text_faults(&text.replace("b_total 7", "b 7")).is_empty() && !text_faults(good).is_empty());
    for (from, to, named) in [
        ("# EOF\n", "", "# EOF"),
        ("b_total{", "b{", "does not fit its type"),
        ("c -1\n", "c -1\nc 2\n", "twice"),
        ("c -1\n", "c -1\nb_total 2\n", "of another family"),
        ("c -1\n", "c NaN\n", "cannot have"),
        ("# HELP c Help.\n", "", "needs HELP and TYPE"),
        ("# UNIT a_seconds seconds", "# UNIT a_seconds bytes", "its unit"),
        ("x=\"1\"} 2\n# HELP b", "x=\"1\"} 1\n# HELP b", "count up"),
        ("le=\"+Inf\"", "le=\"2.0\"", "count up"),
        ("y=\"a\\\\", "y=\"a\\q", "escape"),
        ("{y=", "{1y=", "name of a label"),
        ("c -1\n", "c  -1\n", "no number"),
        ("# HELP c Help.\n# TYPE c gauge\nc ", "# HELP c_ms Help.\n# TYPE c_ms gauge\nc_ms ", "written out"),
        ("# HELP c Help.\n# TYPE c gauge\n", "# HELP c Help.\n# HELP c Help.\n# TYPE c gauge\n", "twice"),
        ("c -1\n", "c -1\n# HELP b Help.\n", "two places"),
    ] {
        let text = good.replacen(from, to, 1);
        let found = faults(&text);
        assert!(text != good && found.iter().any(|fault| fault.contains(named)), "{from:?} -> {to:?}: {found:?}");
    }
}
