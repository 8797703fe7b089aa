// The page of `nanocoder web`. The server escapes everything that comes from a conversation; fragments of HTML
// are its own, and its policy lets no script or style run that is not a file of this page.

const SAFE_MS = 400; // a question that appears under the pointer takes no click yet
const BARS = 30;
const SVG = "http://www.w3.org/2000/svg";

const find = (id) => document.getElementById(id);
const log = find("log");
const calls = new Map();
const turns = [];
let key = sessionStorage.getItem("key");
let lastEntry = "0";
let live = null;
let isWorking = false;
let follows = true; // until the person scrolls up

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// The conversation

function follow() {
  if (follows) log.scrollTop = log.scrollHeight;
}

function append(node) {
  log.append(node);
  follow();
  return node;
}

function endLive() {
  live?.remove();
  live = null;
}

function addPiece(kind, text) {
  const name = kind === "text" ? "answer live" : "thinking";
  if (live?.className !== name) live = append(element("div", { class: name }));
  live.append(text);
  follow();
}

function showCall(entry) {
  const next = fragment(entry.html).firstElementChild;
  const before = calls.get(entry.call);
  if (before) {
    next.open = before.open && !before.dataset.opened;
    before.replaceWith(next);
    follow();
  } else append(next);
  if (entry.call) calls.set(entry.call, next);
}

function showProgress(entry) {
  const call = calls.get(entry.call);
  if (!call) return;
  let output = call.querySelector(".progress");
  if (!output) {
    output = element("pre", { class: "progress" });
    call.append(output);
    call.open = true;
    call.dataset.opened = "by its output";
  }
  output.append(entry.text);
  output.scrollTop = output.scrollHeight;
  follow();
}

function showFinished(entry) {
  endLive();
  calls.clear();
  if (entry.text) append(element("p", { class: "note" }, entry.text));
  if (entry.files.length) append(element("p", { class: "changed" }, `Changed: ${entry.files.join(", ")}`));
}

// Questions to the person

function restoreFocus() {
  const next = find("questions").querySelector("h2");
  (next ?? find("prompt")).focus();
}

async function answer(card, name, values) {
  card.querySelector("h2").focus(); // a disabled button loses the keyboard to nowhere
  for (const control of card.querySelectorAll("button")) control.disabled = true;
  const problem = await post("/api/answer", { question: name, ...values });
  if (!problem) return;
  card.querySelector(".problem").textContent = problem;
  for (const control of card.querySelectorAll("button")) control.disabled = false;
}

function scopeChoice(entry) {
  const rules = entry.grants.join(", ");
  const scopes = { once: "just this once", always: entry.always };
  if (rules) {
    scopes.session = `${rules}, in this session`;
    scopes.project = `${rules}, in this folder from now on`;
    scopes.user = `${rules}, everywhere from now on`;
  }
  const options = Object.entries(scopes).filter(([, text]) => text);
  return element("select", { "aria-label": "What you approve" },
    ...options.map(([value, text]) => element("option", { value }, text)));
}

function approvalCard(entry) {
  const card = element("section", { class: "question", "aria-label": `Approve ${entry.tool}?` });
  const scope = scopeChoice(entry);
  const reason = element("input", { "aria-label": "Why not, for the model", placeholder: "Why not? The model reads it" });
  const draft = element("textarea", { rows: 8, "aria-label": "Arguments", spellcheck: "false", hidden: true });
  draft.value = entry.arguments;
  const send = (values) => answer(card, entry.question, { digest: entry.digest, actor: find("name").value, ...values });
  const approve = () => {
    const chosen = scope.value;
    send({
      approved: true,
      always: chosen === "always",
      scope: ["session", "project", "user"].includes(chosen) ? chosen : "",
      edited: draft.hidden || draft.value === entry.arguments ? null : draft.value,
    });
  };
  const edit = element("button", { type: "button", onclick: () => { draft.hidden = !draft.hidden; if (!draft.hidden) draft.focus(); } }, "Edit");
  card.append(
    element("h2", { tabindex: "-1" }, `Approve ${entry.tool}?`),
    element("p", { class: "facts" }, [entry.reason, ...entry.facts].filter(Boolean).join(" · ")),
    fragment(entry.html),
    draft,
    element("div", { class: "answers" },
      element("div", { class: "row" },
        element("button", { type: "button", class: "no", onclick: () => send({ approved: false, reason: reason.value }) }, "Refuse"),
        reason,
      ),
      element("div", { class: "row" },
        element("button", { type: "button", class: "yes", onclick: approve }, "Approve"),
        scope,
        edit,
      ),
    ),
    element("p", { class: "problem", role: "alert" }),
  );
  return card;
}

