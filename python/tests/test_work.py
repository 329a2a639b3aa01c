"""Long operations: they release the interpreter's lock, report progress, and stop at Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

import wayleave as wl

# Longer than any operation of these tests, unless it never ends.
WATCHDOG = 120

# Hours of work, with progress lines.
BEGIN = """
import sys
import wayleave as wl
def tell(done, total, unit):
    print("progress", done, total, unit, flush=True)
scenario = {"topology": "star:hosts=4,rate=1Gbit", "duration": "100000s", "traffic": [{"name": "web", "load": 0.5, "sizes": "20kB"}]}
network = wl.Network.fat_tree(k=8)
contracts = wl.Contracts.drawn(network, count=5000)
"""

LONG = {
    "simulate": "wl.simulate(scenario, progress=tell)",
    "sweep": "wl.sweep(scenario, {'traffic.web.load': [0.2, 0.4]}, seeds=range(4), progress=tell)",
    "plan": "wl.plan(network, contracts, progress=tell); wl.plan(network, contracts, scheme='chameleon', reroute='on', progress=tell)",
    "verify": "wl.plan(network, wl.Contracts.drawn(network, count=800)).verify(effort='long', progress=tell)",
    "reproduce": "wl.reproduce('chameleon-fig8a', full=True, progress=tell)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("work", ["simulate", "sweep", "verify", "reproduce"])
def test_ctrl_c_stops_long_operations(work: str) -> None:
    with subprocess.Popen([sys.executable, "-c", BEGIN + LONG[work]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline().startswith("progress"), process.stderr.read()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=WATCHDOG)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT, said
    assert said.rstrip().endswith("KeyboardInterrupt"), said


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_works_without_progress() -> None:
    # No Python code runs in the main thread during the call, so no Python function handles the signal.
    program = BEGIN + (
        "import signal, threading\n"
        "main = threading.get_ident()\n"
        "def other():\n"
        "    while sys._current_frames()[main].f_code.co_name != 'simulate':\n"
        "        pass\n"
        "    signal.pthread_kill(main, signal.SIGINT)\n"
        "threading.Thread(target=other, daemon=True).start()\n"
        "wl.simulate(scenario)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WATCHDOG, check=False)
    assert done.returncode == -signal.SIGINT, done.stderr
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_other_threads_run_meanwhile() -> None:
    # The other thread interrupts the main one while that is inside the call and in no Python function: only then is the lock free for it.
    program = BEGIN + (
        "import _thread, threading\n"
        "inside, main = threading.Event(), threading.get_ident()\n"
        "def other():\n"
        "    inside.wait()\n"
        "    while sys._current_frames()[main].f_code.co_name != 'simulate':\n"
        "        pass\n"
        "    _thread.interrupt_main()\n"
        "threading.Thread(target=other, daemon=True).start()\n"
        "try:\n"
        "    wl.simulate(scenario, progress=lambda *_: inside.set())\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WATCHDOG, check=False)
    assert done.stdout == "interrupted\n", done.stderr


# Functions in C repeat each call, and between these calls no other thread gets the interpreter's lock and no signal is handled. Only the
# call itself can release the lock for the other thread, which interrupts the main one, and only the call can detect that.
OFTEN = """
import _thread, collections, itertools, threading
from operator import attrgetter, methodcaller
import wayleave as wl
count, begun = itertools.count(), threading.Event()
def other():
    begun.wait()
    while count.__reduce__()[1][0] < 3:
        pass
    _thread.interrupt_main()
threading.Thread(target=other, daemon=True).start()
begun.set()
try:
    collections.deque(zip(map(call, itertools.repeat(subject)), count), maxlen=0)
except KeyboardInterrupt:
    print("interrupted", count.__reduce__()[1][0] >= 3)
