"""The nouns of the built-in grammar, by kind: article, genitive and plural as in a dictionary."""

from transduce.grammar.lexicon import Noun, Place, lines, noun, place

_NOUNS = {
    "kin": """
        mother = die Mutter, -, Mütter
        father = der Vater, -s, Väter
        brother = der Bruder, -s, Brüder
        sister = die Schwester, -, -n
        son = der Sohn, -es, Söhne
        daughter = die Tochter, -, Töchter
        grandmother = die Großmutter, -, Großmütter
        grandfather = der Großvater, -s, Großväter
        uncle = der Onkel, -s, -
        aunt = die Tante, -, -n
        cousin = der Cousin, -s, -s
        friend = der Freund, -es, -e
        neighbor = der Nachbar, -n, -n
        colleague = der Kollege, -n, -n
        boss = der Chef, -s, -s
    """,
    "person": """
        man/men = der Mann, -es, Männer
        woman/women = die Frau, -, -en
        tourist = der Tourist, -en, -en
        guest = der Gast, -es, Gäste
        customer = der Kunde, -n, -n
    """,
    "child": """
        boy = der Junge, -n, -n
        girl = das Mädchen, -s, -
        child/children = das Kind, -es, -er
    """,
    "profession": """
        teacher = der Lehrer, -s, -, Lehrerin
        doctor = der Arzt, -es, Ärzte, Ärztin
        student = der Student, -en, -en, Studentin
        baker = der Bäcker, -s, -, Bäckerin
        farmer = der Bauer, -n, -n, Bäuerin
        lawyer = der Anwalt, -s, Anwälte, Anwältin
        journalist = der Journalist, -en, -en, Journalistin
        engineer = der Ingenieur, -s, -e, Ingenieurin
        policeman/policemen = der Polizist, -en, -en
        waiter = der Kellner, -s, -
        singer = der Sänger, -s, -, Sängerin
        pilot = der Pilot, -en, -en, Pilotin
        gardener = der Gärtner, -s, -, Gärtnerin
        musician = der Musiker, -s, -, Musikerin
        scientist = der Wissenschaftler, -s, -, Wissenschaftlerin
        professor = der Professor, -s, -en, Professorin
        mechanic = der Mechaniker, -s, -, Mechanikerin
    """,
    "pet": """
        dog = der Hund, -es, -e
        cat = die Katze, -, -n
        rabbit = das Kaninchen, -s, -
        bird = der Vogel, -s, Vögel
        horse = das Pferd, -es, -e
    """,
    "farm animal": """
        cow = die Kuh, -, Kühe
        pig = das Schwein, -s, -e
        duck = die Ente, -, -n
    """,
    "wild animal": """
        elephant = der Elefant, -en, -en
        bear = der Bär, -en, -en
        lion = der Löwe, -n, -n
        wolf/wolves = der Wolf, -es, Wölfe
        mouse/mice = die Maus, -, Mäuse
    """,
    "snack": """
        apple = der Apfel, -s, Äpfel
        banana = die Banane, -, -n
        orange = die Orange, -, -n
        tomato/tomatoes = die Tomate, -, -n
        sausage = die Wurst, -, Würste
        sandwich = das Sandwich, -s, -s
    """,
    "staple": """
        cheese = der Käse, -s
        butter = die Butter, -
        chocolate = die Schokolade, -
        fruit = das Obst, -es
        ice cream = das Eis, -es
    """,
    "baked": """
        bread = das Brot, -es
        cake = der Kuchen, -s, -
        cookie = der Keks, -es, -e
        pizza = die Pizza, -, Pizzen
    """,
    "dish": """
        soup = die Suppe, -
        potato/potatoes = die Kartoffel, -, -n
        egg = das Ei, -s, -er
        rice = der Reis, -es
        meat = das Fleisch, -es
        fish = der Fisch, -es
    """,
    "drink": """
        coffee = der Kaffee, -s
        tea = der Tee, -s
        water = das Wasser, -s
        milk = die Milch, -
        beer = das Bier, -es
        wine = der Wein, -es
        lemonade = die Limonade, -
    """,
    "literature": """
        poem = das Gedicht, -s, -e
        story = die Geschichte, -, -n
        novel = der Roman, -s, -e
        book = das Buch, -es, Bücher
    """,
    "correspondence": """
        letter = der Brief, -es, -e
        email = die E-Mail, -, -s
        message = die Nachricht, -, -en
    """,
    "periodical": """
        newspaper = die Zeitung, -, -en
    """,
    "music": """
        song = das Lied, -es, -er
    """,
    "clothes": """
        shirt = das Hemd, -es, -en
        dress = das Kleid, -es, -er
        jacket = die Jacke, -, -n
        coat = der Mantel, -s, Mäntel
        hat = der Hut, -es, Hüte
        sweater = der Pullover, -s, -
    """,
    "vehicle": """
        car = das Auto, -s, -s
        bike = das Fahrrad, -s, Fahrräder
        motorcycle = das Motorrad, -s, Motorräder
    """,
    "vessel": """
        boat = das Boot, -es, -e
    """,
    "transport": """
        bus = der Bus, -ses, -se
        train = der Zug, -es, Züge
        taxi = das Taxi, -s, -s
    """,
    "portable": """
        bag = die Tasche, -, -n
        phone = das Handy, -s, -s
        camera = die Kamera, -, -s
        umbrella = der Regenschirm, -s, -e
        ball = der Ball, -es, Bälle
        suitcase = der Koffer, -s, -
        guitar = die Gitarre, -, -n
        toy = das Spielzeug, -s, -e
    """,
    "trinket": """
        key = der Schlüssel, -s, -
        pen = der Stift, -es, -e
        ring = der Ring, -es, -e
        knife/knives = das Messer, -s, -
        cup = die Tasse, -, -n
        ticket = das Ticket, -s, -s
    """,
    "image": """
        picture = das Bild, -es, -er
        photo = das Foto, -s, -s
    """,
    "gift": """
        present = das Geschenk, -s, -e
        flower = die Blume, -, -n
    """,
    "device": """
        lamp = die Lampe, -, -n
        radio = das Radio, -s, -s
        computer = der Computer, -s, -
        machine = die Maschine, -, -n
    """,
    "furniture": """
        table = der Tisch, -es, -e
        chair = der Stuhl, -es, Stühle
        bed = das Bett, -es, -en
        sofa = das Sofa, -s, -s
        desk = der Schreibtisch, -es, -e
        shelf/shelves = das Regal, -s, -e
    """,
    "opening": """
        door = die Tür, -, -en
        window = das Fenster, -s, -
    """,
    "home": """
        house = das Haus, -es, Häuser
        apartment = die Wohnung, -, -en
    """,
    "structure": """
        tower = der Turm, -es, Türme
        bridge = die Brücke, -, -n
    """,
    "event": """
        concert = das Konzert, -s, -e
        meeting = die Sitzung, -, -en
        wedding = die Hochzeit, -, -en
        exam = die Prüfung, -, -en
        trip = die Reise, -, -n
        game = das Spiel, -s, -e
        vacation = der Urlaub, -s, -e
        lecture = der Vortrag, -s, Vorträge
        party = die Party, -, -s
    """,
    "screen": """
        movie = der Film, -s, -e
    """,
    "task": """
        problem = das Problem, -s, -e
        rule = die Regel, -, -n
        exercise = die Übung, -, -en
        word = das Wort, -es, Wörter
    """,
    "thought": """
        question = die Frage, -, -n
        idea = die Idee, -, -n
        plan = der Plan, -es, Pläne
        answer = die Antwort, -, -en
        mistake = der Fehler, -s, -
    """,
    "resource": """
        time = die Zeit, -
        money = das Geld, -es
        help = die Hilfe, -
        work = die Arbeit, -
    """,
    "language": """
        German = das Deutsch, -
        English = das Englisch, -
        French = das Französisch, -
        Spanish = das Spanisch, -
        Italian = das Italienisch, -
    """,
    "subject": """
        mathematics/ = die Mathematik, -
        history = die Geschichte, -
        chemistry = die Chemie, -
    """,
    "weather": """
        rain = der Regen, -s
        snow = der Schnee, -s
        heat = die Hitze, -
        cold = die Kälte, -
        storm = der Sturm, -es
    """,
}
_PLACES = {
    "room": """
        kitchen = die Küche, -, -n; in in, into in
        living room = das Wohnzimmer, -s, -; in in, into in
        bedroom = das Schlafzimmer, -s, -; in in, into in
        bathroom = das Badezimmer, -s, -; in in, into in
        garage = die Garage, -, -n; in in, into in
        basement = der Keller, -s, -; in in, into in
    """,
    "garden": """
        garden = der Garten, -s, Gärten; in in, into in
    """,
    "eatery": """
        restaurant = das Restaurant, -s, -s; in in, to in
        café = das Café, -s, -s; in in, to in
        hotel = das Hotel, -s, -s; in in, to in
    """,
    "shop": """
        supermarket = der Supermarkt, -s, Supermärkte; in in, to in
        market = der Markt, -es, Märkte; at auf, to auf
        bakery = die Bäckerei, -, -en; at in, to in
        store = der Laden, -s, Läden; in in, to in
    """,
    "study": """
        library = die Bibliothek, -, -en; in in, to in
        university = die Universität, -, -en; at an, to zu
        school = die Schule, -, -n; at in, to in
        office = das Büro, -s, -s; in in, to in
    """,
    "sight": """
        museum = das Museum, -s, Museen; in in, to in
        church = die Kirche, -, -n; in in, to in
        castle = das Schloss, -es, Schlösser; in in, to zu
        theater = das Theater, -s, -; in in, to in
        zoo = der Zoo, -s, -s; in in, to in
    """,
    "outdoors": """
        park = der Park, -s, -s; in in, to in
        forest = der Wald, -es, Wälder; in in, into in
        beach = der Strand, -es, Strände; at an, to an
        lake = der See, -s, -n; at an, to an
        river = der Fluss, -es, Flüsse; at an, to an
    """,
    "settlement": """
        city = die Stadt, -, Städte; in in, to in
        village = das Dorf, -es, Dörfer; in in, to in
    """,
    "transit": """
        station = der Bahnhof, -s, Bahnhöfe; at an, to zu
        airport = der Flughafen, -s, Flughäfen; at an, to zu
        bus stop = die Haltestelle, -, -n; at an, to zu
    """,
    "service": """
        hospital = das Krankenhaus, -es, Krankenhäuser; in in, to in
        pharmacy = die Apotheke, -, -n; in in, to in
        bank = die Bank, -, -en; in in, to zu
        cinema = das Kino, -s, -s; in in, to in
        swimming pool = das Schwimmbad, -es, Schwimmbäder; in in, to in
    """,
}

