"""Translation of HTML: tags follow their words, and nothing becomes markup that was not."""

import gzip
import subprocess
import sys
from collections import Counter
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from transduce import Translator
from transduce.cli import main
from transduce.translate.alignment import Link, words_of
from transduce.translate.html import translate_html
from transduce.translate.html.scanner import scan
from transduce.translate.html.segments import VOID
from transduce.translate.join import Translation


class Fake:
    """A translator that writes the words of a text in another order, with exact links."""

    def __init__(self, order=lambda words: words, change=lambda word: word, links=True) -> None:
        self.order, self.change, self.links = order, change, links
        self.calls = []

    def results(self, texts, options):
        assert options.alignments
        self.calls.append(list(texts))
        return [self._result(text) for text in texts]

    def _result(self, text):
        if self.order is None:  # the same, with its spaces
            links = [Link(span, span, 1.0) for span in words_of(text)]
            return Translation(text, text, links=tuple(links))
        written, links = "", []
        for start, end in self.order(words_of(text)):
            written += " " if written else ""
            word = self.change(text[start:end])
            links.append(Link((start, end), (len(written), len(written) + len(word)), 0.9))
            written += word
        return Translation(text, written, links=tuple(links) if self.links else ())


IDENTITY = Fake(order=None)


def backwards(words):
    return words[::-1]


def translated(html, translator):
    (found,) = translate_html(translator, [html])
    return found


def tags(html):
    """How often each tag, comment and the like occurs, as written."""
    return Counter(piece.raw for piece in scan(html) if piece.kind != "text")


