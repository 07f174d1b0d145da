"""A source in eleven languages, with a true claim, one with another number, and its denial."""

from __future__ import annotations

from typing import NamedTuple


class LanguageCase(NamedTuple):
    """A source, and what is said about it."""

    language: str
    source: str
    true: str
    other_number: str
    denied: str


CASES = [
    LanguageCase(
        "German",
        "Die Brücke wurde 1898 von Dr. Weber entworfen. Sie ist 212 Meter lang. Der Eintritt in "
        "das Museum kostet 5,50 Euro, z. B. am Sonntag. Das Museum ist montags geöffnet.",
        "Der Eintritt in das Museum kostet 5,50 Euro.",
        "Der Eintritt in das Museum kostet 7,50 Euro.",
        "Das Museum ist montags nicht geöffnet.",
    ),
    LanguageCase(
        "French",
        "La tour a ouvert en 1889. M. Eiffel y avait un bureau. Le billet pour le sommet coûte 26 "
        "euros. La tour est ouverte le dimanche.",
        "Le billet pour le sommet coûte 26 euros.",
        "Le billet pour le sommet coûte 36 euros.",
        "La tour n'est pas ouverte le dimanche.",
    ),
    LanguageCase(
        "Spanish",
        "El museo abrió en 1992. La entrada al museo cuesta 12 euros. El Sr. Vega es el director. "
        "El museo está abierto los lunes.",
        "La entrada al museo cuesta 12 euros.",
        "La entrada al museo cuesta 15 euros.",
        "El museo no está abierto los lunes.",
    ),
    LanguageCase(
        "Italian",
        "Il ponte è stato costruito nel 1591. Il biglietto del museo costa 8 euro. L'ing. Rossi "
        "dirige i lavori. Il museo è aperto la domenica.",
        "Il ponte è stato costruito nel 1591.",
        "Il ponte è stato costruito nel 1691.",
        "Il museo non è aperto la domenica.",
    ),
    LanguageCase(
        "Portuguese",
        "A biblioteca foi fundada em 1905. O bilhete custa 4 euros para estudantes. O Sr. Lobo é o "
        "diretor. A biblioteca está aberta aos sábados.",
        "O bilhete custa 4 euros para estudantes.",
        "O bilhete custa 9 euros para estudantes.",
        "A biblioteca não está aberta aos sábados.",
    ),
    LanguageCase(
        "Dutch",
        "De brug is in 1932 gebouwd. Een kaartje kost bijv. 6 euro voor volwassenen. Dhr. Jansen "
        "is de directeur. Het museum is op maandag geopend.",
        "De brug is in 1932 gebouwd.",
        "De brug is in 1952 gebouwd.",
        "Het museum is op maandag niet geopend.",
    ),
    LanguageCase(
        "Polish",
        "Most zbudowano w 1901 r. Bilet do muzeum kosztuje 20 złotych, np. dla studentów. Muzeum "
        "jest otwarte w niedzielę.",
        "Bilet do muzeum kosztuje 20 złotych.",
        "Bilet do muzeum kosztuje 30 złotych.",
        "Muzeum nie jest otwarte w niedzielę.",
    ),
    LanguageCase(
        "Russian",
        "Мост построили в 1903 г. по проекту инженера Орлова. Билет в музей стоит 300 рублей. "
        "Музей открыт по воскресеньям.",
        "Билет в музей стоит 300 рублей.",
        "Билет в музей стоит 500 рублей.",
        "Музей не открыт по воскресеньям.",
    ),
    LanguageCase(
        "Chinese",
        "这座塔高139米。它于1989年开放。门票价格为5欧元。博物馆星期一开放。",
        "门票价格为5欧元。",
        "门票价格为8欧元。",
        "博物馆星期一不开放。",
    ),
    LanguageCase(
        "Japanese",
        "この塔は1958年に完成しました。高さは333メートルです。入場料は1200円です。博物館は月曜日に開いています。",
        "入場料は1200円です。",
        "入場料は1500円です。",
        "博物館は月曜日に開いていません。",
    ),
    LanguageCase(
        "Arabic",
        "بني الجسر في عام 1932. يبلغ سعر التذكرة 20 درهما. المتحف مفتوح يوم الأحد. هل تريد المزيد؟",
        "يبلغ سعر التذكرة 20 درهما.",
        "يبلغ سعر التذكرة 50 درهما.",
        "المتحف ليس مفتوحا يوم الأحد.",
    ),
]
