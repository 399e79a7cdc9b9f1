// The page: asks, shows the answer and what it rests on. All text of the graph goes in as text, never as markup.

const MAX_RIVALS = 3;
const CLOSE = 0.3; // of a topic's score, what another entity of the same words needs to be offered
const MAX_ROWS = 20; // of a plan's results
const MAX_CANDIDATES = 5;
const MAX_COPIED = 3; // paths in a copied text
const NOT_THERE = { // what stands large where there is no answer, by its reason
  "no relation fits": "Not in the graph", "no triple": "Not in the graph", "nothing linked": "No name that the graph knows",
  "not understood": "Not understood", failed: "No answer",
};
const MAX_PATHS = 4, MAX_ENDS = 6, MAX_FACTS = 12; // that are drawn; ends of each path; facts of a plan
const COLUMN = 300, ROW = 62, LABEL_AT = 96, BOX = 168, BOX_HEIGHT = 34, MARGIN = 18, TOP = 34, MIN_ZOOM = 0.8;
const STEP = 92, BESIDE = BOX + 16, MAX_UPRIGHT = 2; // where the screen is narrow: from above to below, of so many boxes in a row

const at = (id) => document.getElementById(id);
const make = (tag, text = "", name = "") => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
};
const press = (text, name, onclick) => Object.assign(make("button", text, name), { type: "button", onclick });

let picture = null; // cytoscape's
let shown = null; // the answer on the page
let asking = null; // aborts the question under way

// Asking

