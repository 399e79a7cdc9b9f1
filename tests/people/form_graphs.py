"""Write three graphs for the development of forms: ``shipyard`` (snake_case), ``lawfirm`` (IRIs, mediators), ``school`` (terse).

A third of their questions ask for a number, yes or no, or an extreme; a third have no answer. Names are invented.
"""

from __future__ import annotations

from collections.abc import Callable

from .graphs import Graph

LEX = "https://lex.example/vocab/"


def shipyard() -> Graph:
    """Return a shipyard: the ships it builds, who orders them and what they are made with."""
    g = Graph("shipyard", 808)
    people = g.people(26)
    ships = [
        "Amber Heron", "Baltic Pilgrim", "Cormorant Star", "Dagny Rose", "Evening Tern", "Frost Petrel", "Grey Lantern",
        "Halcyon Bay", "Iron Gannet", "Juniper Wave", "Kittiwake", "Lady Solveig", "Morning Skua", "Northern Thimble",
        "Osprey Trader", "Polar Finch", "Quiet Meridian", "Red Cormorant",
    ]  # fmt: skip
    types = ["car ferry", "trawler", "tanker", "icebreaker"]
    docks = ["Long Dock", "Queen's Slip", "Basin Three", "Covered Hall"]
    shops = ["Plate Shop", "Pipe Shop", "Paint Hall", "Rigging Loft", "Joinery"]
    lines = ["Nordvik Lines", "Sundholm Shipping", "Tresco Fisheries", "Meridian Tankers", "Varga Coastal"]
    engines = ["Torvald T6", "Torvald T9", "Hesse 480", "Hesse 720", "Kappa Marine 12"]
    makers = ["Torvald Motors", "Hesse Diesel Works", "Kappa Power"]
    societies = ["Baltic Register", "Northern Lloyds", "Veritas Hanse"]
    ports = ["Skarnes", "Vollmerhaven", "Port Elwin", "Rinkeby", "Lomsa"]
    countries = ["Osterland", "Vendia", "Karelmark"]
    steels = ["Grade A plate", "Grade EH36", "duplex stainless", "marine aluminium"]
    mills = ["Brannock Steel", "Ostrow Metals", "Lindfors Alloys"]
    architects, masters, foremen, workers = people[:4], people[4:8], people[8:13], people[13:]
    for i, port in enumerate(ports):
        g.add(port, "in_country", countries[i % 3])
    for i, dock in enumerate(docks):
        g.add(dock, "dock_master", masters[i])
        g.value(dock, "year_built", 1911 + 23 * ((i * 3) % 4))
        g.value(dock, "crane_capacity_t", 120 + 85 * ((i * 3) % 4))
    for i, shop in enumerate(shops):
        g.add(shop, "foreman", foremen[i])
    for i, line in enumerate(lines):
        g.add(line, "head_office", ports[(i * 2) % 5])
        g.value(line, "fleet_size", 9 + 8 * ((i * 3) % 5))
        g.value(line, "founded_in", 1898 + 17 * i)
    for i, engine in enumerate(engines):
        g.add(engine, "manufactured_by", makers[i // 2])
        g.value(engine, "power_kw", 2400 + 1350 * ((i * 2) % 5))
        g.add(engine, "burns_fuel", ["diesel", "methanol"][i % 2])
    for i, maker in enumerate(makers):
        g.add(maker, "head_office", ports[(i + 2) % 5])
    for i, society in enumerate(societies):
        g.add(society, "chief_surveyor", workers[i])
        g.value(society, "founded_in", 1834 + 29 * i)
    for i, steel in enumerate(steels):
        g.add(steel, "supplied_by", mills[i % 3])
        g.value(steel, "price_per_tonne_eur", 780 + 910 * ((i * 3) % 4))
    for i, mill in enumerate(mills):
        g.add(mill, "head_office", ports[i])
    for i, person in enumerate(people):
        g.value(person, "date_of_birth", g.date(1958, 1999))
        if i >= 16:
            g.add(person, "works_in", shops[i % 5])
            g.add(person, "trade", ["welder", "pipefitter", "painter"][i % 3])
            g.value(person, "employed_since", 1991 + (i * 7) % 30)
            if i % 2:
                g.value(person, "hourly_wage_eur", f"{24 + (i * 5) % 13}.40")
    for i, ship in enumerate(ships):
        kind = types[i % 4]
        g.add(ship, "ship_type", kind)
        g.value(ship, "hull_number", f"H-{401 + 3 * i}")
        g.add(ship, "built_in_dock", docks[(i // 2) % 4])
        g.add(ship, "ordered_by", lines[(i * 3) % 5])
        g.add(ship, "designed_by", architects[(i * 5 + i // 4) % 4])
        g.value(ship, "length_m", 48 + (i * 37) % 139)
        g.value(ship, "launched_on", g.date(2017, 2021))
        g.value(ship, "contract_price_eur", 14_500_000 + (i * 7_300_000) % 88_000_000)
        g.add(ship, "powered_by", engines[(i * 2 + i // 5) % 5])
        g.add(ship, "classed_with", societies[(i // 3) % 3])
        g.add(ship, "home_port", ports[(i * 4 + i // 6) % 5])
        g.add(ship, "hull_material", steels[(i // 2) % 4])
        if i % 3 != 2:
            g.value(ship, "delivered_on", g.date(2022, 2024))
        if i % 4 == 1:
            g.add(ship, "godmother", workers[i % 13])
        if i >= 12:
            g.add(ship, "sister_ship_of", ships[i - 12])
        if kind == "car ferry":
            g.value(ship, "car_deck_spaces", 90 + 35 * i)
    return g


def lawfirm() -> Graph:
    """Return a law firm: its lawyers, clients, the engagements that join them, and matters at court."""
    g = Graph("lawfirm", 909)
    people = g.people(40)
    lawyers, secretaries, judges, partners, counsels = (
        people[:14],
        people[14:20],
        people[20:27],
        people[27:31],
        people[31:40],
    )
    cities = ["Marrowgate", "Tilbrook", "Saint Orme", "Calder Quay", "Weston Vale"]
    offices = ["Marrowgate Chambers", "Tilbrook House", "Orme Tower"]
    areas = ["patent law", "employment law", "maritime law", "tax law", "insolvency", "competition law"]
    clients = [
        "Halden Foods", "Quillon Robotics", "Brightwater Ferries", "Oxley Pharma", "Sable Mining", "Tern Airlines",
        "Fennimore Toys", "Larkhill Energy", "Pryce Textiles",
    ]  # fmt: skip
    trades = ["food", "engineering", "transport", "medicines", "mining", "transport", "retail", "energy", "retail"]
    courts = ["Marrowgate High Court", "Calder Admiralty Court", "Tilbrook Labour Tribunal", "Court of Appeal"]
    rivals = ["Stoke and Barrow", "Ferris Kane", "Lovell Pike", "Dunmore Grey"]
    schools = ["Harrowby Law School", "Saint Orme University", "Tilbrook College"]
    matters = [
        "Halden v Prior", "Quillon v Axon", "Brightwater v Harbour Board", "Re Oxley Royalties", "Sable v Crown",
        "Tern v Pilots Union", "Fennimore v Jolly", "Larkhill v Gridco", "Re Pryce Liquidation", "Halden v Revenue",
        "Quillon v Sato", "Brightwater v Moss", "Oxley v Genhealth", "Sable v Ridley", "Tern v Baggage Services",
        "Larkhill v Windfarm Trust", "Fennimore v Customs", "Pryce v Landlords",
    ]  # fmt: skip

    def add(head: str, relation: str, *tails: str) -> None:
        g.add(head, LEX + relation, *tails)

    def value(head: str, relation: str, what: object) -> None:
        g.value(head, LEX + relation, what)

    for i, office in enumerate(offices):
        add(office, "locatedIn", cities[i])
        add(office, "managingPartner", lawyers[i])
        value(office, "yearOpened", 1957 + 19 * i)
    for i, lawyer in enumerate(lawyers):
        add(lawyer, "worksInOffice", offices[(i + i // 5) % 3])
        add(lawyer, "practisesIn", areas[i % 6], *([areas[(i + 2) % 6]] if i % 3 == 0 else []))
        add(lawyer, "almaMater", schools[(i * 2 + i // 4) % 3])
        value(lawyer, "calledToBarOn", g.date(1989, 2019))
        value(lawyer, "hourlyRate", 190 + (i * 85) % 420)
        if i % 4 != 3:
            value(lawyer, "directLine", f"555-0{210 + 7 * i}")
        if i >= 4:
            add(lawyer, "mentoredBy", lawyers[i % 4])
            add(lawyer, "assistedBy", secretaries[i % 6])
    for i, secretary in enumerate(secretaries):
        add(secretary, "worksInOffice", offices[i % 3])
    for i, client in enumerate(clients):
        add(client, "industry", trades[i])
        add(client, "headquarteredIn", cities[(i * 2) % 5])
        add(client, "generalCounsel", counsels[i])
        value(client, "annualRevenue", 12_000_000 + (i * 57_000_000) % 310_000_000)
        for j in range(1 + (i % 3 == 0)):
            engagement = f"eng-{i}{j}f{7 * i + j}"
            g.unnamed.add(engagement)
            add(engagement, "engagedBy", client)
            add(engagement, "leadCounsel", lawyers[(i * 3 + 5 * j) % 14])
            value(engagement, "signedOn", g.date(2009, 2023))
            value(engagement, "retainer", 20000 + (i * 8500 + j * 31000) % 70000)
    for i, court in enumerate(courts):
        add(court, "seatedIn", cities[[0, 3, 1, 2][i]])
    for i, judge in enumerate(judges):
        add(judge, "sitsAt", courts[i % 4])
        value(judge, "appointedIn", 1996 + (i * 5) % 23)
    for i, rival in enumerate(rivals):
        add(rival, "headquarteredIn", cities[(i + 1) % 5])
        add(rival, "seniorPartner", partners[i])
        value(rival, "numberOfLawyers", 22 + (i * 31) % 87)
    for i, matter in enumerate(matters):
        bench = i % 7
        add(matter, "concernsArea", areas[(i * 5 + i // 6) % 6])
        add(matter, "onBehalfOf", next(c for c in clients if c.split()[0] in matter))
        add(matter, "handledBy", lawyers[(i * 3) % 14], lawyers[(i * 5 + 1) % 14])
        add(matter, "heardAt", courts[bench % 4])
        add(matter, "presidedOverBy", judges[bench])
        add(matter, "opposingFirm", rivals[(i * 3 + i // 4) % 4])
        value(matter, "docketNumber", f"{'MCTA'[bench % 4]}-{2300 + 17 * i}")
        value(matter, "filedOn", g.date(2015, 2023))
        value(matter, "amountClaimed", 85000 + (i * 437000) % 5_900_000)
        if i % 3:
            add(matter, "outcome", ["won", "settled", "lost"][i % 4 % 3])
            value(matter, "closedOn", g.date(2024, 2025))
    return g


def school() -> Graph:
    """Return a secondary school, its relations in the terse abbreviations of a timetable program."""
    g = Graph("school", 1010)
    people = g.people(72)
    teachers, pupils, guardians, drivers = people[:14], people[14:52], people[52:68], people[68:72]
    forms = ["7A", "7B", "8A", "9A", "10C", "11B"]
    subjects = [
        "algebra", "chemistry", "Latin", "geography", "woodwork", "music theory", "physics", "history", "Spanish",
        "drama", "computing", "pottery",
    ]  # fmt: skip
    departments = ["Sciences", "Languages", "Humanities", "Arts and Crafts"]
    belongs = [0, 0, 1, 2, 3, 3, 0, 2, 1, 3, 0, 3]
    rooms = ["B12", "B14", "Lab 1", "Lab 2", "Old Hall", "Kiln Room", "C03", "C07"]
    buildings = ["Bramley Block", "Science Wing", "Courtyard House"]
    houses = ["Falcon", "Badger", "Otter", "Hare"]
    clubs = ["chess club", "debating society", "rowing squad", "robotics club", "choir", "gardening club"]
    routes = ["Route 1", "Route 2", "Route 3", "Route 5"]
    places = ["Windle", "Great Orton", "Lower Marsh", "Peverell", "Castle Edge"]
    trips = ["Glacier Camp", "Roman Wall Walk", "Opera Night", "Seaside Survey", "Tech Fair Visit"]
    for i, teacher in enumerate(teachers):
        g.add(teacher, "tchs", subjects[i % 12], *([subjects[(i + 5) % 12]] if i % 4 == 0 else []))
        g.value(teacher, "strt", 1994 + (i * 11) % 29)
        g.value(teacher, "sal_gbp", 29500 + (i * 3700) % 31000)
        g.add(teacher, "lvs_in", places[(i * 3) % 5])
        if i % 3 != 1:
            g.value(teacher, "tel", f"01632 4{i:02}7")
    for i, form in enumerate(forms):
        g.add(form, "frm_tut", teachers[i + 2])
    for i, subject in enumerate(subjects):
        g.add(subject, "dept", departments[belongs[i]])
        g.add(subject, "rm", rooms[[0, 2, 1, 6, 4, 4, 3, 6, 1, 4, 7, 5][i]])
        g.value(subject, "hrs_wk", [5, 4, 2, 3, 1, 2, 4, 3, 3, 2, 2, 1][i])
    for i, department in enumerate(departments):
        g.add(department, "hod", teachers[[0, 2, 3, 5][i]])
        g.value(department, "bdgt_gbp", [42000, 18500, 16000, 27300][i])
    for i, room in enumerate(rooms):
        g.add(room, "bldg", buildings[[0, 0, 1, 1, 2, 2, 0, 0][i]])
        g.value(room, "cap", [30, 28, 24, 22, 140, 12, 32, 26][i])
    for i, building in enumerate(buildings):
        g.value(building, "yr_blt", [1968, 2004, 1887][i])
    for i, house in enumerate(houses):
        g.add(house, "hse_mstr", teachers[8 + i])
        g.value(house, "pts", 340 + (i * 97) % 260)
    for i, club in enumerate(clubs):
        g.add(club, "run_by", teachers[(i * 5) % 14])
        g.add(club, "day", ["Mon", "Wed", "Thu", "Tue", "Fri", "Wed"][i])
        g.value(club, "sub_gbp", [6, 4, 45, 18, 3, 9][i])
        g.add(club, "cpt", pupils[i * 4])
        g.add(pupils[i * 4], "mbr", club)
    for i, route in enumerate(routes):
        g.add(route, "drv", drivers[i])
        g.add(route, "stps", *(places[(i + j) % 5] for j in range(2 + i % 2)))
        g.value(route, "dep", f"0{6 + i % 2}:{10 + 13 * i}")
        g.value(route, "seats", [52, 33, 29, 44][i])
    for i, trip in enumerate(trips):
        g.add(trip, "ldr", teachers[(i * 3 + 1) % 14])
        g.add(trip, "dest", places[(i + 2) % 5])
        g.value(trip, "cost_gbp", [410, 22, 35, 64, 18][i])
    for i, pupil in enumerate(pupils):
        form = forms[(i * 5 + i // 6) % 6]
        birth = 2019 - int(form[:-1])
        g.add(pupil, "frm", form)
        g.add(pupil, "hse", houses[(i * 3 + i // 4) % 4])
        g.add(pupil, "grdn", guardians[(i * 7) % 16])
        g.value(pupil, "dob", g.date(birth, birth))
        if i % 2 == 0:
            g.add(pupil, "mbr", *g.some(clubs, 1, 2))
        if i % 3 == 0:
            g.add(pupil, "bus", routes[(i // 3) % 4])
        if i % 5 == 2:
            g.add(pupil, "gng_on", *g.some(trips, 1, 2))
    for i, guardian in enumerate(guardians):
        g.value(guardian, "mob", f"07700 900{120 + 31 * i}")
        g.add(guardian, "lvs_in", places[(i * 2) % 5])
    return g


FORM_DEV: tuple[Callable[[], Graph], ...] = (shipyard, lawfirm, school)
