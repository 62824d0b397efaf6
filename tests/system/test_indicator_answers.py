"""Stores random results, and compares queries, rankings and lists with a computation in Python."""

import decimal
import json
import math
import random
import statistics
from fractions import Fraction

from harness import ROOT, TestCase

SEED = 20261121
N = 700
BEGIN_MS = 1_700_000_000_000
RELATIONS = {"=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
             ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
MODEL = {"name": "Random", "parameters": {"size": {"type": ["int", "str"], "index": "exact"}, "dtype": {"type": "str", "index": "exact"},
                                          "flag": "bool"},
         "results": {"rate": {"type": "float", "unit": "1/s", "direction": "higher"}, "elapsed": {"type": "float", "unit": "ms",
                                                                                              "direction": "lower"}}}


def quantile(values, q):
    values = sorted(values)
    place = q * (len(values) - 1)
    low = math.floor(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


STATISTICS = {
    "n": len, "mean": statistics.fmean, "median": statistics.median, "min": min, "max": max,
    "sd": lambda v: statistics.stdev(v) if len(v) > 1 else None,
    "standard_error": lambda v: statistics.stdev(v) / math.sqrt(len(v)) if len(v) > 1 else None,
    "q1": lambda v: quantile(v, 0.25), "q3": lambda v: quantile(v, 0.75), "iqr": lambda v: quantile(v, 0.75) - quantile(v, 0.25),
    "p95": lambda v: quantile(v, 0.95), "p0": min, "p100": max, "p99.9": lambda v: quantile(v, 0.999),
}


def exact_statistics(values):
    """Computes mean, sd and skew of doubles with exact fractions, rounded once."""
    exact, n = [Fraction(v) for v in values], len(values)
    mean = sum(exact) / n
    variance = sum((v - mean) ** 2 for v in exact) / (n - 1)
    cubes = sum((v - mean) ** 3 for v in exact)
    with decimal.localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -9999, 9999
        sd = (decimal.Decimal(variance.numerator) / decimal.Decimal(variance.denominator)).sqrt()
        skew = decimal.Decimal(n) / ((n - 1) * (n - 2)) * decimal.Decimal(cubes.numerator) / decimal.Decimal(cubes.denominator) / sd ** 3
        return {"mean": float(mean), "sd": float(sd), "skew": float(skew)}


class FarFromOne(TestCase):
    def test_statistics_are_those_of_exact_fractions(self):
        rng = random.Random(SEED)
        samples = {"small": [rng.lognormvariate(0, 1) * 1e-300 for _ in range(50)],
                   "large": [rng.lognormvariate(0, 1) * 1e300 for _ in range(50)],
                   "largest": [1.7e308, 1.6e308, 1.1e308, 1.75e308],
                   "close": [1e9 + rng.choice([-1e-3, 0, 1e-3, 2e-3]) for _ in range(50)],
                   "closer": [1.0, 1.0 + 2 ** -52, 1.0 + 2 ** -51, 1.0],
                   "mixed": [-1e300, 1e-300, 1e300, 5e299, 1.0],
                   "symmetric": [-3.0, -1.0, 1e-8, 1.0, 3.0]}
        running = self.daemon("[indicators]\ndirectory =\n")
        with running.client() as client:
            for name, values in samples.items():
                documents = [{"name": "Far", "component": name, "@parameters": {}, "@result": {"v": v}} for v in values]
                self.assert_status(client.submit(*documents), "OK")
        for name, values in samples.items():
            stats = ",".join(f"{field}:v" for field in ("mean", "sd", "skew"))
            answer = running.get(f"/api/v1/indicators/Far/query?where=component%3D{name}&stat={stats}").json
            cells = answer["groups"][0]["values"]
            for field, known in exact_statistics(values).items():
                with self.subTest(name, field=field):
                    value = cells[f"{field}:v"]
                    self.assertLessEqual(abs(value - known), 1e-12 * abs(known), (value, known))


class Result:
    """One result in Python's form."""

    def __init__(self, rng, i):
        self.time_ms = BEGIN_MS + rng.randrange(2000) * 1000
        self.parameters = {"size": rng.choice([256, 512, 512, 1024.0, "large"]), "dtype": rng.choice(["float32", "float64", "512"])}
        if rng.random() < 0.7:
            self.parameters["flag"] = rng.random() < 0.5
        if rng.random() < 0.2:
            self.parameters["seldom"] = rng.choice([1, 2.5, None])
        self.fields = {"component": rng.choice(["tensorflow", "pytorch", "a b"]), "version": rng.choice(["1.0", "1.1", None])}
        self.failed = rng.random() < 0.15
        # Values repeat often, to create ties.
        self.result = {"rate": float(rng.randrange(5)) if rng.random() < 0.5 else rng.lognormvariate(0, 1), "note": "text"}
        if rng.random() < 0.8:
            self.result["elapsed"] = rng.choice([rng.random() * 1e-9, rng.random() * 1e12, 7])
        if rng.random() < 0.3:
            self.result["extra"] = rng.randrange(-5, 5)

    def document(self):
        document = {"name": "Random", "component": self.fields["component"], "@parameters": self.parameters,
                    "@result": {} if self.failed else self.result}
        if self.fields["version"]:
            document["version"] = self.fields["version"]
        return document

    def field(self, key):
        return self.fields[key] if key in self.fields else self.parameters.get(key)

    def meets(self, key, relation, text):
        if key in self.fields:
            return self.fields[key] is not None and RELATIONS[relation](self.fields[key], text)
        if key not in self.parameters:
            return False
        value = self.parameters[key]
        if isinstance(value, bool) or value is None:
            return relation in ("=", "!=") and RELATIONS[relation](json.dumps(value), text)
        if isinstance(value, str):
            return relation in ("=", "!=") and RELATIONS[relation](value, text)
        try:
            return RELATIONS[relation](float(value), float(text))
        except ValueError:
            return relation == "!="

    def group(self, keys):
        return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in map(self.field, keys))


class IndicatorAnswers(TestCase):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.results = [Result(self.rng, i) for i in range(N)]

    def start(self, with_model):
        directory = self.temporary_directory()
        if with_model:
            (directory / "random.yaml").write_text(json.dumps(MODEL))
        self.running = self.daemon(f"[indicators]\ndirectory = {directory}\n")
        with self.running.client() as client:
            for part in (self.results[i:i + 100] for i in range(0, N, 100)):
                request = client.submit_request(*(result.document() for result in part))
                for item, result in zip(request.submit.indicators, part):
                    item.time_ms = result.time_ms
                    item.exit_status = 3 if result.failed else 0
                self.assert_status(client.call(request), "OK")

    def ask(self, what, **words):
        pairs = "&".join(f"{key}={quote(item)}" for key, value in words.items() for item in (value if isinstance(value, list) else [value]))
        answer = self.running.get(f"/api/v1/indicators/Random/{what}?{pairs}")
        self.assertEqual(answer.status, 200, (words, answer.text))
        return answer.json

    def random_conditions(self):
        keys = {"size": ["256", "512", "512.0", "1024", "large", "600"], "dtype": ["float32", "512", "float64"], "flag": ["true", "false"],
                "seldom": ["1", "2.5", "null", "2"], "component": ["tensorflow", "a b"], "version": ["1.0", "1.1"]}
        conditions = []
        for key in self.rng.sample(sorted(keys), self.rng.randrange(4)):
            ordered = key in ("size", "seldom") and self.rng.random() < 0.4
            relation = self.rng.choice(["<", "<=", ">", ">="] if ordered else ["=", "=", "!="])
            values = [v for v in keys[key] if v.replace(".", "").isdigit()] if ordered else keys[key]
            conditions.append((key, relation, self.rng.choice(values)))
        return conditions

    def random_question(self):
        conditions, words = self.random_conditions(), {}
        if conditions:
            words["where"] = ["".join(condition) for condition in conditions]
        since_ms = BEGIN_MS + self.rng.randrange(2000) * 1000 if self.rng.random() < 0.3 else 0
        until_ms = BEGIN_MS + self.rng.randrange(2000) * 1000 if self.rng.random() < 0.3 else 2**60
        words |= ({"since_ms": str(since_ms)} if since_ms else {}) | ({"until_ms": str(until_ms)} if until_ms < 2**60 else {})
        return words, [r for r in self.results if since_ms <= r.time_ms < until_ms and all(r.meets(*c) for c in conditions)]

    def check_query(self):
        words, expected = self.random_question()
        keys = self.rng.sample(["component", "version", "size", "dtype", "flag", "seldom"], self.rng.randrange(4))
        stats = [f"{name}:{self.rng.choice(['rate', 'rate', 'elapsed', 'extra'])}" for name in self.rng.sample(sorted(STATISTICS), 4)]
        words |= {"stat": ",".join(stats), "limit": "10000"} | ({"group_by": ",".join(keys)} if keys else {})
        answer = self.ask("query", **words)
        self.assertEqual(answer["scanned"], len(expected), words)
        groups = {}
        for result in expected:
            groups.setdefault(result.group(keys), []).append(result)
        self.assertEqual({tuple(group["key"].values()) for group in answer["groups"]}, set(groups), words)
        for group in answer["groups"]:
            members = groups[tuple(group["key"].values())]
            good = [member for member in members if not member.failed]
            self.assertEqual((group["n"], group["n_failed"]), (len(good), len(members) - len(good)), words)
            self.assertEqual((group["first_ms"], group["last_ms"]), (min(m.time_ms for m in members), max(m.time_ms for m in members)))
            for stat in set(stats):
                name, key = stat.split(":")
                values = [m.result[key] for m in good if key in m.result]
                wanted = STATISTICS[name](values) if values or name == "n" else None
                got = group["values"][stat]
                close = got is wanted if wanted is None or got is None else math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-20)
                self.assertTrue(close, (words, stat, got, wanted, values))
        return len(expected)

    def check_rank(self):
        words, expected = self.random_question()
        objective, direction = self.rng.choice([("rate", "higher"), ("elapsed", "lower")])
        by = self.rng.sample(["component", "version", "dtype", "size"], self.rng.randrange(1, 3))
        across = self.rng.sample(["parameters", "hardware", "component", "version", "dtype", "size"], self.rng.randrange(4))
        held = [key for key in ("component", "version") if key not in by + across]
        if "version" in held and ("component" in by or "component" in across):
            held.remove("version")
        words |= {"objective": objective, "direction": direction, "by": ",".join(by)} | ({"across": ",".join(across)} if across else {})
        if not any(objective in r.result for r in expected if not r.failed):
            return 0
        answer = self.ask("rank", **words)
        sets = {}
        for result in expected:
            others = {} if "parameters" in across else {k: v for k, v in result.parameters.items() if k not in by + across}
            held_key = (json.dumps(sorted((k, float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v)
                                          for k, v in others.items())), result.group(held))
            sets.setdefault(held_key, {}).setdefault(result.group(by), []).append(result)
        counts = dict.fromkeys(("failed", "without_objective", "too_few_runs", "nothing_to_compare_with"), 0)
        compared, medians = 0, []
        for alternatives in sets.values():
            values = {key: [m.result[objective] for m in members if not m.failed and objective in m.result]
                      for key, members in alternatives.items()}
            counts["failed"] += sum(m.failed for members in alternatives.values() for m in members)
            counts["without_objective"] += sum(not m.failed and objective not in m.result for ms in alternatives.values() for m in ms)
            counts["too_few_runs"] += sum(len(v) for v in values.values() if len(v) < 3)
            enough = {key: v for key, v in values.items() if len(v) >= 3}
            n = sum(map(len, enough.values()))
            compared += n if len(enough) > 1 else 0
            counts["nothing_to_compare_with"] += n if len(enough) < 2 else 0
            medians.append(sorted((statistics.median(v) for v in enough.values()), reverse=direction == "higher"))
        self.assertEqual((answer["excluded"], answer["compared"], answer["scanned"]), (counts, compared, len(expected)), words)
        self.assertEqual(sum(counts.values()) + compared, len(expected))
        got = [[a["median"] for a in ranking["alternatives"]] for ranking in answer["rankings"]]
        self.assertEqual(len(got), len(sets), words)
        for a, b in zip(sorted(got), sorted(medians)):
            self.assertTrue(len(a) == len(b) and all(math.isclose(x, y, rel_tol=1e-9) for x, y in zip(a, b)), (words, a, b))
        for ranking in answer["rankings"]:
            ranks = [a["rank"] for a in ranking["alternatives"]]
            self.assertEqual(ranks, sorted(ranks))
            self.assertTrue(all(a["low"] <= a["median"] <= a["high"] if a["level"] else a["n"] < 6 for a in ranking["alternatives"]), words)
        return len(expected)

    def check_list(self):
        words, expected = self.random_question()
        limit, page, got = self.rng.choice([1, 7, 100]), None, []
        while len(got) < 40:
            answer = self.ask("results", limit=str(limit), **words, **({"page": page} if page else {}))
            got += [(row["time_ms"], row["document"]["@parameters"]) for row in answer["results"]]
            page = answer["next"]
            if not page:
                break
        self.assertEqual([time_ms for time_ms, _ in got], sorted((r.time_ms for r in expected), reverse=True)[:len(got)], words)
        self.assertEqual(len(got) < len(expected), page is not None)
        for time_ms, parameters in got:
            self.assertIn(parameters, [r.parameters for r in expected if r.time_ms == time_ms])
        return len(expected)

    def check_all(self):
        n_met = sum(sum(check() > 0 for _ in range(40)) for check in (self.check_query, self.check_rank, self.check_list))
        self.assertGreater(n_met, 60) # otherwise the queries match nothing

    def test_with_a_model_and_its_index(self):
        self.start(with_model=True)
        self.check_all()

    def test_without_a_model(self):
        self.start(with_model=False)
        self.check_all()


def quote(text):
    return "".join(c if c.isalnum() or c in "._-," else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


if __name__ == "__main__":
    import unittest
    unittest.main()
