"""Whole sentences of the built-in corpus are right in both languages."""

from random import Random

import pytest
from grammar_phrases import (
    ALTHOUGH,
    AND,
    ANNA,
    BECAUSE,
    BUT,
    IF,
    IN_ROME,
    PETER,
    THAT,
    TOMORROW,
    WHEN,
    WHETHER,
    YESTERDAY,
    at,
    be,
    do,
    quality,
    said,
    the,
    to,
    which,
)

from transduce.corpus.pair import Pair
from transduce.grammar import times, to_german, verbs, words
from transduce.grammar.lexicon import Phrase
from transduce.grammar.nouns import NOUN
from transduce.grammar.sampling import sample, translate
from transduce.grammar.syntax import (
    Clause,
    Comparison,
    Complex,
    Compound,
    Content,
    Couple,
    Infinitive,
    NounPhrase,
    Occupation,
    Possessed,
    PrepPhrase,
    Question,
    Relative,
    Sentence,
    Statement,
    Toward,
    VerbPhrase,
)
from transduce.grammar.words import (
    ADJECTIVE,
    BARE,
    HE,
    HER,
    HIS,
    IT,
    MY,
    NUMERALS,
    SHE,
    THE,
    THERE,
    THEY,
    THIS,
    WE,
    YOU,
    A,
    I,
)

