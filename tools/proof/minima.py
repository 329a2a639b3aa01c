"""Minima and weights: certified loads on every link, charges, and their capacity below latency contracts (docs/theory/admission.md, section 14)."""

from collections import Counter, defaultdict
from fractions import Fraction

from proof.topology import Paths


def is_covered(uses, senders, receivers, value):
    """Returns True if the prices of every pair of different members add up to its value."""
    for one, other, part in uses:
        wanted = value(part)
        if min(senders.get(a, 0) for a in one) + min(receivers.get(b, 0) for b in other) >= wanted:
            continue
        if any(senders.get(a, 0) + receivers.get(b, 0) < wanted for a in one for b in other if a != b):
            return False
    return True


class Minima:
    """The check of all shares in a state of the network."""

    def __init__(self, proof, topology, state, notes):
        self.proof, self.topology, self.state, self.notes = proof, topology, state, notes
        self.where = "" if state["state"] == "all_up" else " (now)"
        links = topology.links.values()
        self.paths = Paths(topology, [link for link in links if link["open"] or state["state"] == "all_up"])
        self.uses = defaultdict(dict)  # of each link and share: senders, receivers, part
        self.returns = defaultdict(Fraction)  # acknowledgements of pairs
        self.latency = Counter()  # what latency contracts reserve
        for flow in proof["flows"]:
            self.latency.update({hop: flow["rate"] for hop, _ in flow["hops"]})

    def faults(self):
        """Yields violations."""
        for place, share in enumerate(self.proof["shares"]):
            yield from (f"{described(share)}: {fault}{self.where}" for fault in self.follow(place, share))
        stated = {loaded["link"]: loaded for loaded in self.state["links"]}
        for link in sorted(self.uses.keys() - stated.keys()):
            names = ", ".join(described(self.proof["shares"][place]) for place in self.uses[link])
            yield f"link {link}: the proof states no loads there, and it is used by {names}{self.where}"
        for loaded in self.state["links"]:
            if loaded["link"] not in self.topology.links:
                yield f"link {loaded['link']}: it is no link of the proof"
                continue
            yield from (f"link {loaded['link']}: {fault}{self.where}" for fault in self.link_faults(loaded))
        for link in sorted(self.returns.keys() - stated.keys()):
            yield from (f"link {link}: {fault}{self.where}" for fault in self.room(link, Fraction(0), Fraction(0), 0))

    def follow(self, place, share):
        """Finds the links that a share may use, and yields the faults of its paths."""
        if share["kind"] in ("hose", "objective"):
            if strange := [member for member in share["members"] if not self.topology.is_host(member)]:
                yield f"{', '.join(strange)}: no host of the proof"
                return
            uses, faults = self.paths.uses(share["members"])
            yield from faults
            for link, pairs in uses.items():
                self.uses[link][place] = pairs
            return
        route = share["route"] if share["kind"] == "pair" else [share["link"]]
        if strange := [link for link in route if link not in self.topology.links]:
            yield f"{', '.join(strange)}: no link of the proof"
            return
        if share["kind"] == "pair":
            yield from self.topology.route_faults("route", share["from"], share["to"], route)
        back = {self.topology.links[link]["reverse"] for link in route}
        if share["kind"] == "pair" and (None in back or any(not self.topology.links[link]["open"] for link in back)):
            parts = self.paths.between(share["to"], share["from"])
            if parts is None:
                yield f"no path leads back from {share['to']} to {share['from']}"
            back |= set(parts or ())
        for link in route:
            self.uses[link][place] = []
        for link in back - {None}:
            self.returns[link] += -(-share["rate"] // 10)

    def link_faults(self, loaded):
        """Yields violations of a link with its stated loads."""
        link, uses, shares = loaded["link"], self.uses.get(loaded["link"], {}), self.proof["shares"]
        reserved = self.latency[link]
        if loaded["latency"] != reserved:
            yield f"latency contracts reserve {reserved} bit/s there, not {loaded['latency']}"
        loads = {load["share"]: load for load in loaded["loads"]}
        for place in sorted(loads.keys() - uses.keys()):
            yield f"share {place} may not use it"
        fixed, choosing, even, largest, objective, certified = Fraction(0), Fraction(0), Fraction(0), 0, 0, True
        for place, pairs in sorted(uses.items()):
            share, load = shares[place], loads.get(place)
            if load is None:
                yield f"{described(share)}: no load is stated, and it may use the link"
                continue
            if share["kind"] != "hose":
                exact = Fraction(share["rate"])
                fixed, objective = (fixed, objective + exact) if share["kind"] == "objective" else (fixed + exact, objective)
            else:
                exact, split = yield from self.certified(share, load, pairs)
                if exact is None:
                    certified = certified and load["not_exported"] is None
                    continue
                if share["paths"] == "all":
                    fixed += exact
                else:
                    choosing, even, largest = choosing + exact, even + (exact if split is None else split), max(largest, share["rate"])
            if load["load"] != exact:
                yield f"{described(share)}: its load is {exact} bit/s, not {load['load']}"
        if not certified:
            self.notes.append(f"not checked: link {link}: even splits of a hose are not exported{self.where}")
        charge = fixed + min(choosing, even + largest)
        if charge > loaded["guaranteed"]:
            yield f"guaranteed: shares bring {charge} bit/s, and {loaded['guaranteed']} are charged"
        if objective > loaded["objective"]:
            yield f"objective: weights are {objective} bit/s, and {loaded['objective']} are charged"
        proven = [described(shares[place]) for place in uses if shares[place]["kind"] != "objective" and shares[place]["certainty"] == "proven"]
        if proven and fixed + choosing > loaded["guaranteed"]:
            names = ", ".join(proven)
            yield f"{names}: stated as proven, and shares may bring {fixed + choosing} bit/s where {loaded['guaranteed']} are charged"
        acknowledged = Fraction(loaded["guaranteed"] - sum(shares[place]["rate"] for place in uses if shares[place]["kind"] in ("pair", "link")))
        yield from self.room(link, Fraction(loaded["guaranteed"]), max(acknowledged, Fraction(0)), loaded["objective"])

    def certified(self, share, load, pairs):
        """Returns the load of a hose by its certificate, and with even splits if they are certified as well; yields faults."""
        members, results = set(share["members"]), {}
        for key, value in (("cover", lambda _: 1), ("prices", lambda part: part)):
            if load[key] is None:
                continue
            sides = [side if key == "prices" else dict.fromkeys(side, 1) for side in (load[key]["senders"], load[key]["receivers"])]
            if strange := sorted((sides[0].keys() | sides[1].keys()) - members):
                yield f"{described(share)}: {key}: {', '.join(strange)} are no members"
            if is_covered(pairs, *sides, value):
                results[key] = share["rate"] * sum((price for side in sides for price in side.values()), Fraction(0))
            else:
                yield f"{described(share)}: {key}: not every pair that may use the link is covered"
        wanted = "prices" if share["paths"] == "all" else "cover"
        if load[wanted] is None and (wanted == "cover" or load["not_exported"] is None):
            yield f"{described(share)}: its load has no {wanted}"
        return results.get(wanted), results.get("prices")

    def room(self, link, guaranteed, hoses, objective):
        """Yields classes with more promises than latency contracts leave capacity (docs/theory/admission.md, section 14)."""
        if (classes := self.proof["classes"]) is None:
            yield "shares need classes, and the proof has none"
            return
        left = self.topology.links[link]["rate"] - self.latency[link]
        weights = classes["guaranteed"] + classes["objective"] + classes["best_effort"]
        returns = self.returns.get(link, Fraction(0)) + hoses / 10
        for what, rate, limit, weight in (
            ("guaranteed", guaranteed, "promise", classes["guaranteed"]),
            ("guaranteed with acknowledgements", guaranteed + returns, "target", classes["guaranteed"]),
            ("objective", objective, "promise", classes["objective"]),
        ):
            if 100 * weights * rate > classes[limit] * weight * left:
                most = classes[limit] * weight * max(left, 0) // (100 * weights)
                yield f"{what}: {rate} bit/s are promised, and no more than {most} can be"


def described(share):
    return f"{share['kind']} {share['contract']}"
