//! A lint of English: first words of comments, retired words, and the length of sentences, in comments of every language
//! and in documents.
//!
//! CONTRIBUTING.md, section "English", has the rules.

use regex::{Regex, RegexBuilder};

use crate::comments::{Paragraph, comments};
use crate::repository::{File, files};

/// Maximum words of a sentence.
const MAX_WORDS: usize = 40;

/// First words that turn a comment into a clause without a subject.
const FIRST_WORDS: &str = "What|Whether|How|Why|Who|Whom|Whose|Whoever|Those|Where|When|Which|So many|So much|So long";

/// Retired words and phrases, each with its replacement.
const RETIRED: &[(&str, &str)] = &[
    (r"in the mean\b(?: |$)(?:[^t]|$)", "on average"),
    (r"somebody|nobody|everybody|someone", "the subject: host, agent, tenant, flow"),
    (r"(?:go|goes|going|went|gone) on", "continues, resumes"),
    (r"says?|saying|said", "states, reports, shows"),
    (r"so (?:many|much)", "n, the given amount"),
    (r"tells?|told", "notifies, sends, reports"),
    (r"hears?|heard|hearsay|heeds?|heeded", "receives, accepts"),
    (r"(?:sent|sends?|sending) again", "retransmits"),
    (r"strikes?|struck", "expires"),
    (r"stood|stands? (?:at|in|on|before|behind|there|still|alone)", "is in, is queued"),
    (r"stands? for", "means, represents"),
    (r"works? out|worked out", "computes"),
    (r"(?:is|are|has|have|was|were) gone|goes away", "no longer exists, has left"),
    (r"(?-i:he|his|him|she|her)", "it, or the subject"),
    (r"believes?|believed|doubts?|doubted", "trusts, suspects"),
    (r"strangers?", "spoofed packets, unknown senders"),
    (r"for a while", "for a time that is stated"),
    (r"looks? at|looked at|looking at", "reads, inspects, checks"),
    (r"beside what|of whom|whoever", "a noun"),
];

/// Generated files, whose comments have their sources elsewhere: the built dashboard, scripts for switches, and types
/// from the REST document.
const GENERATED: &[&str] = &["crates/control/server/ui/", "crates/linux/render/tests/golden/", "ui/src/types.ts"];

/// A finding: place, and what to change.
type Faults = Vec<String>;

struct Rules {
    first: Regex,
    /// Any retired word: most paragraphs have none, and are searched once.
    any_retired: Regex,
    retired: Vec<(Regex, &'static str)>,
    code: Regex,
    link: Regex,
    sentence_end: Regex,
}

fn regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern).case_insensitive(true).build().unwrap()
}

impl Rules {
    fn new() -> Self {
        let whole_words = |pattern: &str| regex(&format!(r"\b(?:{pattern})\b"));
        Self {
            first: Regex::new(&format!(r"^(?:{FIRST_WORDS})\b")).unwrap(),
            any_retired: whole_words(&RETIRED.iter().map(|&(pattern, _)| pattern).collect::<Vec<_>>().join("|")),
            retired: RETIRED.iter().map(|&(pattern, instead)| (whole_words(pattern), instead)).collect(),
            code: regex("`[^`]*`|\"[^\"]*\""),
            link: regex(r"\]\([^)]*\)"),
            sentence_end: regex(r"[.:;!?][)\]*]*\s+"),
        }
    }