HAND_TRANSLATED: dict[str, Sentence] = {
    "The boy ate an apple. | Der Junge hat einen Apfel gegessen.": said(
        the("boy"), do("eat", the("apple", "", A)), "past"
    ),
    "He is reading a new book. | Er liest gerade ein neues Buch.": said(
        HE, do("read", the("book", "new", A)), "progressive"
    ),
    "Anna often helps the old man. | Anna hilft oft dem alten Mann.": said(
        ANNA, do("help", the("man", "old")), adverb=times.OFTEN
    ),
    "She called him yesterday. | Sie hat ihn gestern angerufen.": said(
        SHE, do("call", HE), "past", time=YESTERDAY
    ),
    "Tomorrow, I will pick her up. | Morgen werde ich sie abholen.": said(
        I, do("pick up", SHE), "future", opener=TOMORROW
    ),
    "They thanked the teachers. | Sie haben den Lehrern gedankt.": said(
        THEY, do("thank", the("teacher", plural=True)), "past"
    ),
    "He did not open the window yesterday. | Er hat das Fenster gestern nicht aufgemacht.": said(
        HE, do("open", the("window")), "past", negation="not", time=YESTERDAY
    ),
    "Peter does not have a car. | Peter hat kein Auto.": said(
        PETER, do("have", the("car", "", A)), negation="not"
    ),
    "We no longer drink coffee. | Wir trinken keinen Kaffee mehr.": said(
        WE, do("drink", the("coffee", "", BARE)), negation="no longer"
    ),
    "She has not read the letter yet. | Sie hat den Brief noch nicht gelesen.": said(
        SHE, do("read", the("letter")), "perfect", negation="not yet"
    ),
    "You have not bought eggs yet. | Du hast noch keine Eier gekauft.": said(
        YOU, do("buy", the("egg", "", BARE, True)), "perfect", negation="not yet"
    ),
    "He has never visited the museum. | Er hat das Museum noch nie besucht.": said(
        HE, do("visit", the("museum")), "perfect", adverb=times.NEVER_YET
    ),
    "Anna gave us twenty-one red flowers. | Anna hat uns einundzwanzig rote Blumen gegeben.": said(
        ANNA, do("give", the("flower", "red", NUMERALS[19], True), recipient=WE), "past"
    ),
    "The farmer explained the rule to the student. | "
    "Der Bauer hat dem Studenten die Regel erklärt.": said(
        the("farmer"),
        do("explain", the("rule"), recipient=the("student"), recipient_first=False),
        "past",
    ),
    "She bought an apple at the market. | Sie hat auf dem Markt einen Apfel gekauft.": said(
        SHE, do("buy", the("apple", "", A), place=at("market")), "past"
    ),
    "She ate the apple in the garden. | Sie hat den Apfel im Garten gegessen.": said(
        SHE, do("eat", the("apple"), place=at("garden")), "past"
    ),
    "I am waiting for the bus at the station. | Ich warte gerade am Bahnhof auf den Bus.": said(
        I, do("wait for", the("bus"), place=at("station")), "progressive"
    ),
    "We look forward to the vacation. | Wir freuen uns auf den Urlaub.": said(
        WE, do("look forward to", the("vacation"))
    ),
    "Does your aunt remember Peter? | Erinnert sich deine Tante an Peter?": Question(
        Clause(the("aunt", "", words.YOUR), do("remember", PETER))
    ),
    "Yesterday, nobody took care of her. | Gestern hat sich niemand um sie gekümmert.": said(
        words.NOBODY, do("take care of", SHE), "past", opener=YESTERDAY
    ),
    "Yesterday, nobody saw him. | Gestern hat ihn niemand gesehen.": said(
        words.NOBODY, do("see", HE), "past", opener=YESTERDAY
    ),
    "Yesterday, somebody called Anna. | Gestern hat jemand Anna angerufen.": said(
        words.SOMEBODY, do("call", ANNA), "past", opener=YESTERDAY
    ),
    "She comes to the school by bus every day. | "
    "Sie kommt jeden Tag mit dem Bus in die Schule.": said(
        SHE,
        do("come", goal=to("school"), company=times.BY_LAND[0]),
        time=times.HABITUAL[0],
    ),
    "He has to drive to the station. | Er muss zum Bahnhof fahren.": said(
        HE, do("drive", goal=to("station")), modal=words.HAVE_TO
    ),
    "I could not sleep. | Ich konnte nicht schlafen.": said(
        I, do("sleep"), "past", modal=words.CAN, negation="not"
    ),
    "They do not like to play the piano. | Sie spielen nicht gern Klavier.": said(
        THEY, do("play the piano"), modal=words.LIKE_TO, negation="not"
    ),
    "I do not like to wear hats. | Ich trage nicht gern Hüte.": said(
        I, do("wear", the("hat", "", BARE, True)), modal=words.LIKE_TO, negation="not"
    ),
    "She will take care of her sick aunt. | Sie wird sich um ihre kranke Tante kümmern.": said(
        SHE, do("take care of", the("aunt", "sick", HER)), "future"
    ),
    "He closed the door slowly. | Er hat die Tür langsam zugemacht.": said(
        HE, do("close", the("door"), manner=times.PACES[0]), "past"
    ),
    "Anna and her brother are tired. | Anna und ihr Bruder sind müde.": said(
        Couple(ANNA, the("brother", "", HER)), be(quality("tired"))
    ),
    "My sister is a doctor. | Meine Schwester ist Ärztin.": said(
        the("sister", "", MY), be(Occupation(NOUN["doctor"], True))
    ),
    "He was not a teacher. | Er war kein Lehrer.": said(
        HE, be(Occupation(NOUN["teacher"], False)), "past", negation="not"
    ),
    "This bike is more expensive than the car. | Dieses Fahrrad ist teurer als das Auto.": said(
        the("bike", "", THIS), be(Comparison(ADJECTIVE["expensive"], False, the("car")))
    ),
    "Anna is proud of her sons. | Anna ist stolz auf ihre Söhne.": said(
        ANNA,
        be(
            Toward(
                Phrase("proud", "stolz"),
                PrepPhrase("of", "auf", "acc", the("son", "", HER, True)),
            )
        ),
    ),
    "I repaired my brother's old bike. | Ich habe das alte Fahrrad meines Bruders repariert.": said(
        I,
        do("repair", Possessed(the("brother", "", MY), NOUN["bike"], False, ADJECTIVE["old"])),
        "past",
    ),
    "He found Anna's key. | Er hat Annas Schlüssel gefunden.": said(
        HE, do("find", Possessed(ANNA, NOUN["key"])), "past"
    ),
    "She talked to Mr. Müller. | Sie hat mit Herrn Müller gesprochen.": said(
        SHE, do("talk to", words.GENTLEMEN[0]), "past"
    ),
    "In the village, there is an old church. | Im Dorf gibt es eine alte Kirche.": said(
        THERE, VerbPhrase(verbs.EXIST, the("church", "old", A)), opener=at("village")
    ),
    "The house was built in 1950. | Das Haus wurde im Jahr 1950 gebaut.": said(
        the("house"), do("build", passive=True), "past", time=times.year(1950)
    ),
    "The car must be repaired. | Das Auto muss repariert werden.": said(
        the("car"), do("repair", passive=True), modal=words.MUST
    ),
    "She has lived in Rome since 2015. | Sie wohnt seit 2015 in Rom.": said(
        SHE, do("live", place=IN_ROME), "so far", time=Phrase("since 2015", "seit 2015")
    ),
    "He has been learning German for two years. | Er lernt seit zwei Jahren Deutsch.": said(
        HE, do("learn", the("German", "", BARE)), "so far", time=times.so_far(2, times.YEARS)
    ),
    "We stayed at home because of the rain. | Wir sind wegen des Regens zu Hause geblieben.": said(
        WE,
        do("stay", place=times.AT_HOME),
        "past",
        time=PrepPhrase("because of", "wegen", "gen", the("rain")),
    ),
    "Which movie did you see? | Welchen Film hast du gesehen?": Question(
        Clause(YOU, do("see"), "past"), the("movie", "", words.WHICH)
    ),
    "Who is Anna waiting for? | Auf wen wartet Anna gerade?": Question(
        Clause(ANNA, do("wait for"), "progressive"), words.WHO
    ),
    "Who closed the door? | Wer hat die Tür zugemacht?": Statement(
        Clause(words.WHO, do("close", the("door")), "past"), "?"
    ),
    "It is raining although it is warm. | Es regnet, obwohl es warm ist.": Complex(
        Clause(IT, VerbPhrase(verbs.RAIN), "progressive"),
        ALTHOUGH,
        Clause(IT, be(quality("warm"))),
        False,
    ),
    "Because he wanted to turn off the radio, Peter went home. | "
    "Weil er das Radio ausschalten wollte, ist Peter nach Hause gegangen.": Complex(
        Clause(PETER, do("go", goal=times.HOME), "past"),
        BECAUSE,
        Clause(HE, do("turn off", the("radio")), "past", words.WANT_TO),
        True,
    ),
    "If you have time, you should visit me. | "
    "Wenn du Zeit hast, solltest du mich besuchen.": Complex(
        Clause(YOU, do("visit", I), modal=words.SHOULD),
        IF,
        Clause(YOU, do("have", the("time", "", BARE))),
        True,
    ),
    "It snowed when the children got up. | "
    "Es hat geschneit, als die Kinder aufgestanden sind.": Complex(
        Clause(IT, VerbPhrase(verbs.SNOW), "past"),
        WHEN,
        Clause(the("child", plural=True), do("get up"), "past"),
        False,
    ),
    "She does not know whether Peter will come back. | "
    "Sie weiß nicht, ob Peter zurückkommen wird.": said(
        SHE,
        do("know", complement=Content(WHETHER, Clause(PETER, do("come back"), "future"))),
        negation="not",
    ),
    "He says that she often opens the door. | Er sagt, dass sie oft die Tür aufmacht.": said(
        HE,
        do(
            "say",
            complement=Content(THAT, Clause(SHE, do("open", the("door")), adverb=times.OFTEN)),
        ),
    ),
    "I forgot to close the door. | Ich habe vergessen, die Tür zuzumachen.": said(
        I, do("forget", complement=Infinitive(do("close", the("door")), False)), "past"
    ),
    "She is going to the market to buy fresh apples. | "
    "Sie geht gerade auf den Markt, um frische Äpfel zu kaufen.": said(
        SHE,
        do(
            "go",
            goal=to("market"),
            complement=Infinitive(do("buy", the("apple", "fresh", BARE, True)), True),
        ),
        "progressive",
    ),
    "The man who lives in Rome sold his car. | "
    "Der Mann, der in Rom wohnt, hat sein Auto verkauft.": said(
        which("man", Relative("subject", Clause(HE, do("live", place=IN_ROME)))),
        do("sell", the("car", "", HIS)),
        "past",
    ),
    "I lost the ring that Anna bought. | Ich habe den Ring verloren, den Anna gekauft hat.": said(
        I, do("lose", which("ring", Relative("object", Clause(ANNA, do("buy"), "past")))), "past"
    ),
    "The children whom we helped are happy. | "
    "Die Kinder, denen wir geholfen haben, sind glücklich.": said(
        which("child", Relative("object", Clause(WE, do("help"), "past")), True),
        be(quality("happy")),
    ),
    "The woman whose dog is sick called her neighbor. | "
    "Die Frau, deren Hund krank ist, hat ihren Nachbarn angerufen.": said(
        which("woman", Relative("owner", Clause(the("dog", "", BARE), be(quality("sick"))))),
        do("call", the("neighbor", "", HER)),
        "past",
    ),
    "The house in which they live is old. | Das Haus, in dem sie wohnen, ist alt.": said(
        which("house", Relative("place", Clause(THEY, do("live")), Phrase("in", "in"))),
        be(quality("old")),
    ),
    "Anna got up and fed the cat. | Anna ist aufgestanden und hat die Katze gefüttert.": Compound(
        Clause(ANNA, do("get up"), "past"),
        AND,
        Clause(ANNA, do("feed", the("cat")), "past"),
        True,
    ),
    "He likes tea, but she likes milk. | Er mag Tee, aber sie mag Milch.": Compound(
        Clause(HE, do("like", the("tea", "", BARE))),
        BUT,
        Clause(SHE, do("like", the("milk", "", BARE))),
        False,
    ),
    "The train to Munich leaves at 15:45. | Der Zug nach München fährt um 15:45 Uhr ab.": said(
        NounPhrase(THE, NOUN["train"], modifier=Phrase("to Munich", "nach München")),
        do("leave"),
        time=times.at(times.timetable(15, 45)),
    ),
    "The jacket costs 89.90 euros. | Die Jacke kostet 89,90 Euro.": said(
        the("jacket"), do("cost", times.price(89, 90))
    ),
    "Anna was born on March 3, 1985. | Anna wurde am 3. März 1985 geboren.": said(
        ANNA, VerbPhrase(verbs.BEAR, passive=True), "past", time=times.date(3, 3, 1985)
    ),
}


