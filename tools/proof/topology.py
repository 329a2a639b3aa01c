"""The topology of a proof, routes, and paths with the fewest links."""

from collections import defaultdict, deque
from fractions import Fraction

from proof.form import Malformed


class Topology:
    """Nodes and links of a proof by name."""

    def __init__(self, proof):
        self.nodes = {node["name"]: node for node in proof["nodes"]}
        self.links = {link["name"]: link for link in proof["links"]}

    def faults(self):
        """Yields faults of links."""
        for what, link in self.links.items():
            for key in ("from", "to"):
                if link[key] not in self.nodes:
                    raise Malformed(f"link {what}: {key}: {link[key]} is no node of the proof")
            if link["from"] == link["to"]:
                yield f"link {what}: it joins {link['from']} to itself"
            if link["spread_ns"] not in (0, jitter := self.nodes[link["from"]]["jitter_ns"]):
                yield f"link {what}: a spread of {link['spread_ns']} ns, with a jitter of {jitter} ns"
            if link["reverse"] is None:
                continue
            if (back := self.links.get(link["reverse"])) is None:
                raise Malformed(f"link {what}: reverse: {link['reverse']} is no link of the proof")
            if back["reverse"] != what or (back["from"], back["to"]) != (link["to"], link["from"]):
                yield f"link {what}: its reverse {link['reverse']} is not the other direction of its cable"

    def is_host(self, node):
        return node in self.nodes and self.nodes[node]["kind"] == "host"

    def route_faults(self, what, start, end, route):
        """Yields faults of a route between two hosts."""
        for node in (start, end):
            if not self.is_host(node):
                yield f"{what}: {node} is no host of the proof"
        at, visited = start, {start}
        for hop, link in enumerate(route):
            if link not in self.links:
                yield f"{what}: {link} is no link of the proof"
                return
            link = self.links[link]
            if link["from"] != at:
                yield f"{what}: {link['name']} does not leave {at}"
            if hop and self.is_host(link["from"]):
                yield f"{what}: host {link['from']} would forward"
            if link["to"] in visited:
                yield f"{what}: the route visits {link['to']} twice"
            if not link["open"]:
                yield f"{what}: {link['name']} is closed"
            at = link["to"]
            visited.add(at)
        if at != end:
            yield f"{what}: the route ends at {at}, not at {end}"

    def disjoint_faults(self, one, other):
        """Yields cables and switches that two routes of a contract share, except those that every path of their hosts uses."""
        cables = [{frozenset((hop, self.links[hop]["reverse"] or hop)) for hop, _ in flow["hops"]} for flow in (one, other)]
        switches = [{self.links[hop]["to"] for hop, _ in flow["hops"][:-1]} for flow in (one, other)]
        up = [link for link in self.links.values() if link["from"] == one["from"]]
        down = [link for link in self.links.values() if link["to"] == one["to"]]
        may = {frozenset((links[0]["name"], links[0]["reverse"] or links[0]["name"])) for links in (up, down) if len(links) == 1}
        beside = [{link["to"] for link in up}, {link["from"] for link in down}]
        may_switches = set().union(*(nodes for nodes in beside if len(nodes) == 1))
        common = {min(cable) for cable in cables[0] & cables[1] - may} | switches[0] & switches[1] - may_switches
        for element in sorted(common):
            yield f"flow {one['name']}: {element} is on the route of {other['name']} as well, and both have to be disjoint"


class Paths:
    """Paths with the fewest links over some links: hosts do not forward."""

    def __init__(self, topology, links):
        self.topology, self.links, self.known = topology, links, {}
        self.out, self.into = defaultdict(list), defaultdict(list)
        for link in links:
            self.out[link["from"]].append(link)
            self.into[link["to"]].append(link)

    def distances(self, end):
        if end not in self.known:
            hops, queue = {end: 0}, deque([end])
            while queue:
                node = queue.popleft()
                for start in (link["from"] for link in self.into[node]):
                    if start not in hops:
                        hops[start] = hops[node] + 1
                        if not self.topology.is_host(start):
                            queue.append(start)
            self.known[end] = hops
        return self.known[end]

    def between(self, start, end):
        """Returns every link on a path with the part of the pair's packets if every node splits evenly; None without a path."""
        hops, parts, layer = self.distances(end), {}, {start: Fraction(1)}
        if start not in hops:
            return None
        for left in reversed(range(hops[start])):
            following = defaultdict(Fraction)
            for node, part in layer.items():
                nearer = [link for link in self.out[node] if hops.get(link["to"]) == left and (left == 0 or not self.topology.is_host(link["to"]))]
                for link in nearer:
                    parts[link["name"]] = part / len(nearer)
                    following[link["to"]] += part / len(nearer)
            layer = following
        return parts

    def groups(self, members):
        """Returns members with equal attachments together: between switches their paths have the same links with the same parts."""
        groups = defaultdict(list)
        for member in members:
            ends = [sorted(link["to"] for link in self.out[member]), sorted(link["from"] for link in self.into[member])]
            alone = member if any(map(self.topology.is_host, ends[0] + ends[1])) else None
            groups[tuple(map(tuple, ends)), alone].append(member)
        return list(groups.values())

    def uses(self, members):
        """Returns, for each link that a pair of members may use, the groups of senders and receivers with the part on it; and faults."""
        groups, uses, faults = self.groups(members), defaultdict(list), []
        for one in groups:
            for other in groups:
                if one is other and len(one) == 1:
                    continue
                start, end = one[0], other[one is other]
                if (parts := self.between(start, end)) is None:
                    faults.append(f"no path leads from {start} to {end}")
                    continue
                for link, part in parts.items():
                    link = self.topology.links[link]
                    if link["from"] == start:
                        for host in one:
                            for own in (own["name"] for own in self.out[host] if own["to"] == link["to"]):
                                uses[own].append(((host,), other, part))
                    elif link["to"] == end:
                        for host in other:
                            for own in (own["name"] for own in self.into[host] if own["from"] == link["from"]):
                                uses[own].append((one, (host,), part))
                    else:
                        uses[link["name"]].append((one, other, part))
        return uses, faults
