"""Write three more graphs for development: ``services`` (abbreviations), ``museum`` (several words, mediators), ``league`` (CSV).

Their questions were written before any was asked, to fit by beside those of `graphs.DEV`. Names are invented.
"""

from __future__ import annotations

from collections.abc import Callable

from .graphs import Graph


def services() -> Graph:
    """Return the software services of a company, in abbreviations."""
    g = Graph("services", 707)
    people = g.people(22)
    names = [
        "ledger-api", "fraud-scorer", "mail-gateway", "search-index", "invoice-printer", "auth-proxy", "price-feed",
        "image-resizer", "session-store", "audit-log", "geo-lookup", "coupon-engine", "chat-relay", "report-builder",
        "queue-drainer", "tax-rules", "feature-flags", "push-notifier",
    ]  # fmt: skip
    teams = ["Payments Crew", "Platform Guild", "Growth Squad", "Data Harbour", "Trust Desk"]
    langs = ["Rust", "Kotlin", "Python", "Go"]
    stores = ["Postgres main", "Redis west", "Kafka bus", "S3 archive"]
    regions = ["eu-north", "us-east", "ap-south"]
    for i, team in enumerate(teams):
        g.add(team, "lead", people[i])
        g.value(team, "slack", f"#{team.split()[0].lower()}")
        g.add(team, "dept", ["Finance Tech", "Core Tech"][i % 2])
        g.value(team, "budget_eur", 90000 + 37000 * ((i * 3) % 5))
    for i, person in enumerate(people):
        g.add(person, "member_of", teams[i % 5])
        g.value(person, "start_date", g.date(2011, 2023))
        g.add(person, "office", ["Gdansk", "Leuven", "Trieste"][i % 3])
        g.value(person, "ext", 4100 + 7 * i)
        if i > 4:
            g.add(person, "mgr", people[i % 5])
        if i % 3 == 0:
            g.add(person, "cert", g.one(["CKA", "OSCP", "PMP"]))
    for i, name in enumerate(names):
        g.add(name, "owner_team", teams[(i * 2) % 5])
        g.add(name, "oncall", g.one(people))
        g.add(name, "written_in", g.one(langs))
        g.value(name, "tier", 1 + i % 3)
        g.value(name, "repo", f"https://git.example/{name}")
        g.add(name, "deployed_to", *g.some(regions, 1, 2))
        g.value(name, "last_release", g.date(2022, 2024))
        g.value(name, "sla_pct", f"99.{g.rng.randint(1, 99)}")
        if i % 3:
            g.add(name, "depends_on", *g.some([n for n in names if n != name], 1, 2))
        if i % 2:
            g.add(name, "datastore", g.one(stores))
        if i % 4 == 0:
            g.value(name, "sunset_on", g.date(2025, 2027))
    for i, store in enumerate(stores):
        g.add(store, "vendor", ["Bluefin Cloud", "Marmot Systems"][i % 2])
        g.value(store, "cost_month", 400 + 350 * ((i * 3) % 4))
        g.add(store, "admin", people[5 + i])
    for i, vendor in enumerate(["Bluefin Cloud", "Marmot Systems"]):
        g.add(vendor, "hq_city", ["Oulu", "Graz"][i])
        g.value(vendor, "support_mail", f"help@{vendor.split()[0].lower()}.example")
    for i in range(8):
        incident = f"INC-{i + 31}"
        g.add(incident, "affected", names[(i * 5) % 18])
        g.add(incident, "root_cause", g.one(["expired certificate", "full disk", "bad deploy"]))
        g.value(incident, "opened_at", g.date(2023, 2024))
        g.value(incident, "mins_down", g.rng.randint(4, 190))
        g.add(incident, "fixed_by", g.one(people))
    return g


