"""Runs all cases in Wayleave and in ns-3 and prints the results side by side, as a table in Markdown.

    python compare.py WAYLEAVE [CASE...]

WAYLEAVE is the command; this Python has the wheel `ns3`. `make ns3` runs all steps.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from cases import FRAME, cases

HERE = pathlib.Path(__file__).resolve().parent


def scenario(case):
    """Returns a case as a scenario of Wayleave; JSON is YAML."""
    rate, ms = case["rate"], 1e3
    wide, buffer = f"{int(10 * rate)}bit", f"{case['buffer'] * FRAME}B"
    names = ["s1", "s2", "r1", "r2"]
    nodes = [dict(name=name, kind="switch") for name in ("left", "right")] + [dict(name=name, kind="host") for name in names]
    links = [{"from": at, "to": to, "rate": f"{int(rate)}bit", "delay": f"{int(case['delay'] * 1e9)}ns",
              "queues": [dict(budget="1s", buffer=buffer)]} for at, to in (("left", "right"), ("right", "left"))]
    links += [dict(between=[name, "left" if name[0] == "s" else "right"], rate=wide, delay="10us", queues=1) for name in names]
    listed, endless = [], []
    for index, (start, side, size) in enumerate(case["flows"]):
        ends = {"from": f"s{side + 1}", "to": f"r{side + 1}"}
        if size:
            listed.append({"at": f"{round(start * 1e9)}ns", **ends, "size": f"{size}B"})
        else:
            endless.append({"name": f"f{index}", **ends, "sizes": "endless", "start": f"{round(start * ms)}ms"})
    traffic = endless + ([dict(name="trace", flows=listed)] if listed else [])
    switches = dict(buffer="as-built")
    if case["mark"]:
        switches["ecn"] = f"{case['mark'] * FRAME}B"
    transport = dict(congestion=case["congestion"], minTimeout=f"{round(case['least'] * ms)}ms", maxWindow=80_000)
    spec = dict(topology=dict(defaults=dict(buffer="100MB"), nodes=nodes, links=links), duration=f"{round(case['duration'] * ms)}ms",
                warmup=f"{round(case['warmup'] * ms)}ms", switches=switches, transport=transport, traffic=traffic)
    return dict(apiVersion="wayleave/v1", kind="Scenario", metadata=dict(name=case["name"]), spec=spec)


def run_wayleave(command, case):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(scenario(case), file)
        file.flush()
        out = subprocess.run([command, "sim", file.name, "-o", "json"], check=True, capture_output=True, text=True).stdout
    return measured(json.loads(out)["runs"][0])


def measured(run):
    """Returns the compared results of a run of Wayleave."""
    seconds = run["counted_ns"] / 1e9
    port = next(queue for queue in run["queues"] if queue["link"] == "left->right")
    link = next(link for link in run["links"] if link["link"] == "left->right")
    # Little: packets that waited a second in a second.
    queue = port["wait_ps"]["mean"] / 1e12 * port["wait_ps"]["count"] / seconds
    times = next((it["completion_ps"] for it in run["traffic"] if it["name"] == "trace"), None)
    return dict(
        goodput=[it["goodput_bps"] for it in run["traffic"] if it["name"] != "trace"],
        queue=queue, drops=port["drops"], busy=link["utilisation"],
        again=sum(it["again"] for it in run["traffic"]), timeouts=sum(it["timeouts"] for it in run["traffic"]),
        times=None if times is None else {key: times[key] / 1e12 for key in ("mean", "p50", "p99", "max")} | {"count": times["count"]},
    )


def run_ns3(case, python=sys.executable):
    """Returns the compared results of ns-3, from a Python with its wheel."""
    out = subprocess.run([python, "dumbbell.py", case["name"]], check=True, capture_output=True, text=True, cwd=HERE).stdout
    found = json.loads(out.strip().splitlines()[-1])
    done = sorted(time for time in found["times"] if time is not None)
    found["times"] = None
    if done:
        at = lambda share: done[min(len(done) - 1, int(share * len(done)))]
        found["times"] = dict(mean=sum(done) / len(done), p50=at(0.5), p99=at(0.99), max=done[-1], count=len(done))
    return found


def rows(case, ours, theirs):
    """Yields the compared rows of a case: a name, and two values."""
    if case["loss"]:
        window = lambda goodput: goodput[0] * 2 * (case["delay"] + 20e-6) / 8 / 1460
        yield "mean window", "see below", f"{window(theirs['goodput']):.1f}"
        return
    if theirs["times"]:
        for key in ("mean", "p50", "p99", "max"):
            yield f"completion, {key}", f"{1e3 * ours['times'][key]:.2f} ms", f"{1e3 * theirs['times'][key]:.2f} ms"
        yield "completed", ours["times"]["count"], theirs["times"]["count"]
    else:
        yield "goodput, both", f"{sum(ours['goodput']) / 1e6:.1f} Mbit/s", f"{sum(theirs['goodput']) / 1e6:.1f} Mbit/s"
        share = lambda goodput: f"{100 * min(goodput) / sum(goodput):.1f} %"
        yield "the smaller share", share(ours["goodput"]), share(theirs["goodput"])
    yield "mean queue", f"{ours['queue']:.1f} packets", f"{theirs['queue']:.1f} packets"
    yield "drops", ours["drops"], theirs["drops"]


def main():
    command, wanted = sys.argv[1], sys.argv[2:]
    print("| case | | Wayleave | ns-3 |\n|---|---|---|---|")
    for case in cases():
        if wanted and case["name"] not in wanted:
            continue
        ours = run_wayleave(command, case) if not case["loss"] else None
        name = case["name"]
        for what, mine, other in rows(case, ours, run_ns3(case)):
            print(f"| {name} | {what} | {mine} | {other} |", flush=True)
            name = ""
        if ours:
            print(f"{case['name']}: sent again {ours['again']}, time-outs {ours['timeouts']}", file=sys.stderr)


if __name__ == "__main__":
    main()