@pytest.mark.parametrize(("pair", "sentence"), HAND_TRANSLATED.items(), ids=HAND_TRANSLATED)
def test_a_sentence_is_translated_as_a_person_would(pair: str, sentence: Sentence) -> None:
    source, _, target = pair.partition(" | ")
    assert translate(sentence) == Pair(source, target)


def sampled(n: int, seed: int) -> list[Sentence]:
    rng = Random(seed)
    return [sample(rng) for _ in range(n)]


def as_main_clause(clause: Clause) -> str:
    """The words after the subject of a German main clause: the finite verb and the rest."""
    subject = to_german.nominal(clause.subject, "nom")
    statement = translate(Statement(clause)).target
    return statement[len(subject) + 1 :].rstrip(".")


def test_the_finite_verb_is_second_in_main_clauses_and_last_in_subordinate_ones() -> None:
    found = [s for s in sampled(500, 1) if isinstance(s, Complex) and not s.subordinate_first]
    assert len(found) > 8
    for sentence in found:
        finite = as_main_clause(sentence.subordinate).split()[0]
        assert translate(sentence).target.endswith(f"{finite}."), sentence


def test_a_subordinate_clause_in_front_is_followed_by_the_finite_verb() -> None:
    found = [s for s in sampled(500, 2) if isinstance(s, Complex) and s.subordinate_first]
    assert len(found) > 8
    for sentence in found:
        finite = as_main_clause(sentence.main).split()[0]
        assert f", {finite} " in translate(sentence).target


def test_a_yes_or_no_question_begins_with_the_finite_verb() -> None:
    found = [s for s in sampled(500, 3) if isinstance(s, Question) and s.about is None]
    assert len(found) > 8
    for sentence in found:
        finite = as_main_clause(sentence.clause).split()[0].rstrip(",")
        assert translate(sentence).target.split()[0] == finite.capitalize()
