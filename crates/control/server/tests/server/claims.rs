//! Claims about changes and states: each is made only where the controller knows that it is true.

use serde_json::json;

use crate::common::{World, contract};
use crate::load::{new_world, now_s};

fn state_of(world: &World, kind: &str, name: &str, state: &str) {
    let path = format!("/v1/{kind}/{}/state", name.replace('>', "%3E"));
    world.client.put(&path, &json!({ "state": state })).is(200);
}

/// Catches: "no route has enough room left after existing reservations" where a link is down.
#[test]
fn tenants_read_that_something_is_down_and_not_what() {
    let world = new_world(now_s());
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    for (vm, host) in [("a", "h1"), ("b", "h16")] {
        operator.put(&format!("/v1/vms/acme:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    state_of(&world, "links", "h16->pod4-edge2", "down");
    let tenant = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    let asked = contract("a", "b", "1Mbit");
    let text = |answer: crate::common::Answer| String::from_utf8(answer.body).unwrap();
    let document = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    \
                    - { name: ab, from: a, to: b, rate: 1Mbit, burst: 3000B, deadline: 5ms }\n";
    let yaml = &[("content-type", "application/yaml")][..];
    let apply = |path: &str| text(tenant.send("POST", path, yaml, document.as_bytes()));
    let number = tenant.put("/v1/contracts/acme:ab", &asked).json()["decision"].clone();
    let texts = [
        text(tenant.get(&format!("/v1/decisions/acme:{number}"))),
        text(tenant.get(&format!("/v1/decisions/acme:{number}/explanation"))),
        text(tenant.put("/v1/contracts/acme:ab?dryRun=true", &asked)),
        apply("/v1/apply"),
        apply("/v1/apply?dryRun=true"),
    ];
    for text in texts {
        assert!(text.contains("No route from h1 to h16 is usable: a link or node is down"), "{text}");
        assert!(!text.contains("reservations") && !text.contains("pod4-edge2"), "{text}");
    }
    let text = text(operator.get(&format!("/v1/decisions/acme:{number}")));
    assert!(text.contains("pod4-edge2->h16 is down"), "{text}");
}
