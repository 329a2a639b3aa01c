//! temp
mod bench;
fn main() {
    let which: Vec<String> = std::env::args().skip(1).collect();
    let model = if which.iter().any(|w| w == "published") {
        wayleave_ledger::Model::PUBLISHED
    } else {
        wayleave_ledger::Model::default()
    };
    let scenario = which.iter().find_map(|w| w.strip_prefix("s")?.parse().ok()).unwrap_or(8);
    let seed = which.iter().find_map(|w| w.strip_prefix("seed")?.parse().ok()).unwrap_or(1);
    for case in bench::admission::CASES.iter().filter(|c| which.iter().any(|w| c.name == w)) {
        let m = bench::admission::run(*case, bench::admission::Setting { scenario, seed, model }).unwrap();
        bench::print("admission", case.name, &m).unwrap();
    }
}
