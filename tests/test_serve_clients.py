"""LibreTranslate's protocol, with exactly what its clients send."""

import json

import pytest
from serving import FORM, JSON, running

from transduce.serve.models import Models
from transduce.serve.refusal import RefusalError
from transduce.serve.settings import ServeConfig

SENTENCE = "Where is the nearest station?"
GERMAN = "Wo ist der nächste Bahnhof?"
BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("serve")) as server:
        yield server


def multipart(**fields: str) -> tuple[bytes, dict[str, str]]:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    body = "".join(parts) + f"--{BOUNDARY}--\r\n"
    return body.encode(), {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


def test_all_four_encodings_give_the_same_translation(server) -> None:
    fields = {"q": SENTENCE, "source": "en", "target": "de"}
    body, headers = multipart(**fields)
    answers = [
        server.post("/translate", **fields),
        server.form("/translate", **fields),
        server.send("POST", "/translate", body, headers),
        server.send("POST", "/translate?source=en&target=de&q=Where+is%20the+nearest+station%3F"),
        server.send("POST", "/translate?source=en&target=de", b"q=" + SENTENCE.encode(), FORM),
    ]
    for answer in answers:
        assert (answer.status, answer.json) == (200, {"translatedText": GERMAN})


def test_libretranslatepy(server) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(server.url)
    assert client.translate(SENTENCE, "en", "de") == GERMAN
    assert client.detect(SENTENCE)[0]["language"] == "en"
    assert {"code": "en", "name": "English", "targets": ["de", "en"]} in client.languages()


def test_deep_translator(server) -> None:
    from deep_translator import LibreTranslator

    client = LibreTranslator(
        source="en", target="de", custom_url=f"{server.url}/", api_key="whatever"
    )
    assert client.translate(SENTENCE) == GERMAN


def test_mastodon(server) -> None:
    pages = [f"<p>{SENTENCE}</p>", '<p><span translate="no">@anna</span> Good morning.</p>']
    body = {"q": pages, "source": "en", "target": "de", "format": "html", "api_key": None}
    headers = {**JSON, "User-Agent": "Mastodon/4.3.0 (http.rb/5.2.0)", "Connection": "close"}
    found = server.send("POST", "/translate", json.dumps(body).encode(), headers).json
    assert found["translatedText"][0] == f"<p>{GERMAN}</p>"
    assert '<span translate="no">@anna</span>' in found["translatedText"][1]
    body["source"] = "auto"
    found = server.send("POST", "/translate", json.dumps(body).encode(), headers).json
    assert [one["language"] for one in found["detectedLanguage"]] == ["en", "en"]
    (english,) = [one for one in server.get("/languages", **JSON).json if one["code"] == "en"]
    assert "de" in english["targets"]


def test_weblate_gets_as_many_back_as_it_sent(server) -> None:
    texts = ["Hello.", "", "Good morning.", "Hello.", " "]
    found = server.translate(texts, api_key="").json["translatedText"]
    assert len(found) == 5
    assert found[0] == found[3]
    assert (found[1], found[4]) == ("", " ")


def test_discourse(server) -> None:
    assert server.form("/detect", q=SENTENCE).json[0]["language"] == "en"
    fields = {"q": f"<p>{SENTENCE}</p>", "source": "en", "target": "de", "format": "html"}
    assert server.form("/translate", **fields).json["translatedText"] == f"<p>{GERMAN}</p>"


def test_akkoma(server) -> None:
    found = server.translate(SENTENCE, source="auto", format="html", api_key=None).json
    assert found["translatedText"] == GERMAN
    assert found["detectedLanguage"]["language"] == "en"


def test_the_php_client_of_nextcloud(server) -> None:
    assert server.send("POST", "/").status == 405
    body, headers = multipart(api_key="")
    assert server.send("GET", "/languages", body, headers).status == 200
    settings = server.send("GET", "/frontend/settings", body, headers).json
    assert settings["language"]["source"] == {"code": "en", "name": "English"}
    assert settings["charLimit"] > 0
    assert settings["keyRequired"] is False
    found = server.send("POST", "/detect?q=Where+is+the+nearest+station", *multipart(q=SENTENCE))
    assert found.json[0]["language"] == "en"


def test_subtitle_edit(server) -> None:
    assert server.translate(SENTENCE).json == {"translatedText": GERMAN}


def test_the_go_client_finds_exactly_one_candidate(server) -> None:
    assert len(server.form("/detect", q="Hallo").json) == 1
    found = server.form("/detect", q="Wo ist der Bahnhof, bitte?").json
    assert found[0]["language"] == "de"
    assert 50 < found[0]["confidence"] <= 100


def test_npm_translate(server) -> None:
    found = server.translate("Hello", api_key="", format="text").json
    assert found["translatedText"]


def test_libretranslates_own_page(server) -> None:
    fields = {"q": "How are you?", "source": "auto", "target": "de", "format": "text"}
    found = server.send("POST", "/translate", *multipart(**fields, alternatives="3", api_key=""))
    assert found.json["detectedLanguage"]["language"] == "en"
    others = found.json["alternatives"]
    assert 1 <= len(others) == len({*others, found.json["translatedText"]}) - 1 <= 3


def test_health_checks_with_a_body(server) -> None:
    assert server.send("GET", "/health", b"{}", JSON).json == {"status": "ok"}


def test_the_language_of_each_text_in_a_list_is_detected(server) -> None:
    texts = [SENTENCE, GERMAN, "Je ne sais pas où se trouve la gare, mais elle est belle."]
    found = server.translate(texts, source="auto").json
    assert [one["language"] for one in found["detectedLanguage"]] == ["en", "de", "fr"]
    assert found["translatedText"] == [GERMAN, GERMAN, texts[2]]


def test_a_single_text_in_a_language_that_is_not_served_is_an_error(server) -> None:
    answer = server.translate("Je ne sais pas où se trouve la gare.", source="auto")
    assert answer.status == 400
    sentence = "French (fr) is not available as a source language for German (de)"
    assert answer.json == {"error": sentence}


def test_line_ends_and_margins_stay(server) -> None:
    hello = server.translate("Hello.").json["translatedText"]
    found = server.translate(f"  {SENTENCE}\n\n\tHello.\r\n").json["translatedText"]
    assert found == f"  {GERMAN}\n\n\t{hello}\r\n"
    assert server.translate(" \n").json["translatedText"] == " \n"


def test_line_ends_of_forms_become_lf(server) -> None:
    hello = server.translate("Hello.").json["translatedText"]
    found = server.form("/translate", q="Hello.\r\nHello.", source="en", target="de").json
    assert found["translatedText"] == f"{hello}\n{hello}"


def test_codes_are_case_insensitive_and_the_same_language_is_returned_as_it_is(server) -> None:
    assert server.translate(SENTENCE, "EN", "De").json["translatedText"] == GERMAN
    assert server.translate(SENTENCE, "en", "en").json["translatedText"] == SENTENCE


def test_names_follow_accept_language(server) -> None:
    found = server.get("/languages", **{"Accept-Language": "de-DE,de;q=0.9,en;q=0.8"}).json
    assert {one["name"] for one in found} == {"Deutsch", "Englisch"}


def test_flags_and_scores_are_given_on_request(server) -> None:
    found = server.translate(["Hello.", "123 456"], flags=True, scores=True).json
    assert found["flags"][0] == []
    scores = found["scores"][0]
    assert len(scores["tokenScores"]) == len(scores["tokens"]) + 1
    assert all(score <= 0 for score in scores["tokenScores"])


MISSING = "Invalid request: missing q parameter"
LIST = "Invalid request: q must be a string or a list of strings"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, MISSING),
        ({"q": ""}, MISSING),
        ({"q": []}, MISSING),
        ({"q": "a"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": 5, "source": "en", "target": "de"}, LIST),
        ({"q": [5], "source": "en", "target": "de"}, LIST),
        ({"q": {"a": 1}, "source": "en", "target": "de"}, LIST),
        (
            {"q": "\ud800", "source": "en", "target": "de"},
            "Invalid request: q has an unpaired surrogate",
        ),
        ({"q": "a", "source": "zz", "target": "de"}, "zz is not supported"),
        ({"q": "a", "source": 1, "target": "de"}, "Invalid request: source must be a string"),
        (
            {"q": "a", "source": "en", "target": "de", "format": "xml"},
            "xml format is not supported",
        ),
        (
            {"q": "a", "source": "en", "target": "de", "alternatives": "x"},
            "Invalid request: alternatives must be a number",
        ),
        (
            {"q": "a" * 50_001, "source": "en", "target": "de"},
            "request (50001) exceeds text limit (50000)",
        ),
        (
            {"q": ["a"] * 1001, "source": "en", "target": "de"},
            "request (1001) exceeds batch limit (1000)",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_told_in_a_sentence(fields, sentence, server) -> None:
    answer = server.post("/translate", **fields)
    assert (answer.status, answer.json) == (400, {"error": sentence})


def test_a_direction_without_a_model_is_told_and_one_that_loads_is_not_refused_for_good() -> None:
    models = Models(ServeConfig(models=["en-de"]), print)
    model = models.all[0]
    with pytest.raises(RefusalError) as loading:
        models.find("de", "en")
    assert (loading.value.status, loading.value.headers) == (503, {"Retry-After": "1"})
    assert not models.ready
    model.engine.settled.set()
    models.by_pair["en", "de"] = model
    with pytest.raises(RefusalError) as none:
        models.find("de", "en")
    sentence = "English (en) is not available as a target language from German (de)"
    assert (none.value.status, str(none.value)) == (400, sentence)


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b'"q"', b"[" * 100_000])
def test_malformed_json_is_told(body, server) -> None:
    answer = server.send("POST", "/translate", body, JSON)
    assert answer.status == 400
    assert "JSON" in answer.json["error"]


def test_other_paths_and_methods_have_json_errors(server) -> None:
    assert server.get("/translate").status == 405
    assert server.get("/nothing").status == 404
    for path in ("/translate", "/nothing", "/metrics"):
        assert list(server.get(path).json) == ["error"]
    assert server.get("/metrics").status == 404
    answer = server.post("/suggest", q="a", s="b", source="en", target="de")
    assert (answer.status, answer.json["error"]) == (
        403,
        "Suggestions are disabled on this server.",
    )


def test_other_origins_are_not_allowed_and_headers_are_strict(server) -> None:
    headers = server.get("/languages", Origin="https://example.org").headers
    assert "access-control-allow-origin" not in headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_no_text_is_in_the_log(server) -> None:
    secret = "Rumpelstilzchen"
    server.translate(secret)
    server.send("POST", f"/translate?q={secret}&source=en&target=de&api_key=abc")
    server.get(f"/{secret}")
    assert secret not in server.log
    assert "POST /translate 200" in server.log


def test_the_page_of_the_api_uses_local_files_only(server) -> None:
    page = server.get("/docs").body.decode()
    assert "http" not in page
    for name in ("api.js", "api.css"):
        assert f"/api/{name}" in page
        assert server.get(f"/api/{name}").status == 200
    assert server.get("/").status == 200
    paths = server.get("/openapi.json").json["paths"]
    assert {"/translate", "/detect", "/languages", "/health", "/attention"} <= paths.keys()
