"""Checks models of indicators: files, registration, validation, counters, lists and schemas."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

import harness
from harness import to_json

SHIPPED = harness.ROOT / "conf" / "indicators.d"
MATMUL = {"name": "PiMatmul", "component": "tensorflow", "@result": {"elapsed": 1.2, "rate": 223.6},
          "@parameters": {"device": "cpu", "dtype": "float32", "matrix_size": 512, "reps": 2000}}
MEMBW = "name: MemBw\nparameters:\n  size: {type: int, index: int}\nresults:\n  rate: {type: float, unit: GB/s, direction: higher}\n"


def with_parameters(**more):
    return {**MATMUL, "@parameters": {**MATMUL["@parameters"], **more}}


def count_of(metrics, name, outcome):
    return metrics[f'perfd_indicators_total{{indicator="{name}",component="tensorflow",uid="{os.getuid()}",outcome="{outcome}"}}']


class WithModels(harness.TestCase):
    def start(self, policy="accept", directory=SHIPPED, **more):
        self.running = self.daemon(f"[indicators]\ndirectory = {directory}\npolicy = {policy}\n", **more)
        return self.running

    def models(self):
        return {(m["name"], m["component"]): m for m in self.running.get("/api/v1/models").json["models"]}

    def unregister(self, client, name, component=""):
        request = client.request()
        request.unregister.name, request.unregister.component = name, component
        return client.call(request)

    def register(self, client, document):
        request = client.request()
        request.register.model.append(to_json(document))
        return client.call(request)

    def counted(self, series):
        metrics = self.running.wait_tick()
        return metrics.get(series)

    def assert_refused(self, reply, path, words):
        self.assert_status(reply, "INVALID")
        self.assertEqual(reply.path, path)
        self.assertIn(words, reply.message)


class Files(WithModels):
    def test_the_models_that_ship_are_there(self):
        self.start()
        models = self.models()
        self.assertEqual({name for name, _ in models}, {"*", "PiMatmul", "PiConv1D", "PiConv2D", "PiPyBench"})
        matmul = models["PiMatmul", None]
        self.assertEqual(matmul["file"], f"{SHIPPED}/pimatmul.yaml")
        self.assertEqual(matmul["declaration"]["results"]["elapsed"]["unit"], "ms")
        self.assertEqual(self.running.get("/api/v1/models").json["policy"], "accept")
        self.assertIn("Read 5 indicator models", self.running.log())

    def test_a_bad_file_is_a_line_in_the_log_and_the_others_hold(self):
        directory = self.temporary_directory()
        (directory / "good.yaml").write_text(MEMBW)
        (directory / "bad.yaml").write_text("name: Bad\nresults:\n  x: {type: complex}\n")
        self.start(directory=directory)
        self.assertIn(f"{directory}/bad.yaml:3:7: results.x.type: 'complex' is not a type", self.running.log())
        self.assertEqual(list(self.models()), [("MemBw", None)])

    def test_invalid_files_in_the_directory_are_logged(self):
        directory = self.temporary_directory()
        (directory / "good.yaml").write_text(MEMBW)
        (directory / "again.yaml").write_text(MEMBW)
        os.mkfifo(directory / "fifo.yaml")
        (directory / "directory.yaml").mkdir()
        (directory / "zero.yaml").symlink_to("/dev/zero")
        (directory / "loop.yaml").symlink_to("loop.yaml")
        (directory / "gone.yaml").symlink_to("nowhere")
        (directory / "big.yaml").write_text("#" * 300000)
        (directory / "two\nlines\x1b[2J.yaml").write_text("name: [")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(directory / "socket.yaml"))
            self.start(directory=directory)
        self.assertEqual(list(self.models()), [("MemBw", None)])
        log = self.running.log()
        self.assertNotIn("\x1b", log)
        for line in (f"{directory}/good.yaml:1:1: MemBw is already declared in {directory}/again.yaml; remove one of the declarations",
                     "fifo.yaml, ignoring the file: not a regular file", "socket.yaml, ignoring the file: not a regular file",
                     "zero.yaml, ignoring the file: not a regular file", "directory.yaml, ignoring the file: Is a directory",
                     "loop.yaml, ignoring the file: Too many levels of symbolic links",
                     "gone.yaml, ignoring the file: No such file or directory",
                     "big.yaml, ignoring the file: larger than 256 KiB",
                     "/two\\nlines\\x1b[2J.yaml:2:1: ", "Read 1 indicator models; 9 files"):
            self.assertIn(line, log)

    def test_a_configuration_is_checked_with_its_models(self):
        directory = self.temporary_directory()
        config = directory / "perfd.conf"
        config.write_text(f"[indicators]\ndirectory = {directory}\n")

        def check():
            return subprocess.run([harness.PERFD, "--check-config", "--config", config], capture_output=True, text=True)
        (directory / "a.yaml").write_text(MEMBW)
        good = check()
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertIn("1 indicator models", good.stderr)
        config.write_text(f"[indicators]\ndirectory = {directory}/not\n")
        self.assertIn(f"The directory of indicator models, {directory}/not, does not exist", check().stderr)
        config.write_text(f"[indicators]\ndirectory = {directory}\n")
        self.assertNotIn("There is no", check().stderr)
        (directory / "b.yaml").write_text("name: [\n")
        bad = check()
        self.assertEqual(bad.returncode, 6)
        self.assertIn(f"{directory}/b.yaml:2:1: ", bad.stderr)

    def test_a_reload_applies_changes(self):
        directory = self.temporary_directory()
        (directory / "a.yaml").write_text(MEMBW)
        self.start(directory=directory, notify=True)
        (directory / "a.yaml").unlink()
        (directory / "b.yaml").write_text("name: Other\nresults: {x: int}\n")
        self.running.reload()
        self.running.wait_tick()
        self.assertEqual(list(self.models()), [("Other", None)])
        self.running.configure(f"[indicators]\ndirectory = {directory}\npolicy = strict\n")
        self.running.reload()
        with self.running.client() as client:
            self.assert_refused(client.submit(MATMUL), "submit.indicators[0].name", "has no model here")

    def test_a_wrong_policy_is_named(self):
        running = self.daemon("[indicators]\npolicy = lenient\n", wait=False)
        self.assertEqual(running.wait_exit(), 6)
        self.assertIn("[indicators] policy = lenient: expected accept or strict", running.log())


class Judged(WithModels):
    def test_undeclared_keys_are_stored_and_counted(self):
        self.start()
        document = with_parameters(minibatch=40, padding="SAME")
        with self.running.client() as client:
            self.assert_status(client.submit(document), "OK")
            self.assert_status(client.submit({**MATMUL, "name": "Unknown"}), "OK")
        results = self.running.get("/api/v1/indicators/PiMatmul/results").json["results"]
        self.assertEqual(results[0]["document"], document)
        metrics = self.running.wait_tick()
        self.assertEqual(metrics["perfd_indicator_deviations_total"], 2)
        self.assertEqual(count_of(metrics, "PiMatmul", "stored"), 1)
        self.assertEqual(count_of(metrics, "Unknown", "stored"), 1)

    def test_counts_and_kpis_are_what_prometheus_reads(self):
        promtool = harness.find_peer("promtool")
        self.start()
        file = self.temporary_directory() / "model.yaml"
        file.write_text(json.dumps({"name": "Own", "parameters": {}, "results": {"plain": {"direction": "lower"}}}))
        self.assertEqual(self.running.perfctl("model", "add", file).returncode, 0)
        for name in ("sorted", "copied"):
            self.assertEqual(self.running.perfctl("run", "--indicator", name, "--", "true").returncode, 0)
        with self.running.client() as client:
            for component in ('a "quoted" \\ one', "tab\there", "\u202eübel", "x" * 256):
                self.assert_status(client.submit({**MATMUL, "component": component}), "OK")
            self.assert_status(client.submit({"name": "Own", "component": "c", "@parameters": {}, "@result": {"plain": 1}}), "OK")
        self.running.wait_tick()
        text = self.running.get("/metrics").body
        self.assertEqual(text.count(b"perfd_indicators_total{"), (4 + 2 + 1) * 3)
        self.assertIn(b"# HELP perfd_kpi_plain plain\n", text)
        self.assertIn(b"# HELP perfd_kpi_copied_voluntary_context_switches switches to other tasks while the command waited\n", text)
        checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))

    def test_names_that_are_one_on_metrics_are_refused(self):
        self.start()
        down = {"direction": "lower"}
        for model in ({"results": {"a-b": down, "a_b": down}}, {"parameters": {"p-q": "int", "p_q": "int"}, "results": {"x": down}},
                      {"results": {"9x": down, "_9x": down}}):
            with self.running.client() as client:
                request = client.request()
                request.register.model.append(json.dumps({"name": "Twice", **model}).encode())
                reply = client.call(request)
                self.assert_status(reply, "INVALID")
                self.assertIn("have the same name on /metrics", reply.message)
        with self.running.client() as client:
            request = client.request()
            request.register.model.append(json.dumps({"name": "Once", "results": {"a-b": down, "a_b": {}, "a_c": down}}).encode())
            self.assert_status(client.call(request), "OK")

    def test_strict_refuses_with_the_key(self):
        self.start(policy="strict")
        with self.running.client() as client:
            self.assert_refused(client.submit(MATMUL, with_parameters(minibatch=40)), "submit.indicators[1].@parameters.minibatch",
                                "is a parameter that the model of PiMatmul does not declare: declare it, or leave it out")
            self.assert_refused(client.submit(with_parameters(matrix_size="512")), "submit.indicators[0].@parameters.matrix_size",
                                "is a string, and the model of PiMatmul declares int")
            self.assert_refused(client.submit({**MATMUL, "name": "PiImport"}), "submit.indicators[0].name",
                                "'PiImport' of 'tensorflow' has no model here, and [indicators] policy is strict")
            self.assert_status(client.submit(MATMUL), "OK")
        self.assertEqual(len(self.running.get("/api/v1/results").json["results"]), 1)
        metrics = self.running.wait_tick()
        self.assertEqual(count_of(metrics, "PiMatmul", "refused"), 2)
        self.assertEqual(count_of(metrics, "PiImport", "refused"), 1)

    def test_outputs_of_newer_and_older_scripts_conform(self):
        self.start(policy="strict")
        with self.running.client() as client:
            self.assert_status(client.submit(MATMUL, with_parameters(mini_batch=40)), "OK")
            self.assert_refused(client.submit(with_parameters(mini_batch="40")), "submit.indicators[0].@parameters.mini_batch",
                                "declares int")
        self.assertEqual(self.running.wait_tick()["perfd_indicator_deviations_total"], 0)

    def test_padding_is_a_number_or_a_word(self):
        self.start(policy="strict")
        conv = {"name": "PiConv1D", "component": "pytorch", "@result": {"elapsed": 1, "rate": 2.5}, "@parameters": {
            "device": "cpu", "dtype": "float32", "reps": 1, "data_format": "NWC", "batch": 1, "input_width": 1, "input_channels": 1,
            "filter_width": 1, "output_channels": 1, "strides": 1}}
        with self.running.client() as client:
            for padding in ("SAME", 1):
                document = {**conv, "@parameters": {**conv["@parameters"], "padding": padding}}
                self.assert_status(client.submit(document), "OK")
            document = {**conv, "@parameters": {**conv["@parameters"], "padding": 1.5}}
            self.assert_refused(client.submit(document), "submit.indicators[0].@parameters.padding", "declares str or int")

    def test_errors_of_perfctl_name_the_file_and_the_key(self):
        self.start(policy="strict")
        done = self.running.perfctl("submit", "-", stdin=json.dumps(with_parameters(minibatch=40)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard input:1: @parameters.minibatch: is a parameter that the model of PiMatmul does not declare", done.stderr)

    def test_only_new_results_of_a_repeated_submission_are_counted(self):
        self.start()
        documents = [{**MATMUL, "name": name} for name in ("A", "B", "C")]
        ids = [os.urandom(16) for _ in documents]
        with self.running.client() as client:
            self.assert_status(client.submit(documents[0], ids=ids[:1]), "OK")
            self.assert_status(client.submit(*documents, ids=ids), "OK")
            self.assert_status(client.submit(*documents, ids=ids), "DUPLICATE")
        metrics = self.running.wait_tick()
        for name in "ABC":
            self.assertEqual(count_of(metrics, name, "stored"), 1)

    def test_failed_runs_are_counted_apart_and_not_judged(self):
        self.start(policy="strict")
        with self.running.client() as client:
            request = client.request()
            item = request.submit.indicators.add(id=os.urandom(16), exit_status=139, name="PiMatmul", component="tensorflow")
            item.run = to_json({"stderr": "Segmentation fault"})
            self.assert_status(client.call(request), "OK")
            self.assert_status(client.call(request), "DUPLICATE")
        metrics = self.running.wait_tick()
        self.assertEqual(count_of(metrics, "PiMatmul", "failed"), 1)
        self.assertEqual(count_of(metrics, "PiMatmul", "stored"), 0)


class Registered(WithModels):
    MODEL = {"name": "MemBw", "parameters": {"size": {"type": "int", "index": "int"}},
             "results": {"rate": {"type": "float", "unit": "GB/s", "direction": "higher"}}}

    def test_a_model_applies_from_its_answer_on_and_after_a_restart(self):
        self.start(policy="strict")
        good = {"name": "MemBw", "component": "stream", "@parameters": {"size": 1}, "@result": {"rate": 12.5}}
        with self.running.client() as client:
            self.assert_refused(client.submit(good), "submit.indicators[0].name", "has no model")
            self.assert_status(self.register(client, self.MODEL), "OK")
            self.assertEqual(self.models()["MemBw", None]["declaration"], self.MODEL)
            self.assertEqual(self.models()["MemBw", None]["uid"], os.getuid())
            self.assert_status(client.submit(good), "OK")
            self.assert_status(self.register(client, self.MODEL), "DUPLICATE")
        self.running.restart()
        self.assertEqual(self.models()["MemBw", None]["declaration"], self.MODEL)
        with self.running.client() as client:
            self.assert_refused(client.submit({**good, "@parameters": {"n": 1}}), "submit.indicators[0].@parameters.n", "does not declare")
            self.assert_status(client.submit(good), "OK")

    def test_acknowledged_models_survive_a_kill(self):
        self.start()
        with self.running.client() as client:
            self.assert_status(self.register(client, self.MODEL), "OK")
        self.running.kill()
        self.running.start()
        self.assertEqual(self.models()["MemBw", None]["declaration"], self.MODEL)

    def test_submissions_pipelined_after_a_model_are_checked_by_it(self):
        self.start(policy="strict")
        with self.running.client() as client:
            requests = []
            for i in range(50):
                request = client.request()
                request.register.model.append(to_json({**self.MODEL, "name": f"M{i}"}))
                requests.append(request)
                document = {"name": f"M{i}", "component": "c", "@parameters": {"size": i}, "@result": {"rate": 1}}
                requests.append(client.submit_request(document))
            client.send_bytes(b"".join(harness.frame(request) for request in requests))
            for _ in requests:
                self.assert_status(client.receive(), "OK")
        self.assertEqual(len(self.models()), 5 + 50)

    def test_hostile_names_are_data(self):
        self.start()
        name = "x'; drop table model; --</script>\"../../etc"
        with self.running.client() as client:
            self.assert_refused(self.register(client, {"name": name, "results": {"x": "int"}}), "register.name", "letters, digits")
            model = {"name": "Hostile", "component": name, "parameters": {name: {"type": "str", "index": "exact", "values": [name]}},
                     "results": {"r": None}}
            self.assert_status(self.register(client, model), "OK")
            document = {"name": "Hostile", "component": name, "@parameters": {name: name}, "@result": {"r": 1}}
            self.assert_status(client.submit(document), "OK")
        self.assertEqual(self.models()["Hostile", name]["declaration"], model)
        self.assertEqual(self.running.get("/api/v1/results").json["results"][0]["document"], document)
        self.assertEqual(self.running.wait_tick()["perfd_indicator_deviations_total"], 0)
        self.running.restart()
        self.assertEqual(self.models()["Hostile", name]["declaration"], model)

    def test_administrators_take_precedence_over_files_after_a_reload_as_well(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        self.start(notify=True)
        with self.running.client() as client:
            self.assert_status(self.register(client, {"name": "PiMatmul", "results": {"only": "int"}}), "OK")
        for _ in range(2):
            self.assertEqual(self.models()["PiMatmul", None]["declaration"]["results"], {"only": "int"})
            self.assertIsNone(self.models()["PiMatmul", None]["file"])
            self.running.reload()
            self.running.wait_tick()

    def test_a_forgotten_model_holds_no_longer_nor_after_a_restart(self):
        self.start(policy="strict")
        good = {"name": "MemBw", "component": "stream", "@parameters": {"size": 1}, "@result": {"rate": 12.5}}
        with self.running.client() as client:
            self.assert_status(self.register(client, self.MODEL), "OK")
            self.assert_status(client.submit(good), "OK")
            reply = self.unregister(client, "MemBw", "stream")
            self.assert_status(reply, "NOT_FOUND")
            self.assertEqual((reply.path, reply.message), ("unregister.name", "no model of 'MemBw' of stream is registered"))
            self.assert_status(self.unregister(client, "MemBw"), "OK")
            self.assertNotIn(("MemBw", None), self.models())
            self.assert_refused(client.submit(good), "submit.indicators[0].name", "has no model")
            self.assert_status(self.unregister(client, "MemBw"), "NOT_FOUND")
        self.running.kill()
        self.running.start()
        self.assertNotIn(("MemBw", None), self.models())
        results = self.running.get("/api/v1/indicators/MemBw/results?where=size=1").json["results"]
        self.assertEqual([result["document"] for result in results], [good])

    def test_a_file_applies_again_when_its_replacement_is_removed(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        self.start()
        with self.running.client() as client:
            reply = self.unregister(client, "PiMatmul")
            self.assert_status(reply, "NOT_FOUND")
            self.assertEqual(reply.message, f"'PiMatmul' is declared in {SHIPPED}/pimatmul.yaml: remove it there")
            self.assert_status(self.register(client, {"name": "PiMatmul", "results": {"elapsed": {"unit": "s"}}}), "OK")
            self.assert_status(client.submit(MATMUL), "OK")
            self.assert_status(self.unregister(client, "PiMatmul"), "OK")
            self.assertEqual(self.models()["PiMatmul", None]["file"], f"{SHIPPED}/pimatmul.yaml")
            self.assert_status(client.submit(MATMUL), "OK")

        def summed():
            answer = self.running.get("/api/v1/indicators/PiMatmul/query?where=matrix_size=512&stat=median:elapsed").json
            return answer["groups"][0]["n"] == 2 and answer
        harness.wait_for(summed, "both results with the unit of the file")

    def test_each_submission_is_checked_by_the_model_at_its_position_in_the_stream(self):
        self.start(policy="strict")
        document = {"name": "MemBw", "component": "c", "@parameters": {"size": 1}, "@result": {"rate": 1}}
        with self.running.client() as client:
            requests = []
            for _ in range(20):
                come, go = client.request(), client.request()
                come.register.model.append(to_json(self.MODEL))
                go.unregister.name = "MemBw"
                requests += [come, client.submit_request(document), go, client.submit_request(document)]
            client.send_bytes(b"".join(harness.frame(request) for request in requests))
            for _ in range(20):
                for status in ("OK", "OK", "OK", "INVALID"):
                    self.assert_status(client.receive(), status)


NOBODY = 65534


@unittest.skipUnless(os.getuid() == 0, "needs root, to act as several users")
class OfUsers(WithModels):
    def as_nobody(self, action):
        """Connects as user nobody; the connection keeps this identity."""
        os.chmod(self.running.directory, 0o755)
        os.setresuid(NOBODY, NOBODY, 0)
        try:
            client = self.running.client()
        finally:
            os.setresuid(0, 0, 0)
        with client:
            return action(client)

    def test_users_register_new_models_and_replace_their_own(self):
        self.start()
        model = {"name": "Mine", "results": {"x": "int"}}
        self.assert_status(self.as_nobody(lambda client: self.register(client, model)), "OK")
        self.assertEqual(self.models()["Mine", None]["uid"], NOBODY)
        self.assert_status(self.as_nobody(lambda client: self.register(client, {**model, "help": "changed"})), "OK")
        self.assertEqual(self.models()["Mine", None]["declaration"]["help"], "changed")

    def test_users_cannot_change_models_of_administrators(self):
        self.start()
        with self.running.client() as client:
            self.assert_status(self.register(client, {"name": "Admins", "results": {"x": "int"}}), "OK")
        for name in ("PiMatmul", "Admins"):
            for component in (None, "mine"):
                model = {"name": name, "component": component, "results": {"y": "int"}}
                reply = self.as_nobody(lambda client: self.register(client, model))
                self.assert_status(reply, "DENIED")
                self.assertEqual(reply.path, "register.name")
                self.assertIn(f"'{name}' is already declared by an administrator", reply.message)

    def test_users_have_only_their_own_models_forgotten(self):
        self.start()
        model = {"name": "Mine", "results": {"x": "int"}}
        with self.running.client() as client:
            self.assert_status(self.register(client, {**model, "name": "Admins"}), "OK")
            reply = self.as_nobody(lambda other: self.unregister(other, "Admins"))
            self.assert_status(reply, "DENIED")
            self.assertEqual(reply.message, "'Admins' was registered by an administrator; only the owner or an administrator can remove it")
            for who in (self.as_nobody, lambda action: action(client)):
                self.assert_status(self.as_nobody(lambda other: self.register(other, model)), "OK")
                self.assert_status(who(lambda other: self.unregister(other, "Mine")), "OK")
                self.assertNotIn(("Mine", None), self.models())

    def test_a_file_replaces_the_model_of_a_user(self):
        directory = self.temporary_directory()
        self.start(directory=directory, notify=True)
        self.assert_status(self.as_nobody(lambda client: self.register(client, {"name": "MemBw", "results": {"x": "int"}})), "OK")
        (directory / "membw.yaml").write_text(MEMBW)
        self.running.reload()
        self.running.wait_tick()
        self.assertEqual(list(self.models()["MemBw", None]["declaration"]["results"]), ["rate"])

    def test_a_batch_belongs_to_the_user_who_began_it(self):
        self.start()
        batch = os.urandom(16)

        def run(client, index, rate):
            request = client.request()
            item = request.submit.indicators.add(id=os.urandom(16), batch=batch, index=index, exit_status=0)
            item.document = to_json({**MATMUL, "@result": {"rate": rate}})
            return client.call(request)
        with self.running.client() as client:
            self.assert_status(run(client, 1, 2.0), "OK")
            self.assert_status(self.as_nobody(lambda other: run(other, 0, 1e9)), "OK")
            self.assert_status(run(client, 2, 4.0), "OK")
        answer = self.running.get(f"/api/v1/batches/{batch.hex()}").json
        self.assertEqual((answer["n"], answer["statistics"]["rate"]["max"]), (2, 4.0))
        self.assertEqual(len(self.running.get("/api/v1/indicators/PiMatmul/results").json["results"]), 3)

    def test_the_models_of_a_user_have_a_share(self):
        self.start()
        help_text = {f"r{i}": {"help": "h" * 1000} for i in range(200)}

        def fill(client):
            replies = []
            while not replies or replies[-1].status == harness.wire.Status.OK:
                replies.append(self.register(client, {"name": f"N{len(replies)}", "results": help_text}))
            self.assert_status(self.register(client, {"name": "N0", "results": help_text, "help": "in place of one's own"}), "OK")
            self.assert_status(self.register(client, {"name": "N0", "results": {"x": "int"}}), "OK")
            self.assert_status(self.register(client, {"name": "one_more", "results": help_text}), "OK")
            return replies
        replies = self.as_nobody(fill)
        self.assertGreater(len(replies), 6, "a user alone has more than 1 MiB")
        self.assert_status(replies[-1], "QUOTA")
        self.assertIn(f"uid {NOBODY} holds ", replies[-1].message)
        self.assertIn("[limits] models_size", replies[-1].message)
        with self.running.client() as client:
            self.assert_status(self.register(client, {"name": "Admins", "results": help_text}), "OK")

    def test_a_model_of_any_name_is_of_administrators_and_comes_last(self):
        self.start()
        every = {"name": "*", "component": "tool", "results": {"rate": {"type": "float", "unit": "MB/s", "direction": "higher"}}}
        reply = self.as_nobody(lambda client: self.register(client, every))
        self.assert_status(reply, "DENIED")
        self.assertIn("only an administrator", reply.message)
        document = {"component": "tool", "@parameters": {"n": 1}, "@result": {"rate": 2.0}}

        def unit(name):
            return self.running.get(f"/api/v1/indicators/{name}/rank?by=n&objective=rate").json.get("unit")
        with self.running.client() as client:
            for name in ("One", "Two"):
                self.assert_status(client.submit(*[{**document, "name": name}] * 3), "OK")
            self.assert_status(client.submit({**document, "name": "One", "component": "other"}), "OK")
            self.assert_status(self.register(client, every), "OK")
            self.assertEqual((unit("One"), unit("Two")), ("MB/s", "MB/s"))
            own = {"name": "Two", "results": {"rate": {"type": "float", "unit": "GB/s", "direction": "higher"}}}
            self.assert_status(self.as_nobody(lambda other: self.register(other, {**own, "name": "Three"})), "OK")
            self.assert_status(self.register(client, own), "OK")
            self.assertEqual((unit("One"), unit("Two")), ("MB/s", "GB/s"))
            self.assert_status(self.unregister(client, "*", "tool"), "OK")
        self.assertEqual(self.running.get("/api/v1/indicators/One/rank?by=n&objective=rate").status, 400)

    def test_the_model_of_a_user_does_not_apply_to_results_of_others(self):
        self.start()
        document = {"name": "Shared", "component": "c", "@parameters": {"n": 1}, "@result": {"rate": 2.0}}
        model = {"name": "Shared", "parameters": {"n": {"type": "int", "index": "int"}},
                 "results": {"rate": {"type": "float", "unit": "GB/s", "direction": "higher"}}}

        def rank():
            return self.running.get("/api/v1/indicators/Shared/rank?by=n&objective=rate")
        with self.running.client() as client:
            self.assert_status(client.submit(*[document] * 20), "OK")
            self.assertIn("no model of Shared declares", rank().body.decode())
            self.assert_status(self.as_nobody(lambda other: self.register(other, model)), "OK")
            self.assert_status(self.as_nobody(lambda other: other.submit({**document, "@parameters": {"odd": 1}})), "OK")
            self.assertIn("no model of Shared declares", rank().body.decode())
            # Keys missing from the other user's model are not counted for these results.
            deviations = self.counted("perfd_indicator_deviations_total")
            self.assert_status(client.submit({**document, "@parameters": {"other": 1}}), "OK")
            self.assertEqual(self.counted("perfd_indicator_deviations_total"), deviations)
            self.assertEqual(self.models()["Shared", None]["applies_to_uid"], NOBODY)
            self.assertIn(f"registered by user {NOBODY}, own results only", self.running.perfctl("model", "list").stdout)

            # The administrator's model applies to all users.
            self.assert_status(self.register(client, model), "OK")
            self.assertIsNone(self.models()["Shared", None]["applies_to_uid"])
            self.assertEqual(rank().status, 200)


class Perfctl(WithModels):
    def test_register_reports_its_action(self):
        self.start()
        path = self.temporary_directory() / "membw.yaml"
        path.write_text(MEMBW)
        done = self.running.perfctl("model", "add", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "MemBw: added\n", ""))
        done = self.running.perfctl("model", "add", "-", stdin=MEMBW)
        self.assertEqual((done.returncode, done.stdout), (0, "MemBw: already there\n"))

    def test_a_schema_is_registered_again_and_stays_the_same(self):
        self.start(directory="/nonexistent")
        # Only an administrator registers a model of any name.
        files = [path for path in sorted(SHIPPED.iterdir()) if os.geteuid() == 0 or path.name != "command.yaml"]
        schema = subprocess.run([harness.PERFCTL, "model", "schema", *files], capture_output=True, text=True).stdout
        done = self.running.perfctl("model", "add", "-", stdin=schema)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count(": added\n")), (0, "", len(files)))
        self.assertEqual(json.loads(self.running.perfctl("model", "schema").stdout), json.loads(schema))
        done = self.running.perfctl("model", "add", "-", stdin=schema)
        self.assertEqual((done.returncode, done.stdout.count(": already there\n")), (0, len(files)))

    def test_models_are_registered_whole_or_not_at_all(self):
        self.start()
        models = [{"name": f"M{i}", "results": {"x": "int"}} for i in range(5)]
        with self.running.client() as client:
            request = client.request()
            request.register.model.extend(to_json(m) for m in models[:2] + [{"name": "M2", "results": {"x": "number"}}] + models[3:])
            reply = client.call(request)
            self.assert_refused(reply, "register.results.x", "'number' is not a type")
            self.assertEqual(reply.item, 2)
            request = client.request()
            request.register.model.extend(to_json(m) for m in models + models[3:4])
            reply = client.call(request)
            self.assert_refused(reply, "register.name", "a request declares this model twice")
        self.assertNotIn(("M0", None), self.models())

        bad = json.dumps({"models": models[:2] + [{"name": "M2", "results": [{"name": "x", "types": ["number"]}]}]}, indent=1)
        done = self.running.perfctl("model", "add", "-", stdin=bad)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr,
                         r"standard input:\d+:\d+: models\[2\].results.x.type: 'number' is not a type.*\n.*no model was added")
        self.assertNotIn(("M0", None), self.models())

        done = self.running.perfctl("model", "add", "-", stdin=json.dumps({"models": models}))
        self.assertEqual((done.returncode, done.stdout), (0, "".join(f"M{i}: added\n" for i in range(5))))
        self.running.kill()
        self.running.start()
        self.assertLessEqual({(f"M{i}", None) for i in range(5)}, set(self.models()))

    def test_register_reports_a_changed_unit(self):
        self.start()
        for unit, words in (("GB/s", ""), ("MB/s", "rate was in GB/s before, and is in MB/s now: "), ("MB/s", ""),
                            (None, "rate was in MB/s before, and is without a unit now: ")):
            document = {"name": "MemBw", "results": {"n": "int", "rate": {"type": "float", "unit": unit}}, "help": f"{unit}{words}"}
            done = self.running.perfctl("model", "add", "-", stdin=json.dumps(document))
            self.assertEqual((done.returncode, done.stdout), (0, "MemBw: added\n"))
            self.assertEqual(done.stderr, words and f"perfctl: MemBw: {words}stored results are not converted\n")

    def test_unregister_reports_its_action(self):
        self.start()
        document = {"name": "MemBw", "component": "plain C", "results": {"rate": "float"}}
        self.assertEqual(self.running.perfctl("model", "add", "-", stdin=json.dumps(document)).returncode, 0)
        done = self.running.perfctl("model", "remove", "MemBw")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "perfctl: the model of MemBw was not removed: "
                                      "no model of 'MemBw' of any component is registered\n")
        done = self.running.perfctl("model", "remove", "MemBw", "plain C")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "MemBw of plain C: removed\n", ""))
        self.running.stop()
        done = self.running.perfctl("model", "remove", "--timeout", "0", "MemBw")
        self.assertEqual(done.returncode, 3)

    def test_register_reports_errors_with_their_position(self):
        self.start()
        path = self.temporary_directory() / "bad.yaml"
        for text, complaint in (("name: X\nresults:\n  y: {type: complex}\n", ":3:7: results.y.type: 'complex' is not a type"),
                                ("name: X\n  results: 1\n", ":2:10: "),
                                ("name: X\nname: Y\n", ":2:1: the key 'name' is given twice"),
                                ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", ":2:8: aliases (*name) are not supported: repeat"),
                                ("name: !!python/object:os.system X\n", ":1:7: unknown tag tag:yaml.org,2002:python/object:os.system"),
                                ("<<: {name: X}\nresults: {y: int}\n", ":1:1: <<: is unknown: expected one of name, component"),
                                (MEMBW + "---\n" + MEMBW, ":6:1: a second document: a file may have only one"),
                                ("name: X\nresults: " + "[" * 100000, ":2:42: nested deeper than 32"),
                                ("name: X\nresults:\n" + "".join(f"  r{i}: int\n" for i in range(10000)),
                                 ":4099:3: a mapping has more than 4096"),
                                ("name: X\nparameters: {p: {values: [.nan]}}\nresults: {y: int}\n",
                                 ":2:27: JSON has no number .nan"),
                                ("name: X\nparameters: {p: {values: [18446744073709551616]}}\n",
                                 ":2:27: the integer 18446744073709551616 has more"),
                                ("name: X\nhelp: \"a\\0b\"\nresults: {y: int}\n", ":2:7: a string must not contain NUL"),
                                ("name: X\nresults: {\"\\e[2J\": int}\n", ":2:11: results.\\x1b[2J: has control characters in its name"),
                                ("name: ../../etc\nresults: {y: int}\n", ":1:1: name: '../../etc' must be 1 to 128 letters"),
                                ("name: X\nparameters: {y: int}\nresults: {y: int}\n", ":3:11: results.y: collision: 'y' is in parameters"),
                                ('{"name": "X", "results": {"y": "int"}} more',
                                 ":1:40: did not find expected <document start>: text after a complete value"),
                                ("name: X\nresults: {y: {direction: up}}\n",
                                 ":2:15: results.y.direction: 'up' is not one of higher, lower")):
            path.write_text(text)
            done = self.running.perfctl("model", "add", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{path}{complaint}", done.stderr)
            self.assertIn("no model was added", done.stderr)
        done = self.running.perfctl("model", "add", "/nonexistent.yaml")
        self.assertIn("cannot read /nonexistent.yaml: No such file", done.stderr)

    def test_a_model_may_be_json_with_every_escape_that_has(self):
        self.start()
        text = json.dumps({"name": "J", "parameters": {"\U0001f600": "int"}, "results": {"x": "int"}})
        self.assertIn("\\ud83d\\ude00", text)
        self.assertEqual(self.running.perfctl("model", "add", "-", stdin=text).stdout, "J: added\n")
        self.running.restart()
        self.assertEqual(list(self.models()["J", None]["declaration"]["parameters"]), ["\U0001f600"])

    def test_register_without_perfd_is_three(self):
        directory = self.temporary_directory()
        done = subprocess.run([harness.PERFCTL, "--socket", directory / "none", "model", "add", "--timeout", "0", "-"],
                              input=MEMBW, text=True, capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("perfd is not running", done.stderr)

    def test_models_are_listed_with_the_number_of_results(self):
        self.start()
        with self.running.client() as client:
            self.assert_status(client.submit(MATMUL, MATMUL), "OK")
            self.assert_status(self.register(client, {"name": "Evil", "component": "a\u202eb", "results": {"x": "int"}}), "OK")
        done = self.running.perfctl("model", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
        self.assertEqual(rows["PiMatmul"], ["PiMatmul", "any", "5", "2", "2", f"{SHIPPED}/pimatmul.yaml"])
        self.assertEqual(rows["PiPyBench"][2:5], ["1", "53", "0"])
        self.assertIn("registered by user", done.stdout)
        self.assertNotIn("\u202e", done.stdout)
        self.assertEqual(len(json.loads(self.running.perfctl("model", "list", "--json").stdout)["models"]), 6)

    def test_a_schema_is_of_perfds_models_or_of_files(self):
        self.start()
        asked = self.running.perfctl("model", "schema").stdout
        models = {m["name"]: m for m in json.loads(asked)["models"]}
        self.assertEqual(len(models), 5)
        padding = {"name": "padding", "types": ["str", "int"], "index": "exact", "values": None, "optional": False,
                   "help": "a number in PyTorch, SAME or VALID in TensorFlow"}
        self.assertEqual(models["PiConv2D"]["parameters"][-2], padding)
        self.assertTrue(models["PiConv2D"]["parameters"][-1]["optional"])
        self.assertEqual(models["PiMatmul"]["results"][1], {"name": "rate", "types": ["float"], "unit": "GFLOP/s", "direction": "higher",
                                                            "optional": False, "help": "floating point operations per second"})
        files = subprocess.run([harness.PERFCTL, "model", "schema", *sorted(SHIPPED.iterdir())], capture_output=True, text=True).stdout
        self.assertEqual(json.loads(files), json.loads(asked))

    def test_a_schema_has_all_that_a_model_declares(self):
        self.start()
        model = {"name": "Whole", "help": "all members", "settings_version": "1.0", "compare_by": ["image"],
                 "ignore": ["node"], "sort_by": ["users"], "ignore_entries": {"users": [4, 8]},
                 "parameters": {"users": {"type": "int", "index": "int"}, "image": {}},
                 "results": {"rate": {"type": "float", "unit": "B/s", "direction": "higher", "format": "{:.1f}", "divisor": 1000,
                                      "divisor_unit": "kB/s", "ignored_for_regression": True},
                             "half": {"from": "rate / 2"}}}
        with self.running.client() as client:
            self.assert_status(self.register(client, model), "OK")
        self.running.wait_tick()
        schema = self.running.perfctl("model", "schema").stdout
        before = json.loads(self.running.perfctl("model", "list", "--json").stdout)["models"]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps({"models": [m for m in json.loads(schema)["models"] if m["name"] == "Whole"]}))
            file.flush()
            self.assertEqual(self.running.perfctl("model", "remove", "Whole").returncode, 0)
            done = self.running.perfctl("model", "add", file.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.running.wait_tick()
        self.assertEqual(self.running.perfctl("model", "schema").stdout, schema)
        after = json.loads(self.running.perfctl("model", "list", "--json").stdout)["models"]
        for models in before, after:
            whole, = (m["declaration"] for m in models if m["name"] == "Whole")
            for key in ("settings_version", "compare_by", "ignore", "sort_by", "ignore_entries"):
                self.assertEqual(whole[key], model[key])
            self.assertEqual({key: whole["results"]["rate"][key] for key in model["results"]["rate"]},
                             {**model["results"]["rate"], "type": whole["results"]["rate"]["type"]})
            self.assertEqual(whole["results"]["half"]["from"], "rate / 2")

    def test_an_rdf_schema_has_each_property_once(self):
        self.start()
        lines = self.running.perfctl("model", "schema", "--format", "rdf").stdout.splitlines()
        for line in ("dtype: string @index(exact) .", "reps: int @index(int) .", "rate: float .", "padding: string @index(exact) .",
                     "type PiConv1D {", "type PiMatmul {"):
            self.assertEqual(lines.count(line), 1, line)

    def test_an_rdf_schema_has_the_unit_of_each_model(self):
        self.start()
        with self.running.client() as client:
            model = {"name": "Own", "parameters": {}, "results": {"elapsed": {"type": "float", "unit": "us", "direction": "lower"}}}
            self.assert_status(self.register(client, model), "OK")
        self.running.wait_tick()
        lines = self.running.perfctl("model", "schema", "--format", "rdf").stdout.splitlines()
        self.assertEqual(lines.count("elapsed: float ."), 1)
        for name, unit in (("Own", "us"), ("PiMatmul", "ms")):
            of_type = lines[lines.index(f"type {name} {{"):]
            comment = of_type[of_type.index("        elapsed") - 1]
            self.assertTrue(comment.startswith(f"        # elapsed: {unit}, lower is better"), comment)

    def test_help_of_the_group_lists_its_commands_and_options_stand_in_a_column(self):
        for words in (("indicator", "--help"), ("help", "indicator")):
            done = subprocess.run([harness.PERFCTL, *words], capture_output=True, text=True)
            named = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  indicator ")]
            self.assertEqual(named, ["list", "show", "query", "rank"])
        alone = subprocess.run([harness.PERFCTL, "indicator"], capture_output=True, text=True)
        self.assertIn("try 'perfctl indicator --help'", alone.stderr)
        text = subprocess.run([harness.PERFCTL, "indicator", "rank", "--help"], capture_output=True, text=True).stdout
        options = [line for line in text.splitlines() if line.startswith(("  -", "      --"))]
        self.assertGreater(len(options), 8)
        for line in options:
            self.assertTrue(line[28] == " " and line[29] != " ", line)

    def test_another_format_is_wrong_usage(self):
        done = subprocess.run([harness.PERFCTL, "model", "schema", "--format", "xml"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--format expects json or rdf, not 'xml'", done.stderr)


if __name__ == "__main__":
    unittest.main()
