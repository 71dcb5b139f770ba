"""Direct speech is translated apart from the sentence around it."""

import pytest

from transduce.translate.restore.quotations import speech_of
from transduce.translate.translator import Translator

ENGLISH, GERMAN = ("en", "de"), ("de", "en")


@pytest.mark.parametrize(
    ("text", "frame", "said"),
    [
        ('"Come in," she said.', '"Good morning," she said.', ["Come in."]),
        ("“Where is he?” Tom asked.", '"Good morning?" Tom asked.', ["Where is he?"]),
        ('He said, "Go home. Now!"', 'He said, "Good morning!"', ["Go home. Now!"]),
        ('"Wait," she said, "we are coming."', '"Good morning," she said, "I am hungry."',
         ["Wait.", "We are coming."]),
        ('Go away," he said.', '"Good morning," he said.', ["Go away."]),
        ('"Where are you?"', "", ["Where are you?"]),
        ('"I am here.', "", ["I am here."]),
        ('I am here."', "", ["I am here."]),
    ],
)  # fmt: skip
def test_direct_speech_and_its_frame_are_told_apart(text, frame, said) -> None:
    found = speech_of(text, ENGLISH)
    assert (found.frame, list(found.said)) == (frame, said)


@pytest.mark.parametrize(
    "text",
    [
        "She said nothing.",
        'Do you know the word "dog"?',
        'My screen has 40".',
        'Have you read "The Lord of the Rings"?',
        'My nickname is "Itch."',
        'A so-called "good friend" of mine came.',
        '"A b," "C d," "E f," he said.',
        'He said "Good morning" and "Go home."',
        '""',
    ],
)
def test_other_uses_of_quotation_marks_are_left_alone(text) -> None:
    assert speech_of(text, ENGLISH) is None


@pytest.mark.parametrize(
    ("source", "languages", "output", "said", "right"),
    [
        ('"Come in," she said.', ENGLISH, '"Guten Morgen", sagte sie.', ["Komm herein."],
         "„Komm herein“, sagte sie."),
        ('"Who is it?" she asked.', ENGLISH, "„Guten Morgen?“ fragte sie.", ["Wer ist es?"],
         "„Wer ist es?“, fragte sie."),
        ('She said, "Come in."', ENGLISH, "Sie sagte: „Guten Morgen!“", ["Komm herein."],
         "Sie sagte: „Komm herein.“"),
        ('She said: "Come in".', ENGLISH, "Sie sagte „Guten Morgen“.", ["Komm herein!"],
         "Sie sagte „Komm herein!“"),
        ('Go away," he said.', ENGLISH, "„Guten Morgen“, sagte er.", ["Geh weg!"],
         "Geh weg!“, sagte er."),
        ("„Komm herein“, sagte sie.", GERMAN, '"I know," she said.', ["Come in."],
         '"Come in," she said.'),
        ("„Wer ist da?“, fragte sie.", GERMAN, '"I know," she asked.', ["Who's there?"],
         '"Who\'s there?" she asked.'),
        ('"Come in," she said.', ENGLISH, "Guten Morgen, sagte sie.", ["Komm herein."], None),
        ('"Come in.', ENGLISH, "", ["Komm herein."], "„Komm herein."),
    ],
)  # fmt: skip
def test_what_is_said_takes_the_place_of_the_greeting(
    source, languages, output, said, right
) -> None:
    assert speech_of(source, languages).filled(output, said, languages) == right


@pytest.mark.parametrize(
    ("model", "pairs"),
    [
        ("en-de", {
            '"Come in," she said.': "„Komm", '"Sit down," said the teacher.': "„Setz",
            'He asked, "Where are you?"': "„Wo ", '"Go home," he said.': "„Geh",
            '"Have you seen Tom?" "No, I was at home."': "“ „Nein",
        }),
        ("de-en", {
            "„Komm herein“, sagte sie.": '"Come', "Er fragte: „Wo bist du?“": '"Where',
            "„Geh nach Hause“, sagte er.": '"Go',
        }),
    ],
)  # fmt: skip
def test_the_bundled_models_translate_direct_speech(model, pairs) -> None:
    found = Translator.load(model).results(list(pairs))
    for expected, result in zip(pairs.values(), found, strict=True):
        assert expected in result.translation
        assert not {"split", "low-score"} <= set(result.flags)
    assert sum("split" in result.flags for result in found) >= 2
