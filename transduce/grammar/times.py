"""Adverbials of time, frequency and manner, clock times, dates and prices."""

from dataclasses import dataclass

from transduce.grammar import english, german
from transduce.grammar.lexicon import Phrase, lines


def _phrases(text: str) -> tuple[Phrase, ...]:
    return tuple(Phrase(*entry) for entry in lines(text))


_WEEKDAYS = _phrases(
    """
    Monday = Montag
    Tuesday = Dienstag
    Wednesday = Mittwoch
    Thursday = Donnerstag
    Friday = Freitag
    Saturday = Samstag
    Sunday = Sonntag
    """
)
_MONTHS = _phrases(
    """
    January = Januar
    February = Februar
    March = März
    April = April
    May = Mai
    June = Juni
    July = Juli
    August = August
    September = September
    October = Oktober
    November = November
    December = Dezember
    """
)
_SEASONS = _phrases(
    """
    spring = Frühling
    summer = Sommer
    fall = Herbst
    winter = Winter
    """
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

ON_WEEKDAY = tuple(Phrase(f"on {d.english}", f"am {d.german}") for d in _WEEKDAYS)
EVERY_WEEKDAY = tuple(Phrase(f"every {d.english}", f"jeden {d.german}") for d in _WEEKDAYS)
LAST_WEEKDAY = tuple(Phrase(f"last {d.english}", f"letzten {d.german}") for d in _WEEKDAYS)
IN_MONTH = tuple(Phrase(f"in {m.english}", f"im {m.german}") for m in _MONTHS)
EVERY_SEASON = tuple(Phrase(f"every {s.english}", f"jeden {s.german}") for s in _SEASONS)
LAST_SEASON = tuple(Phrase(f"last {s.english}", f"letzten {s.german}") for s in _SEASONS)
NEXT_SEASON = tuple(Phrase(f"next {s.english}", f"nächsten {s.german}") for s in _SEASONS)

PAST = _phrases(
    """
    yesterday = gestern
    the day before yesterday = vorgestern
    yesterday morning = gestern Morgen
    yesterday evening = gestern Abend
    this morning = heute Morgen
    today = heute
    """
)
FUTURE = _phrases(
    """
    tomorrow = morgen
    the day after tomorrow = übermorgen
    tomorrow evening = morgen Abend
    tonight = heute Abend
    today = heute
    soon = bald
    """
)
SOON = FUTURE[-1]
EARLIER = _phrases(
    """
    last week = letzte Woche
    last month = letzten Monat
    last year = letztes Jahr
    """
)
LATER = _phrases(
    """
    next week = nächste Woche
    next month = nächsten Monat
    next year = nächstes Jahr
    """
)
HABITUAL = _phrases(
    """
    every day = jeden Tag
    every morning = jeden Morgen
    every evening = jeden Abend
    every week = jede Woche
    in the morning = am Morgen
    in the afternoon = am Nachmittag
    in the evening = am Abend
    on the weekend = am Wochenende
    """
)
FREQUENCY = _phrases(
    """
    often = oft
    always = immer
    sometimes = manchmal
    usually = normalerweise
    rarely = selten
    never = nie
    """
)
OFTEN, NEVER = FREQUENCY[0], FREQUENCY[-1]
ALREADY = Phrase("already", "schon")
JUST = Phrase("just", "gerade")
NEVER_YET = Phrase("never", "noch nie")
PROBABLY = Phrase("probably", "wahrscheinlich")
OPENERS = _phrases(
    """
    maybe = vielleicht
    unfortunately = leider
    fortunately = zum Glück
    of course = natürlich
    """
)
MAYBE = OPENERS[0]
PACES = _phrases(
    """
    slowly = langsam
    quickly = schnell
    """
)
MANNERS = _phrases(
    """
    carefully = vorsichtig
    quietly = leise
    """
)
BY_LAND = _phrases(
    """
    by bus = mit dem Bus
    by train = mit dem Zug
    by car = mit dem Auto
    by bike = mit dem Fahrrad
    """
)
AT_HOME = Phrase("at home", "zu Hause")
HOME = Phrase("home", "nach Hause")


def year(n: int) -> Phrase:
    """in 1987 → im Jahr 1987."""
    return Phrase(f"in {n}", f"im Jahr {n}")


def date(month: int, day: int, year: int | None = None) -> Phrase:
    """on March 3, 2019 → am 3. März 2019."""
    name = _MONTHS[month - 1]
    if year is None:
        return Phrase(f"on {name.english} {day}", f"am {day}. {name.german}")
    return Phrase(f"on {name.english} {day}, {year}", f"am {day}. {name.german} {year}")


def clock(hour: int, quarter: int) -> Phrase:
    """A time in words, 1 to 12: half past three → halb vier."""
    following = hour % 12 + 1
    this_english, next_english = english.number_word(hour), english.number_word(following)
    this_german, next_german = german.number_word(hour), german.number_word(following)
    if quarter == 0:
        full_hour = "ein" if hour == 1 else this_german
        return Phrase(f"{this_english} o'clock", f"{full_hour} Uhr")
    if quarter == 1:
        return Phrase(f"a quarter past {this_english}", f"Viertel nach {this_german}")
    if quarter == 2:
        return Phrase(f"half past {this_english}", f"halb {next_german}")
    return Phrase(f"a quarter to {next_english}", f"Viertel vor {next_german}")


def timetable(hour: int, minute: int) -> Phrase:
    """A time in digits: 15:45 → 15:45 Uhr."""
    return Phrase(f"{hour}:{minute:02}", f"{hour}:{minute:02} Uhr")


def at(time: Phrase) -> Phrase:
    """at three o'clock → um drei Uhr."""
    return Phrase(f"at {time.english}", f"um {time.german}")


def price(euros: int, cents: int) -> Phrase:
    """12.50 euros → 12,50 Euro; a round price has no decimals."""
    if cents == 0:
        return Phrase(f"{euros} euros", f"{euros} Euro")
    return Phrase(f"{euros}.{cents:02} euros", f"{euros},{cents:02} Euro")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time in the plural; the German dative differs."""

    english: str
    german: str
    dative: str


MINUTES = Unit("minutes", "Minuten", "Minuten")
HOURS = Unit("hours", "Stunden", "Stunden")
DAYS = Unit("days", "Tage", "Tagen")
WEEKS = Unit("weeks", "Wochen", "Wochen")
MONTHS = Unit("months", "Monate", "Monaten")
YEARS = Unit("years", "Jahre", "Jahren")


def ago(n: int, unit: Unit) -> Phrase:
    """two days ago → vor zwei Tagen."""
    number = german.number_word(n)
    return Phrase(f"{english.number_word(n)} {unit.english} ago", f"vor {number} {unit.dative}")


def from_now(n: int, unit: Unit) -> Phrase:
    """in two days → in zwei Tagen."""
    number = german.number_word(n)
    return Phrase(f"in {english.number_word(n)} {unit.english}", f"in {number} {unit.dative}")


def lasting(n: int, unit: Unit) -> Phrase:
    """for two hours → zwei Stunden lang, of what is over."""
    number = german.number_word(n)
    return Phrase(f"for {english.number_word(n)} {unit.english}", f"{number} {unit.german} lang")


def so_far(n: int, unit: Unit) -> Phrase:
    """for two hours → seit zwei Stunden, of what still goes on."""
    number = german.number_word(n)
    return Phrase(f"for {english.number_word(n)} {unit.english}", f"seit {number} {unit.dative}")


def amount(n: int, unit: Unit) -> Phrase:
    """two hours → zwei Stunden."""
    number = german.number_word(n)
    return Phrase(f"{english.number_word(n)} {unit.english}", f"{number} {unit.german}")


SOME = range(2, 13)
CLOCK = tuple(at(clock(hour, quarter)) for hour in range(1, 13) for quarter in range(4))
TIMETABLE = tuple(
    at(timetable(hour, 5 * twelfth)) for hour in range(5, 24) for twelfth in range(12)
)
DATES = tuple(
    date(month, day) for month in range(1, 13) for day in range(1, _DAYS_IN_MONTH[month - 1] + 1)
)
FULL_DATES = tuple(
    date(month, day, year)
    for year in range(1990, 2025)
    for month in range(1, 13)
    for day in range(1, 29)
)
DAYS_AGO = tuple(ago(n, unit) for n in SOME for unit in (DAYS, WEEKS))
LONG_AGO = EARLIER + tuple(ago(n, unit) for n in SOME for unit in (MONTHS, YEARS))
PAST_YEARS = tuple(year(n) for n in range(1950, 2025))
FROM_NOW = tuple(from_now(n, unit) for n in SOME for unit in (DAYS, WEEKS, MONTHS))
MINUTES_FROM_NOW = tuple(from_now(n, MINUTES) for n in range(2, 60))
LASTING = tuple(lasting(n, unit) for n in SOME for unit in (HOURS, MINUTES))
SO_FAR = tuple(so_far(n, unit) for n in SOME for unit in (WEEKS, MONTHS, YEARS)) + tuple(
    Phrase(f"since {year}", f"seit {year}") for year in range(1990, 2025)
)
DAY_AND_TIME = tuple(
    Phrase(f"{day.english} {time.english}", f"{day.german} {time.german}")
    for day in (*ON_WEEKDAY, FUTURE[0])
    for time in CLOCK
)
