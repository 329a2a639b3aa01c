//! The dashboard as files: types, permissions of browsers, caching times; all clients get them, without a token.

use std::collections::BTreeSet;

use crate::common::{Client, World};

/// The names of files that the page asks for, and that its scripts name.
fn files(client: &Client) -> BTreeSet<String> {
    let page = String::from_utf8(client.get("/ui/").is(200).body).unwrap();
    let names = page.split('"').filter_map(|word| word.strip_prefix("./")).map(str::to_owned);
    names.collect()
}

#[test]
fn the_page_may_use_files_of_this_server_only_and_is_never_cached() {
    let world = World::new();
    let client = world.client.without();
    for path in ["/ui/", "/ui/index.html"] {
        let page = client.get(path).is(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert!(page.header("x-request-id").is_some());
        let policy = page.header("content-security-policy").unwrap();
        let rules: BTreeSet<&str> = policy.split("; ").collect();
        for rule in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(rules.contains(rule), "{rule}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        // Nothing that this policy forbids.
        let text = String::from_utf8(page.body).unwrap();
        assert!(!text.contains("<style") && !text.contains("://"), "{text}");
        assert!(text.split("<script").skip(1).all(|script| script.contains("src=\"./")), "{text}");
    }
}

#[test]
fn files_with_a_hash_in_their_names_are_cached_and_have_their_types() {
    let world = World::new();
    let client = world.client.without();
    let files = files(&client);
    assert!(files.len() >= 3, "{files:?}");
    let mut types = BTreeSet::new();
    for name in &files {
        let file = client.get(&format!("/ui/{name}")).is(200);
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"), "{name}");
        assert!(file.header("content-security-policy").is_some(), "{name}");
        assert!(!file.body.is_empty(), "{name}");
        types.insert(file.header("content-type").unwrap().to_owned());
        let head = client.send("HEAD", &format!("/ui/{name}"), &[], b"").is(200);
        assert_eq!(head.header("content-length"), Some(file.body.len().to_string().as_str()), "{name}");
        assert!(head.body.is_empty(), "{name}");
    }
    let expected = ["image/svg+xml", "text/css; charset=utf-8", "text/javascript; charset=utf-8"];
    assert_eq!(types, expected.map(str::to_owned).into());
}

#[test]
fn the_address_without_a_slash_redirects_to_the_page_and_others_are_a_problem() {
    let world = World::new();
    let client = world.client.without();
    let moved = client.get("/ui").is(308);
    assert_eq!(moved.header("location"), Some("/ui/"));
    for path in ["/ui/none.js", "/ui/..%2Fsecret", "/ui/../v1", "/ui/assets/none", "/ui/files.in", "/ui/%00"] {
        client.get(path).is_problem(404, "NOT_FOUND");
    }
    for method in ["POST", "PUT", "DELETE"] {
        let wrong = client.send(method, "/ui/", &[], b"");
        wrong.is_problem(405, "METHOD_NOT_ALLOWED");
        assert!(wrong.header("allow").is_some_and(|allow| allow.contains("GET")), "{method}");
    }
}