    /// Appends the faults of one paragraph. Code and quotations count as one word each and are not read.
    fn check(&self, place: &str, paragraph: &str, is_comment: bool, faults: &mut Faults) {
        let text = self.link.replace_all(paragraph, "]");
        let text = self.code.replace_all(&text, "x");
        if let Some(word) = self.first.find(&text).filter(|_| is_comment) {
            faults.push(format!(
                "{place}: a comment begins with \"{}\": begin with a verb (Returns, Sends) or a noun",
                word.as_str()
            ));
        }
        let retired: &[_] = if self.any_retired.is_match(&text) { &self.retired } else { &[] };
        for (pattern, instead) in retired {
            if let Some(word) = pattern.find(&text) {
                faults.push(format!("{place}: \"{}\" is retired: write {instead}", word.as_str().trim()));
            }
        }
        for sentence in self.sentence_end.split(&text) {
            let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if words > MAX_WORDS {
                let begin: String = sentence.chars().take(50).collect();
                faults.push(format!("{place}: a sentence of {words} words, at most {MAX_WORDS}: \"{begin} ...\""));
            }
        }
    }
}

/// Paragraphs of a document, without code, tables and headings.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_open, mut in_code) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.trim();
        if words.starts_with("```") {
            in_code = !in_code;
            is_open = false;
        } else if in_code || words.is_empty() || words.starts_with(['|', '#', '<']) {
            is_open = false;
        } else if is_open && !words.starts_with("- ") {
            let (_, paragraph) = found.last_mut().unwrap();
            paragraph.push(' ');
            paragraph.push_str(words);
        } else {
            found.push((number, words.trim_start_matches("- ").to_owned()));
            is_open = true;
        }
    }
    found
}

fn prose_faults(files: &[File]) -> Faults {
    let rules = Rules::new();
    let mut faults = Vec::new();
    for File { path, text } in files {
        if let Some(paragraphs) =
            comments(path, text).filter(|_| !GENERATED.iter().any(|prefix| path.starts_with(prefix)))
        {
            for Paragraph { line, is_first, text } in paragraphs {
                rules.check(&format!("{path}:{line}"), &text, is_first, &mut faults);
            }
        } else if path.ends_with(".md") && !path.starts_with("ui/") {
            for (line, paragraph) in paragraphs(text) {
                rules.check(&format!("{path}:{line}"), &paragraph, false, &mut faults);
            }
        }
    }
    faults
}

#[test]
fn comments_and_documents_are_plain_english() {
    let faults = prose_faults(&files().unwrap());
    assert!(faults.is_empty(), "{} faults\n{}\n", faults.len(), faults.join("\n"));
}

fn faults_of(path: &str, text: &str) -> Faults {
    prose_faults(&[File { path: path.to_owned(), text: text.to_owned() }])
}

#[test]
fn a_clause_as_a_comment_is_a_fault() {
    for first in ["What is left.", "Whether it fits.", "How many there are.", "When it ends.", "Those that fit."] {
        assert_eq!(faults_of("crates/a/src/b.rs", &format!("/// {first}\nfn f() {{}}\n")).len(), 1, "{first}");
    }
    assert_eq!(
        faults_of("crates/a/src/b.rs", "/// Returns `true` if it fits.\n///\n/// When full, drops the packet.\n"),
        [""; 0]
    );
    assert_eq!(faults_of("crates/a/src/b.rs", "let what = 1; // What\nlet text = \"/// What\";\n"), [""; 0]);
}

#[test]
fn retired_words_are_faults_outside_code_and_quotations() {
    assert_eq!(
        faults_of("docs/a.md", "The agent tells the host.\n"),
        ["docs/a.md:1: \"tells\" is retired: write notifies, sends, reports"]
    );
    assert_eq!(faults_of("docs/a.md", "Run `tell` or \"tell\".\n\n```sh\ntell somebody\n```\n\n| told |\n"), [""; 0]);
    assert_eq!(faults_of("crates/a/src/b.rs", "// The other threads go\n// on.\n").len(), 1);
}

#[test]
fn a_sentence_of_41_words_is_a_fault_and_one_of_40_is_not() {
    let words = |count: usize| vec!["word"; count].join(" ");
    assert_eq!(faults_of("docs/a.md", &format!("{}. {}.\n", words(40), words(40))), [""; 0]);
    assert_eq!(faults_of("docs/a.md", &format!("{}.\n", words(41))).len(), 1);
}
