"""Places that have another name in the other language: Copenhagen is Kopenhagen."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import regex  # type: ignore[import-untyped]

from transduce.translate.restore.second import SecondSearch

# English and German, without those that have an article in German, such as "die Schweiz"
_NAMES = """
    Africa=Afrika Aix-la-Chapelle=Aachen Albania=Albanien Algeria=Algerien Algiers=Algier
    America=Amerika Andalusia=Andalusien Antwerp=Antwerpen Argentina=Argentinien Armenia=Armenien
    Asia=Asien Athens=Athen Australia=Australien Austria=Österreich Azerbaijan=Aserbaidschan
    Bavaria=Bayern Beijing=Peking Belgium=Belgien Belgrade=Belgrad Bohemia=Böhmen Bolivia=Bolivien
    Bosnia=Bosnien Brazil=Brasilien Britain=Großbritannien Bruges=Brügge Brunswick=Braunschweig
    Brussels=Brüssel Bucharest=Bukarest Bulgaria=Bulgarien Burgundy=Burgund Cairo=Kairo
    California=Kalifornien Cambodia=Kambodscha Cameroon=Kamerun Canada=Kanada Carinthia=Kärnten
    Catalonia=Katalonien Central_Europe=Mitteleuropa Chechnya=Tschetschenien Cologne=Köln
    Colombia=Kolumbien Copenhagen=Kopenhagen Corsica=Korsika Crete=Kreta Croatia=Kroatien Cuba=Kuba
    Cyprus=Zypern Czechia=Tschechien Damascus=Damaskus Danube=Donau Denmark=Dänemark
    Dunkirk=Dünkirchen East_Berlin=Ostberlin Eastern_Europe=Osteuropa Egypt=Ägypten Estonia=Estland
    Ethiopia=Äthiopien Europe=Europa Finland=Finnland Flanders=Flandern Florence=Florenz
    France=Frankreich Gdansk=Danzig Geneva=Genf Genoa=Genua Georgia=Georgien Germany=Deutschland
    Ghent=Gent Gothenburg=Göteborg Greece=Griechenland Greenland=Grönland Hanover=Hannover
    Havana=Havanna Hesse=Hessen Hungary=Ungarn Iceland=Island India=Indien Indonesia=Indonesien
    Ireland=Irland Italy=Italien Jordan=Jordanien Jutland=Jütland Kazakhstan=Kasachstan Kenya=Kenia
    Krakow=Krakau Kyiv=Kiew Kyrgyzstan=Kirgisistan Lapland=Lappland Latin_America=Lateinamerika
    Latvia=Lettland Libya=Libyen Lisbon=Lissabon Lithuania=Litauen Lorraine=Lothringen
    Lower_Saxony=Niedersachsen Lucerne=Luzern Luxembourg=Luxemburg Macedonia=Mazedonien
    Madagascar=Madagaskar Majorca=Mallorca Mauritania=Mauretanien Mecca=Mekka Mexico=Mexiko
    Milan=Mailand Moldova=Moldawien Moravia=Mähren Morocco=Marokko Moscow=Moskau Mozambique=Mosambik
    Munich=München Naples=Neapel New_Zealand=Neuseeland Nice=Nizza North_Africa=Nordafrika
    North_America=Nordamerika North_Korea=Nordkorea Northern_Ireland=Nordirland Norway=Norwegen
    Nuremberg=Nürnberg Palestine=Palästina Poland=Polen Pomerania=Pommern Prague=Prag
    Prussia=Preußen Qatar=Katar Rhine=Rhein Rhodes=Rhodos Romania=Rumänien Rome=Rom Russia=Russland
    Rwanda=Ruanda Sardinia=Sardinien Saudi_Arabia=Saudi-Arabien Savoy=Savoyen Saxony=Sachsen
    Scandinavia=Skandinavien Scotland=Schottland Serbia=Serbien Seville=Sevilla Siberia=Sibirien
    Sicily=Sizilien Silesia=Schlesien Singapore=Singapur Slovenia=Slowenien South_Africa=Südafrika
    South_America=Südamerika South_Korea=Südkorea Southeast_Asia=Südostasien Spain=Spanien
    Strasbourg=Straßburg Swabia=Schwaben Sweden=Schweden Syria=Syrien Szczecin=Stettin
    Tajikistan=Tadschikistan Tanzania=Tansania Tehran=Teheran Thames=Themse Thuringia=Thüringen
    Tokyo=Tokio Transylvania=Siebenbürgen Trieste=Triest Tripoli=Tripolis Tunisia=Tunesien
    Tyrol=Tirol Upper_Bavaria=Oberbayern Uzbekistan=Usbekistan Venice=Venedig Vienna=Wien
    Vilnius=Wilna Warsaw=Warschau West_Africa=Westafrika West_Berlin=Westberlin
    Western_Europe=Westeuropa Westphalia=Westfalen Wroclaw=Breslau Yugoslavia=Jugoslawien
    Zimbabwe=Simbabwe Zurich=Zürich
"""
_PERSONS = frozenset(  # also names of persons, or words
    {"Brittany", "Florence", "Georgia", "Hesse", "Jordan", "Lorraine", "Milan", "Nice", "Rhodes"}
)
_PAIRS = [
    (english.replace("_", " "), german)
    for english, _, german in (pair.partition("=") for pair in _NAMES.split())
]
_FORMS = {
    ("en", "de"): MappingProxyType(dict(p for p in _PAIRS if p[0] not in _PERSONS)),
    ("de", "en"): MappingProxyType({german: english for english, german in _PAIRS}),
}


def place_forms(source: str | None, target: str | None) -> Mapping[str, str]:
    """The names of places of one language, and what they are called in another.

    >>> place_forms("de", "en")["Sizilien"]
    'Sicily'
    """
    return _FORMS.get((source or "", target or ""), MappingProxyType({}))


def keep_places(second: SecondSearch) -> None:
    """Translates the names of places that a translation has in the language of the source."""
    forms = place_forms(second.traits.source_language, second.traits.target_language)
    if not forms:
        return
    pattern = _any_of(tuple(forms))
    for unit, result in second.found.items():
        if names := set(pattern.findall(unit.text)):
            output = result.texts[0]
            text = pattern.sub(lambda m, n=names: forms[m[0]] if m[0] in n else m[0], output)
            if text != output:
                second.replace(unit, text, again=True)


@cache
def _any_of(names: tuple[str, ...]) -> "regex.Pattern[str]":
    return regex.compile(rf"(?<![\w-])(?:{'|'.join(map(regex.escape, names))})(?![\w-])")
