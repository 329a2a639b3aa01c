//! `plan --recheck`: the second calculator agrees with every scheme.

use crate::command::{requests, wayleave};

/// Every scheme on lists that fill a fat tree beyond what it can take.
fn assert_sound(model: &str) {
    for scenario in [1, 8] {
        let list = requests(&format!("recheck-{model}-{scenario}.yaml"), "fat-tree:k=4", scenario, 400);
        for scheme in ["", "--reroute", "--scheme silo"] {
            let run = wayleave(&format!("plan -t fat-tree:k=4 -f {list} --model {model} {scheme} --recheck -o json"));
            assert!(matches!(run.code, Some(0 | 3)), "{:?}: {}", run.code, run.stderr);
            assert!(run.stderr.contains("sound, all guarantees hold"), "{}", run.stderr);
            assert!(run.json()["summary"]["admitted"].as_u64().is_some_and(|admitted| admitted > 20));
        }
    }
}

#[test]
fn the_default_model_is_sound_and_exact() {
    assert_sound("default");
}

#[test]
fn the_published_model_is_sound_on_links_of_one_rate() {
    assert_sound("published");
}

#[test]
fn links_of_several_rates_with_jumbo_frames_are_sound() {
    let topology = "leaf-spine:leaves=3,spines=2,hosts=5,uplinkRate=10Gbit,mtu=9000B,delay=2us";
    let list = requests("recheck-rates.yaml", topology, 1, 400);
    for options in ["", "--reroute", "--residual first-slope", "--shaping off"] {
        let run = wayleave(&format!("plan -t {topology} -f {list} {options} --recheck"));
        assert!(run.stderr.contains("sound, all guarantees hold"), "{}", run.stderr);
    }
}