class Nesting(HTMLParser):
    """Whether elements are properly nested, and the texts and tags of a document."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.well, self.tags, self.texts = [], True, Counter(), []
        self.feed(html)
        self.close()
        self.well &= not self.open

    def handle_starttag(self, tag, attrs):
        self.tags[tag, tuple(attrs)] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.well &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


WORDS = st.sampled_from(
    [
        "dog",
        "the",
        "house",
        "a < b",
        "&",
        "<b>",
        "5 > 4",
        "it's",
        "über",
        "東京",
        "x",
        "<script>",
        "&lt;",
    ]
)
LEAVES = st.one_of(
    st.lists(WORDS, min_size=1, max_size=4).map(lambda words: escape(" ".join(words), quote=False)),
    st.sampled_from(
        ['<img src="a?b=1&amp;c" alt=">">', "<!-- <b> -->", "❤️", "<code>a &lt; b</code>", "<wbr>",
         '<span translate="no">no <i>way</i></span>', "tom@example.org", "https://x.org/?a=1&amp;b=2",
         "@name", "<i></i>"]
    ),
)  # fmt: skip


def joined(children):
    return " ".join(children)


def wrapped(tag):
    return st.lists(TREES, min_size=0, max_size=4).map(
        lambda children: f'<{tag} class="{tag}">{joined(children)}</{tag.split()[0]}>'
    )


TREES = st.deferred(
    lambda: st.one_of(LEAVES, *(wrapped(tag) for tag in ("b", "i", "a", "span", "em")))
)
BLOCKS = st.lists(TREES, max_size=5).map(lambda some: f"<p>{joined(some)}</p>")
DOCUMENTS = st.lists(
    st.one_of(BLOCKS, TREES, st.sampled_from(["<br>", "<script>if (a<b) '<p>'</script>", "<hr>"])),
    max_size=4,
).map(joined)


@given(DOCUMENTS)
@example('<p>dog <b class="b">❤️</b></p>')
@example("<p>dog <b><i>❤️</i> <img></b> cat</p>")
def test_a_document_that_is_translated_into_itself_is_unchanged(html) -> None:
    assert translated(html, IDENTITY) == html


@given(DOCUMENTS, st.randoms(use_true_random=False), st.booleans())
def test_the_tags_of_a_document_are_kept_and_well_nested_in_any_word_order(
    html, random, links
) -> None:
    shuffled = Fake(lambda words: random.sample(words, len(words)), str.upper, links)
    found = translated(html, shuffled)
    assert tags(found) == tags(html)
    before, after = Nesting(html), Nesting(found)
    assert before.well
    assert after.well
    assert after.tags == before.tags


@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_what_a_model_writes_is_never_markup(html, random) -> None:
    hostile = Fake(
        backwards, lambda _: random.choice(["<script>", "</p>", "&lt;b&gt;", "<!--", "-->"])
    )
    found = translated(html, hostile)
    assert tags(found) == tags(html)


@given(st.text(alphabet=list("<>/!-?&;=\"' abcpi\n"), max_size=60))
def test_the_tags_of_any_text_at_all_are_kept(html) -> None:
    assert "".join(piece.raw for piece in scan(html)) == html
    for translator in (Fake(backwards, str.upper), Fake(lambda words: [])):
        assert tags(translated(html, translator)) == tags(html)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>One <b>two</b> three.</p>", "<p>. three <b>two</b> One</p>"),
        ("<b>One two</b> three", "three <b>two One</b>"),
        ("One <b>two <i>three</i></b>", "<b><i>three</i> two</b> One"),
        ("<div>One</div>two<br>three", "<div>One</div>two<br>three"),
        ("One <br>two three", "One <br>three two"),
        (" <i> One two </i> ", " <i> two One </i> "),
        ("One <em>tw</em>o", "<em>two</em> One"),
        ("One ❤️ two", "two One ❤️"),
        ("One two <img src=x>three", "<img src=x>three two One"),
        ("<a href='x'>One</a><p>two three", "<a href='x'>One</a><p>three two"),
        ("<b>One<p>two three</b>", "<b>One<p>three two</b>"),
        ("<pre>one two</pre><style>a b</style>", "<pre>one two</pre><style>a b</style>"),
        ("one <SPAN TRANSLATE=NO>x y</SPAN> two", "two <SPAN TRANSLATE=NO>x y</SPAN> one"),
        ('<p class="notranslate">one two</p>', '<p class="notranslate">one two</p>'),
        ("a &lt;b&gt; &amp; c", "c &amp; &gt; b &lt; a"),
        ("one&nbsp;two", "two one"),
        ("1 < 2 &copy;", "1 < 2 &copy;"),
        ("One two <a href='", "two One <a href='"),
        ("<title>One <b>two</title>", "<title>two &gt; b &lt; One</title>"),
        ("<!DOCTYPE html><!-- a b --><textarea>a b</textarea>", None),
        ("<ul><li>one<li>two three</ul>", "<ul><li>one<li>three two</ul>"),
        ("", ""),
    ],
)
def test_tags_follow_their_words(html, expected) -> None:
    assert translated(html, Fake(backwards)) == (html if expected is None else expected)


@pytest.mark.parametrize(
    "kept",
    [
        "me@example.org",
        "https://example.org/a?b=1&amp;c=2",
        "@name",
        "#tag",
        "<code>ls &lt;x</code>",
        "<kbd>Ctrl</kbd>",
        "<svg><a>b</a></svg>",
        '<a href="u"><span>https://</span><span>x.org/abc</span></a>',
        '<span class="h-card"><a href="https://m.s/@al">@<span>al</span></a></span>',
    ],
)
def test_what_is_not_translated_is_kept_in_its_sentence(kept) -> None:
    fake = Fake(backwards, str.swapcase)
    html = f"<p>one two {kept} three four</p>"
    assert translated(html, fake) == f"<p>TWO ONE {kept} FOUR THREE</p>"
    assert len(fake.calls) == 2  # the name that stood for it was lost, so it was translated around


def test_a_sentence_is_translated_whole_if_the_name_for_what_is_kept_is_found_again() -> None:
    fake = Fake(backwards)
    html = ["<p>one <code>x</code> two <b>@me</b></p>", "<p>three</p>"]
    assert translate_html(fake, html) == [
        "<p><b>@me</b> two <code>x</code> one</p>",
        "<p>three</p>",
    ]
    assert fake.calls == [["one Tom two Maria", "three"]]


def test_more_kept_parts_than_names_are_translated_around() -> None:
    html = " ".join(f"one two <code>{n}</code>" for n in range(20))
    expected = " ".join(f"two one <code>{n}</code>" for n in range(20))
    assert translated(html, Fake(backwards)) == expected


def test_addresses_and_emoji_at_the_ends_are_no_part_of_the_sentence() -> None:
    fake = Fake(backwards)
    html = "@bob @al One two. #tag :cat: 👍🏽 https://x.org"
    assert translated(html, fake) == "@bob @al . two One #tag :cat: 👍🏽 https://x.org"
    assert fake.calls == [["One two."]]


def test_one_call_translates_all_documents() -> None:
    fake = Fake()
    texts = [f"<p>text {n}</p><p>more <b>{n}</b></p>" for n in range(50)]
    assert translate_html(fake, texts) == texts
    assert len(fake.calls) == 1


LARGE = """
from transduce.translate.html import translate_html
from transduce.translate.join import Translation

