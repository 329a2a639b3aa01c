"""Completeness: the proof has what a plan or a file of contracts lists."""

import json
from collections import Counter, defaultdict

from proof.form import Malformed, array, text


def listed(path):
    """Returns the contracts of a plan or of a file of contracts, and the settings that a plan states: everything to be compared."""
    try:
        document = read_plain(path)
        contracts = list(terms(document, path))
        for contract in contracts:
            text(contract["name"], f"{path}: name of a contract")
            array(text, least=2)(list(contract["hosts"]), f"{path}: hosts of {contract['name']}")
        settings = settings_of(document) if "requests" in document else {}
    except (OSError, ValueError, RecursionError) as error:
        raise Malformed(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"{path}: neither a plan nor a list of contracts ({error!r})") from error
    for name, count in Counter(contract["name"] for contract in contracts).items():
        if count > 1:
            raise Malformed(f"{path}: contract {name} is there {count} times")
    return contracts, settings


def settings_of(plan):
    """Returns the settings of a plan on which its promises rest."""
    counts = {key: plan["topology"][key] for key in ("hosts", "switches", "links")}
    return counts | {"shaping": plan["model"]["shaping"], "paths": plan["scheme"].get("paths")}


def setting_faults(proof, settings):
    """Yields settings of the proof that are not those of the plan."""
    kinds = Counter(node["kind"] for node in proof["nodes"])
    stated = {"hosts": kinds["host"], "switches": kinds["switch"], "links": len(proof["links"]), "shaping": proof["shaping"]}
    for key, value in stated.items():
        if settings.get(key, value) != value:
            yield f"{key}: {value} in the proof, and {settings[key]} in the plan"
    for share in proof["shares"]:
        if share["kind"] == "hose" and settings.get("paths", share["paths"]) != share["paths"]:
            yield f"hose {share['contract']}: paths: {share['paths']} in the proof, and {settings['paths']} in the plan"


def terms(document, path):
    """Yields the terms of all contracts but those of best effort, which are promised nothing."""
    if "requests" not in document:
        yield from (ends_of(contract) for contract in document["spec"]["contracts"] if "bestEffort" not in contract)
        return
    # Later contracts may have changed the decision.
    changed = {one["name"]: one["to"] for one in document.get("changed_certainty", [])}
    for request in document["requests"]:
        if "event" in request:
            raise Malformed(f"{path}: a plan of events does not list the contracts of its end")
        if request["decision"] == "admitted" and request.get("kind") != "best-effort":
            found = terms_of(request)
            yield found | {"certainty": changed[found["name"]]} if found["name"] in changed else found


def read_plain(path):
    with open(path, encoding="utf-8") as file:
        if not path.endswith((".yaml", ".yml")):
            return json.load(file)
        try:
            import yaml
        except ImportError as error:
            raise Malformed(f"{path}: YAML needs the package PyYAML; give the plan instead (wayleave plan -o json)") from error
        try:
            return yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise Malformed(f"{path}: {error}") from error


def terms_of(request):
    """Returns the terms of an admitted request of a plan."""
    if "kind" not in request:
        reserved = request["reserved"]
        return {"name": request["name"], "kind": "flow", "hosts": [request["from"], request["to"]], "rate": reserved["rate_bps"],
                "burst_bytes": reserved["burst_bytes"], "deadline_ns": request["deadline_ns"], "routes": request.get("protection") or 1}
    kind = request["between"] if request["kind"] == "bandwidth" else request["kind"]
    return {"name": request["name"], "kind": kind, "hosts": request["members"], "rate": request["min_bps"], "certainty": request["certainty"]}


def ends_of(contract):
    """Returns the hosts of a contract of a file. Its terms are compared with those of a plan only: in a file they have no overhead."""
    if "objective" in contract:
        kind, hosts = "objective", contract["objective"]["members"]
    elif "bandwidth" not in contract:
        kind, hosts = "flow", [contract["from"], contract["to"]]
    elif "hose" in contract["bandwidth"]:
        kind, hosts = "hose", contract["bandwidth"]["hose"]
    else:
        kind, hosts = "pair", [contract["bandwidth"]["from"], contract["bandwidth"]["to"]]
    routes = contract.get("protection", 1)
    if type(routes) is not int:
        raise TypeError("protection is no integer")
    return {"name": contract["name"], "kind": kind, "hosts": hosts, "routes": routes}


def completeness_faults(proof, contracts):
    """Yields contracts that the proof leaves out or states with other terms."""
    held = defaultdict(list)
    for flow in proof["flows"]:
        held[flow["contract"]].append(flow | {"kind": "flow", "certainty": None})
    for share in proof["shares"]:
        if share["kind"] != "link":
            held[share["contract"]].append(share)
    for contract in contracts:
        what, kind = f"contract {contract['name']}", contract["kind"]
        found = held.pop(contract["name"], [])
        if len(found) < contract.get("routes", 1):
            yield f"{what}: the proof has {len(found)} of its {contract.get('routes', 1)} {'routes' if kind == 'flow' else 'shares'}"
        for one in found:
            hosts, wanted = one.get("members") or [one["from"], one["to"]], list(contract["hosts"])
            in_order = kind in ("flow", "pair")
            if one["kind"] != kind or (hosts != wanted if in_order else set(hosts) != set(wanted)):
                yield f"{what}: the proof has a {one['kind']} of {', '.join(hosts)}, and a {kind} of {', '.join(wanted)} was asked for"
            for key in ("rate", "burst_bytes", "deadline_ns", "certainty"):
                if key in contract and one.get(key) != contract[key]:
                    yield f"{what}: {key} is {one.get(key)} in the proof, and {contract[key]} in the plan"
    for other in held:
        yield f"contract {other}: it is in the proof, and not in the list"
