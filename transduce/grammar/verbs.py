"""The verbs of the built-in grammar: how they inflect, what they govern, and what suits them.

A line is "English: past participle = infinitive, er-form, participle, government; objects; places".
The English principal parts are left out when regular; the government is a case with an optional
preposition ("auf acc"), and is left out for the plain accusative.
"""

from collections.abc import Iterable, Mapping

from transduce.grammar import english, german
from transduce.grammar.german import CASES, Case
from transduce.grammar.lexicon import Aspect, Verb, lines
from transduce.grammar.nouns import nouns, places

_CASES: Mapping[str, Case] = {case: case for case in CASES}


def _verbs(
    aspect: Aspect,
    text: str,
    by: str = "PEOPLE",
    recipients: str = "",
    recipient_first: bool = True,
) -> tuple[Verb, ...]:
    return tuple(_verb(aspect, *line, by, recipients, recipient_first) for line in lines(text))


def _verb(
    aspect: Aspect, left: str, right: str, by: str, recipients: str, recipient_first: bool
) -> Verb:
    forms, objects, where = (column.strip() for column in f"{right};;".split(";")[:3])
    infinitive, third, participle, *rest = (form.strip() for form in forms.split(","))
    preposition, _, case = (rest[0] if rest else "acc").rpartition(" ")
    return Verb(
        english=english.verb(left),
        german=german.verb(infinitive, third, participle),
        case=_CASES[case],
        preposition=preposition,
        subjects=nouns(by),
        by_people="PEOPLE" in by,
        objects=nouns(objects),
        recipients=nouns(recipients),
        recipient_first=recipient_first,
        places=places(where),
        aspect=aspect,
    )