function headers() {
  const token = sessionStorage.getItem("token");
  return { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
}

async function request(path, more = {}) {
  const response = await fetch(path, { headers: headers(), ...more });
  if (response.status === 401) {
    at("token-form").hidden = false;
    at("token").focus();
  }
  if (!response.ok) {
    const said = await response.json().catch(() => null);
    throw new Error(said?.error?.message || `the server answered with ${response.status}`);
  }
  return response;
}

const post = (path, body, signal) => request(path, { method: "POST", body: JSON.stringify(body), signal });

async function ask(question, topics = [], keep = true) {
  asking?.abort();
  const own = (asking = new AbortController());
  at("question").value = question;
  at("error").hidden = true;
  at("start").hidden = true;
  say("looking for the answer …", true);
  const started = performance.now();
  try {
    const answer = await (await post("/v1/ask", { question, topics }, own.signal)).json();
    if (keep) remember(question, topics);
    show(answer, topics, performance.now() - started);
  } catch (error) {
    if (own.signal.aborted) return;
    say("");
    at("result").hidden = true;
    at("error").hidden = false;
    at("error").textContent = error.message || "the server does not answer";
  }
}

function say(text, busy = false) {
  at("status").textContent = text;
  at("status").classList.toggle("busy", busy);
}

function anchor(link, text) {
  const made = make("a", text);
  made.href = /^https?:/.test(link) ? link : "#";
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

const named = (entity) => (entity.name || entity.id || "…").replaceAll("_", " ");
const described = (entity) => named(entity) + (entity.kind ? ` (${entity.kind})` : "");

// Showing

function show(answer, topics, tookMs) {
  const none = answer.kind === "none";
  shown = { ...answer, given: topics };
  at("result").hidden = false;
  at("asked").textContent = answer.question;
  at("answer").textContent = none ? NOT_THERE[answer.reason] ?? "No answer" : answer.answer;
  at("answer").className = none ? "none" : answer.answer.length > 120 ? "long" : "";
  showSure(answer);
  showCandidates(answer);
  showPlan(answer);
  showTopics(answer, topics);
  showMeant(answer);
  showPaths(answer);
  const drawing = layout(none ? { ...answer, items: [] } : answer);
  const left = [...new Set([...drawing.leftOut, ...answer.left_out])];
  at("cuts").textContent = left.length ? `Not drawn or cut: ${left.join("; ")}.` : "";
  at("took").textContent = `${answer.round_trips} round trips to the database`;
  at("copied").textContent = "";
  at("browser-link").hidden = true;
  at("browser").hidden = none || !answer.items.length;
  draw(drawing);
  document.title = `${answer.question} – Lodestar`;
  say(`${none ? "no answer" : "answered"} in ${(tookMs / 1000).toFixed(tookMs < 995 ? 2 : 1)} s`);
  scrollTo({ top: 0 });
}

const bar = (share, low) => {
  const made = make("span", "", low ? "bar low" : "bar"), inner = make("span");
  inner.style.width = `${Math.round(share * 100)}%`;
  made.append(inner);
  made.setAttribute("aria-hidden", "true");
  return made;
};

function showSure(answer) {
  const place = at("sure");
  place.replaceChildren();
  if (answer.kind === "none") {
    place.textContent = answer.note || answer.answer;
  } else if (answer.confidence === null) {
    place.textContent = "no confidence: these scores have no calibration";
  } else {
    const number = answer.answers[0]?.evidence.length, kind = answer.items[0]?.kind === "triple" ? "fact" : "path";
    const rests = number ? `, resting on ${number} ${kind}${number === 1 ? "" : "s"}` : "";
    place.append(bar(answer.confidence, answer.unsure), `confidence ${answer.confidence.toFixed(2)}${answer.unsure ? ", unsure" : ""}${rests}`);
  }
}

// The answers and what else the paths lead to, each with how likely its best path leads to a right answer.
function showCandidates(answer) {
  const likely = new Map(), given = new Set(answer.answers.map((each) => each.id));
  for (const item of answer.items) for (const end of item.ends ?? []) {
    if (item.probability !== null && !likely.has(end.id)) likely.set(end.id, { end, share: item.probability });
  }
  const some = [...likely.values()].sort((a, b) => given.has(b.end.id) - given.has(a.end.id)).slice(0, MAX_CANDIDATES);
  const shows = answer.kind !== "none" && some.some((each) => given.has(each.end.id)) && some.some((each) => !given.has(each.end.id));
  if (shows) at("sure").querySelector(".bar")?.remove();
  at("candidates").replaceChildren(...(shows ? some : []).map(({ end, share }) => {
    const line = make("li", "", given.has(end.id) ? "given" : "");
    line.append(make("span", named(end), "who"), bar(share, !given.has(end.id)), make("span", `${Math.round(share * 100)} %`, "score"));
    return line;
  }));
}

// How a plan found the answer, and its results with what orders them; of a path, what else has the name.
function showPlan(answer) {
  const plan = answer.kind === "none" ? null : answer.plan, found = plan?.found ?? [];
  const why = answer.kind === "none" ? "" : answer.why.join("; ");
  at("how").textContent = why && `${plan ? "How: " : ""}${why}.`;
  const ordered = found.some((row) => row.key !== null);
  at("results-card").hidden = !(ordered || found.length > 3);
  const order = ordered ? orderOf(plan.plan) : null;
  at("key-name").textContent = order ? `${order.counts ? "number, by " : ""}${wordsOf(order.path.at(-1).replace(/^\^/, ""))}` : "";
  at("results").tBodies[0].replaceChildren(...found.slice(0, MAX_ROWS).map((row, place) => {
    const line = make("tr");
    line.append(make("td", `${place + 1}`), make("td", named(row)), make("td", row.key === null ? "" : valueOf(row, order, answer)));
    return line;
  }));
  const more = (plan?.total ?? 0) - Math.min(found.length, MAX_ROWS);
  at("results-more").textContent = more > 0 ? `and ${more.toLocaleString("en")} more` : "";
}

// What orders a row, as the graph writes it where that is among the facts shown, else the number.
function valueOf(row, order, answer) {
  if (!order || order.counts) return row.key.toLocaleString("en");
  const triples = answer.items.flatMap((item) => item.triples);
  const here = new Set([row.id, ...triples.filter((each) => each.head.id === row.id).map((each) => each.tail.id)]);
  const found = triples.find((each) => here.has(each.head.id) && each.relation === order.path.at(-1));
  return found ? named(found.tail) : row.key.toLocaleString("en");
}

// What orders the results of a plan, and whether it is counted: of the outermost part that does.
function orderOf(part) {
  const path = part.do === "rank" ? part.path ?? part.by : part.path;
  if (part.do === "best" || part.do === "rank" || part.do === "total") {
    const counts = Boolean(part.count || (part.do === "rank" && !part.path?.length));
    return { counts, path: counts && part.by ? part.by : path };
  }
  const inner = [part.of, part.left, part.right].map((each) => each && orderOf(each)).find(Boolean);
  return inner ?? null;
}

function showTopics(answer, given) {
  const place = at("about");
  place.replaceChildren();
  const starts = new Set(answer.items.map((item) => item.topic?.id).filter(Boolean));
  const plan = JSON.stringify(answer.plan?.plan ?? null);
  const taken = answer.topics.filter(({ id }) => starts.has(id) || given.includes(id) || plan.includes(JSON.stringify(id)));
  const about = taken.length ? taken : answer.topics.slice(0, 1);
  if (about.length) place.append("about");
  for (const topic of about) place.append(about.length > 1 && starts.size ? chooser(topic, "chip") : make("span", described(topic), "chip"));
  if (given.length) {
    place.append(press("let Lodestar choose", "rival", () => ask(answer.question)));
    return;
  }
  const over = (a, b) => a.span && b.span && a.span[0] < b.span[1] && b.span[0] < a.span[1];
  const rivals = answer.topics.filter((topic) => !about.includes(topic)
    && about.some((other) => over(topic, other) && topic.score >= CLOSE * other.score));
  for (const rival of rivals.slice(0, MAX_RIVALS)) place.append(chooser(rival, "rival"));

  function chooser(topic, name) {
    const text = name === "rival" ? `or ${described(topic)}?` : described(topic);
    const title = `Ask about ${described(topic)} alone, ${topic.id}`;
    return Object.assign(press(text, name, () => ask(answer.question, [topic.id])), { title });
  }
}

function showMeant(answer) {
  const place = at("meant");
  place.replaceChildren();
  const offered = answer.did_you_mean || [];
  place.hidden = !offered.length;
  if (offered.length) place.append("did you mean");
  for (const entity of offered) place.append(press(`${named(entity)}?`, "rival", () => ask(answer.question, [entity.id])));
}

function showPaths(answer) {
  const list = at("paths"), none = answer.kind === "none", number = answer.items.length;
  const paths = `${number} path${number === 1 ? "" : "s"}`;
  at("paths-card").hidden = !number;
  at("paths-card").open = !none;
  at("paths-name").textContent = none ? `What is nearest in the graph: ${paths}, none of which answers this` : "Paths";
  list.replaceChildren();
  const groups = new Map();
  answer.items.forEach((item, index) => {
    const line = pathLine(item, index + 1), key = likeness(item);
    list.append(line);
    if (groups.has(key)) {
      line.hidden = true;
      groups.get(key).push(line);
    } else groups.set(key, [line]);
  });
  for (const [first, ...others] of groups.values()) {
    if (!others.length) continue;
    const button = press(`${others.length} more like this`, "more", () => {
      const open = others[0].hidden;
      for (const line of others) line.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "fewer" : `${others.length} more like this`;
    });
    button.setAttribute("aria-expanded", "false");
    first.append(button);
    first.after(...others);
  }
}

// Equal for paths that a reader would take for one: over as many named things to the same ends, or facts of one relation.
function likeness(item) {
  if (item.kind === "triple") return item.triples[0].relation;
  const named = waysOf(item)[0]?.filter((step) => step.end.name !== null).length;
  return JSON.stringify([item.topic?.id, named, (item.ends ?? []).map((end) => end.id).sort()]);
}

function pathLine(item, rank) {
  const line = make("li");
  line.tabIndex = 0;
  line.dataset.rank = rank;
  const score = make("span", item.probability === null ? item.score.toFixed(3) : `${Math.round(item.probability * 100)} %`, "score");
  score.title = `${item.probability === null ? "" : "how likely it leads to a right answer; "}score ${item.score.toFixed(3)}`;
  const text = make("span", "", "text");
  for (const piece of item.text.split(/((?:—|←)\[[^\]]*\](?:→|—))/)) {
    text.append(/^(?:—|←)\[/.test(piece) ? make("span", piece, "relation") : piece);
  }
  line.append(make("span", `${rank}.`, "rank"), score, text);
  for (const event of ["mouseenter", "focus"]) line.addEventListener(event, () => mark([rank]));
  for (const event of ["mouseleave", "blur"]) line.addEventListener(event, () => mark([]));
  return line;
}

// Drawing: topics at the left, then the entities on the way, then the ends

const wordsOf = (relation) => (relation.includes("://")
  ? [relation.replace(/[/#]+$/, "").split(/[/#]/).pop()] : relation.split(/\||\.\//))
  .map((part) => part.split(/[./]/).filter(Boolean).slice(-2).join(" ").replaceAll("_", " "))
  .join(", ").replace(/([a-z])([A-Z])(?=[a-z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);

// Where there is little room: a label of the graph's own, else what the last part of the name says.
const shortOf = ({ relation, label }) => label === wordsOf(relation) ? wordsOf(relation.split(/[./]/).pop()) : label;

// The ways to the first ends of an item, each the shortest over its triples, as steps from its topic on.
function waysOf(item) {
  const from = new Map();
  for (const triple of item.triples) {
    for (const [start, end, inverse] of [[triple.head, triple.tail, false], [triple.tail, triple.head, true]]) {
      if (!from.has(start.id)) from.set(start.id, []);
      from.get(start.id).push({ start, end, inverse, relation: triple });
    }
  }
  const into = new Map([[(item.topic ?? item.triples[0].head).id, null]]);
  for (const id of into.keys()) {
    for (const step of from.get(id) ?? []) if (!into.has(step.end.id)) into.set(step.end.id, step);
  }
  return (item.ends ?? [item.triples[0].tail]).slice(0, MAX_ENDS).map((end) => {
    const way = [];
    for (let step = into.get(end.id); step; step = into.get(step.start.id)) way.unshift(step);
    return way;
  });
}

// An unnamed thing on the way is a part of the arrow between named ones.
function contract(way) {
  const steps = [];
  for (const step of way) {
    const last = steps.at(-1);
    if (last && last.end.name === null) Object.assign(last, { end: step.end, relations: [...last.relations, step.relation] });
    else steps.push({ ...step, relations: [step.relation] });
  }
  return steps;
}

// What is drawn: of the paths that the answers rest on those that lead to an answer that none before does; of facts the first.
function itemsToDraw(answer) {
  const ranked = answer.items.map((item, index) => ({ item, rank: index + 1 }));
  if (answer.items[0]?.kind === "triple") return ranked.slice(0, MAX_FACTS).map((each) => ({ ...each, ranks: [each.rank] }));
  const missing = new Set(answer.answers.map((each) => each.id)), rests = new Set(answer.answers.flatMap((each) => each.evidence));
  const leads = ({ item, rank }) => rests.has(rank) && (item.ends ?? []).filter((end) => missing.delete(end.id)).length;
  const leading = ranked.filter(leads);
  return (leading.length ? leading : ranked).slice(0, MAX_PATHS).map((each) => ({
    ...each, ranks: ranked.filter((other) => likeness(other.item) === likeness(each.item)).map((other) => other.rank),
  }));
}

// What is drawn as nodes and edges: a node has a column and a row, from 0, and the ranks of the paths that it is on.
function layout(answer) {
  const nodes = new Map(), edges = new Map(), leftOut = [];
  const starts = new Set(answer.items.map((item) => item.topic?.id).filter(Boolean));
  if (!starts.size) for (const topic of answer.topics) starts.add(topic.id);
  const found = answer.kind === "yes-no" ? [] : answer.plan?.found ?? [];
  const answering = new Set([...answer.answers, ...found].map((each) => each.id));
  const node = (entity) => {
    if (!nodes.has(entity.id)) nodes.set(entity.id, { entity, place: nodes.size, ranks: new Set(), next: new Set(), end: false });
    return nodes.get(entity.id);
  };
  for (const { item, rank, ranks } of itemsToDraw(answer)) {
    const ways = waysOf(item), more = (item.ends?.length ?? 1) - ways.length;
    if (more) leftOut.push(`path ${rank}: ${more} more end${more === 1 ? "" : "s"}`);
    for (const way of ways.map(contract)) {
      way.forEach(({ start, end, inverse, relations }, place) => {
        const source = node(start), target = node(end), key = JSON.stringify([start.id, end.id, inverse]);
        source.next.add(target);
        target.next.add(source);
        target.end ||= place === way.length - 1;
        if (!edges.has(key)) edges.set(key, { source: source.place, target: target.place, inverse, relations: new Set(), ranks: new Set() });
        const edge = edges.get(key);
        const words = relations[0].label;
        edge.relations.add(relations.length > 1 || words.length > 24 ? relations.map(shortOf).join(", ") : words);
        for (const each of [source, target, edge]) for (const one of ranks) each.ranks.add(one);
      });
    }
  }
  const all = [...nodes.values()];
  const columns = [all.filter((each) => starts.has(each.entity.id))];
  if (!columns[0].length) columns[0] = all.filter((each) => answering.has(each.entity.id));
  if (!columns[0].length) columns[0] = all.slice(0, 1);
  const placed = new Set(columns[0]);
  while (placed.size < all.length) {
    let next = [...new Set(columns.at(-1).flatMap((each) => [...each.next]))].filter((each) => !placed.has(each));
    if (!next.length) next = all.filter((each) => !placed.has(each)).slice(0, 1);
    for (const each of next) placed.add(each);
    columns.push(next);
  }
  const tallest = Math.max(0, ...columns.map((column) => column.length));
  columns.forEach((column, number) => { // each near the mean of what leads to it, none on another
    const before = (each) => [...each.next].filter((other) => other.column < number).map((other) => other.row);
    const mean = new Map(column.map((each) => [each, before(each).reduce((sum, row, _, all) => sum + row / all.length, 0)]));
    [...column].sort((a, b) => mean.get(a) - mean.get(b)).forEach((each, place) => {
      Object.assign(each, { column: number, row: (tallest - column.length) / 2 + place });
    });
  });
  const kind = ({ entity, end }) => entity.name === null ? "mediator" : answering.has(entity.id) ? "answer"
    : starts.has(entity.id) ? "topic" : end ? "end" : "inner";
  return {
    nodes: all.map((each) => ({ label: each.entity.name === null ? "…" : named(each.entity), kind: kind(each), column: each.column, row: each.row, ranks: [...each.ranks] })),
    edges: [...edges.values()].map((each) => ({ ...each, relations: [...each.relations], ranks: [...each.ranks] })),
    columns: columns.length, rows: tallest, leftOut,
  };
}

function draw(drawing) {
  picture?.destroy();
  picture = null;
  const any = Boolean(drawing.nodes.length);
  at("picture-card").hidden = !any;
  if (!any) return;
  at("no-picture").hidden = typeof cytoscape !== "undefined";
  at("scroll").hidden = at("legend").hidden = typeof cytoscape === "undefined";
  if (typeof cytoscape === "undefined") return;
  const kinds = new Set(drawing.nodes.map((node) => node.kind));
  for (const entry of at("legend").children) entry.hidden = !kinds.has(entry.className);
  const room = at("scroll").clientWidth - 2 * MARGIN - BOX;
  const upright = room < COLUMN && drawing.rows <= MAX_UPRIGHT;
  const column = drawing.columns > 1 ? Math.max(COLUMN, Math.min(COLUMN * 1.4, room / (drawing.columns - 1))) : COLUMN;
  const position = (node) => (upright ? placeUpright(node) : placeAcross(node, column));
  const [wide, high] = upright ? [BESIDE * (drawing.rows - 1), STEP * (drawing.columns - 1)] : [column * (drawing.columns - 1), ROW * (drawing.rows - 1)];
  const zoom = Math.max(MIN_ZOOM, Math.min(1, at("scroll").clientWidth / (2 * MARGIN + BOX + wide)));
  Object.assign(at("picture").style, { width: `${zoom * (2 * MARGIN + BOX + wide)}px`, height: `${zoom * (2 * TOP + BOX_HEIGHT + high)}px` });
  const elements = [
    ...drawing.nodes.map((node, place) => ({
      data: { id: `n${place}`, label: node.label, ranks: node.ranks },
      classes: node.kind,
      position: position(node),
    })),
    ...drawing.edges.map((edge, place) => {
      const words = edge.relations.slice(0, 2).map((word) => (word.length > 26 ? `${word.slice(0, 25)}…` : word)).join("\n");
      const into = drawing.edges.filter((other) => other.target === edge.target).length;
      const out = drawing.edges.filter((other) => other.source === edge.source).length;
      const more = edge.relations.length > 2 ? ` +${edge.relations.length - 2}` : "";
      return {
        data: {
          id: `e${place}`, source: `n${edge.source}`, target: `n${edge.target}`, label: words + more, ranks: edge.ranks,
          at: upright ? (STEP - BOX_HEIGHT) / 2 : LABEL_AT,
        },
        classes: `${edge.inverse ? "inverse" : "straight"} ${edge.ranks.includes(1) ? "best" : ""} ${into > out ? "fan-in" : "fan-out"}`,
      };
    }),
  ];
  picture = cytoscape({
    container: at("picture"), elements, style: styles(), layout: { name: "preset", fit: false }, zoom, pan: { x: 0, y: 0 },
    userZoomingEnabled: false, userPanningEnabled: false, boxSelectionEnabled: false, autoungrabify: true,
  });
  picture.on("mouseover", "node, edge", (event) => mark(event.target.data("ranks")));
  picture.on("mouseout", "node, edge", () => mark([]));
  picture.on("tap", "node, edge", (event) => mark(event.target.data("ranks")));
}

const placeAcross = (node, column) => ({ x: MARGIN + BOX / 2 + column * node.column, y: TOP + BOX_HEIGHT / 2 + ROW * node.row });
const placeUpright = (node) => ({ x: MARGIN + BOX / 2 + BESIDE * node.row, y: TOP + BOX_HEIGHT / 2 + STEP * node.column });

function styles() {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(`--${name}`).trim();
  const font = css.fontFamily;
  const kind = (name, line = `${name}-line`) => ({
    selector: `.${name}`, style: { "background-color": colour(name), "border-color": colour(line) },
  });
  return [
    { selector: "node", style: {
      shape: "round-rectangle", "corner-radius": BOX_HEIGHT / 2, width: BOX, height: BOX_HEIGHT, "border-width": 1.2, label: "data(label)", color: colour("ink"),
      "font-family": font, "font-size": 13, "text-valign": "center", "text-wrap": "ellipsis", "text-max-width": BOX - 18,
    } },
    kind("topic"), kind("answer"), kind("end"), kind("inner"),
    { selector: ".topic, .answer", style: { "font-weight": 600 } },
    { selector: ".mediator", style: {
      shape: "ellipse", width: 12, height: 12, label: "", "background-color": colour("mediator"), "border-width": 0 } },
    { selector: "edge", style: {
      width: 1.3, "line-color": colour("edge"), "curve-style": "bezier", "control-point-step-size": 44,
      "font-family": font, "font-size": 10.5, color: colour("dim"), "text-wrap": "wrap",
      "text-background-color": colour("card"), "text-background-opacity": 0.9, "text-background-padding": 2,
      "target-arrow-color": colour("edge"), "source-arrow-color": colour("edge"), "arrow-scale": 0.9,
    } },
    { selector: ".fan-out", style: { "target-label": "data(label)", "target-text-offset": "data(at)" } },
    { selector: ".fan-in", style: { "source-label": "data(label)", "source-text-offset": "data(at)" } },
    { selector: ".straight", style: { "target-arrow-shape": "triangle" } },
    { selector: ".inverse", style: { "source-arrow-shape": "triangle" } },
    { selector: ".best", style: {
      width: 2.4, "line-color": colour("best"), "target-arrow-color": colour("best"), "source-arrow-color": colour("best") } },
    { selector: "node.on", style: { "border-width": 3, "border-color": colour("on") } },
    { selector: "edge.on", style: {
      width: 3, "line-color": colour("on"), "target-arrow-color": colour("on"), "source-arrow-color": colour("on"), color: colour("ink"), "z-index": 9 } },
    { selector: ".off", style: { opacity: 0.25 } },
  ];
}

function mark(ranks) {
  const of = new Set(ranks);
  for (const line of at("paths").children) line.classList.toggle("on", of.has(Number(line.dataset.rank)));
  if (!picture) return;
  picture.batch(() => {
    picture.elements().removeClass("on off");
    if (!picture.elements().some((each) => each.data("ranks").some((rank) => of.has(rank)))) return;
    picture.elements().forEach((each) => {
      each.addClass(each.data("ranks").some((rank) => of.has(rank)) ? "on" : "off");
    });
  });
}

// The address

function remember(question, topics) {
  const url = new URL(location.href);
  url.searchParams.set("q", question);
  url.searchParams.delete("topic");
  for (const topic of topics) url.searchParams.append("topic", topic);
  if (url.href !== location.href) history.pushState(null, "", url);
}

function askAddress() {
  const said = new URL(location.href).searchParams;
  if (said.get("q")) ask(said.get("q"), said.getAll("topic"), false);
}

// The beginning

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = at("question").value.trim();
  if (question) ask(question);
});
at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value);
  at("token-form").hidden = true;
  begin();
  if (at("question").value.trim()) ask(at("question").value.trim());
});
at("browser").addEventListener("click", async () => {
  const place = at("browser-link");
  place.textContent = "writing the paths …";
  place.hidden = false;
  try {
    const found = await (await post("/v1/browser", { question: shown.question, topics: shown.given })).json();
    const link = anchor(found.link, "Open the paths in Neo4j Browser, log in, press Enter");
    place.replaceChildren(link);
    link.focus();
  } catch (error) {
    place.textContent = error.message;
  }
});
const copies = {
  "copy-text": () => [
    shown.question, at("answer").textContent, at("how").textContent || at("sure").textContent,
    ...shown.items.slice(0, MAX_COPIED).map((item, index) => `${index + 1}. ${item.text}`),
  ].join("\n"),
  "copy-link": () => location.href,
  "copy-json": () => JSON.stringify({ ...shown, given: undefined }, null, 2),
};
for (const [id, text] of Object.entries(copies)) at(id).addEventListener("click", async () => {
  const done = await navigator.clipboard?.writeText(text()).then(() => true, () => false);
  if (!done) copyByHand(text());
  at("copied").textContent = "copied";
});
// Where the page is not from this machine nor over TLS, the browser has no clipboard for it.
function copyByHand(text) {
  const area = make("textarea", text, "unseen");
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    at("question").select();
    at("question").focus();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => picture?.style(styles()));
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => shown && draw(layout(shown)), 150);
});
addEventListener("popstate", askAddress);

