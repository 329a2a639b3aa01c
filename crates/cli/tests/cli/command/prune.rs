//! `apply --prune` and lists by labels.

use super::client::Kinds;

const HEAD: &str = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n";

/// Contracts of tenant shop with a label: names and members.
fn labelled(contracts: &[(&str, &str)]) -> String {
    let line = |(name, members): &(&str, &str)| {
        format!("    - {{ name: {name}, tenant: shop, bestEffort: {{ members: {members} }}, labels: {{ app: x }} }}\n")
    };
    HEAD.to_owned() + &contracts.iter().map(line).collect::<String>()
}

fn ids(kinds: &Kinds, more: &str) -> Vec<String> {
    let list = kinds.run(&format!("get contracts -o json {more}")).ends_with(0).json();
    list["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

fn outcomes(report: &serde_json::Value) -> Vec<String> {
    let items = report["items"].as_array().unwrap().iter();
    items.map(|one| format!("{} {}", one["id"].as_str().unwrap(), one["outcome"].as_str().unwrap())).collect()
}

/// A controller with three contracts of shop that have the label, and others that are not to be touched.
fn world(name: &str) -> Kinds {
    let kinds = Kinds::new(name);
    kinds.write("x.yaml", &labelled(&[("one", "[h1, h2]"), ("two", "[h1, h3]"), ("three", "[h1, h4]")]));
    let others = HEAD.to_owned()
        + "    - { name: y, tenant: shop, bestEffort: { members: [h1, h2] }, labels: { app: y } }\n"
        + "    - { name: of-web, tenant: web, bestEffort: { members: [h1, h2] }, labels: { app: x } }\n";
    kinds.write("others.yaml", &others);
    kinds.run("apply -f x.yaml -f others.yaml").ends_with(0);
    kinds
}

#[test]
fn lists_and_descriptions_have_labels() {
    let kinds = world("labels");
    assert_eq!(ids(&kinds, "-l app=x"), ["shop:one", "shop:three", "shop:two", "web:of-web"]);
    assert_eq!(ids(&kinds, "--selector app=x --tenant shop").len(), 3);
    assert_eq!(ids(&kinds, "-l app=x,tier=db"), [""; 0]);
    assert!(kinds.run("describe contract shop:one").ends_with(0).stdout.contains("labels      app=x\n"));
    let wide = kinds.run("get contracts -o wide -l app=x --tenant shop").ends_with(0).stdout;
    assert_eq!(wide.matches("labels app=x").count(), 3, "{wide}");
    let yaml = kinds.run("get contracts -o yaml -l app=y").ends_with(0).stdout;
    assert!(yaml.contains("name: y, tenant: shop") && !yaml.contains("one"), "{yaml}");
    let wrong = kinds.run("get contracts -l app").ends_with(2).stderr;
    assert!(wrong.contains("`app` is not a label selector: expected key=value"), "{wrong}");
    let wrong = kinds.run("get vms -l app=x").ends_with(2).stderr;
    assert!(wrong.contains("--selector is only supported by `get contracts`"), "{wrong}");
    let wrong = kinds.run("get contract shop:one -l app=x").ends_with(2).stderr;
    assert!(wrong.contains("--selector is for lists"), "{wrong}");
}

#[test]
fn contracts_missing_from_files_are_deleted_after_confirmation() {
    let kinds = world("prune");
    kinds.write("x.yaml", &labelled(&[("one", "[h1, h5]")]));
    let before = ids(&kinds, "");
    let asked = kinds.run("apply -f x.yaml --prune -l app=x").ends_with(2);
    for part in ["  delete contract shop:three\n  delete contract shop:two\n", "nothing was changed", "add --yes"] {
        assert!(asked.stderr.contains(part), "{part}: {}", asked.stderr);
    }
    let tried = kinds.run("apply -f x.yaml --prune -l app=x --dry-run").ends_with(0).stdout;
    for part in
        ["members: [h1, h2] -> [h1, h5]", "bestEffort.members [h1, h3], labels.app x", "planned: 1 changed, 2 deleted"]
    {
        assert!(tried.contains(part), "{part}: {tried}");
    }
    assert_eq!(ids(&kinds, ""), before, "neither a question nor a dry run changes anything");
    let done = kinds.run("apply -f x.yaml --prune -l app=x --yes -o json").ends_with(0).json();
    assert_eq!(outcomes(&done), ["shop:one changed", "shop:three deleted", "shop:two deleted"]);
    assert_eq!(ids(&kinds, "-l app=x"), ["shop:one", "web:of-web"], "contracts of other tenants stay");
    assert_eq!(ids(&kinds, "").len(), before.len() - 2, "and so do those without the label");
    // Nothing is deleted, so nothing has to be confirmed.
    assert!(kinds.run("apply -f x.yaml --prune -l app=x").ends_with(0).stdout.ends_with("\n1 unchanged\n"));
    // A file of which nothing is left names no tenant.
    kinds.write("none.yaml", "apiVersion: wayleave/v1\nkind: Contracts\nspec: { contracts: [] }\n");
    let nobody = kinds.run("apply -f none.yaml --prune -l app=x --yes").ends_with(2).stderr;
    assert!(nobody.contains("add --tenant NAME"), "{nobody}");
    let done = kinds.run("apply -f none.yaml --prune -l app=x --tenant shop --yes -o json").ends_with(0).json();
    assert_eq!(outcomes(&done), ["shop:one deleted"]);
}

#[test]
fn nothing_is_pruned_if_anything_is_refused() {
    let kinds = world("refused");
    let refused = "    - { name: slow, tenant: shop, from: h1, to: h8, rate: 1Mbit, burst: 300B, deadline: 1ns, labels: { app: x } }\n";
    kinds.write("x.yaml", &(labelled(&[("one", "[h1, h2]")]) + refused));
    for more in ["--yes", "--dry-run"] {
        let run = kinds.run(&format!("apply -f x.yaml --prune -l app=x -o json {more}")).ends_with(3).json();
        assert_eq!(outcomes(&run), ["shop:one unchanged", "shop:slow refused"]);
        assert_eq!(run["notPruned"], serde_json::json!(["shop:three", "shop:two"]));
    }
    let table = kinds.run("apply -f x.yaml --prune -l app=x --yes").ends_with(3).stdout;
    assert!(
        table.contains(
            "nothing was deleted, because a change was refused; no longer in the files: shop:three, shop:two"
        ),
        "{table}"
    );
    assert_eq!(ids(&kinds, "-l app=x --tenant shop").len(), 3);
}

#[test]
fn options_of_pruning_are_applied_or_refused_by_name() {
    let kinds = world("options");
    let before = ids(&kinds, "");
    kinds.write("x.yaml", &labelled(&[("one", "[h1, h2]")]).replace("app: x", "app: z"));
    for (line, what) in [
        ("apply -f x.yaml --prune -l app=x --yes", "contract shop:one of x.yaml lacks a label of -l app=x"),
        ("apply -f x.yaml --prune --yes", "--selector <LABELS>"),
        ("apply -f x.yaml -l app=z", "--prune"),
        ("apply -f x.yaml --yes", "--yes requires --prune"),
    ] {
        let wrong = kinds.run(line).ends_with(2).stderr;
        assert!(wrong.contains(what), "{line}: {wrong}");
    }
    assert_eq!(ids(&kinds, "-l app=z"), [""; 0]);
    assert_eq!(ids(&kinds, ""), before);
}
