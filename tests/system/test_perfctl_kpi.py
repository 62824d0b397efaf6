"""Checks perfctl kpi and perfctl import kpis: forms of KPIs, the model of an import, OpenMetrics."""

import contextlib
import json
import os
import re
import resource
import sqlite3
import time
import unittest

import harness
from harness import TestCase

UUID = "7b6471e2-103e-43c2-9fda-f62548f2f8ed"
SETTINGS = {"kpi_settings_version": "1.0", "rhoai_version": "2.17.0", "accelerator_count": 1, "lora_dropout": 0.05,
            "lora_modules": "q_proj, v_proj", "ci_engine": "PERFLAB_CI", "run_id": "jobs/0010", "test_path": "artifacts/010",
            "urls": {"PERFLAB_CI": "https://ci.example.com/10"}}


def kpi(value, unit, text, lower_better=None, **more):
    return {"unit": unit, "help": text, "@timestamp": "2024-11-11T10:20:30.123456+00:00", "value": value, "test_uuid": UUID,
            "lower_better": lower_better, "status": "Valid", **SETTINGS, **more}


KPIS = {"tokens_per_second": kpi(2062.205578, "tokens/s", "Tokens processed per second", False),
        "runtime": kpi(1519.5, "s", "Time taken", True),
        "avg_tokens_per_sample": kpi(197.0, "tokens", "Average number of tokens")}
LABELS = 'rhoai_version="2.17.0",accelerator_count="1",lora_dropout="0.05",lora_modules="q_proj, v_proj",ci_engine="PERFLAB_CI"'
OPENMETRICS = "".join(f"# TYPE {name} gauge\n# HELP {name} {entry['help']} (in {entry['unit']})\n"
                      f"{name}{{{LABELS}}} {entry['value']} 1731320430.123456\n" for name, entry in KPIS.items()) + "# EOF\n"