async function begin() {
  try {
    await describeGraph();
  } catch (error) {
    at("sizes").textContent = error.message || "the server does not answer";
    if (!at("start").hidden) say("");
  }
}

// The graph's name, size and kinds, and then questions made from it, which are asked first: that takes seconds.
async function describeGraph() {
  if (!at("start").hidden) say("looking at the graph …", true);
  const graph = await (await request("/v1/graph")).json();
  if (!at("start").hidden) say("trying questions …", true);
  at("graph").textContent = graph.name === "default" ? "Ask your graph" : `Ask ${graph.name}`;
  const count = (number, what) => `${number.toLocaleString("en")} ${what}`;
  at("sizes").textContent = [
    count(graph.num_triples, "facts"), count(graph.num_entities, "things"), count(graph.num_relations, "relations"),
  ].join(" · ");
  at("kinds").replaceChildren(...Object.entries(graph.kinds).map(([kind, number]) => {
    const chip = make("span", named({ name: kind }), "kind");
    if (number !== null) chip.append(make("b", ` ${number.toLocaleString("en")}`));
    return chip;
  }));
  const { questions } = await (await request("/v1/graph/questions")).json();
  if (!at("start").hidden) say("");
  at("tries-name").hidden = !questions.length;
  at("tries").replaceChildren(...questions.map(asLine));
}

function asLine(question) {
  const line = make("li");
  line.append(press(question, "", () => ask(question)));
  return line;
}

askAddress();
begin();
