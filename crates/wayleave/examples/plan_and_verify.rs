//! Example that plans contracts on a network, explains the first refusal, and tries to break every promise packet by
//! packet.
//!
//! ```sh
//! cargo run --example plan_and_verify -p wayleave -- fat-tree:k=4 800
//! ```

use std::io::stdout;

use wayleave::{Contracts, Effort, Error, Network, PlanOptions, ProgressStep, TableLayout, VerifyOptions, Watch};
use wayleave::{explain, plan, verify};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let topology = arguments.first().map_or("fat-tree:k=4", String::as_str);
    let count = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(800);

    let network = Network::open(topology)?;
    let contracts = Contracts::drawn(&network, 8, 1, count, &mut Watch::none())?;
    let options = PlanOptions::default();
    let plan = plan(&network, &contracts, &options, &mut Watch::none())?;
    println!("{}: {} admitted, {} refused", network.summary(), plan.admitted().count(), plan.refused().count());
    if let Some((name, reason)) = plan.refused().next() {
        println!("\n{name}: {reason}\n");
        explain(&network, &contracts, name, &options, &mut Watch::none())?
            .write_text(&mut stdout(), TableLayout::default())?;
    }

    let mut progress = |step: ProgressStep<'_>| {
        if let ProgressStep::Items { done, total } = step
            && done == total
        {
            println!("{total} attacks");
        }
    };
    let options = VerifyOptions::default().with_effort(Effort::QUICK);
    let verified = verify(&plan.promises(), &options, &mut Watch::progress(&mut progress))?;
    println!("all guarantees held: {}", verified.is_sound());
    verified.write_text(&mut stdout(), TableLayout::default(), false)
}
