"""The form of a proof: functions that return a checked value, or raise Malformed with the place. No floating point, no NaN, no unknown key."""

import json
import re
from collections import Counter
from fractions import Fraction

LARGEST = 2**64 - 1
FRACTION = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?")


class Malformed(Exception):
    """A document that does not have the form required by this checker."""


def integer(low, high=LARGEST):
    def check(value, where):
        if type(value) is not int or not low <= value <= high:
            raise Malformed(f"{where}: {json.dumps(value)} is no integer from {low} to {high}")
        return value

    return check


def text(value, where):
    if not isinstance(value, str) or not value or not value.isprintable():
        raise Malformed(f"{where}: {json.dumps(value)} is no name")
    return value


def flag(value, where):
    if not isinstance(value, bool):
        raise Malformed(f"{where}: {json.dumps(value)} is neither true nor false")
    return value


def fraction(value, where):
    if not isinstance(value, str) or not FRACTION.fullmatch(value):
        raise Malformed(f'{where}: {json.dumps(value)} is no fraction such as "3" or "100000/3"')
    return Fraction(value)


def one_of(*values):
    def check(value, where):
        if not any(type(value) is type(one) and value == one for one in values):
            raise Malformed(f"{where}: {json.dumps(value)} is not one of {', '.join(map(str, values))}")
        return value

    return check


def optional(kind):
    return lambda value, where: None if value is None else kind(value, where)


def label(item, keys=("name", "contract", "link", "state", "share")):
    """Returns the name of an item for messages."""
    values = [item[key] for key in keys if key in item] if isinstance(item, dict) else []
    names = [value for value in values if isinstance(value, str) and value.isprintable()]
    return f" ({names[0]})" if names else ""


def array(kind, least=0, unique=None):
    """Returns a check of a list in which no two items have an equal key."""

    def check(value, where):
        if not isinstance(value, list):
            raise Malformed(f"{where}: not a list")
        if len(value) < least:
            raise Malformed(f"{where}: {len(value)} items, and at least {least} are needed")
        items = [kind(item, f"{where}[{place}]{label(item)}") for place, item in enumerate(value)]
        for key, count in Counter(unique(item) for item in items).items() if unique else ():
            if count > 1:
                raise Malformed(f"{where}: {key} is there {count} times")
        return items

    return check


def exactly(*kinds):
    def check(value, where):
        if not isinstance(value, list) or len(value) != len(kinds):
            raise Malformed(f"{where}: not a list of {len(kinds)} items")
        return tuple(kind(item, f"{where}[{place}]") for place, (kind, item) in enumerate(zip(kinds, value, strict=True)))

    return check


def mapping(kind):
    def check(value, where):
        if not isinstance(value, dict):
            raise Malformed(f"{where}: not an object")
        return {text(key, where): kind(item, f"{where}.{key}") for key, item in value.items()}

    return check


def record(keys, may=()):
    """Returns a check of an object with exactly these keys; keys of `may` are optional, and None if absent."""

    def check(value, where):
        if not isinstance(value, dict):
            raise Malformed(f"{where}: not an object")
        for key in value:
            if key not in keys:
                raise Malformed(f"{where}: unknown key {json.dumps(key)}")
        for key in keys:
            if key not in value and key not in may:
                raise Malformed(f"{where}: no key {key}")
        return {key: kind(value[key], f"{where}.{key}") if key in value else None for key, kind in keys.items()}

    return check


def share(value, where):
    kinds = {
        "pair": {"from": text, "to": text, "route": array(text, least=1)},
        "link": {"link": text},
        "hose": {"members": MEMBERS, "paths": one_of("one", "all")},
        "objective": {"members": MEMBERS},
    }
    if not isinstance(value, dict):
        raise Malformed(f"{where}: not an object")
    kind = one_of(*kinds)(value.get("kind"), f"{where}.kind")
    common = {"contract": text, "rate": integer(1), "kind": text, "certainty": one_of("proven", "measured", "not stated")}
    return record(common | kinds[kind])(value, where)


def name(item):
    return item["name"]


NOT_NEGATIVE, POSITIVE = integer(0), integer(1)
MEMBERS = array(text, least=2, unique=lambda member: member)
COVER = array(text, unique=lambda member: member)
NODE = record({"name": text, "kind": one_of("host", "switch"), "processing_ns": NOT_NEGATIVE, "jitter_ns": NOT_NEGATIVE})
LINK = record({
    "name": text, "from": text, "to": text, "rate": POSITIVE, "max_frame_bytes": integer(64), "propagation_ns": NOT_NEGATIVE,
    "spread_ns": NOT_NEGATIVE, "reverse": optional(text), "open": flag,
})
FLOW = record({
    "name": text, "contract": text, "from": text, "to": text, "rate": POSITIVE, "burst_bytes": POSITIVE, "deadline_ns": POSITIVE,
    "bound_ns": NOT_NEGATIVE, "hops": array(exactly(text, NOT_NEGATIVE), least=1),
})
QUEUE = record({
    "link": text, "queue": NOT_NEGATIVE, "budget_ns": NOT_NEGATIVE, "buffer_bytes": NOT_NEGATIVE,
    "arrival": array(exactly(fraction, fraction), least=1), "service": array(exactly(fraction, fraction)),
    "delay": optional(fraction), "backlog": optional(fraction),
})
CLASSES = record({key: integer(1, 100) for key in ("latency", "guaranteed", "objective", "best_effort", "promise", "target")})
LOAD = record({
    "share": NOT_NEGATIVE, "load": lambda value, where: None if value == "" else fraction(value, where),
    "cover": record({"senders": COVER, "receivers": COVER}),
    "prices": record({"senders": mapping(fraction), "receivers": mapping(fraction)}), "not_exported": text,
}, may=("cover", "prices", "not_exported"))
LOADED = record({
    "link": text, "latency": NOT_NEGATIVE, "guaranteed": NOT_NEGATIVE, "objective": NOT_NEGATIVE,
    "loads": array(LOAD, least=1, unique=lambda load: f"share {load['share']}"),
})
STATE = record({"state": one_of("all_up", "now"), "links": array(LOADED, unique=lambda loaded: loaded["link"])})
PROOF = record({
    "proof": one_of(2), "wayleave": text, "shaping": flag, "contracts": array(text, unique=lambda contract: contract),
    "nodes": array(NODE, unique=name), "links": array(LINK, unique=name), "flows": array(FLOW, unique=name),
    "queues": array(QUEUE, unique=lambda queue: f"queue {queue['queue']} of {queue['link']}"),
    "classes": optional(CLASSES), "shares": array(share), "minima": array(STATE, unique=lambda state: state["state"]),
})


def read(path):
    """Returns a JSON document without floating point, NaN or Infinity, in which no object has a duplicate key."""

    def once(pairs):
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                raise Malformed(f"the key {json.dumps(key)} is there {count} times in one object")
        return dict(pairs)

    def refuse(number):
        raise Malformed(f"{number} is no integer")

    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file, object_pairs_hook=once, parse_float=refuse, parse_constant=refuse)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise Malformed(f"{path}: {error}") from error
