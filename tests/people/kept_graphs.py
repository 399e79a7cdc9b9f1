"""Write two graphs that are held out: ``vineyard`` (relations of several words), ``newsroom`` (camelCase, mediators).

A third of their questions ask for a number, yes or no, or an extreme; a third have no answer. Names are invented.
"""

from __future__ import annotations

from collections.abc import Callable

from .graphs import Graph


def vineyard() -> Graph:
    """Return wine estates: their plots, wines, barrels and the people who make and sell the wine."""
    g = Graph("vineyard", 1111)
    people = g.people(24)
    makers, owners, hands, contacts = people[:6], people[6:12], people[12:20], people[20:]
    estates = ["Clos Perdrix", "Weingut Holm", "Quinta Ferrado", "Casa Murena", "Domaine Aubrac", "Rocca Silva"]
    villages = ["Montrel", "Aldenau", "Ferradinho", "Murena Alta", "Sankt Vith", "Pietrasole", "Lagosta"]
    regions = ["Upper Tessin", "Kestrel Valley", "Coast of Lagos"]
    grapes = ["Morvedo", "Pinelle", "Riesmar", "Tannac", "Verdosa", "Garnetto", "Albaril"]
    soils = ["slate", "chalk", "red clay", "volcanic ash"]
    barrels = ["Barrique 225", "Puncheon 500", "Foudre 2000", "Tonneau 300", "Pièce 228"]
    coopers = ["Tonnellerie Vasse", "Binder Holm", "Tanoaria Nunes"]
    schools = ["Aldenau Wine Academy", "Montrel Institute", "Lagos School of Oenology"]
    importers = ["Bacchus Direct", "Vinoteka North", "Red Door Imports", "Cork and Sons"]
    countries = ["Norway", "Canada", "Japan"]
    contests = ["Golden Grape", "Tessin Tasting", "Harbour Cup", "Crystal Carafe"]
    plots = [
        "Upper Terrace", "Fox Slope", "Chapel Field", "Old Quarry", "River Bend", "Widow's Acre", "South Wall",
        "Long Row", "Windmill Hill", "Stony Half", "Bishop's Corner", "Cuckoo Patch", "Drover's Bank", "Salt Meadow",
    ]  # fmt: skip
    wines = [
        "Night Harvest", "Blue Slate Reserve", "Petit Aubrac", "Sister Agnes", "Ferrado Tinto", "Morning Mist",
        "Iron Gate", "Cuvée Lucie", "Goat Track White", "Seven Oaks", "Murena Rosso", "Late Swallow", "Amphora One",
        "Silent Bell", "Perdrix Vieilles Vignes", "Thunder Rosé", "Aubrac Grande Cuvée", "Murena Brut", "Nera Alta",
        "Paper Moon", "Grandfather's Cask", "Lagoon", "First Frost", "Barefoot Blanc",
    ]  # fmt: skip
    for i, village in enumerate(villages):
        g.add(village, "in region", regions[(i * 2 + i // 4) % 3])
    for i, estate in enumerate(estates):
        g.add(estate, "owned by", owners[i])
        g.value(estate, "founded in year", 1782 + (i * 71) % 190)
        g.add(estate, "lies in village", villages[i])
        g.add(estate, "head winemaker", makers[i])
        if i != 3:
            g.value(estate, "tour price", f"{12 + (i * 7) % 16}.50")
    for i, plot in enumerate(plots):
        g.add(plot, "part of estate", estates[(i * 5 + i // 6) % 6])
        g.add(plot, "planted with", grapes[(i * 3) % 7])
        g.add(plot, "has soil", soils[(i * 3 + i // 4) % 4])
        g.value(plot, "area in hectares", f"{1 + (i * 5) % 14}.{(i * 3) % 10}")
        g.value(plot, "height above sea", 90 + (i * 77) % 490)
        g.add(plot, "faces", ["south", "east", "south-west"][(i * 2 + i // 3) % 3])
        if i % 5 != 3:
            g.value(plot, "planted in year", 1948 + (i * 23) % 70)
    for i, barrel in enumerate(barrels):
        g.add(barrel, "made by cooper", coopers[i % 3])
        g.value(barrel, "holds litres", int(barrel.split()[1]))
        g.add(barrel, "wood from", regions[i % 3])
    for i, cooper in enumerate(coopers):
        g.add(cooper, "lies in village", villages[(i * 2 + 1) % 7])
    for i, contest in enumerate(contests):
        g.add(contest, "held in", villages[(i * 3 + 2) % 7])
        g.value(contest, "first held in", 1924 + (i * 37) % 90)
    for i, importer in enumerate(importers):
        g.add(importer, "sells in country", *(countries[j % 3] for j in range(i, i + 1 + i % 2)))
        g.add(importer, "contact person", contacts[i])
    for person in makers + owners + hands:
        g.value(person, "born on", g.date(1951, 1998))
    for i, maker in enumerate(makers):
        g.add(maker, "trained at", schools[(i * 2 + i // 3) % 3])
    for i, hand in enumerate(hands):
        g.add(hand, "works for", estates[(i * 5) % 6])
        g.value(hand, "started work on", g.date(2003, 2023))
        g.value(hand, "daily pay", 88 + (i * 13) % 60)
    for i, wine in enumerate(wines):
        g.add(wine, "produced by", estates[(i * 5 + i // 6) % 6])
        g.add(wine, "made from", *g.some(grapes, 1, 3))
        g.value(wine, "alcohol percent", f"{11 + (i * 2) % 4}.{(i * 7) % 10}")
        g.value(wine, "bottle price", f"{7 + (i * 17) % 71}.90")
        g.value(wine, "bottles made", 900 + (i * 3170) % 41000)
        g.value(wine, "bottled on", g.date(2016, 2024))
        if i % 3:
            g.add(wine, "aged in", barrels[(i * 2 + i // 5) % 5])
            g.value(wine, "months in oak", 4 + (i * 5) % 27)
        if i % 4 == 2:
            g.add(wine, "awarded at", *g.some(contests, 1, 2))
        if i % 5 != 4:
            g.add(wine, "imported by", importers[(i * 3 + i // 4) % 4])
    return g


def newsroom() -> Graph:
    """Return a newspaper: who writes, photographs and prints it, and commissions that join desks and photographers."""
    g = Graph("newsroom", 1212)
    people = g.people(34)
    writers, photographers, sources = people[:18], people[18:25], people[25:]
    desks = ["City Desk", "Sports Desk", "Culture Desk", "Money Desk", "World Desk"]
    bureaus = ["Harbour Bureau", "Parliament Bureau", "Alpine Bureau", "Southern Bureau"]
    cities = ["Norrhaven", "Castelmar", "Brennstadt", "Olvera Bay", "Tarnby"]
    agencies = ["Lumen Pictures", "Third Eye Photo", "Shutterbox"]
    topics = ["housing", "football", "opera", "fishing quotas", "trams", "elections", "banking"]
    bodies = ["Port Authority", "Castelmar United", "Union of Dockers", "First Coastal Bank", "City Opera"]
    editions = ["Morning Edition", "Evening Edition", "Weekend Edition", "Coast Edition"]
    plants = ["Tarnby Print Works", "Northside Press", "Olvera Rotary"]
    prizes = ["Silver Quill", "Lantern Award", "Golden Column"]
    articles = [
        "Rents Out of Reach", "Cranes Stand Still", "The Last Tram Home", "Goalkeeper Forever", "A Tenor Falls Silent",
        "Nets Come Up Empty", "Who Counts the Votes", "The Bank That Blinked", "Night on Line Nine", "Squat on Mill Road",
        "Cup Dreams", "Herring Wars", "Ballots by Boat", "Loans for Nobody", "Curtain Trouble", "Derby in the Rain",
        "Ghost Flats", "Tickets Please", "Cod Almighty", "Coalition Blues", "Penalty Kings", "Vault of Secrets",
        "Aria for a City", "Brick by Brick", "Rails to Nowhere", "The Quiet Striker",
    ]  # fmt: skip
    about = [0, 3, 4, 1, 2, 3, 5, 6, 4, 0, 1, 3, 5, 6, 2, 1, 0, 4, 3, 5, 1, 6, 2, 0, 4, 1]
    for i, desk in enumerate(desks):
        g.add(desk, "deskHead", writers[i])
        g.value(desk, "phoneExtension", 300 + 17 * i)
    for i, bureau in enumerate(bureaus):
        g.add(bureau, "bureauChief", writers[5 + i])
        g.add(bureau, "locatedIn", cities[i])
        g.value(bureau, "openedIn", 1946 + (i * 31) % 72)
        g.value(bureau, "monthlyRent", 2100 + (i * 1350) % 3600)
    for i, writer in enumerate(writers):
        g.add(writer, "worksForDesk", desks[i % 5])
        g.value(writer, "hiredOn", g.date(1996, 2023))
        g.value(writer, "monthlySalary", 2650 + (i * 390) % 2900)
        if 5 <= i < 9:
            g.add(writer, "basedInBureau", bureaus[i - 5])
        elif i % 3 != 2:
            g.add(writer, "basedInBureau", bureaus[(i * 3 + i // 4) % 4])
        if i % 4 == 1:
            g.add(writer, "wonPrize", *g.some(prizes, 1, 2))
        if i >= 5:
            g.add(writer, "reportsTo", writers[i % 5])
    for i, photographer in enumerate(photographers):
        g.add(photographer, "representedByAgency", agencies[(i * 2 + i // 3) % 3])
        g.value(photographer, "dayRate", 240 + (i * 95) % 310)
    for i, agency in enumerate(agencies):
        g.add(agency, "locatedIn", cities[(i * 2 + 1) % 5])
    for i, source in enumerate(sources):
        g.add(source, "employedBy", bodies[i % 5])
        if i % 2 == 0:
            g.value(source, "mobileNumber", f"0700 900 {151 + 83 * i}")
    for i, edition in enumerate(editions):
        g.add(edition, "printedAt", plants[[0, 1, 0, 2][i]])
        g.value(edition, "circulation", [48200, 17350, 81900, 9400][i])
        g.value(edition, "coverPrice", ["1.80", "1.20", "3.50", "1.60"][i])
    for i, plant in enumerate(plants):
        g.add(plant, "locatedIn", cities[[4, 0, 3][i]])
        g.value(plant, "copiesPerHour", [32000, 21000, 14500][i])
    for i, prize in enumerate(prizes):
        g.add(prize, "sponsoredBy", bodies[(i * 3) % 5])
        g.value(prize, "prizeMoney", [5000, 12000, 7500][i])
    for i in range(9):
        commission = f"cm{i}x{(i * 53) % 97}"
        g.unnamed.add(commission)
        g.add(commission, "commissionedPhotographer", photographers[(i * 3) % 7])
        g.add(commission, "commissioningDesk", desks[(i * 2 + i // 5) % 5])
        g.value(commission, "agreedOn", g.date(2022, 2024))
        g.value(commission, "agreedFee", 350 + (i * 265) % 1400)
    for i, article in enumerate(articles):
        g.add(
            article, "writtenBy", writers[(i * 5 + i // 9) % 18], *([writers[(i * 7 + 2) % 18]] if i % 6 == 1 else [])
        )
        g.value(article, "publishedOn", g.date(2019, 2024))
        g.value(article, "wordCount", 420 + (i * 577) % 3900)
        g.add(article, "onTopic", topics[about[i]])
        g.add(article, "printedIn", editions[(i * 3 + i // 4) % 4])
        g.value(article, "onlineReads", 1200 + (i * 9711) % 88000)
        if i % 3 != 1:
            g.add(article, "photosBy", photographers[(i * 2) % 7])
        if i % 2:
            g.add(article, "quotes", *g.some(sources, 1, 2))
        if i % 7 == 3:
            g.value(article, "correctedOn", g.date(2025, 2025))
    return g


KEPT: tuple[Callable[[], Graph], ...] = (vineyard, newsroom)
