"""Lists, tuples, sets, dicts, texts and iterators."""

from __future__ import annotations

import pytest

from tests.solver.symbolic.programs import agree, agree_on

ACTIVE = "[n for n, v in (('tp', a), ('cp', b)) if v > 1]"
AXES = f"frozenset({ACTIVE})"

EXPRESSIONS = {
    "lengths": "(len([a, b]), len((a,)), len({a, b}), len({1: a}), len('abc'), len(range(3)))",
    "length of numbers": "len(a)",
    "length of None": "len(m)",
    "filtered list": "[v for v in (a, b, 3) if v > 1]",
    "filtered set": "{v for v in (a, b, 3) if v > 1}",
    "length of a filtered set": "len({v for v in (a, b, 3) if v > 1})",
    "filtered dict": "{k: v for k, v in (('x', a), ('y', b)) if v > 1}",
    "length of a filtered list": "len([v for v in (a, b, 3) if v > 1])",
    "truth of a filtered list": "bool([v for v in (a, b) if v > 1])",
    "nested comprehension": "[u * v for u in (1, 2) for v in (a, b) if v > u]",
    "comprehension in a comprehension": "[[v for v in (a, b) if v > u] for u in (1, 2)]",
    "comprehension over a filtered list": "[v + 1 for v in [u for u in (a, b) if u > 0] if v < 5]",
    "sum of a filtered list": "sum([v for v in (a, b, 3) if v > 1])",
    "sum of a generator": "sum(v for v in (a, b, 3) if v > 1)",
    "count": "sum(1 for v in (a, b, 3) if v > 1)",
    "largest of a filtered list": "max([v for v in (a, b) if v > 1], default=0)",
    "largest of what may be empty": "max(v for v in (a, b) if v > 1)",
    "smallest of what may be empty": "min([v for v in (a, b) if v > 1])",
    "largest by rank of a filtered list": "max([v for v in (a, b, 3) if v > 1], key=abs)",
    "entry": "(a, b, 3)[1] + [a, b][-1]",
    "entry at an unknown place": "(5, 6, 7)[a]",
    "entry of a list at an unknown place": "[a, b, 7][b]",
    "entry at a truth value": "(a, b)[p]",
    "entry at a text": "[a][s]",
    "entry at no number": "[a][m]",
    "entry that is not there": "[a][3]",
    "entry of a number": "a[0]",
    "slices": "((a, b, 3)[1:], [a, b, 3][::-1], [a, b][:-1], 'abc'[1:])",
    "entry of a dict": "{1: a, 2: b}[2]",
    "entry of a dict by an unknown key": "{1: a, 2: b}[a]",
    "entry of a dict by a text": "{'auto': a, 'node': 2}[s]",
    "entry of a dict that is not there": "{1: a}[3]",
    "entry of a filtered dict": "{k: v for k, v in (('x', a), ('y', b)) if v > 1}['x']",
    "entry of a dict by a tuple": "{(1, 1): 'x', (2, 1): 'y'}.get((a, 1))",
    "get": "{1: a, 2: b}.get(2)",
    "get with a default": "{1: a}.get(3, b)",
    "get by an unknown key": "{1: a, 2: b}.get(a, 9)",
    "get by an optional key": "{1: 'x', None: 'y'}.get(m)",
    "get by a text": "{'auto': 1, 'node': 2}.get(s)",
    "get of a truth value": "{1: 'x'}.get(True)",
    "list as a key": "{1: 2}[[a]]",
    "list in a set": "{[a]}",
    "list as a new key": "{[a]: 1}",
    "merged dicts": "{**{'x': a, 'y': 1}, 'y': b} | {'z': 3}",
    "keys and values": "(list({1: a}.keys()), list({1: a}.values()), list({1: a}.items()))",
    "dict of pairs": "dict([('x', a), ('y', b)], z=1)",
    "dict of names": "dict(x=a, y=b)",
    "dict over an equal key": "{1: a, True: b}",
    "sum of values": "sum({'x': a, 'y': b}.values())",
    "sets joined": "({a} | {1}, {a, 1} & {1, b}, {a, b} - {1}, {a, 1} ^ {b})",
    "set methods": "({a}.union([b]), {a, b}.intersection((1,)), {a}.difference([b]))",
    "set methods that ask": "({1, 2}.issubset({a, 2}), {a}.issuperset([b]), {a}.isdisjoint({b}))",
    "symmetric difference": "{a, 1}.symmetric_difference([b])",
    "frozen sets joined": "frozenset({a}) | frozenset({b})",
    "sets of known values": "({1, 2} | {3}, {1, 2} - {2}, len({1, True}))",
    "list from a tuple": "(list((a, b)), tuple([a, b]), set((a, b)), frozenset([a]))",
    "list of a generator": "list(v for v in (a, b) if v > 1)",
    "tuple of a generator": "tuple(v * 2 for v in (a, b))",
    "lists joined": "[a] + [b] * 2 + [1, 2]",
    "tuples joined": "(a,) + (b,) * 2",
    "list times truth value": "[a] * True",
    "truth of a tuple": "bool((a, b))",
    "entry of a float": "(a / 1 if s is None else 2.5)[a]",
    "starred": "[*(a, b), *[3]]",
    "starred set": "{*(a, b)}",
    "sorted": "sorted([3, 1, 2], reverse=True) + sorted('ba') + [a]",
    "sorted by a function": "sorted(['bb', 'a'], key=lambda v: len(v)) + [a]",
    "sorted filtered": "sorted([n for n, v in (('y', a), ('x', b)) if v > 1])",
    "sorted set": "tuple(sorted({n for n, v in (('y', a), ('x', b)) if v > 1}))",
    "zip": "[u + v for u, v in zip((a, b), [1, 2, 3])]",
    "zip of names": "{k: v for k, v in zip(('x', 'y'), (a, b))}",
    "strict zip": "[u + v for u, v in zip((a, b), [1, 2], strict=True)]",
    "enumerate": "[(i, v) for i, v in enumerate([a, b], 1)]",
    "reversed": "[v for v in reversed([a, b, 1])]",
    "map": "list(map(lambda v: v + 1, (a, b)))",
    "map of a built-in": "sum(map(int, (p, a > 1)))",
    "filter": "list(filter(lambda v: v > 1, [a, b]))",
    "filter by truth": "list(filter(None, [a, b, 0]))",
    "any of a map": "any(map(lambda v: 6 % v, (a, b)))",
    "next": "next(v for v in (a, b, 9) if v > 1)",
    "next with a default": "next((v for v in (a, b) if v > 1), None)",
    "next without any": "next(v for v in (a, b) if v > 1)",
    "next of an iterator": "next(iter([a, b]))",
    "range": "[v + a for v in range(3)]",
    "range of steps": "[v for v in range(8, 0, -3)]",
    "list of a range": "list(range(2, 5)) + [a]",
    "products of known collections": "[u + v + a for u, v in itertools.product((1, 2), [3])]",
    "text joined": "', '.join(['x', 'y'])",
    "text joined of numbers": "', '.join([a])",
    "text joined of an unknown one": "', '.join(['x', s])",
    "text joined of an absent one": "', '.join([s, m])",
    "text of texts": "('x' + s, s + s, 'x' * 2)",
    "text of a number": "(str(a), repr(a), f'{a}', '%d' % a, '{}'.format(a))",
    "text of a text": "(str(s), f'{s}', f'{s!s}')",
    "text that is known": "(f'{1 + 1}', '%s-%s' % (1, 2), '{}'.format(3), f'{2.5:.2f}', str(None))",
    "text with formats": "(f'{a:>5}', f'{a:,}', f'{p}', f'{a!r:>4}', f'{s:>9}')",
    "number as a text format": "f'{a:s}'",
    "text as a number format": "f'{s:d}'",
    "list with a format": "f'{[a]:>5}'",
    "absent one with a format": "f'{m:d}'",
    "too few values": "'%d %d' % a",
    "too many values": "'%d' % (a, b)",
    "text for a number": "'%d' % s",
    "optional for a number": "'%d %s' % (m, s)",
    "fields by name": "'{x} {y}'.format(x=a, y=s)",
    "fields that are missing": "'{} {}'.format(a)",
    "text methods": "('Auto'.lower(), 'a-b'.split('-'), 'abc'.startswith('a'), a)",
    "truth of a message": "bool(f'x = {a}')",
    "message or nothing": "(f'x = {a}' if p else '') or 'none'",
    "a table of active axes": f"frozenset({ACTIVE}) in {{frozenset(), frozenset({{'tp'}})}}",
    "a table with a set": f"{{n for n in {ACTIVE}}} in [{{'cp'}}, set()]",
    "a table of tuples": f"tuple({ACTIVE}) in ((), ('tp',), ('cp',))",
    "a table by active axes": f"{{frozenset(): '', frozenset({{'tp'}}): 'tp'}}.get({AXES}, 'x')",
    "subset of a table": f"set({ACTIVE}) <= {{'tp'}}",
    "disjoint from a table": f"set({ACTIVE}).isdisjoint({{'tp'}})",
    "lists of unknown length": "[v for v in (1, 2) if v > a] == [2]",
    "count of an entry": "[a, b, 1].count(1)",
    "place of an entry": "[a, b, 1].index(1)",
    "place of what may be missing": "(1, 2).index(a)",
    "length of an iterator": "len(iter([a]))",
    "truth of iterators and views": "(bool(iter([a])), bool({1: a}.items()), bool({}.keys()))",
    "truth of functions": "(bool(lambda: a), bool(f), bool([].append))",
    "text functions of known texts": "list(map(str.strip, (' a', 'b ')))",
    "text of a tuple": "f'{(a, s)}' != ''",
    "text as it is written": "(f'{1!r:>4}', f'{s!r}' != '', f'{(1, 2)!a}')",
    "repeated iterators": "(list(iter(iter((a, 1)))), list(zip(iter((a,)), (1,))))",
    "reversed iterator": "list(reversed(iter((a,))))",
    "reversed set": "list(reversed({a}))",
    "a frozenset of one": "frozenset(frozenset({a}))",
    "smallest in a set": "min({a, b})",
    "largest of several with a default": "max(a, b, default=1)",
    "smallest of nothing": "min()",
    "pairs that are none": "dict([(a, 1, 2)])",
    "copies": "({1: a}.copy(), [a].copy(), {a}.copy(), frozenset({a}).copy())",
    "equal objects of other types": "(a == int, a == f, [a] == None, {1: a} == 3, s == f)",
    "equal lists of unknown length": "[v for v in (1, 2, a) if v > 1] == [2, b]",
    "nothing in common": "[v for v in (1, 2) if v > a] == []",
    "a list in the middle of a chain": "1 in [a] in ([1], [a, b])",
    "partial application": "(bool(functools.partial(max, a)), functools.partial(max, a)(b))",
    "length of an object": "len(object())",
}


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(expression: str) -> None:
    agree_on(expression, before="import functools, itertools")