def museum() -> Graph:
    """Return a museum with paintings, rooms, restorations and loans; a loan has no name of its own."""
    g = Graph("museum", 808)
    painters, curators, restorers, donors = (g.people(n) for n in (8, 6, 4, 6))
    works = [
        "The Grey Heron", "Woman at a Loom", "Frost Fair", "Still Life with Quinces", "The Night Ferry", "Haymakers",
        "Portrait of a Notary", "The Blue Staircase", "Storm over Aldmouth", "Two Sisters", "The Cartographer",
        "Orchard in Rain", "The Empty Chapel", "Girl with a Goldfinch", "Market Day", "The Last Sheaf", "Ferry at Dusk",
        "The Toll House", "Winter Carnival",
    ]  # fmt: skip
    rooms = ["Rose Gallery", "North Hall", "Print Cabinet", "Glass Pavilion"]
    styles = ["realism", "mannerism", "symbolism", "impressionism"]
    others = ["Kunsthal Viborg", "Pinacoteca Nera", "Halden Museum", "Musée Aubrac"]
    towns = ["Viborg", "Lucca", "Halden", "Rodez", "Brno", "Tartu"]
    media = ["oil on canvas", "tempera on wood", "watercolour"]
    for i, room in enumerate(rooms):
        g.add(room, "is on the floor", ["ground floor", "upper floor"][i % 2])
        g.add(room, "guarded by", ["Osric Vane", "Petronel Moss", "Rufus Tarn", "Sabine Yule"][i])
        g.value(room, "area in square metres", 60 + 45 * ((i * 3) % 4))
    for i, painter in enumerate(painters):
        g.value(painter, "year of birth", 1610 + 31 * ((i * 5) % 8))
        g.value(painter, "year of death", 1680 + 31 * ((i * 5) % 8))
        g.add(painter, "native town", g.one(towns))
        g.add(painter, "belongs to the school of", g.one(styles))
        if i > 1:
            g.add(painter, "pupil of", painters[i // 2 - 1])
    for i, work in enumerate(works):
        g.add(work, "painted by", painters[(i * 3) % 8])
        g.add(work, "hangs in", rooms[i % 4])
        g.value(work, "finished in", 1640 + 13 * i)
        g.add(work, "technique", g.one(media))
        g.value(work, "height in cm", g.rng.randint(30, 240))
        g.value(work, "insured value", 25000 * g.rng.randint(1, 60))
        g.add(work, "shows", *g.some(["river", "birds", "snow", "bread", "candle", "harbour", "horse"], 1, 2))
        g.value(work, "inventory number", f"A.{1000 + 17 * i}")
        if i % 2 == 0:
            g.add(work, "given by", g.one(donors))
        if i % 3 == 0:
            g.add(work, "restored by", g.one(restorers))
            g.value(work, "restored on", g.date(1988, 2021))
        if i % 3 == 1:
            loan = f"loan{i}"
            g.unnamed.add(loan)
            g.add(work, "loan", loan)
            g.add(loan, "borrower", others[i % 4])
            g.value(loan, "return date", g.date(2025, 2027))
            g.value(loan, "fee", 300 * (i + 2))
    for i, other in enumerate(others):
        g.add(other, "stands in", towns[i])
        g.add(other, "directed by", ["Edda Roth", "Fulvio Neri", "Gunnar Lie", "Helene Puy"][i])
    for i, curator in enumerate(curators):
        g.add(curator, "looks after the room", rooms[i % 4])
        g.add(curator, "studied at", g.one(["Academy of Brno", "University of Tartu"]))
        g.value(curator, "mail address", f"{curator.split()[1].lower()}@museum.example")
        g.value(curator, "monthly salary", 2600 + 150 * i)
    for i, person in enumerate(restorers + donors):
        g.add(person, "resident of", towns[(i * 2) % 6])
        if i % 2:
            g.add(person, "partner", curators[i % 6])
    return g


def league() -> Graph:
    """Return the clubs, players and matches of a football league."""
    g = Graph("league", 909)
    players, coaches, owners = g.people(24), g.people(8), g.people(5)
    clubs = [
        "Aldmoor Rovers", "Brackwater United", "Corvale Town", "Deepwell Athletic", "Eastmarch City", "Fennick Albion",
        "Garrow Wanderers", "Hollin Rangers",
    ]  # fmt: skip
    grounds = [
        "Tannery Road",
        "The Saltings",
        "Priory Park",
        "Kiln Lane",
        "Castle Mead",
        "Fen Arena",
        "Moorgate",
        "Ropewalk",
    ]
    towns = ["Aldmoor", "Brackwater", "Corvale", "Deepwell", "Eastmarch", "Fennick", "Garrow", "Hollin"]
    lands = ["Wales", "Ghana", "Iceland", "Serbia", "Chile"]
    for i, club in enumerate(clubs):
        g.add(club, "HomeGround", grounds[i])
        g.add(club, "ManagedBy", coaches[i])
        g.add(club, "OwnedBy", owners[(i * 2) % 5])
        g.value(club, "YearFounded", 1878 + 7 * ((i * 3) % 8))
        g.add(club, "ShirtColour", ["red", "green", "sky blue", "white"][(i * 3) % 4])
        g.add(club, "ShirtSponsor", g.one(["Quillon Bank", "Tarn Breweries", "Osprey Air"]))
        g.value(club, "LeaguePosition", 1 + (i * 5) % 8)
        g.add(club, "Rival", clubs[(i + 3) % 8])
        g.value(club, "SeasonTicketPrice", 210 + 35 * ((i * 3) % 8))
    for i, ground in enumerate(grounds):
        g.add(ground, "Town", towns[i])
        g.value(ground, "Seats", 4200 + 3100 * ((i * 3) % 8))
        g.value(ground, "BuiltIn", 1895 + 9 * ((i * 5) % 8))
        g.add(ground, "Surface", ["grass", "hybrid turf"][i % 2])
    for i, player in enumerate(players):
        g.add(player, "PlaysFor", clubs[i % 8])
        g.add(player, "Position", ["goalkeeper", "defender", "midfielder", "striker"][(i * 3 + i // 8) % 4])
        g.add(player, "Nationality", g.one(lands))
        g.value(player, "Born", g.date(1988, 2005))
        g.value(player, "HeightCm", g.rng.randint(166, 203))
        g.value(player, "GoalsThisSeason", (i * 5) % 23)
        g.value(player, "WeeklyWage", 700 + 150 * g.rng.randint(0, 40))
        if i < 8:
            g.add(player, "CaptainOf", clubs[i])
        if i % 3 == 0:
            g.add(player, "FormerClub", clubs[(i + 2) % 8])
        if i % 4 == 0:
            g.add(player, "Agent", g.one(["Lorne Baptiste", "Maud Sigurd"]))
    for i, coach in enumerate(coaches):
        g.add(coach, "Nationality", g.one(lands))
        g.value(coach, "ContractUntil", 2025 + i % 4)
        if i % 2:
            g.add(coach, "Assistant", ["Ned Prior", "Ola Quist", "Piers Rudd", "Rhoda Snell"][i // 2])
    for i, owner in enumerate(owners):
        g.add(owner, "Business", ["shipping", "brewing", "software", "timber", "hotels"][i])
        g.value(owner, "FortuneMillions", 40 + 65 * ((i * 2) % 5))
    return g


MORE_DEV: tuple[Callable[[], Graph], ...] = (services, museum, league)
