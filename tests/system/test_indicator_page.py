"""Checks the web pages of indicators: results, rankings and failed runs."""

import html
import re
import unittest
import urllib.parse

import harness
from harness import to_json

HOSTILE = "<script>alert('x')</script>"


def text_of(page):
    """Returns the visible text, without markup, with single blanks."""
    page = re.sub(r"(?s)<style>.*?</style>", "", page)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page))).replace(" ,", ",")


def matmul(version, rate, size=512, component="tensorflow"):
    return {"name": "PiMatmul", "component": component, "version": version, "@result": {"elapsed": 1000 / rate, "rate": rate},
            "@parameters": {"device": "cpu", "dtype": "float32", "matrix_size": size, "reps": 50}}


class IndicatorPage(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.running = self.daemon(f"[indicators]\ndirectory = {harness.ROOT}/conf/indicators.d\n")

    def submit(self, *documents, **fields):
        with self.running.client() as client:
            request = client.submit_request(*documents)
            for item in request.submit.indicators:
                for key, value in fields.items():
                    setattr(item, key, value)
            self.assert_status(client.call(request), "OK")

    def submit_failure(self, stderr):
        with self.running.client() as client:
            request = client.submit_request()
            item = request.submit.indicators.add(id=b"f" * 16, exit_status=139, name="PiMatmul", component="tensorflow")
            item.run = to_json({"stderr": stderr})
            self.assert_status(client.call(request), "OK")

    def page(self, path, status=200):
        answer = self.running.get(path)
        self.assertEqual(answer.status, status, answer.text)
        if status != 200:
            return answer.json["error"]["message"]
        self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
        # Otherwise a browser requests /favicon.ico, which does not exist.
        self.assertIn('<link rel="icon" href="data:image/svg+xml,', answer.text)
        self.assertIn("img-src data:;", answer.headers["content-security-policy"])
        self.assertNotIn("<script", answer.text)
        self.assertEqual([m for m in re.findall(r"{{\w+}}", answer.text)], [])
        return answer.text

    def rows(self, page):
        """Returns the cells of all rows of all tables."""
        return [[text_of(cell).strip() for cell in re.findall(r"(?s)<t[hd][^>]*>(.*?)</t[hd]>", row)]
                for row in re.findall(r"(?s)<tr>(.*?)</tr>", page)]

    def test_without_results_the_first_page_explains_how_to_submit(self):
        self.assertIn("No results yet; perfctl run and perfctl submit store them.", text_of(self.page("/")))
        page = text_of(self.page("/indicators/PiMatmul"))
        self.assertIn("No matching results.", page)
        self.assertIn("No runs yet.", page)
        self.assertIn("no results and no model of indicator 'Nothing'", self.page("/indicators/Nothing", status=404))

    def test_the_first_page_leads_to_each_indicator(self):
        self.submit(matmul("2.1", 10), matmul("1.4", 11, component="pytorch"), matmul("2.1", 12))
        page = self.page("/")
        rows = [row for row in self.rows(page) if row[0] == "PiMatmul"]
        self.assertEqual([row[1:3] for row in rows], [["pytorch", "1"], ["tensorflow", "2"]])
        self.assertEqual(page.count('<a href="indicators/PiMatmul">'), 2)

    def test_alternatives_are_ranked_as_the_api_ranks_them(self):
        for version, rate in (("2.1", 200), ("2.2", 300), ("2.3", 301)):
            self.submit(*(matmul(version, rate + i) for i in (-3, -1, 0, 2, 5, 6)))
        self.submit(matmul("3.0", 999), matmul("2.1", 100, size=256))
        page = self.page("/indicators/PiMatmul?objective=rate")
        self.assertIn("By rate in GFLOP/s: higher is better", text_of(page))
        shown = {row[0]: row[1:5] for row in self.rows(page) if len(row) == 9 and "512" not in row[0]}
        answer = self.running.get("/api/v1/indicators/PiMatmul/rank?objective=rate&where=matrix_size=512").json["rankings"][0]
        self.assertEqual(len(answer["alternatives"]), 3)
        for alternative in answer["alternatives"]:
            name = f"tensorflow {alternative['key']['version']}"
            self.assertEqual(shown[name], [("=" if alternative["tied"] else "") + str(alternative["rank"]),
                                           f"{alternative['ratio']:.3f} {alternative['difference']}", f"{alternative['median']:.5g}",
                                           f"{alternative['low']:.5g} to {alternative['high']:.5g} "
                                           f"({100 * alternative['level']:.4g} %)"])
        self.assertEqual(shown["tensorflow 3.0"], ["–", "–", "999", "–"])
        self.assertIn("= shares a rank", text_of(page))
        self.assertIn("fewer than 3 runs have this result", text_of(page))

    def test_results_with_other_parameters_have_a_separate_table(self):
        self.submit(*(matmul("2.1", 10 + i, size=size) for i in range(3) for size in (512, 1024)))
        page = self.page("/indicators/PiMatmul")
        headings = [text_of(h) for h in re.findall(r"(?s)<h3[^>]*>(.*?)</h3>", page)]
        self.assertEqual([re.search(r"matrix_size (\d+)", h)[1] for h in headings], ["512", "1024"])
        self.assertEqual(len(re.findall("<h3 ", self.page("/indicators/PiMatmul?where=matrix_size%3D512"))), 1)

    def test_failed_runs_are_counted_and_say_why(self):
        self.submit(matmul("2.1", 10))
        self.submit_failure(f"loading\n{HOSTILE} Segmentation fault\n\n")
        page = self.page("/indicators/PiMatmul")
        self.assertIn(f"failed, exit 139 : {HOSTILE} Segmentation fault", text_of(page))
        self.assertIn(["tensorflow", "–", "–", "–", "–", "–", "0", "1", "–"], self.rows(page))

    def test_without_a_model_one_is_asked_which_direction_is_better(self):
        document = {"name": "Own", "component": "c", "@parameters": {}, "@result": {"speed & more": 3.5, "note": "fast"}}
        self.submit(*[document] * 6)
        page = self.page("/indicators/Own")
        self.assertIn("By speed & more", text_of(page))
        links = [html.unescape(link) for link in re.findall(r'href="(\?[^"]*)"', page)]
        self.assertEqual(links, ["?objective=speed%20%26%20more&direction=higher", "?objective=speed%20%26%20more&direction=lower"])
        chosen = self.page("/indicators/Own" + links[0])
        self.assertIn("higher is better", text_of(chosen))
        self.assertIn("3.5 to 3.5 (96.88 %)", text_of(chosen))  # the interval; a single alternative has no rank
        self.assertIn("–", [row[1] for row in self.rows(chosen) if row[0] == "c" and len(row) > 5])
        self.assertIn("must be higher or lower", self.page("/indicators/Own?direction=up", status=400))

    def test_a_missing_result_is_not_an_objective(self):
        self.submit(matmul("2.1", 10))
        self.assertIn("has a result 'ratte': did you mean rate?", self.page("/indicators/PiMatmul?objective=ratte", status=400))
        self.assertIn("which is a parameter", self.page("/indicators/PiMatmul?objective=reps", status=400))

    def test_of_the_score_of_a_document_higher_is_better_as_the_api_has_it(self):
        scored = {"name": "Own", "component": "c", "@parameters": {}, "@result": {"r": 1}}
        self.submit(*[dict(scored, version=str(i % 2), overall_score=10 * (i % 2) + i) for i in range(8)])
        page = self.page("/indicators/Own?objective=overall_score")
        self.assertIn("By overall_score: higher is better", text_of(page))
        self.assertEqual([row[:2] for row in self.rows(page) if row[0].startswith("c ")][:2], [["c 1", "1"], ["c 0", "2"]])

    def test_hostile_names_are_text(self):
        self.submit(*[{"name": "Own", "component": HOSTILE, "version": HOSTILE, "@parameters": {HOSTILE: HOSTILE},
                       "@result": {HOSTILE + "r": 1.5}}] * 3)
        objective = urllib.parse.quote(HOSTILE + "r", safe="")
        for path in ("/", "/indicators/Own", f"/indicators/Own?objective={objective}&where=component%21%3D%3Cscript%3E"):
            self.assertIn("Own", self.page(path))
        self.assertIn("has a parameter 'x'", self.page("/indicators/Own?where=x%3D%3Cscript%3E", status=400))
        self.assertIn("indicator name must be 1 to 128", self.page("/indicators/%3Cscript%3E", status=400))

    def test_a_page_of_many_results_is_there_in_a_moment(self):
        for i in range(40):
            self.submit(*(matmul(f"2.{k % 25}", 100 + k, size=i) for k in range(250)))
        page = self.page("/indicators/PiMatmul")
        self.assertEqual(len(re.findall("<h3 ", page)), 20)
        self.assertIn("20 more sets of parameters and hardware", text_of(page))


if __name__ == "__main__":
    unittest.main()
