use wayleave_formats::*;
#[test]
fn scratch() {
    let name = std::env::var("F").unwrap();
    let source = Source::read(&name).unwrap();
    match read_scenario(&source, &|n| beside(&source, n)) {
        Ok(file) => { println!("{} runs, {} B", file.runs.len(), file.runs[0].scenario.memory_estimate()); println!("{:#?}", file.runs[0].labels); }
        Err(errors) => println!("{errors}"),
    }
}