function questionCard(entry) {
  const card = element("section", { class: "question", "aria-label": "Question" });
  const text = element("input", { "aria-label": "Your answer", placeholder: "Your own words" });
  const send = (value) => answer(card, entry.question, { text: value });
  card.append(
    element("h2", { tabindex: "-1" }, entry.text),
    element("div", { class: "row" },
      ...entry.choices.map((choice) => element("button", { type: "button", onclick: () => send(choice) }, choice))),
  );
  if (entry.custom) {
    card.append(element("div", { class: "row" }, text,
      element("button", { type: "button", onclick: () => send(text.value) }, "Answer")));
  }
  card.append(element("p", { class: "problem", role: "alert" }));
  return card;
}

function showQuestion(entry) {
  const card = entry.is_approval ? approvalCard(entry) : questionCard(entry);
  card.dataset.question = entry.question;
  card.dataset.subject = entry.is_approval ? entry.tool : entry.text;
  const controls = [...card.querySelectorAll("button")];
  for (const control of controls) control.disabled = true;
  setTimeout(() => { for (const control of controls) control.disabled = false; }, SAFE_MS);
  find("questions").append(card);
  // Who is typing goes on typing: the status and the live region tell of the question.
  if (document.activeElement !== find("prompt") || !find("prompt").value) card.querySelector("h2").focus();
  showStatus();
}

function closeQuestion(entry) {
  const card = [...find("questions").children].find((each) => each.dataset.question === entry.question);
  if (!card) return;
  const hadFocus = card.contains(document.activeElement);
  card.remove();
  append(element("p", { class: "note" }, `${card.dataset.subject}: ${entry.outcome}`));
  if (hadFocus) restoreFocus();
  showStatus();
}

// The state, and the plots

function showStatus(text, name) {
  const waits = find("questions").children.length;
  const status = find("status");
  status.className = name ?? (waits ? "waiting" : isWorking ? "working" : "");
  status.textContent = text ?? (waits ? "Waiting for you" : isWorking ? "Working" : "Ready");
  document.title = `${waits ? "● " : ""}nanocoder`;
}

function showState(entry) {
  isWorking = entry.working;
  find("stop").hidden = !isWorking;
  find("send").textContent = isWorking ? "Send now" : "Send";
  find("cwd").textContent = entry.cwd;
  find("model").textContent = entry.model;
  const mode = find("mode");
  if (!mode.children.length) mode.append(...entry.modes.map((each) => element("option", { value: each }, each)));
  mode.value = entry.mode;
  showStatus();
}

function plot(svg, parts, unit) {
  const shown = turns.slice(-BARS);
  const most = Math.max(1e-9, ...shown.map((turn) => parts.reduce((sum, [name]) => sum + turn[name], 0)));
  svg.setAttribute("viewBox", "0 0 300 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-label", `${turns.length} turns; the most is ${unit(most)} in one turn`);
  svg.replaceChildren();
  const width = 300 / Math.max(shown.length, 10);
  shown.forEach((turn, place) => {
    let bottom = 98;
    for (const [name, kind] of parts) {
      const height = (turn[name] / most) * 84;
      const bar = document.createElementNS(SVG, "rect");
      const facts = { x: place * width + 1, y: bottom - height, width: width - 2, height, class: kind };
      for (const [fact, value] of Object.entries(facts)) bar.setAttribute(fact, value);
      const title = document.createElementNS(SVG, "title");
      title.textContent = `turn ${turn.number}: ${unit(turn[name])} ${kind}`;
      bar.append(title);
      svg.append(bar);
      bottom -= height;
    }
  });
  const label = document.createElementNS(SVG, "text");
  label.setAttribute("x", 3);
  label.setAttribute("y", 10);
  label.textContent = unit(most);
  svg.append(label);
}