PLACES: dict[str, tuple[Place, ...]] = {
    kind: tuple(place(kind, *entry) for entry in lines(text)) for kind, text in _PLACES.items()
}
NOUNS: dict[str, tuple[Noun, ...]] = {
    kind: tuple(noun(kind, *entry) for entry in lines(text)) for kind, text in _NOUNS.items()
} | {kind: tuple(place.noun for place in places) for kind, places in PLACES.items()}

NOUN: dict[str, Noun] = {noun.singular: noun for kind in NOUNS.values() for noun in kind}
PLACE: dict[str, Place] = {place.noun.singular: place for kind in PLACES.values() for place in kind}


HUMAN = frozenset({"kin", "person", "child", "profession"})
_UNIONS = {
    "PEOPLE": "kin, person, child, profession",
    "ANIMALS": "pet, farm animal, wild animal",
    "FOOD": "snack, staple, baked, dish",
    "WRITING": "literature, correspondence",
    "READING": "literature, correspondence, periodical",
    "PORTABLE": "portable, trinket, image",
    "GOODS": "clothes, portable, gift, device, furniture, ring, pen, cup, knife",
}


def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns named in a comma-separated list of kinds, unions of kinds and single nouns."""
    found: list[Noun] = []
    for name in names.split(", ") if names else ():
        if name in _UNIONS:
            found += nouns(_UNIONS[name])
        else:
            found += NOUNS.get(name) or (NOUN[name],)
    return tuple(found)


def places(names: str) -> tuple[Place, ...]:
    """The places named in a comma-separated list of kinds and single places."""
    found: list[Place] = []
    for name in names.split(", ") if names else ():
        found += PLACES.get(name) or (PLACE[name],)
    return tuple(found)