"""

PLAN = "network = wl.Network.star(4)\nsubject = wl.plan(network, wl.Contracts.drawn(network, count=5){more}){of}"
SCENARIO = "{'topology': 'star:hosts=3', 'duration': '1ms', 'traffic': [{'name': 'web', 'load': 0.2, 'sizes': '9kB'}]}"
ROW = '{"name":"r","from":"h1","to":"h2","rate":"2Mbit","burst":"1500B","deadline":"2ms"}'
FILE = '{"apiVersion":"wayleave/v1","kind":"Contracts","metadata":{"name":"c"},"spec":{"contracts":[' + ROW + "]}}"
NETWORK = "subject = wl.Network.star(4)"

# Called functions, with their getters and methods.
SUBJECTS: dict[str, tuple[str, list[str], list[str]]] = {
    "network": (NETWORK, ["links", "input_hash"], ["to_dict", "to_yaml", "picture", "_repr_html_", "__reduce__"]),
    "plan": (
        PLAN.format(more="", of=""),
        ["table", "queues"],
        ["to_dict", "recheck", "picture", "__str__", "_repr_html_", "__arrow_c_stream__"],
    ),
    "plan without queues": (PLAN.format(more=", scheme='qjump'", of=""), ["queues"], ["_repr_html_"]),
    "verification": (
        PLAN.format(more="", of=".verify(effort='quick')"),
        ["table"],
        ["to_dict", "picture", "__str__", "_repr_html_", "__arrow_c_stream__"],
    ),
    "analysis": (PLAN.format(more="", of="") + "\nsubject = wl.analyze(subject)", ["table", "servers"], ["_repr_html_"]),
    "run": (f"subject = wl.simulate({SCENARIO})", ["table", "flows", "queues", "links"], ["to_dict", "pictures", "_repr_html_"]),
    "sweep": (f"subject = wl.sweep({SCENARIO}, seeds=2)._done", ["table"], ["to_dict", "pictures", "__str__", "_repr_html_"]),
    "figure": ("subject = wl.reproduce('sec2-examples')", ["table", "statements"], ["to_dict", "picture", "_repr_html_"]),
    "long table": ("subject = wl.Network.star(700).links", [], ["to_rows", "to_dict"]),
    "long document": ("subject = wl.Network.star(1500)", [], ["to_dict"]),
    "long list": (f"{NETWORK}\nsubject = wl.Contracts.drawn(subject, count=5000)", ["names"], []),
}

# Documents of these are as short as their subjects, and read at once.
SHORT = {("network", "to_dict"), ("plan", "to_dict"), ("verification", "to_dict")}

CALLS = {
    "Network()": "call, subject = methodcaller('__call__', 'fat-tree:k=4'), wl.Network",
    "Network.fat_tree": "call, subject = methodcaller('fat_tree'), wl.Network",
    "Network.parse": "call, subject = methodcaller('parse', wl.Network.star(4).to_yaml(), name='n.yaml'), wl.Network",
    "Contracts.drawn": "call, subject = methodcaller('drawn', wl.Network.star(4)), wl.Contracts",
    "contracts": f"call, subject = methodcaller('_parse', [('c.json', {FILE!r})], wl.Network.star(4)), wl.Contracts",
    **{
        f"{name}.{part}": f"{begin}\ncall = {kind}({part!r})"
        for name, (begin, getters, methods) in SUBJECTS.items()
        for kind, parts in (("attrgetter", getters), ("methodcaller", methods))
        for part in parts
        if (name, part) not in SHORT
    },
}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_that_may_be_long_lets_other_threads_run_and_is_interrupted(call: str) -> None:
    program = OFTEN.replace("count, begun =", f"{CALLS[call]}\ncount, begun =", 1)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WATCHDOG, check=False)
    assert done.stdout == "interrupted True\n", done.stderr


@pytest.mark.parametrize(
    "work",
    [
        "wl.analyze(wl.plan(network, wl.Contracts.drawn(network, count=400)), analyses=['lp'], progress=stop)",
        "wl.explain(network, contracts, contracts.names[-1], scheme='chameleon', reroute=True, progress=stop)",
        "wl.simulate(scenario, progress=stop)",
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_stopped_work_does_not_continue(work: str) -> None:
    program = BEGIN + (
        "from pathlib import Path\n"
        "def working():\n"
        "    return 'wayleave' in [name(task) for task in Path('/proc/self/task').iterdir()]\n"
        "def name(task):\n"
        "    try:\n"
        "        return (task / 'comm').read_text().strip()\n"
        "    except OSError:\n"
        "        return 'ended'\n"
        "def stop(*_):\n"
        "    assert working()\n"
        "    raise StopIteration\n"
        "try:\n"
        f"    {work}\n"
        "except StopIteration:\n"
        "    while working():\n"
        "        pass\n"
        "    print('ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WATCHDOG, check=False)
    assert done.stdout == "ended\n", done.stderr


def test_progress_runs_in_the_thread_of_the_caller_and_its_exception_stops_the_work(scenario: dict[str, Any]) -> None:
    told: list[tuple[float, float, str]] = []

    def tell(done: float, total: float, unit: str) -> None:
        told.append((done, total, unit))
        if len(told) == 3:
            raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        wl.simulate({**scenario, "duration": "100000s"}, progress=tell)
    assert [total for _, total, _ in told] == [100_000.0] * 3
    assert 0 <= told[0][0] < told[1][0] < told[2][0]
    assert {unit for _, _, unit in told} == {"simulated seconds"}


def test_operations_in_several_threads_are_independent(scenario: dict[str, Any]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda seed: wl.simulate(scenario, seed=seed).table.to_dict(), [1, 2, 1, 2]))
    assert runs[0] == runs[2] != runs[1] == runs[3]


def test_nothing_is_printed_by_itself(scenario: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    wl.sweep(scenario, seeds=[1, 2])
    wl.plan("star:hosts=4", wl.Contracts.drawn(wl.Network("star:hosts=4"), count=5)).verify(effort="quick")
    assert capfd.readouterr() == ("", "")
    wl.sweep(scenario, seeds=[1, 2], progress=True)
    out, err = capfd.readouterr()
    assert out == "" and (err == "" or err.endswith("\n")) and os.linesep * 2 not in err
