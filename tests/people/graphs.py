"""Write six small graphs of different trades and naming habits, with a fixed seed.

``python -m tests.people.graphs FOLDER`` writes each graph with the questions that people ask of it. Development: ``clinic``
(CSV, names file, values), ``festival`` (N-Triples, IRIs, mediators, typed values), ``cocina`` (Spanish relations). Held
out: ``railway`` (snake_case, typed values), ``missions`` (camelCase, names file, mediators), ``stage`` (relations of
several words). Names are invented; nothing here is about real people.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Triple = tuple[str, str, str]
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"

FIRST = (
    "Ada Bruno Carla Dmitri Elsa Farid Greta Hugo Ines Jonas Kaja Luca Mira Nils Olga Pavel Quinn Rosa Sven Tilda Umar Vera "
    "Walter Xenia Yusuf Zora Anton Bella Cyril Dora Emil Flora Gustav Helga Igor Judit Karim Lena Marek Nora Oskar Petra"
).split()
LAST = (
    "Abelard Brandt Castello Dragan Eklund Fontaine Grabow Hartwell Ivanek Jansson Kowal Lindqvist Marlow Novak Osborne "
    "Petrov Quiroga Rossi Sandoval Tamm Ulrich Vance Winter Xander Yilmaz Zeller Ashdown Birkett Corrigan Dunmore Everly "
    "Falk Gorman Holt Inglis Jarvis Keating Lomax Merton Norcott Ogilvy Pemberton"
).split()


@dataclass
class Graph:
    """A graph while it is made: triples over names, and how it is to be written."""

    name: str
    seed: int
    triples: list[Triple] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    """Tails that are values."""
    unnamed: set[str] = field(default_factory=set)
    """Mediators."""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self._people = [f"{a} {b}" for a, b in zip(FIRST, LAST, strict=True)]
        self._others = [f"{a} {b}" for a, b in zip(FIRST, LAST[17:] + LAST[:17], strict=True)]
        self._names = iter(self._people + self._others)

    def people(self, number: int) -> list[str]:
        """Return so many people who are not in the graph yet."""
        return [next(self._names) for _ in range(number)]

    def add(self, head: str, relation: str, *tails: str) -> None:
        """State triples of one head."""
        for tail in tails:
            if (head, relation, tail) not in self.triples:
                self.triples.append((head, relation, tail))

    def value(self, head: str, relation: str, value: object) -> None:
        """State a triple whose tail is a value."""
        self.values.add(str(value))
        self.add(head, relation, str(value))

    def one(self, things: list[str]) -> str:
        """Return one of the things."""
        return self.rng.choice(things)

    def some(self, things: list[str], least: int, most: int) -> list[str]:
        """Return some of the things."""
        return self.rng.sample(things, self.rng.randint(least, most))

    def date(self, first: int, last: int) -> str:
        """Return a day between two years."""
        return f"{self.rng.randint(first, last)}-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"


def clinic() -> Graph:
    """Return a chain of veterinary clinics."""
    g = Graph("clinic", 101)
    vets, owners = g.people(12), g.people(15)
    branches = [
        "Harbour Clinic",
        "Mill Lane Surgery",
        "Northgate Animal Hospital",
        "Parkside Vets",
        "Old Town Practice",
    ]
    cities = ["Aldersby", "Brinkham", "Colthorpe", "Dunwick", "Esterley"]
    schools = [
        "Royal Veterinary College of Lund",
        "Tarnow School of Animal Medicine",
        "Ostrava Agricultural University",
    ]
    fields = ["dentistry", "cardiology", "dermatology", "exotic animals", "orthopaedics"]
    firms = ["Pawsure", "Mutual Hoof", "Fernhill Pharma", "Bovix Labs", "Caspian Health"]
    drugs = ["Ablivet", "Bertocil", "Canidopril", "Dermazol", "Enteroflex", "Felimune", "Glucovet", "Hepatrin"]
    ills = ["kidney stones", "arthritis", "eczema", "diabetes", "heart murmur", "tapeworm", "asthma"]
    pets = (
        "Biscuit Comet Domino Ember Falafel Gizmo Hazelnut Indigo Jasper Kiwi Lollipop Mango Nacho Olive Pickles Quaver "
        "Rocket Saffron Truffle Ursula Velvet Waffle"
    ).split()
    breeds = {
        "dog": ["Beagle", "Greyhound", "Border Collie"],
        "cat": ["Siamese", "Maine Coon"],
        "rabbit": ["Dutch Lop"],
        "parrot": ["African Grey"],
    }
    for i, branch in enumerate(branches):
        g.add(branch, "city", cities[i])
        g.value(branch, "opened", 1988 + 5 * i)
        g.value(branch, "phone", f"+44 1632 960{i}1{i}")
        g.add(branch, "head", vets[i])
        g.value(branch, "num_beds", 12 + 7 * ((i * 3) % 5))
    for i, vet in enumerate(vets):
        g.add(vet, "works_at", branches[i % 5])
        g.add(vet, "graduated_from", g.one(schools))
        g.add(vet, "specialty", *g.some(fields, 1, 2))
        g.value(vet, "hired_on", g.date(2004, 2022))
        g.value(vet, "email", f"{vet.split()[0].lower()}@fourpaws.example")
        if i >= 5:
            g.add(vet, "reports_to", vets[i % 5])
    for i, firm in enumerate(firms):
        g.add(firm, "hq", cities[(i * 2) % 5])
        g.value(firm, "founded", 1931 + 13 * i)
    for drug in drugs:
        g.add(drug, "made_by", g.one(firms[2:]))
        g.add(drug, "treats", *g.some(ills, 1, 2))
        g.value(drug, "unit_price", f"{g.rng.randint(4, 80)}.{g.rng.randint(10, 99)}")
        g.value(drug, "approved_in", g.rng.randint(1994, 2019))
    for owner in owners:
        g.add(owner, "lives_in", g.one(cities))
        g.value(owner, "tel", f"07700 900{g.rng.randint(100, 999)}")
    for i, pet in enumerate(pets):
        species = g.one(list(breeds))
        g.add(pet, "species", species)
        g.add(pet, "breed", g.one(breeds[species]))
        g.add(pet, "owned_by", owners[i % 15])
        g.value(pet, "dob", g.date(2008, 2021))
        g.value(pet, "weight_kg", f"{g.rng.randint(1, 38)}.{g.rng.randint(1, 9)}")
        g.add(pet, "regular_vet", g.one(vets))
        if i % 3:
            g.add(pet, "insured_with", g.one(firms[:2]))
        if i % 2:
            g.add(pet, "diagnosed_with", *g.some(ills, 1, 2))
        if i % 4 == 1:
            g.add(pet, "allergic_to", g.one(drugs))
        if i >= 15:
            g.add(pet, "mother", pets[i - 15])
    return g


def festival() -> Graph:
    """Return a film festival, with screenings and awards that have no name of their own."""
    g = Graph("festival", 202)
    directors, actors, writers, composers, jurors = (g.people(n) for n in (9, 14, 6, 4, 8))
    films = [
        "The Salt Road", "Midnight Tram", "A House of Bees", "Glass Orchard", "Seven Lighthouses", "The Borrowed Coat",
        "Winter Without Snow", "Paper Tigers", "The Clockmaker's Daughter", "Low Tide", "Red Bicycle", "The Last Ferry",
        "Echo Valley", "Marble and Dust", "Twelve Letters", "Copper Moon",
    ]  # fmt: skip
    books = ["Tides of Amber", "The Beekeeper", "Letters Home", "A Map of Rain"]
    places = ["Valletta", "Riga", "Tbilisi", "Porto", "Bergen", "Ljubljana"]
    countries = ["Malta", "Latvia", "Georgia", "Portugal", "Norway", "Slovenia"]
    venues = ["Kino Aurora", "Palace Cinema", "The Old Granary", "Riverside Screen"]
    prizes = ["Golden Heron", "Silver Heron", "Audience Prize", "Critics' Laurel"]
    houses = ["Northlight Pictures", "Cobalt Releasing", "Meridian Films"]
    genres = ["thriller", "documentary", "comedy", "drama"]
    for place, country in zip(places, countries, strict=True):
        g.add(place, "inCountry", country)
    for i, venue in enumerate(venues):
        g.value(venue, "capacity", 90 + 110 * i)
        g.add(venue, "situatedIn", places[i])
        g.value(venue, "builtIn", 1912 + 21 * ((i * 3) % 4))
    for i, prize in enumerate(prizes):
        g.add(prize, "juryPresident", jurors[i])
        g.add(prize, "juryMember", *jurors[2 * (i // 2) + 4 - 2 * (i // 2) : 8][i : i + 2])
        g.add(prize, "sponsor", houses[i % 3])
        g.value(prize, "cashAmount", 5000 * (i + 2))
    for i, house in enumerate(houses):
        g.add(house, "headOffice", places[i + 3])
        g.value(house, "website", f"https://www.{house.split()[0].lower()}.example/")
    for i, film in enumerate(films):
        g.add(film, "director", directors[i % 9])
        g.add(film, "screenwriter", g.one(writers))
        g.add(film, "starring", *g.some(actors, 2, 3))
        g.add(film, "genre", g.one(genres))
        g.value(film, "runtimeMinutes", g.rng.randint(78, 171))
        g.value(film, "releaseDate", g.date(2012, 2023))
        g.add(film, "distributor", g.one(houses))
        g.add(film, "filmingLocation", g.one(places))
        g.add(film, "score", g.one(composers))
        g.value(film, "productionBudget", 100000 * g.rng.randint(3, 90))
        if i % 4 == 0:
            g.add(film, "adaptedFrom", books[i // 4])
        screening = f"screening{i}"
        g.unnamed.add(screening)
        g.add(film, "hasScreening", screening)
        g.add(screening, "venue", g.one(venues))
        g.value(screening, "startTime", f"2024-05-{i + 3:02}T{17 + i % 4}:30:00")
        g.value(screening, "ticketPrice", 7 + i % 5)
        if i % 2 == 0:
            award = f"award{i}"
            g.unnamed.add(award)
            g.add(film, "receivedAward", award)
            g.add(award, "prize", prizes[(i // 2) % 4])
            g.add(award, "laureate", g.one(actors))
            g.value(award, "yearAwarded", 2015 + i // 2)
    for i, book in enumerate(books):
        g.add(book, "author", writers[(i * 2) % 6])
        g.value(book, "publicationYear", 1951 + 17 * i)
    for i, person in enumerate(directors + actors):
        g.value(person, "birthDate", g.date(1948, 1996))
        g.add(person, "birthPlace", g.one(places))
        if i % 3 == 0:
            g.add(person, "spouse", g.one(writers + composers))
    for i, director in enumerate(directors[1:6]):
        g.add(director, "mentor", directors[(i * 2) % 5 if (i * 2) % 5 != i + 1 else 8])
    return g


def cocina() -> Graph:
    """Return restaurants and cooks of a town, in Spanish."""
    g = Graph("cocina", 303)
    cooks = [
        "Amparo Riquelme", "Blas Otero", "Candela Ferrús", "Damián Quijada", "Estrella Montiel", "Fermín Zabala",
        "Gloria Peñalver", "Hilario Bustos", "Irene Cascales", "Joaquín Lledó", "Leonor Urrutia", "Mateo Sarriá",
    ]  # fmt: skip
    owners = ["Grupo Tramontana", "Rufina Alcaide", "Hermanos Cañizares", "Tobías Egea"]
    places = [
        "La Higuera",
        "Casa Pimentón",
        "El Molinete",
        "Taberna del Río",
        "Mesón Azul",
        "Brasas y Vino",
        "La Cuchara",
    ]
    towns = ["Ávila", "Cuenca", "Jaén", "Lorca", "Soria", "Úbeda"]
    dishes = [
        "arroz negro", "migas del pastor", "pulpo a la brasa", "tarta de almendra", "gazpacho verde", "cordero lechal",
        "sopa de ajo", "croquetas de setas", "flan de higos", "bacalao confitado", "pimientos rellenos", "ensalada de naranja",
    ]  # fmt: skip
    stuff = [
        "almendra",
        "ajo",
        "tinta de calamar",
        "higo",
        "seta",
        "cordero",
        "pimiento",
        "naranja",
        "aceite",
        "bacalao",
    ]
    firms = ["Huerta Nueva", "Pescados Mar Menor", "Almazara Sol", "Granja Robles"]
    barrios = ["El Carmen", "Santa Eulalia", "La Flota"]
    styles = ["cocina manchega", "cocina andaluza", "cocina de autor"]
    for i, place in enumerate(places):
        g.add(place, "ubicado en", barrios[i % 3])
        g.value(place, "año de apertura", 1979 + 6 * i)
        g.add(place, "propietario", owners[(i * 3) % 4])
        g.value(place, "estrellas", 1 + (i * 2) % 3)
        g.value(place, "teléfono", f"968 55 0{i} 1{i}")
        g.value(place, "aforo", 24 + 13 * ((i * 4) % 7))
        g.add(place, "tipo de cocina", styles[i % 3])
        g.add(place, "día de cierre", ["lunes", "martes", "domingo"][(i * 2) % 3])
        g.add(place, "jefe de sala", g.one(cooks))
        g.add(place, "plato estrella", dishes[i])
        g.value(place, "correo electrónico", f"reservas@{place.split()[-1].lower()}.example")
    for i, cook in enumerate(cooks):
        g.add(cook, "trabaja en", places[i % 7])
        g.add(cook, "nacido en", g.one(towns))
        g.value(cook, "fecha de nacimiento", g.date(1951, 1998))
        if i > 2:
            g.add(cook, "aprendió con", cooks[i // 3])
        if i % 4 == 0:
            g.add(cook, "casado con", cooks[i + 2])
        g.add(cook, "idioma", *g.some(["español", "francés", "catalán"], 1, 2))
        g.value(cook, "sueldo", 1500 + 75 * i)
        g.add(cook, "turno", ["mañana", "noche"][i % 2])
    for i, dish in enumerate(dishes):
        g.add(dish, "inventado por", g.one(cooks))
        g.add(dish, "ingrediente", *g.some(stuff, 2, 4))
        g.value(dish, "precio", f"{6 + i * 2}.50")
        g.value(dish, "calorías", 180 + 55 * ((i * 5) % 12))
        g.add(dish, "servido en", *g.some(places, 2, 3))
        g.add(dish, "vino recomendado", g.one(["Jumilla", "Rueda", "Manzanilla"]))
    for i, thing in enumerate(stuff):
        g.add(thing, "suministrado por", firms[i % 4])
    for i, firm in enumerate(firms):
        g.add(firm, "sede", towns[i])
        g.value(firm, "año de fundación", 1948 + 12 * i)
        g.add(firm, "director", g.one(["Paloma Recio", "Saúl Benavent", "Tecla Iborra", "Zoilo Manrique"]))
    return g


def railway() -> Graph:
    """Return the railways of an invented country, in snake_case."""
    g = Graph("railway", 404)
    bosses, architects, masters, engineers = (g.people(n) for n in (5, 5, 12, 6))
    towns = ["Ostermouth", "Pellham", "Quarrydale", "Ravensbeck", "Stonewick", "Thornbury Hill"]
    stations = [
        "Ostermouth Central", "Pellham Junction", "Quarrydale Road", "Ravensbeck Riverside", "Stonewick Parkway",
        "Thornbury Halt", "Ostermouth West", "Pellham Docks", "Quarrydale North", "Ravensbeck Castle", "Stonewick East",
        "Thornbury Heath",
    ]  # fmt: skip
    lines = ["Coastal Line", "Moorland Line", "Valley Line", "Harbour Loop", "Granite Branch", "Northern Main"]
    firms = ["Tidewater Rail", "Peak and Vale Trains", "Crossmoor Railways", "Albion Holdings", "Freightway"]
    makers = ["Kestrel Works", "Hallam Forge", "Brennan Locomotive"]
    classes = [f"Class {n}" for n in ("Osprey", "Badger", "Heron", "Marten", "Otter", "Falcon", "Stoat", "Curlew")]
    depots = ["Sidmoor Depot", "Eastbank Sheds", "Quarry Yard"]
    for i, station in enumerate(stations):
        g.add(station, "located_in", towns[i % 6])
        g.value(station, "opened_on", g.date(1841, 1936))
        g.value(station, "number_of_platforms", 1 + (i * 5) % 9)
        g.value(station, "annual_passengers", 10000 * g.rng.randint(3, 900))
        g.add(station, "station_master", masters[i])
        if i % 2 == 0:
            g.add(station, "designed_by", architects[i // 2 % 5])
        if i % 3 == 0:
            g.add(station, "interchange_with", stations[(i + 4) % 12])
        g.add(station, "managed_by", firms[i % 3])
    for i, line in enumerate(lines):
        g.add(line, "operated_by", firms[i % 3])
        calls = g.some(stations, 3, 5)
        g.add(line, "starts_from", calls[0])
        g.add(line, "terminates_at", calls[-1])
        g.add(line, "calls_at", *calls)
        g.value(line, "length_km", 23 + 37 * ((i * 5) % 6))
        g.value(line, "opened_on", g.date(1839, 1911))
        g.value(line, "max_gradient", f"1 in {40 + i * 7}")
        g.add(line, "surveyed_by", g.one(engineers))
    for i, firm in enumerate(firms):
        g.add(firm, "chief_executive", bosses[i])
        g.value(firm, "founded", 1899 + 22 * i)
        g.add(firm, "headquartered_in", towns[(i * 2 + 1) % 6])
        g.value(firm, "employs", 700 + 1350 * ((i * 2) % 5))
        if i < 3:
            g.add(firm, "parent_company", firms[3])
        g.value(firm, "customer_email", f"help@{firm.split()[0].lower()}.example")
    for i, train in enumerate(classes):
        g.add(train, "built_by", makers[i % 3])
        g.add(train, "operated_by", firms[i % 3])
        g.value(train, "top_speed_kmh", 90 + 15 * ((i * 3) % 8))
        g.value(train, "entered_service", 1961 + 8 * i)
        g.add(train, "powered_by", ["diesel", "overhead electric", "battery"][i % 3])
        g.add(train, "stabled_at", *g.some(depots, 1, 2))
        g.add(train, "chief_designer", g.one(engineers))
        g.value(train, "seats", 120 + 34 * ((i * 5) % 8))
        if i < 6:
            g.add(train, "superseded_by", classes[i + 2])
        g.add(train, "runs_on", *g.some(lines, 1, 2))
    for i, maker in enumerate(makers):
        g.add(maker, "headquartered_in", towns[i])
        g.add(maker, "founded_by", engineers[i])
        g.value(maker, "founded", 1866 + 9 * i)
    for i, depot in enumerate(depots):
        g.add(depot, "located_in", towns[(i + 3) % 6])
        g.value(depot, "track_capacity", 14 + 9 * i)
    for person in architects + engineers:
        g.value(person, "born_on", g.date(1820, 1968))
        g.add(person, "birthplace", g.one(towns))
    for i, architect in enumerate(architects[:4]):
        g.add(architect, "apprenticed_to", architects[i + 1])
    return g


def missions() -> Graph:
    """Return space missions, in camelCase, with crew assignments that have no name."""
    g = Graph("missions", 505)
    crew, scientists, heads = g.people(12), g.people(7), g.people(4)
    flights = [
        "Argus 1",
        "Argus 2",
        "Beacon",
        "Corvid",
        "Dawnstar",
        "Eventide",
        "Firefly 3",
        "Gossamer",
        "Halcyon",
        "Isthmus",
    ]
    agencies = ["Nordic Space Board", "Meridia Space Agency", "Pacifica Astronautics", "Union Orbital Office"]
    rockets = ["Longbow", "Trident V", "Skylark Heavy"]
    sites = ["Cape Solace", "Fjord Range", "Atoll Pad"]
    bodies = ["Mars", "Europa", "the Moon", "Ceres", "Venus"]
    tools = [
        "Spectra Camera", "Dust Sniffer", "Ion Probe", "Radar Altimeter", "Seismic Ear", "Magnet Boom", "Heat Mapper", "Star Tracker",
    ]  # fmt: skip
    labs = ["Lund Institute of Optics", "Kyoto Plasma Lab", "Sierra Robotics"]
    things = ["magnetic fields", "surface temperature", "dust", "quakes", "ice", "radiation"]
    schools = ["Uppsala Polytechnic", "Osaka Technical University", "Cordoba Institute"]
    lands = ["Sweden", "Japan", "Argentina", "Canada"]
    for i, agency in enumerate(agencies):
        g.add(agency, "agencyHead", heads[i])
        g.add(agency, "hostCountry", lands[i])
        g.value(agency, "establishedIn", 1958 + 11 * i)
        g.value(agency, "contactEmail", f"press@{agency.split()[0].lower()}.example")
        g.value(agency, "annualBudgetMillions", 400 + 730 * ((i * 3) % 4))
    for i, rocket in enumerate(rockets):
        g.add(rocket, "manufacturedBy", ["Vantage Aerospace", "Hollin Propulsion", "Vantage Aerospace"][i])
        g.value(rocket, "payloadCapacityKg", 4200 + 5300 * i)
        g.add(rocket, "propellant", ["kerosene", "liquid hydrogen", "methane"][i])
        g.value(rocket, "maidenFlight", g.date(1996, 2016))
    for i, site in enumerate(sites):
        g.add(site, "inCountry", lands[i])
        g.value(site, "numLaunchPads", 2 + 3 * ((i * 2) % 3))
    for i, flight in enumerate(flights):
        g.add(flight, "launchedBy", agencies[i % 4])
        g.add(flight, "launchVehicle", rockets[i % 3])
        g.add(flight, "launchSite", g.one(sites))
        g.value(flight, "launchDate", g.date(2001, 2023))
        g.add(flight, "missionDestination", bodies[(i * 2) % 5])
        g.value(flight, "massKg", 310 + 270 * ((i * 7) % 10))
        g.value(flight, "costMillions", 85 + 140 * ((i * 3) % 10))
        g.add(flight, "carriesInstrument", *g.some(tools, 2, 3))
        g.add(flight, "principalInvestigator", g.one(scientists))
        if i % 3 != 2:
            g.value(flight, "touchdownDate", g.date(2024, 2029))
        if i < 5:
            g.add(flight, "followOnMission", flights[i + 5])
        for role in ["commander", "pilot", "flight engineer"][: i % 4]:
            seat = f"crew{i}{role[0]}"
            g.unnamed.add(seat)
            g.add(flight, "crewAssignment", seat)
            g.add(seat, "astronaut", g.one(crew))
            g.add(seat, "crewRole", role)
            g.value(seat, "daysAboard", g.rng.randint(9, 400))
    for i, tool in enumerate(tools):
        g.add(tool, "developedBy", labs[i % 3])
        g.add(tool, "measures", *g.some(things, 1, 2))
        g.value(tool, "powerWatts", 12 + 17 * ((i * 3) % 8))
        g.add(tool, "leadDesigner", scientists[i % 7])
    for i, lab in enumerate(labs):
        g.add(lab, "labDirector", scientists[i + 3])
        g.value(lab, "webPage", f"https://{lab.split()[0].lower()}.example/")
        g.add(lab, "inCountry", lands[i])
    for i, person in enumerate(crew):
        g.value(person, "dateOfBirth", g.date(1961, 1994))
        g.add(person, "nationality", lands[i % 4])
        g.add(person, "alumnusOf", g.one(schools))
        g.value(person, "spacewalkCount", (i * 5) % 9)
        if i % 3 == 0:
            g.add(person, "marriedTo", g.one(scientists))
        g.add(person, "trainedBy", crew[(i + 5) % 12])
        g.value(person, "heightCm", 161 + (i * 7) % 31)
    return g


def stage() -> Graph:
    """Return the theatres of a town, by relations of several words."""
    g = Graph("stage", 606)
    writers, actors, directors, makers = (g.people(n) for n in (6, 16, 6, 6))
    houses = ["Lantern Theatre", "Corn Exchange", "The Cellar", "Royal Quays", "Minster Playhouse"]
    plays = [
        "The Weaver's Ghost", "Salt and Silver", "Nine Locked Doors", "A Quiet Mutiny", "Marigold", "The Glass Harbour",
        "Cousin Ezra", "Thaw", "The Pigeon King", "Ballad of Tom Reed", "Second Post", "Under the Viaduct",
    ]  # fmt: skip
    novels = ["The Long Thaw", "Harbour Nights", "Ezra's Year"]
    sponsors = ["Colby Bank", "Tern Brewery", "Hatch Foundation"]
    streets = ["Fuller Street", "Market Square", "Quay Road", "Abbey Lane"]
    schools = ["Weir Drama School", "Kingsmere Conservatoire"]
    towns = ["Harrowgate", "Pendle", "Wexcombe", "Larkfield"]
    papers = ["Evening Courier", "Morning Dispatch"]
    for i, house in enumerate(houses):
        g.add(house, "stands in", streets[i % 4])
        g.value(house, "has seats", 140 + 190 * ((i * 3) % 5))
        g.add(house, "is run by", makers[i])
        g.value(house, "box office phone", f"0141 496 0{i}3{i}")
        g.value(house, "was built in", 1797 + 31 * i)
        g.add(house, "is financed by", sponsors[i % 3])
    for i, play in enumerate(plays):
        g.add(play, "was written by", writers[i % 6])
        g.add(play, "is staged at", houses[i % 5])
        g.add(play, "is directed by", g.one(directors))
        g.add(play, "has in its cast", *g.some(actors, 3, 4))
        g.value(play, "premiered on", g.date(1998, 2024))
        g.value(play, "runs until", f"2025-{1 + i % 12:02}-{3 + i}")
        g.value(play, "ticket price from", 12 + 3 * ((i * 5) % 12))
        g.add(play, "has costumes by", g.one(makers))
        g.add(play, "has music by", g.one([*makers[3:], "Orla Finch"]))
        g.value(play, "lasts minutes", 65 + 10 * ((i * 7) % 12))
        if i % 4 == 1:
            g.add(play, "is adapted from", novels[i // 4])
        g.add(play, "was reviewed in", g.one(papers))
        g.value(play, "critics' rating", f"{1 + (i * 3) % 9}.{i % 10}")
        g.add(play, "belongs to genre", ["farce", "tragedy", "musical"][(i * 2) % 3])
    for i, novel in enumerate(novels):
        g.add(novel, "was written by", ["Philippa Crane", "Edmund Voss", "Philippa Crane"][i])
        g.value(novel, "first printed in", 1921 + 28 * i)
    for i, actor in enumerate(actors):
        g.add(actor, "was born in", g.one(towns))
        g.value(actor, "was born on", g.date(1949, 2001))
        g.add(actor, "trained at", g.one(schools))
        g.add(actor, "is represented by", ["Sable Agency", "Dorn & Daughters", "Fitch Talent"][i % 3])
        if i % 4 == 0:
            g.add(actor, "is understudied by", actors[i + 1])
        if i % 5 == 0:
            g.add(actor, "is married to", g.one(directors))
    for i, agency in enumerate(["Sable Agency", "Dorn & Daughters", "Fitch Talent"]):
        g.add(agency, "has its office in", towns[i])
        g.value(agency, "charges percent", 9 + 3 * i)
    for i, paper in enumerate(papers):
        g.add(paper, "has as editor", ["Winifred Hale", "Barnaby Stokes"][i])
        g.add(paper, "is printed in", towns[i + 2])
    for i, writer in enumerate(writers):
        g.add(writer, "lives in", g.one(towns))
        g.value(writer, "was born on", g.date(1938, 1989))
        if i % 2:
            g.add(writer, "shared a desk with", writers[i - 1])
    return g


DEV: tuple[Callable[[], Graph], ...] = (clinic, festival, cocina)
HELD_OUT: tuple[Callable[[], Graph], ...] = (railway, missions, stage)


def datatype(value: str) -> str:
    """Return the XSD type a value is written with."""
    body = value.replace("-", "")
    if "T" in value and body[:8].isdigit():
        return XSD + "dateTime"
    if len(value) == 10 and body.isdigit() and value.count("-") == 2:
        return XSD + "date"
    if value.isdigit():
        return XSD + "integer"
    if value.replace(".", "", 1).isdigit():
        return XSD + "decimal"
    return XSD + "string"


def write(graph: Graph, folder: Path) -> tuple[str, ...]:
    """Write a graph as its owner would have it; return the arguments of `lodestar load`."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(x for h, _, t in graph.triples for x in (h, t) if x not in graph.values))
    if graph.name in ("clinic", "missions"):
        ids = {name: (f"{graph.name[0]}{n:04}") for n, name in enumerate(names)}
        kg, table = folder / f"{graph.name}.csv", folder / f"{graph.name}-names.tsv"
        with kg.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows((ids[h], r, ids.get(t, t)) for h, r, t in graph.triples)
        named = [n for n in names if n not in graph.unnamed]
        table.write_text("".join(f"{ids[n]}\t{n}\n" for n in named), encoding="utf-8")
        return ("csv", str(kg), "--columns", "1,2,3", "--names", str(table))
    if graph.name == "festival":
        base = "http://data.heron-festival.example/"
        iri = {n: f"<{base}resource/{graph.name}-{i}>" for i, n in enumerate(names)}
        kg = folder / "festival.nt"
        lines = [
            f"{iri[h]} <{base}schema/{r}> " + (f'"{t}"^^<{datatype(t)}>' if t in graph.values else iri[t]) + " ."
            for h, r, t in graph.triples
        ]
        lines += [f'{iri[n]} <{LABEL}> "{n}"@en .' for n in names if n not in graph.unnamed]
        kg.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ("rdf", str(kg))
    kg = folder / f"{graph.name}.tsv"
    typed = graph.name == "railway"
    rows = (
        f"{h}\t{r}\t{t}^^{datatype(t)}" if typed and t in graph.values else f"{h}\t{r}\t{t}"
        for h, r, t in graph.triples
    )
    kg.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return ("tsv", str(kg), "--columns", "1,2,3")


def main() -> None:
    """Write all graphs into a folder."""
    for make in DEV + HELD_OUT:
        graph = make()
        print(" ".join(write(graph, Path(sys.argv[1]))), len(graph.triples), "triples")


if __name__ == "__main__":
    main()