INTRANSITIVE = (
    *_verbs(
        "activity",
        """
        work = arbeiten, arbeitet, gearbeitet;; kitchen, garden, study, eatery, service
        dance = tanzen, tanzt, getanzt;; kitchen, living room, garden, park, restaurant, hotel
        sing: sang sung = singen, singt, gesungen;; kitchen, garden, church, theater, bathroom
        rest = sich aus|ruhen, ruht, ausgeruht;; living room, bedroom, garden, park, hotel
        laugh = lachen, lacht, gelacht
        jog = joggen, joggt, ist gejoggt;; park, forest, village
        swim: swam swum = schwimmen, schwimmt, ist geschwommen;; swimming pool
        go for a walk: went gone = spazieren |gehen, geht, ist spazieren gegangen;; park, forest
        ride a bike: rode ridden = Rad |fahren, fährt, ist Rad gefahren;; park, forest, village
        watch TV = fern|sehen, sieht, ferngesehen;; living room, bedroom, hotel
        play the piano = Klavier |spielen, spielt, Klavier gespielt;; living room, hotel, theater
        play the violin = Geige |spielen, spielt, Geige gespielt;; living room, church, theater
        play chess = Schach |spielen, spielt, Schach gespielt;; living room, café, park, hotel
        play soccer = Fußball |spielen, spielt, Fußball gespielt;; garden, park, beach
        take a shower: took taken = duschen, duscht, geduscht;; hotel, bathroom
        """,
    ),
    *_verbs(
        "activity",
        """
        sleep: slept slept = schlafen, schläft, geschlafen;; bedroom, garden, hotel, living room
        """,
        by="PEOPLE, pet",
    ),
    *_verbs(
        "event",
        """
        get up: got gotten = auf|stehen, steht, ist aufgestanden
        wake up: woke woken = auf|wachen, wacht, ist aufgewacht
        fall asleep: fell fallen = ein|schlafen, schläft, ist eingeschlafen
        come back: came come = zurück|kommen, kommt, ist zurückgekommen
        arrive = an|kommen, kommt, ist angekommen;; transit, hotel, castle
        """,
    ),
)
TRANSITIVE = (
    *_verbs(
        "activity",
        """
        eat: ate eaten = essen, isst, gegessen; FOOD; eatery, kitchen, garden, park
        cook = kochen, kocht, gekocht; dish; kitchen, restaurant
        bake = backen, backt, gebacken; baked; kitchen, bakery
        drink: drank drunk = trinken, trinkt, getrunken; drink; eatery, kitchen, garden, office
        order = bestellen, bestellt, bestellt; FOOD, drink; eatery
        read: - read = lesen, liest, gelesen; READING; bedroom, garden, eatery, library, park
        write: wrote written = schreiben, schreibt, geschrieben; WRITING, song; study, café
        sing: sang sung = singen, singt, gesungen; song
        translate = übersetzen, übersetzt, übersetzt; WRITING, song; study
        learn = lernen, lernt, gelernt; language; school, university
        try on = an|probieren, probiert, anprobiert; clothes; store
        wash = waschen, wäscht, gewaschen; clothes, car, bike
        buy: bought bought = kaufen, kauft, gekauft; FOOD, drink, periodical, gift; shop
        buy: bought bought = kaufen, kauft, gekauft; GOODS, book, novel, vehicle, home, boat
        sell: sold sold = verkaufen, verkauft, verkauft; GOODS, vehicle, home, boat
        look for = suchen, sucht, gesucht; clothes, PORTABLE, pet, PEOPLE; transit, park
        repair = reparieren, repariert, repariert; vehicle, device, boat; garage, garden
        clean = putzen, putzt, geputzt; window, bathroom, kitchen, table
        paint = malen, malt, gemalt; ANIMALS, church, castle, flower
        draw: drew drawn = zeichnen, zeichnet, gezeichnet; ANIMALS, church, castle, flower
        hide: hid hidden = verstecken, versteckt, versteckt; PORTABLE, present, money; room, garden
        visit = besuchen, besucht, besucht; PEOPLE, sight, settlement
        photograph = fotografieren, fotografiert, fotografiert; PEOPLE, ANIMALS, sight, structure
        feed: fed fed = füttern, füttert, gefüttert; pet, farm animal
        build: built built = bauen, baut, gebaut; house, structure, boat, table, bed, shelf
        plan = planen, plant, geplant; event
        organize = organisieren, organisiert, organisiert; event
        """,
    ),
    *_verbs("state", "study = studieren, studiert, studiert; subject", by="student"),
    *_verbs(
        "condition",
        "wear: wore worn = tragen, trägt, getragen; shirt, jacket, coat, hat, sweater",
    ),
    *_verbs(
        "event",
        """
        find: found found = finden, findet, gefunden; clothes, PORTABLE, money; study, outdoors
        lose: lost lost = verlieren, verliert, verloren; clothes, PORTABLE, money; transit, outdoors
        forget: forgot forgotten = vergessen, vergisst, vergessen; PORTABLE, rule, word, answer
        open = auf|machen, macht, aufgemacht; opening
        close = zu|machen, macht, zugemacht; opening
        turn on = ein|schalten, schaltet, eingeschaltet; device
        turn off = aus|schalten, schaltet, ausgeschaltet; device
        meet: met met = treffen, trifft, getroffen; PEOPLE; eatery, transit, park
        see: saw seen = sehen, sieht, gesehen; PEOPLE, ANIMALS, movie
        call = an|rufen, ruft, angerufen; PEOPLE
        invite = ein|laden, lädt, eingeladen; PEOPLE
        pick up = ab|holen, holt, abgeholt; PEOPLE
        ask = fragen, fragt, gefragt; PEOPLE
        greet = begrüßen, begrüßt, begrüßt; PEOPLE
        hug = umarmen, umarmt, umarmt; PEOPLE
        take: took taken = nehmen, nimmt, genommen; transport
        miss = verpassen, verpasst, verpasst; transport
        solve = lösen, löst, gelöst; problem, exercise
        pay for: paid paid = bezahlen, bezahlt, bezahlt; drink, ticket, dish, baked
        answer = beantworten, beantwortet, beantwortet; question, letter, email
        """,
    ),
    *_verbs(
        "event",
        "steal: stole stolen = stehlen, stiehlt, gestohlen; PORTABLE, vehicle, money",
        by="man, boy, woman, guest",
    ),
    *_verbs(
        "state",
        """
        understand: understood understood = verstehen, versteht, verstanden; task, plan, answer
        understand: understood understood = verstehen, versteht, verstanden; language, READING
        speak: spoke spoken = sprechen, spricht, gesprochen; language
        need = brauchen, braucht, gebraucht; GOODS, vehicle, resource, idea, plan, apartment
        have: had had = haben, hat, gehabt; GOODS, vehicle, pet, idea, plan, question, home
        like = mögen, mag, gemocht; FOOD, drink, READING, ANIMALS, clothes, movie, song, sight
        like = mögen, mag, gemocht; PEOPLE
        love = lieben, liebt, geliebt; kin, pet, settlement
        """,
    ),
)
HUNTING = _verbs(
    "activity",
    """
    chase = jagen, jagt, gejagt; mouse, rabbit, bird, duck; garden, park, forest
    watch = beobachten, beobachtet, beobachtet; mouse, rabbit, bird, duck; garden, park, forest
    """,
    by="dog, cat, wolf",
)
DATIVE = (
    *_verbs(
        "activity",
        """
        help = helfen, hilft, geholfen, dat; PEOPLE; kitchen, garden, office
        listen to = zu|hören, hört, zugehört, dat; PEOPLE
        """,
    ),
    *_verbs(
        "event",
        """
        thank = danken, dankt, gedankt, dat; PEOPLE
        congratulate = gratulieren, gratuliert, gratuliert, dat; PEOPLE
        follow = folgen, folgt, ist gefolgt, dat; PEOPLE
        """,
    ),
    *_verbs("state", "trust = vertrauen, vertraut, vertraut, dat; PEOPLE"),
)
PREPOSITIONAL = (
    *_verbs(
        "activity",
        """
        wait for = warten, wartet, gewartet, auf acc; PEOPLE, transport; transit, park, café
        think of: thought thought = denken, denkt, gedacht, an acc; kin, event
        dream of = träumen, träumt, geträumt, von dat; vehicle, house, trip, vacation
        talk about = sprechen, spricht, gesprochen, über acc; event, movie, book, plan; eatery
        talk to = sprechen, spricht, gesprochen, mit dat; PEOPLE; eatery, office, garden, park
        play with = spielen, spielt, gespielt, mit dat; pet, ball, toy; garden, park
        take care of: took taken = sich kümmern, kümmert, gekümmert, um acc; kin, pet
        """,
    ),
    *_verbs(
        "state",
        """
        look forward to = sich freuen, freut, gefreut, auf acc; event
        remember = sich erinnern, erinnert, erinnert, an acc; event, kin, story, word
        """,
    ),
    *_verbs(
        "state",
        "be interested in: was been = "
        "sich interessieren, interessiert, interessiert, für acc; subject, lecture",
    ),
    *_verbs("event", "ask for = bitten, bittet, gebeten, um acc; help, money, answer, time"),
)
DITRANSITIVE = (
    *_verbs(
        "event",
        """
        give: gave given = geben, gibt, gegeben; PORTABLE, gift, book, letter
        show: showed shown = zeigen, zeigt, gezeigt; PORTABLE, book, letter
        bring: brought brought = bringen, bringt, gebracht; gift, book, letter, drink
        lend: lent lent = leihen, leiht, geliehen; PORTABLE, vehicle, book, clothes, money
        send: sent sent = schicken, schickt, geschickt; letter, email, message, present, photo
        write: wrote written = schreiben, schreibt, geschrieben; letter, email, message, poem
        tell: told told = erzählen, erzählt, erzählt; story
        """,
        recipients="PEOPLE",
    ),
    *_verbs(
        "event",
        """
        explain = erklären, erklärt, erklärt; task, plan, idea, question, mistake
        recommend = empfehlen, empfiehlt, empfohlen; eatery, book, novel, movie, museum
        """,
        recipients="PEOPLE",
        recipient_first=False,
    ),
)
MOTION = _verbs(
    "activity",
    """
    go: went gone = gehen, geht, ist gegangen;; garden, eatery, shop, study, sight, outdoors
    drive: drove driven = fahren, fährt, ist gefahren;; shop, sight, beach, lake, transit, service
    run: ran run = laufen, läuft, ist gelaufen;; transit, park, school, garden, beach
    """,
)
ARRIVAL = _verbs(
    "event",
    "come: came come = kommen, kommt, ist gekommen;; study, eatery, museum, theater, hospital",
)
JOURNEY = _verbs(
    "activity",
    """
    travel = reisen, reist, ist gereist
    fly: flew flown = fliegen, fliegt, ist geflogen
    """,
)
DEPARTURE = _verbs(
    "event",
    """
    leave: left left = ab|fahren, fährt, ist abgefahren
    arrive = an|kommen, kommt, ist angekommen
    """,
    by="bus, train",
)
REPORTING = _verbs(
    "state",
    """
    say: said said = sagen, sagt, gesagt
    think: thought thought = denken, denkt, gedacht
    believe = glauben, glaubt, geglaubt
    """,
)
CONTROL = _verbs(
    "event",
    """
    try = versuchen, versucht, versucht
    forget: forgot forgotten = vergessen, vergisst, vergessen
    promise = versprechen, verspricht, versprochen
    decide = beschließen, beschließt, beschlossen
    """,
)
RAIN, SNOW = _verbs(
    "condition",
    """
    rain = regnen, regnet, geregnet
    snow = schneien, schneit, geschneit
    """,
)
BE, LIVE, HOPE, KNOW, COST, TASTE, EXIST = _verbs(
    "state",
    """
    be: was been = sein, ist, ist gewesen
    live = wohnen, wohnt, gewohnt
    hope = hoffen, hofft, gehofft
    know: knew known = wissen, weiß, gewusst
    cost: - cost = kosten, kostet, gekostet
    taste = schmecken, schmeckt, geschmeckt
    be: was been = geben, gibt, gegeben
    """,
)
(BELONG,) = _verbs("state", "belong to = gehören, gehört, gehört, dat; PEOPLE", by="GOODS")
STAY, BEAR = _verbs(
    "event",
    """
    stay = bleiben, bleibt, ist geblieben;; hotel, hospital
    bear: bore born = gebären, gebiert, geboren
    """,
)


def named(bases: str, among: Iterable[Verb]) -> tuple[Verb, ...]:
    """The verbs with these English base forms."""
    wanted = bases.split()
    return tuple(verb for verb in among if verb.english.base in wanted)