class Same:
    def results(self, texts, options):
        return [Translation(text, text) for text in texts]

n = 2_000
for html in ("<b>a " * n + "</b>" * n, "<b>a</b> ❤️ " * n, "<a b='" * n, "<!--" * n, "<code>" * n,
             "<" * n, "<b>" * n, "</b>" * n, "<b>a" * n, "@al " * n + "One"):
    assert translate_html(Same(), [html]) == [html], html[:20]
"""


def test_deep_and_long_documents_take_linear_time() -> None:
    # in a process without the checks of types, which take longer than what is measured
    done = subprocess.run([sys.executable, "-c", LARGE], timeout=90, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def translator():
    return Translator.load()


def test_the_bundled_model_moves_tags_with_their_words(translator) -> None:
    html = [
        '<p>Where is the <b>nearest</b> <a href="x?a=1&amp;b=2">station</a>?</p>',
        "<li>My <em>sister</em> has been learning <b>German</b> for three years.",
    ]
    assert translate_html(translator, html) == [
        '<p>Wo ist der <b>nächste</b> <a href="x?a=1&amp;b=2">Bahnhof</a>?</p>',
        "<li>Meine <em>Schwester</em> lernt seit drei Jahren <b>Deutsch</b>.",
    ]


def test_html_does_not_depend_on_the_other_documents_of_a_call(translator) -> None:
    texts = [
        "<i>I</i> see <b>a dog</b>.",
        "Where <u>are</u> you? @tom",
        "A <b>big</b> house is here.",
    ]
    together = translate_html(translator, texts)
    assert [translated(text, translator) for text in texts] == together
    assert [unescape(text) for text in together] == together


def run(*words, text=None):
    done = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert done.exit_code == 0, done.output
    return done


HTML = "<html>\r\n<p>Where is the <b>station</b>?</p>\n</html>"
GERMAN = "<html>\r\n<p>Wo ist der <b>Bahnhof</b>?</p>\n</html>"


def test_the_command_line_translates_html(tmp_path) -> None:
    words = ["translate", "--format", "html"]
    assert run(*words, "<b>Yes.</b>", "<i>No.</i>").stdout == "<b>Ja.</b>\n<i>Nein.</i>\n"
    assert run(*words, text=HTML.encode()).stdout_bytes == GERMAN.encode()
    source = tmp_path / "page.html"
    source.write_bytes(HTML.encode())
    for name, opened in (("out.html", Path.open), ("out.html.gz", gzip.open)):
        assert run(*words, "--input", source, "--output", tmp_path / name).stdout == ""
        with opened(tmp_path / name, "rb") as stream:
            assert stream.read() == GERMAN.encode()
    hint = "page.html is translated line by line: add --format html to keep its tags"
    assert hint in run("translate", "--input", source).stderr


@pytest.mark.parametrize("option", ["--json", "--paragraphs", "--n-best=2", "--shard=1/2"])
def test_options_for_lines_are_errors_with_html(option) -> None:
    done = CliRunner().invoke(main, ["translate", "--format", "html", option, "Yes."])
    assert done.exit_code == 2
    name = option.partition("=")[0]
    assert f"{name} is for lines of text: leave it or --format html out" in done.stderr