const tokens = (count) => Math.round(count).toLocaleString("en");
const seconds = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} s`;

function showTurn(turn) {
  const fresh = Math.max(0, turn.input_tokens - turn.cached_tokens);
  turns.push({ ...turn, fresh });
  plot(find("tokens"), [["cached_tokens", "cached"], ["fresh", "input"], ["output_tokens", "output"]], tokens);
  plot(find("time"), [["model_s", "model"], ["tools_s", "tools"]], seconds);
  const cells = [turn.number, tokens(turn.cached_tokens), tokens(fresh), tokens(turn.output_tokens), seconds(turn.model_s), seconds(turn.tools_s)];
  find("turns").tBodies[0].append(element("tr", {}, ...cells.map((cell) => element("td", {}, String(cell)))));
}

const SHOW = {
  answer: (entry) => { endLive(); append(element("div", { class: "answer" }, fragment(entry.html))); },
  call: showCall,
  closed: closeQuestion,
  discarded: endLive,
  finished: showFinished,
  notice: (entry) => append(element("p", { class: "note" }, entry.text)),
  progress: showProgress,
  prompt: (entry) => append(element("div", { class: "prompt" }, entry.text)),
  question: showQuestion,
  state: showState,
  text: (entry) => addPiece("text", entry.text),
  thinking: (entry) => addPiece("thinking", entry.text),
  turn: showTurn,
};

// The server

function headers(more = {}) {
  return { Authorization: `Bearer ${key}`, ...more };
}

async function post(path, values) {
  try {
    const response = await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(values) });
    const data = await response.json();
    if (path === "/api/invite" && response.ok) showLink(data.token);
    return response.ok ? "" : data.error;
  } catch {
    return "nanocoder cannot be reached; is it still running in the terminal?";
  }
}

async function login(token) {
  const response = await fetch("/api/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
  const data = await response.json();
  if (!response.ok) return data.error;
  key = data.key;
  sessionStorage.setItem("key", key);
  return "";
}

function showLink(token) {
  const link = `${location.origin}/#${token}`;
  find("link").hidden = false;
  find("link").replaceChildren("This link works once, in another browser of this machine: ", element("code", {}, link));
}

function read(block) {
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("id: ")) lastEntry = line.slice(4);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (!data.length) return;
  const entry = JSON.parse(data.join("\n"));
  SHOW[entry.kind]?.(entry);
}

async function readEntries() {
  const response = await fetch("/api/entries", { headers: headers({ "Last-Event-ID": lastEntry }) });
  if (response.status === 401) return (await response.json()).error;
  if (!response.ok) throw new Error(response.statusText);
  showStatus();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return "";
    const blocks = (text + value).split(/\r?\n\r?\n/);
    text = blocks.pop();
    blocks.forEach(read);
  }
}

async function main() {
  const token = location.hash.slice(1);
  if (token && token !== "prompt") {
    history.replaceState(null, "", location.pathname);
    const problem = await login(token);
    if (problem && !key) return showStatus(problem, "lost");
  }
  for (;;) {
    let problem = "";
    try {
      problem = await readEntries();
    } catch {
      // The server is away; it may come back.
    }
    if (problem) return showStatus(problem, "lost");
    showStatus("Not connected: nanocoder has ended, or is busy", "lost");
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function submit(event) {
  event?.preventDefault();
  const prompt = find("prompt");
  const text = prompt.value;
  if (!text.trim()) return;
  const problem = await post("/api/prompt", { text });
  find("problem").textContent = problem;
  if (!problem && prompt.value === text) prompt.value = ""; // the next prompt may be typed already
}

find("name").value = sessionStorage.getItem("name") ?? "";
find("name").addEventListener("change", (event) => sessionStorage.setItem("name", event.target.value));
log.addEventListener("scroll", () => { follows = log.scrollHeight - log.scrollTop - log.clientHeight < 80; });
new ResizeObserver(follow).observe(log);
find("form").addEventListener("submit", submit);
find("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
});
find("stop").addEventListener("click", () => post("/api/stop", {}));
find("invite").addEventListener("click", () => post("/api/invite", {}));
find("mode").addEventListener("change", async (event) => {
  find("problem").textContent = await post("/api/mode", { mode: event.target.value });
});
main();