PROGRAMS = {
    "append": """
        def f(a, b):
            errors = []
            if a < 1:
                errors.append("a")
            if b < 1:
                errors.append(f"b is {b}")
            if errors:
                raise ValueError(errors[0] if len(errors) == 2 else "one")
            return errors
        """,
    "all list methods": """
        def f(a, b):
            v = [1]
            v.append(a)
            v.extend((b, 2))
            v.insert(0, 9)
            v.insert(2, 8)
            last, second = v.pop(), v.pop(1)
            v.reverse()
            w = v.copy()
            w.clear()
            return v, w, last, second
        """,
    "pop of nothing": """
        def f(a):
            return [].pop()
        """,
    "set methods that change": """
        def f(a, b):
            v = {1}
            v.add(a)
            v.update([b, 3], (4,))
            v.discard(2)
            v.remove(a)
            return v
        """,
    "remove of what may be missing": """
        def f(a):
            v = {1, 2}
            v.remove(a)
            return v
        """,
    "dict methods that change": """
        def f(a, b, p):
            v = {"x": a}
            v["y"] = b
            v["x"] += 1
            v.update({"z": 1}, w=2)
            if p:
                del v["z"]
            first = v.setdefault("x", 7)
            new = v.setdefault("q", 8)
            gone = v.pop("z", None)
            return v, first, new, gone, "z" in v
        """,
    "a key that may be missing": """
        def f(p, a):
            v = {}
            if p:
                v["x"] = a
            return v["x"]
        """,
    "a pair deleted that may be missing": """
        def f(p, a):
            v = {}
            if p:
                v["x"] = a
            del v["x"]
            return v
        """,
    "store in a list": """
        def f(a, p):
            v = [1, 2, 3]
            v[0] = a
            if p:
                v[-1] = a + 1
            v[1] += a
            return v
        """,
    "store out of range": """
        def f(a):
            v = [1]
            v[3] = a
            return v
        """,
    "store in a tuple": """
        def f(a):
            v = (1,)
            v[0] = a
            return v
        """,
    "dicts of both branches": """
        def f(p, a):
            v = {"k": 0}
            if p:
                v["x"] = a
            else:
                v["y"] = 2
                v["k"] = 1
            return v, len(v), list(v)
        """,
    "lists of both branches": """
        def f(p, a):
            v = [0]
            if p:
                v.append(a)
                v.append(1)
            else:
                v.append(2)
            return v, len(v), 2 in v, sum(v)
        """,
    "sets of both branches": """
        def f(p, a):
            v = {0}
            if p:
                v.add(a)
            else:
                v.add(2)
            v.add(1)
            return len(v), 0 in v, 2 in v
        """,
    "tuples of both branches": """
        def f(p, a, s):
            v = (a, s) if p else (2, "auto")
            u, w = v
            return u, w
        """,
    "tuples of different lengths": """
        def f(p, a):
            v = (a,) if p else (1, 2)
            return len(v), v[0], 1 in v
        """,
    "two names for one list": """
        def f(a, p):
            v = [1]
            w = v
            w.append(a)
            if p:
                v.append(2)
            return v, w, v is w
        """,
    "a list given to a helper": """
        def g(errors, value):
            if value < 1:
                errors.append("small")
            return len(errors)

        def f(a, b):
            found = []
            n = g(found, a)
            k = g(found, b)
            return found, n, k
        """,
    "a list in a list": """
        def f(a):
            v = [[1]]
            w = v[0]
            w.append(a)
            v.append(w)
            w.append(3)
            return v
        """,
    "a list in a dict": """
        def f(a, p):
            v = {"x": []}
            if p:
                v["x"].append(a)
            v.setdefault("x", []).append(1)
            v.setdefault("y", []).append(2)
            return v
        """,
    "one of two lists": """
        def f(p, a):
            v, w = [1], [2]
            u = v if p else w
            u.append(a)
            return v, w, u
        """,
    "augmented in place": """
        def f(a):
            v = w = [1]
            v += [a]
            x = y = (1,)
            x += (a,)
            s = t = {1}
            s |= {2}
            d = e = {1: 2}
            d |= {3: a}
            k = j = [1]
            k *= 2
            return v, w, x, y, s, t, d, e, k, j
        """,
    "augmented on sets": """
        def f(a):
            s = t = {1, 2, 3}
            s -= {a}
            s &= {1, 2}
            s ^= {9}
            return s, t, s is t
        """,
    "unpacking": """
        def f(a, b):
            x, (y, z) = a, [b, 1]
            u, *v = (a, b, 3)
            *w, k = [a]
            [r] = {7}
            return x, y, z, u, v, w, k, r
        """,
    "unpacking too few": """
        def f(a):
            x, y, *z = (a,)
            return x
        """,
    "unpacking a number": """
        def f(a):
            x, y = a
            return x
        """,
    "unpacking what may be None": """
        def f(p, a):
            x, y = (a, 1) if p else None
            return x
        """,
    "swap": """
        def f(a, b):
            a, b = b, a
            return a, b
        """,
    "an iterator is read once": """
        def f(a, b):
            v = iter([a, b])
            w = zip((1, 2), (a, b))
            g = (x for x in (a, b))
            return list(v), list(v), list(w), list(w), sum(g), list(g)
        """,
    "an iterator is read in part": """
        def f(a, b):
            v = iter((a, b, 3))
            first = next(v)
            return first, next(v), list(v), next(v, "none")
        """,
    "a generator sees names late": """
        def f(a):
            k = 1
            g = (x + k for x in (a, 2))
            k = 10
            return list(g)
        """,
    "a generator sees its source early": """
        def f(a):
            v = [a]
            g = (x for x in v)
            v = [1, 2]
            return list(g)
        """,
    "the variable of a comprehension is its own": """
        def f(a):
            v = 7
            w = [v for v in (a, 1)]
            return v, w
        """,
    "an assignment in a comprehension is not": """
        def f(a, b):
            w = [last := v for v in (a, b)]
            found = any((hit := v) > 1 for v in (a, b))
            return w, last, found, hit
        """,
    "comprehensions see outer names": """
        def f(a, b):
            k = a
            return [[k + u + v for u in (1, 2)] for v in (b,)]
        """,
    "lambdas of a comprehension share a variable": """
        def f(a, b):
            return [g() for g in [lambda: v for v in (a, b)]]
        """,
    "deleting names": """
        def f(p, a):
            v = a
            if p:
                del v
            return v
        """,
    "a set of the module in order": """
        AXES = {"tp", "cp", "pp"}
        SIZES = frozenset({8, 1, 33})

        def f(a):
            total = 0
            for v in SIZES:
                total = total * 10 + v
                if total > a:
                    break
            return total, list(AXES), [v for v in SIZES]
        """,
    "a set of one in order": """
        def f(a):
            for v in {a}:
                return list({v})
        """,
    "a collection tested again": """
        ALLOWED = {"auto": ("a", "b"), "node": ()}
        TABLE = [{"x": 1}, {"x": 2}]

        def f(s, a):
            if s not in ALLOWED:
                raise KeyError(s)
            picked = [row["x"] for row in TABLE if row["x"] > a]
            return len(ALLOWED[s]), picked, [k for k in ALLOWED], ALLOWED.get("auto")
        """,
}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(source: str) -> None:
    agree(source)


def test_a_changed_text_is_that_of_each_text_that_is_compared() -> None:
    agree(
        """
        def f(s):
            if s not in ("x", "X", "x_y", "xy", "other"):
                return 0
            if s.replace("_", "").lower() == "xy":
                return 1
            return 2 if s.lower() == "x" else 3
        """
    )