class Kpi(TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon()

    def perfctl(self, *words, status=0, text=None):
        done = self.running.perfctl(*map(str, words), **({"input": text} if text is not None else {}))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def write(self, content):
        file = self.temporary_directory() / "kpis"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def exposed(self):
        self.running.wait_tick()
        return self.running.get("/metrics?collect[]=kpis", headers={"Accept": "application/openmetrics-text"}).text.splitlines()

    def documents(self, name):
        return [row["document"] for row in self.running.get(f"/api/v1/indicators/{name}/results").json["results"]]

    def test_kpis_of_a_payload_are_one_result(self):
        file = self.write({"metadata": {}, "kpis": KPIS})
        done = self.perfctl("import", "kpis", "--model", "tuning", "--json", file)
        self.assertEqual(json.loads(done.stdout), {"kpis": 3, "stored": 1, "duplicate": 0})
        self.assertIn("registered a model of tuning", done.stderr)
        document, = self.documents("tuning")
        self.assertEqual(document["@result"], {name: entry["value"] for name, entry in KPIS.items()})
        self.assertEqual(list(document["@parameters"]), ["rhoai_version", "accelerator_count", "lora_dropout", "lora_modules"])
        self.assertEqual(list(document["@labels"]), ["test_uuid", "ci_engine", "run_id", "test_path", "urls"])
        again = self.perfctl("import", "kpis", "--model", "tuning", "--json", file)
        self.assertEqual((json.loads(again.stdout)["duplicate"], again.stderr), (1, ""))

    def test_metrics_show_current_kpis(self):
        self.perfctl("import", "kpis", "--model", "tuning", self.write({"kpis": KPIS}))
        for name, value in (("one", 1), ("two", 2)):
            model = self.write(f"name: {name}\nkpi_name: wait_seconds\nparameters: {{size: int}}\n"
                               "results: {w: {type: float, unit: seconds, direction: lower, help: 'Time \"waited\"'}}\n")
            self.perfctl("model", "add", model)
            with self.running.client() as client:
                document = {"name": name, "component": "c", "@parameters": {"size": 4, "run": "x"}, "@result": {"w": value}}
                self.assert_status(client.call(client.submit_request(document)), "OK")
        self.running.wait_tick()
        headers = {"Accept": "application/openmetrics-text"}
        text = self.running.get("/metrics?collect[]=kpis", headers=headers).text
        self.assertEqual(text, """# TYPE perfd_kpi_one_wait_seconds gauge
# UNIT perfd_kpi_one_wait_seconds seconds
# HELP perfd_kpi_one_wait_seconds Time 'waited' (in seconds)
perfd_kpi_one_wait_seconds{component="c",uid="UID",size="4"} 1
# TYPE perfd_kpi_runtime gauge
# HELP perfd_kpi_runtime Time taken (in s)
perfd_kpi_runtime{LABELS} 1519.5
# TYPE perfd_kpi_tokens_per_second gauge
# HELP perfd_kpi_tokens_per_second Tokens processed per second (in tokens/s)
perfd_kpi_tokens_per_second{LABELS} 2062.205578
# TYPE perfd_kpi_two_wait_seconds gauge
# UNIT perfd_kpi_two_wait_seconds seconds
# HELP perfd_kpi_two_wait_seconds Time 'waited' (in seconds)
perfd_kpi_two_wait_seconds{component="c",uid="UID",size="4"} 2
# EOF
""".replace("LABELS", 'component="kpi",uid="UID",' + LABELS.replace(',ci_engine="PERFLAB_CI"', "")).replace("UID", str(os.getuid())))
        self.assertIn("perfd_kpi_one_wait_seconds{", self.running.get("/metrics").text)

    def test_strict_parsers_have_no_complaint(self):
        harness.import_peer("prometheus_client.openmetrics.parser")
        import prometheus_client.openmetrics.parser
        import prometheus_client.parser
        model = {"name": "pipe", "parameters": {"p-q": "int", "run_id": "str"},
                 "results": {name: {"type": "float", "direction": "lower", "unit": "s"} for name in ("a-b", "elapsed", "up", "9 %")}}
        self.perfctl("model", "add", self.write(json.dumps(model)))
        self.perfctl("model", "add", self.write(json.dumps({**model, "name": "pipe-2", "parameters": {}})))
        for name in ("pipe", "pipe-2"):
            document = {"name": name, "component": 'c"\\', "@parameters": {"p-q": 1, "run_id": "r1"},
                        "@result": {"a-b": 1, "elapsed": 3, "up": 4, "9 %": 5}}
            with self.running.client() as client:
                self.assert_status(client.call(client.submit_request(document)), "OK")
        self.running.wait_tick()
        for headers, parser in (({}, prometheus_client.parser),
                                ({"Accept": "application/openmetrics-text"}, prometheus_client.openmetrics.parser)):
            text = self.running.get("/metrics", headers=headers).text
            families = {family.name: family for family in parser.text_string_to_metric_families(text)}
            self.assertEqual([name for name in families if not name.startswith(("perfd_", "process_"))], [])
            shown = {name: family.samples[0].value for name, family in families.items() if name.startswith("perfd_kpi_pipe")}
            self.assertEqual(shown, {f"perfd_kpi_{pipe}_{name}": value for pipe in ("pipe", "pipe_2") for name, value in (
                ("a_b", 1), ("elapsed", 3), ("up", 4), ("_9__", 5))})
            labels = {"component": 'c"\\', "uid": str(os.getuid()), "p_q": "1"}
            self.assertEqual(families["perfd_kpi_pipe_elapsed"].samples[0].labels, labels)

    def test_a_refused_result_is_no_current_kpi(self):
        self.perfctl("import", "kpis", "--model", "tuning", self.write({"kpis": KPIS}))
        other = {name: {**entry, "value": 7} for name, entry in KPIS.items()}
        self.perfctl("import", "kpis", "--model", "tuning", self.write({"kpis": other}))
        self.running.wait_tick()
        self.assertNotIn("} 7\n", self.running.get("/metrics?collect[]=kpis").text)

    def import_again(self, entries, *words):
        done = self.perfctl("import", "kpis", "--model", "tuning", *words, self.write({"kpis": entries}))
        return done.stdout, done.stderr

    def ask_one(self, result, *words):
        group, = json.loads(self.perfctl("indicator", "query", "tuning", "--json", "-s", f"mean:{result}", *words).stdout)["groups"]
        return group["n"], *group["values"].values()

    def test_a_result_that_comes_again_gets_what_it_lacks(self):
        first = {"runtime": KPIS["runtime"], "tokens_per_second": KPIS["tokens_per_second"]}
        self.import_again({"runtime": {key: value for key, value in first["runtime"].items() if key not in ("run_id", "lora_dropout")}})
        before, = self.documents("tuning")
        self.assertNotIn("lora_dropout", before["@parameters"])
        out, err = self.import_again(first)
        self.assertIn("0 stored, 1 already stored", out)
        self.assertIn("already stored: the missing members were added", err)
        document, = self.documents("tuning")
        self.assertEqual(document["@result"], {"runtime": 1519.5, "tokens_per_second": 2062.205578})
        self.assertEqual((document["@parameters"]["lora_dropout"], document["@labels"]["run_id"]), (0.05, "jobs/0010"))
        self.assertEqual(self.ask_one("runtime", "-w", "lora_dropout=0.05"), (1, 1519.5))
        self.assertNotIn("already stored", self.import_again(first)[1])

        other = {name: {**entry, "value": 7, "extra": "x"} for name, entry in first.items()}
        out, err = self.import_again(other)
        self.assertIn("already stored, and kept unchanged: @result.runtime is 1519.5, and is 7 now", err)
        document, = self.documents("tuning")
        self.assertEqual((document["@result"]["runtime"], document["@parameters"]["extra"]), (1519.5, "x"))

    def test_a_result_is_replaced_for_its_owner(self):
        self.import_again(KPIS)
        n_bytes = self.stored_bytes()
        other = {name: {**entry, "value": 7, "lora_dropout": 0.1} for name, entry in KPIS.items()}
        self.assertIn("and kept unchanged", self.import_again(other)[1])
        out, err = self.import_again(other, "--replace")
        self.assertIn("0 stored, 1 already stored", out)
        self.assertIn("already stored: the content was replaced", err)
        document, = self.documents("tuning")
        self.assertEqual((set(document["@result"].values()), document["@parameters"]["lora_dropout"]), ({7}, 0.1))
        self.assertEqual(self.ask_one("runtime"), (1, 7))
        self.assertEqual(self.ask_one("runtime", "-w", "lora_dropout=0.1"), (1, 7))
        query = self.perfctl("indicator", "query", "tuning", "--json", "-s", "mean:runtime", "-w", "lora_dropout=0.1")
        self.assertEqual(json.loads(query.stdout)["scanned"], 1)
        self.running.wait_tick()
        self.assertIn("} 7\n", self.running.get("/metrics?collect[]=kpis").text)
        self.assertNotIn("already stored", self.import_again(other, "--replace")[1])
        self.import_again(KPIS, "--replace")
        self.assertEqual(self.stored_bytes(), n_bytes)
        self.running.kill()
        self.running.start()
        self.assertEqual(self.ask_one("runtime"), (1, 1519.5))

    def stored_bytes(self):
        self.running.stop()
        with contextlib.closing(sqlite3.connect(next(self.running.directory.rglob("*.db")))) as database:
            rows = list(database.execute("SELECT n_bytes, n_series FROM holder"))
            self.assertEqual(list(database.execute("SELECT count(*) FROM series")), [(rows[0][1],)])
        self.running.start()
        return rows

    def test_openmetrics_is_read(self):
        self.perfctl("import", "kpis", self.write(OPENMETRICS))
        document, = self.documents("kpis")
        self.assertEqual(document["@result"], {name: entry["value"] for name, entry in KPIS.items() if entry["value"] is not None})

    def test_each_set_of_labels_is_listed_and_judged(self):
        text = ("# TYPE ms gauge\n# UNIT ms ms\nms{a=\"1\"} %d # {trace=\"x\"} 1\nms{a=\"2\"} 7\n"
                "# HELP other Another (in s)\nother{b=\"1\",c=\"x\"} 3 1438224000\nother{a=\"1\"} 4\n# EOF\n")
        for value in (5, 5, 5, 5, 9):
            self.perfctl("import", "kpis", "--model", "sets", self.write((text % value).replace("\n", "\r\n")))
        model, = (model for model in self.running.get("/api/v1/models").json["models"] if model["name"] == "sets")
        self.assertEqual(set(model["declaration"]["parameters"]), {"a", "b", "c"})
        self.assertEqual({name: result.get("unit") for name, result in model["declaration"]["results"].items()}, {"ms": "ms", "other": "s"})
        listed = self.perfctl("kpi", "list").stdout.splitlines()
        self.assertEqual(sorted(re.split(r"\s{2,}", line)[:3] for line in listed[1:]),
                         [["ms", "a=1", "9 ms"], ["ms", "a=2", "7 ms"],
                          ["other", "a=1", "4 s"], ["other", "b=1 c=x", "3 s"]])
        judged = json.loads(self.perfctl("kpi", "check", "--json", "--fail-on", "none").stdout)["kpis"]
        self.assertEqual(len(judged), 4, judged)

    def test_a_file_of_many_kpis_takes_time_in_proportion(self):
        def seconds(n, labels):
            file = self.write("".join(f"k{i if labels else 0}{{i=\"{0 if labels else i}\"}} {i}\n" for i in range(n)))
            begin = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.perfctl("import", "kpis", "--timeout", "60s", "--model", f"many{n}{labels}", file)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            return end.ru_utime - begin.ru_utime
        for labels in (True, False):
            least = min(seconds(2000, labels) for _ in range(3))
            self.assertLess(min(seconds(16000, labels) for _ in range(3)), 24 * max(least, 0.01))
        done = self.perfctl("import", "kpis", self.write({f"k{i}": kpi(i, "s", "One") for i in range(20001)}), status=1)
        self.assertIn("has more than 20000 KPIs", done.stderr)

    def test_what_the_code_of_matrixbenchmarking_prints_is_read(self):
        labels = ", ".join(f'{key}="{value}"' for key, value in KPIS["runtime"].items()
                           if key not in ("unit", "help", "value", "@timestamp"))
        self.perfctl("import", "kpis", "--model", "printed", self.write(f"# HELP Time taken, in s\nruntime{{{labels}}} 1519.5 s\n"))
        model, = (model for model in self.running.get("/api/v1/models").json["models"] if model["name"] == "printed")
        self.assertEqual(model["declaration"]["results"]["runtime"],
                         {"type": "float", "unit": "s", "direction": "lower", "help": "Time taken", "optional": True})
        self.assertEqual(model["declaration"]["settings_version"], "1.0")
        self.assertEqual(self.documents("printed")[0]["@parameters"]["accelerator_count"], 1)

    def test_a_difference_from_the_model_is_reported_with_both(self):
        self.perfctl("import", "kpis", self.write(KPIS))
        other = {"runtime": {**KPIS["runtime"], "unit": "ms", "lower_better": False, "test_uuid": UUID.replace("7b", "8c")},
                 "new": kpi(1, "s", "New", test_uuid=UUID.replace("7b", "8c"))}
        done = self.perfctl("import", "kpis", self.write(other))
        self.assertIn("runtime: unit is 'ms' in the file, and 's' in the model; the model is unchanged", done.stderr)
        self.assertIn("runtime: direction is 'higher' in the file, and 'lower' in the model", done.stderr)
        self.assertIn("new: the model of kpis does not declare this KPI", done.stderr)
        self.assertIn("1 stored", done.stdout)

    def test_a_result_of_two_models_has_the_model_in_its_name(self):
        for name, uuid in (("one", UUID), ("two", UUID.replace("7b", "8c"))):
            self.perfctl("import", "kpis", "--model", name, self.write({"runtime": {**KPIS["runtime"], "test_uuid": uuid}}))
        self.assertEqual([line.split()[0] for line in self.perfctl("kpi", "list").stdout.splitlines()],
                         ["KPI", "one.runtime", "two.runtime"])
        families = [line.split()[2] for line in self.exposed() if line.startswith("# TYPE")]
        self.assertEqual(families, ["perfd_kpi_one_runtime", "perfd_kpi_two_runtime"])

    def test_values_are_numbers_lists_and_null(self):
        file = self.write({"memory": kpi([-1, 2.5], "MB", "Memory", True),
                           "none": kpi(None, "s", "Nothing"), "minus": kpi(-1, "MB", "Memory", True)})
        self.perfctl("import", "kpis", file)
        lines = [re.sub(r"\{.*?(,index=.*)?\}", r"\1", line) for line in self.exposed() if not line.startswith("#")]
        self.assertEqual(lines, ['perfd_kpi_memory,index="0" -1', 'perfd_kpi_memory,index="1" 2.5', "perfd_kpi_minus -1"])
        self.assertIn("--- s", self.perfctl("kpi", "list").stdout)

    def test_a_list_is_judged_by_its_median(self):
        model = "{name: latency, parameters: {}, results: {latency: {type: list, unit: ms, direction: lower}}}"
        for value in (10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.1, 12, 12.1, 11.9):
            self.perfctl("kpi", "submit", "latency", json.dumps([value, 1, value, 1000]))
        for registers in (False, True):
            if registers:
                self.perfctl("model", "add", self.write(model))
            unit = " ms" if registers else ""
            self.assertRegex(self.perfctl("kpi", "list").stdout, rf"\nlatency +- +11\.9{unit} \(median of 4\) ")
            text = self.perfctl("kpi", "check", "latency.latency", status=4 if registers else 0).stdout
            self.assertRegex(text, r"latency +- +(regression|changed) ")
            self.assertIn(f"  11.9{unit} (median of 4 values)", text)
        kpi, = json.loads(self.perfctl("kpi", "check", "latency", "--json", status=4).stdout)["kpis"]
        self.assertEqual((kpi["value"], kpi["values"], kpi["runs"]), (11.9, 4, 11))

    def test_a_kpi_that_was_only_null_has_no_number(self):
        self.perfctl("kpi", "submit", "lost", "null")
        self.assertIn("no result of lost has a number as result 'lost'", self.perfctl("kpi", "check", "lost", status=1).stderr)

    def test_what_separates_single_runs_is_named(self):
        for i in range(3):
            self.perfctl("import", "kpis", self.write({name: {**kpi(i, "s", name, True), "test_uuid": UUID[:-1] + str(i), "run_id": str(i),
                                                              "rhoai_version": f"2.{i}.0", "image": f"i{i}"} for name in ("a", "b")}))
        text = " ".join(self.perfctl("kpi", "check").stdout.split())
        self.assertIn("6 KPIs: 6 unknown", text)
        self.assertIn("the runs of a KPI differ in image,rhoai_version. --ignore image,rhoai_version compares them; --by names", text)
        for names in ((), ("a",), ("b", "a")):
            answer = json.loads(self.perfctl("kpi", "check", "--json", *names).stdout)
            self.assertEqual(answer["separated_by"], ["image", "rhoai_version"])
        self.assertIn("differ in image,rhoai_version. --ignore", " ".join(self.perfctl("kpi", "accept", "b").stdout.split()))
        self.perfctl("kpi", "accept", "--remove", "b")
        for words in (("--ignore", "rhoai_version,image"), ("--by", "rhoai_version", "--ignore", "image")):
            self.assertEqual(json.loads(self.perfctl("kpi", "check", "--json", *words).stdout)["separated_by"], [])
            text = self.perfctl("kpi", "check", *words).stdout
            self.assertIn("2 KPIs: 2 unknown", text)
            self.assertNotIn("differ in", text)
        done = self.perfctl("kpi", "accept", "a", "--ignore", "rhoai_version,image")
        self.assertRegex(done.stdout, r"^kpis\.a of .*: accepted 2 s\n$")

    def test_a_name_that_ends_in_its_unit_has_a_unit(self):
        self.perfctl("import", "kpis", self.write({"wait_s": kpi(1, "s", "Time", True), "runs": kpi(1, "s", "Time", True)}))
        units = [line for line in self.exposed() if line.startswith("# UNIT")]
        self.assertEqual(units, ["# UNIT perfd_kpi_wait_s s"])

    def test_one_value_is_submitted_with_labels(self):
        self.perfctl("kpi", "submit", "--label", "model_name=llama3", "--component-version", "2.10.0", "--", "gpu_memory", "-1")
        self.perfctl("kpi", "submit", "latency", "[1, 2.5]")
        self.perfctl("kpi", "submit", "latency", "null")
        document, = self.documents("gpu_memory")
        self.assertEqual(document, {"name": "gpu_memory", "component": "kpi", "version": "2.10.0", "@parameters": {},
                                    "@result": {"gpu_memory": -1}, "@labels": {"model_name": "llama3"}})
        self.assertEqual([row["@result"]["latency"] for row in self.documents("latency")], [None, [1, 2.5]])
        for value in ("fast", "1 2", '"1"', '["1"]', "{}"):
            self.assertIn("VALUE must be a number", self.perfctl("kpi", "submit", "latency", value, status=2).stderr)

    def test_a_submitted_kpi_is_listed_and_judged_without_a_model(self):
        for value in (10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.1, 12, 12.1, 11.9):
            self.perfctl("kpi", "submit", "speed", value)
        self.assertRegex(self.perfctl("kpi", "list").stdout, r"\nspeed +- +11\.9 +- +- ")
        text = self.perfctl("kpi", "check", "speed").stdout
        self.assertRegex(text, r"speed\.speed +- +changed +\+\d+\.\d %")
        for words in ((), ("speed",), ("speed.speed",), ("sp*",)):
            kpi, = json.loads(self.perfctl("kpi", "check", "--json", *words).stdout)["kpis"]
            self.assertEqual((kpi["kpi"], kpi["verdict"], kpi["direction"]), ("speed.speed", "changed", "none"))
        self.perfctl("kpi", "check", "speed", "--direction", "lower", status=4)

    def test_parameters_split_the_history_of_a_submitted_kpi(self):
        self.perfctl("model", "add", self.write("{name: rate, parameters: {model_name: str, users: int}, results: {rate: float}}"))
        for model in ("llama3", "granite"):
            for value in (1, 2):
                self.perfctl("kpi", "submit", "--parameter", f"model_name={model}", "--parameter", "v=2.10", "--parameter", "n=8",
                             "speed", value)
                self.perfctl("kpi", "submit", "--label", f"model_name={model}", "--label", "users=4", "rate", value)
        for name, expected in (("speed", {"n": 8, "v": "2.10"}), ("rate", {"users": 4})):
            with self.subTest(name):
                answer = json.loads(self.perfctl("kpi", "check", name, "--json").stdout)
                self.assertEqual([(kpi["labels"]["parameters"], kpi["runs"]) for kpi in answer["kpis"]],
                                 [({"model_name": model, **expected}, 2) for model in ("granite", "llama3")])
        answer = json.loads(self.perfctl("indicator", "query", "rate", "-b", "model_name,users", "-s", "mean:rate", "--json").stdout)
        self.assertEqual([(group["key"], group["n"]) for group in answer["groups"]],
                         [({"model_name": model, "users": 4}, 2) for model in ("granite", "llama3")])
        done = self.perfctl("kpi", "submit", "--parameter", "a=1", "--parameter", "a=2", "speed", 1, status=2)
        self.assertIn("each KEY once", done.stderr)

    def test_runs_that_a_label_separates_are_not_judged_together(self):
        for i in range(16):
            site = "ab"[i % 2]
            self.perfctl("kpi", "submit", "--label", f"site={site}", "--label", f"run={i}", "rate", (100, 200)[i % 2] + i % 5)
            self.perfctl("kpi", "submit", "--label", f"site={site}", "--parameter", f"site={site}", "kept", (100, 200)[i % 2] + i % 5)
            self.perfctl("kpi", "submit", "--label", f"site={site}'; true '", "quoted", (100, 200)[i % 2] + i % 5)
        text = " ".join(self.perfctl("kpi", "check", "rate").stdout.split())
        self.assertRegex(text, r"unknown: differs by label site \(a 10\d[.\d]*, b 20\d[.\d]*\); -w .label.site=[ab]. judges one of them")
        self.perfctl("kpi", "check", "rate", "--fail-on", "no-verdict", status=5)
        text = " ".join(self.perfctl("kpi", "check", "quoted").stdout.split())
        self.assertRegex(text, r"differs by label site \(a'; true ' 10\d[.\d]*, b'; true ' 20\d[.\d]*\)")
        self.assertNotIn("-w ", text)  # it would be another command
        for words, verdict in ((("rate", "-w", "label.site=a"), "no change"), (("rate", "--ignore", "site"), "unknown"),
                               (("kept",), "no change")):
            kpis = json.loads(self.perfctl("kpi", "check", "--json", *words).stdout)["kpis"]
            self.assertEqual({(kpi["verdict"], kpi.get("mixture")) for kpi in kpis}, {(verdict, None)}, words)

    def test_few_runs_that_a_label_separates_have_no_verdict(self):
        for i in range(9):
            low, high = 100 + i % 3, 13000 + i % 5
            self.perfctl("kpi", "submit", "--label", f"site={'ab'[i % 2]}", "--label", "host=n1", "rate", (low, high)[i % 2])
            self.perfctl("kpi", "submit", "bare", (low, high)[i % 2])
        text = " ".join(self.perfctl("kpi", "check", "rate").stdout.split())
        self.assertRegex(text, r"unknown: differs by label site \(a 10\d, b 13,00[\d.]+\); -w .label.site=[ab]. judges one of them")
        text = " ".join(self.perfctl("kpi", "check", "bare").stdout.split())
        self.assertRegex(text, r"bare\.bare - unknown .*over 1000 % 1 KPI.* 9 runs unknown: the runs vary so much that a change of 100 % "
                               "would not be seen$")
        self.perfctl("kpi", "check", "bare", "--fail-on", "no-verdict", status=5)
        self.assertEqual(self.perfctl("kpi", "accept", "bare").stdout, "bare.bare: unchanged\n")

    def test_a_change_without_versions_has_the_time_since_which_it_is(self):
        for value in (10, 10.1, 9.9, 10, 10.1, 9.9, 10, 10.1, 12, 12.1, 11.9):
            self.perfctl("kpi", "submit", "speed", value)
        kpi, = json.loads(self.perfctl("kpi", "check", "speed", "--json").stdout)["kpis"]
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(kpi["since_ms"] / 1000))
        text = " ".join(self.perfctl("kpi", "check", "speed").stdout.split())
        self.assertRegex(text, rf" % {since} 11 .* since {since}$")

    def test_a_submitted_kpi_of_any_component_is_listed_and_judged(self):
        for value in (1, 2):
            self.perfctl("kpi", "submit", "--component", "Trainer", "loss", value)
        with self.running.client() as client:
            document = {"name": "bench", "component": "c", "@parameters": {}, "@result": {"other": 1}}
            self.assert_status(client.call(client.submit_request(document)), "OK")
        self.assertRegex(self.perfctl("kpi", "list").stdout, r"^KPI .*\nloss +Trainer +2 +- +- .*\n$")
        answer = json.loads(self.perfctl("kpi", "check", "--json").stdout)
        self.assertEqual([(kpi["kpi"], kpi["labels"]["component"], kpi["runs"]) for kpi in answer["kpis"]], [("loss.loss", "Trainer", 2)])
        self.assertIsNone(answer["note"])

    def test_what_identifies_a_run_never_compares(self):
        model = {"name": "train", "parameters": {"run_id": "str", "ci_engine": "str", "urls": "str", "format": "str"},
                 "results": {"rate": {"type": "float", "direction": "higher"}}}
        self.perfctl("model", "add", self.write(json.dumps(model)))
        documents = [{"name": "train", "component": "c", "version": f"1.{i}.0", "@result": {"rate": 100 + i % 3},
                      "@parameters": {"run_id": f"r{i}", "ci_engine": "ab"[i % 2], "urls": f"u{i}", "format": f}}
                     for i in range(6) for f in ("png", "jpeg")]
        with self.running.client() as client:
            self.assert_status(client.call(client.submit_request(*documents)), "OK")
        kpis = json.loads(self.perfctl("kpi", "check", "train", "--json").stdout)["kpis"]
        self.assertEqual([(kpi["labels"]["parameters"], kpi["runs"]) for kpi in kpis], [({"format": "jpeg"}, 6), ({"format": "png"}, 6)])
        kpi, *_ = json.loads(self.perfctl("kpi", "check", "train", "--by", "run_id", "--json").stdout)["kpis"]
        self.assertEqual((kpi["versions"], kpi["version"]), (6, "r5"))
        self.assertEqual({line.split("{")[1].split("}")[0] for line in self.exposed() if line.startswith("perfd_kpi_rate{")},
                         {f'component="c",uid="{os.getuid()}",format="{f}"' for f in ("png", "jpeg")})

    def test_labels_are_keys_of_queries(self):
        for model, speed in (("llama3", 10), ("llama3", 20), ("granite", 40)):
            self.perfctl("kpi", "submit", "--label", f"model_name={model}", "tokens_per_second", str(speed))
        printed = json.dumps({"name": "tokens_per_second", "component": "kpi", "@parameters": {}, "@result": {"tokens_per_second": 80}})
        self.perfctl("run", "--label", "model_name=granite", "--", "echo", printed)

        def ask(*words):
            name = "tokens_per_second"
            return json.loads(self.perfctl("indicator", "query", name, "--json", "-s", f"mean:{name}", *words).stdout)

        group, = ask("-w", "label.model_name=llama3")["groups"]
        self.assertEqual((group["n"], *group["values"].values()), (2, 15))
        groups = ask("-b", "label.model_name")["groups"]
        self.assertEqual(sorted((*group["key"].values(), group["n"], *group["values"].values()) for group in groups),
                         [("granite", 2, 60), ("llama3", 2, 15)])
        self.assertEqual(ask("-w", "label.model_name=none")["groups"], [])
        self.assertEqual(ask("-w", "model_name=llama3")["groups"], ask("-w", "label.model_name=llama3")["groups"])
        self.assertEqual([{**group, "key": {"label.model_name": group["key"]["model_name"]}}
                          for group in ask("-b", "model_name")["groups"]], groups)
        rows = self.running.get("/api/v1/indicators/tokens_per_second/results?where=model_name=llama3").json["results"]
        self.assertEqual(len(rows), 2)
        ranking = json.loads(self.perfctl("indicator", "rank", "tokens_per_second", "--json", "--objective", "tokens_per_second",
                                          "--direction", "higher", "--by", "model_name").stdout)
        self.assertEqual({one["key"]["model_name"] for ranked in ranking["rankings"]
                          for one in ranked["alternatives"] + ranked["excluded"]}, {"llama3", "granite"})
        done = self.running.perfctl("indicator", "query", "tokens_per_second", "-w", "model_nam=x")
        self.assertIn("no result of tokens_per_second has a parameter 'model_nam'", done.stderr)
        versions = json.loads(self.perfctl("kpi", "check", "tokens_per_second.tokens_per_second", "--json", "--by",
                                           "model_name", "--where", "model_name!=none", "--across", "hardware").stdout)["kpis"]
        self.assertEqual([kpi["version"] for kpi in versions], ["granite"])
        self.assertIn("expects hardware, not 'component'", self.perfctl("kpi", "check", "--across", "component", status=2).stderr)

    def test_a_parameter_has_its_name_before_a_label(self):
        for size, label in ((1, 7), (2, 8)):
            document = {"name": "Sized", "component": "c", "@parameters": {"size": size}, "@labels": {"size": label, "other": label},
                        "@result": {"rate": 1}}
            with self.running.client() as client:
                self.assert_status(client.call(client.submit_request(document, job="")), "OK")
        for where, n in (("size=1", 1), ("size=7", 0), ("label.size=7", 1), ("other=7", 1), ("@parameters.other=7", None)):
            with self.subTest(where):
                done = self.running.perfctl("indicator", "query", "Sized", "--json", "-s", "mean:rate", "-w", where)
                self.assertEqual(done.returncode, 1 if n is None else 0, done.stderr)
                if n is not None:
                    self.assertEqual(sum(group["n"] for group in json.loads(done.stdout)["groups"]), n)

    def test_errors_are_reported_with_their_place(self):
        for content, text in (("{", ":1:"), ("[]", "is not an object that maps names to KPIs"), ("{}", "has no KPI"),
                              ('{"a": 1}', "has a KPI that is not an object"), ("", "has no KPI"), ("a 1\nb x\n", ":2: the value is not")):
            self.assertIn(text, self.perfctl("import", "kpis", self.write(content), status=1).stderr)

    def test_more_kpis_than_a_model_declares_are_stored_without_a_model(self):
        done = self.perfctl("import", "kpis", self.write({f"k{i}": kpi(i, "s", "One of many") for i in range(5000)}))
        self.assertIn("no model of kpis is registered: the file has 5000 KPIs", done.stderr)
        self.assertEqual(len(self.documents("kpis")[0]["@result"]), 5000)


if __name__ == "__main__":
    unittest.main()
