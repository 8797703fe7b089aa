// The page of `nanocoder web`. The server escapes everything that comes from a conversation; fragments of HTML
// are its own, and its policy lets no script or style run that is not a file of this page.

const SAFE_MS = 400; // a question that appears under the pointer takes no click yet
const NEXT_CALLS = 5; // as the terminal proposes
const BARS = 30;
const BAR = /^\u2588+$/; // a bar made of signs, which a screen reader would spell out
const NUMBER = /^\s*[\d,.]+$/;
const SVG = "http://www.w3.org/2000/svg";

const find = (id) => document.getElementById(id);
const log = find("log");
const passing = find("passing");
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
  next.open = entry.is_open ?? false;
  if (before) {
    next.open ||= before.open && !before.dataset.opened;
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
  const changes = entry.files.length ? `Changed: ${entry.files.join(", ")}` : entry.unchanged && "No file was changed.";
  if (changes) append(element("p", { class: "changed" }, changes));
}

function showTable({ rows }) {
  const body = element("tbody", {});
  for (const [first, ...rest] of rows) {
    const cells = rest.map((cell) => element("td", { class: NUMBER.test(cell) && "number", "aria-hidden": BAR.test(cell) && "true" }, cell));
    body.append(element("tr", {}, element("th", { scope: "row" }, first), ...cells));
  }
  append(element("div", { class: "rows" }, element("table", {}, body)));
}

function showBlock(entry) {
  const title = entry.title ? [element("p", { class: "label" }, entry.title)] : [];
  append(element("div", { class: "block" }, ...title, fragment(entry.html)));
}

function showPassing(entry) {
  passing.hidden = !entry.text;
  passing.textContent = entry.text;
}

// Another session, or one that went back to an earlier prompt
function clear() {
  endLive();
  log.replaceChildren();
  calls.clear();
  turns.length = 0;
  find("turns").tBodies[0].replaceChildren();
  find("tokens").replaceChildren();
  find("time").replaceChildren();
  find("plots").className = "empty";
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
  const next = `for the next ${NEXT_CALLS} calls`;
  if (entry.is_for_tool) {
    scopes.session = `${rules} with any arguments, in this session`;
    scopes.next = `${rules} with any arguments, ${next}`;
  } else if (rules) {
    scopes.session = `${rules}, in this session`;
    scopes.next = `${rules}, ${next}`;
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
  const reason = element("input", { "aria-label": "Why not, for the model", placeholder: "Why not? For the model" });
  const draft = element("textarea", { rows: 8, "aria-label": "Arguments", spellcheck: "false", hidden: true });
  draft.value = entry.arguments;
  const send = (values) => answer(card, entry.question, { digest: entry.digest, actor: find("name").value, ...values });
  const approve = () => {
    const chosen = scope.value;
    send({
      approved: true,
      always: chosen === "always",
      scope: { next: "session", session: chosen, project: chosen, user: chosen }[chosen] ?? "",
      uses: chosen === "next" ? NEXT_CALLS : 0,
      edited: draft.hidden || draft.value === entry.arguments ? null : draft.value,
    });
  };
  const toggleDraft = () => {
    draft.hidden = !draft.hidden;
    scope.disabled = !draft.hidden; // an edited call is approved once
    scope.value = "once";
    if (draft.hidden) return;
    draft.focus();
    draft.scrollIntoView({ block: "nearest" }); // the buttons below it would hide its end
  };
  const edit = element("button", { type: "button", onclick: toggleDraft }, "Edit");
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
  svg.parentElement.hidden = most <= 1e-9; // a server may count no tokens
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
  find("plots").className = "";
  plot(find("tokens"), [["cached_tokens", "cached"], ["fresh", "input"], ["output_tokens", "output"]], tokens);
  plot(find("time"), [["model_s", "model"], ["tools_s", "tools"]], seconds);
  const cells = [turn.number, tokens(turn.cached_tokens), tokens(fresh), tokens(turn.output_tokens), seconds(turn.model_s), seconds(turn.tools_s)];
  find("turns").tBodies[0].append(element("tr", {}, ...cells.map((cell) => element("td", {}, String(cell)))));
}

const SHOW = {
  begin: (entry) => { if (!find("prompt").value) find("prompt").value = entry.text; },
  block: showBlock,
  cleared: clear,
  answer: (entry) => { endLive(); append(element("div", { class: "answer" }, fragment(entry.html))); },
  call: showCall,
  closed: closeQuestion,
  discarded: endLive,
  finished: showFinished,
  notice: (entry) => append(element("p", { class: entry.warns ? "note warning" : "note" }, entry.text)),
  passing: showPassing,
  progress: showProgress,
  prompt: (entry) => append(element("div", { class: "prompt" }, entry.text)),
  question: showQuestion,
  state: showState,
  table: showTable,
  text: (entry) => addPiece("text", entry.text),
  thinking: (entry) => addPiece("thinking", entry.text),
  turn: showTurn,
};

// The server

function headers(more = {}) {
  return { Authorization: `Bearer ${key}`, ...more };
}

async function request(path, values) {
  try {
    const response = await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(values) });
    return await response.json();
  } catch {
    return { error: "nanocoder cannot be reached; is it still running in the terminal?" };
  }
}

async function post(path, values) {
  const data = await request(path, values);
  if (data.token) showLink(data.token);
  return data.error ?? "";
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

// What was pasted: its author may be a stranger, so the server takes no name and no command from it.
let pasted = [];

function notePaste(event) {
  if (!/^insertFrom(Paste|Drop|Yank)/.test(event.inputType)) return;
  const text = event.data ?? event.dataTransfer?.getData("text/plain");
  if (text) pasted.push(text.replace(/\r\n?/g, "\n"));
}

async function submit(event) {
  event?.preventDefault();
  const prompt = find("prompt");
  const text = prompt.value;
  if (!text.trim()) return;
  suggestions.close();
  const problem = await post("/api/prompt", { text, pasted });
  find("problem").textContent = problem;
  if (problem || prompt.value !== text) return; // the next prompt may be typed already
  prompt.value = "";
  pasted = [];
}

// What completes the word before the cursor: a list above the prompt

const COMPLETES = /^\/[^\n]*$|(?:^|\s)@"?[^\s"]*$/;

class Suggestions {
  #field = find("prompt");
  #list = find("suggestions");
  #offered = [];
  #chosen = -1;
  #asked = 0;

  get isOpen() {
    return !this.#list.hidden;
  }

  async update() {
    const asked = ++this.#asked;
    const before = this.#field.value.slice(0, this.#field.selectionStart);
    if (this.#field.selectionStart !== this.#field.selectionEnd || !COMPLETES.test(before)) return this.close();
    const data = await request("/api/complete", { text: before });
    if (asked !== this.#asked) return; // more was typed meanwhile
    const offered = data.suggestions ?? [];
    // What is typed in full already needs no list, so that Enter and Tab keep their meaning.
    const isWhole = offered.length === 1 && before.endsWith(offered[0].text);
    this.#show(isWhole ? [] : offered);
  }

  close() {
    this.#asked++;
    this.#show([]);
  }

  press(event) {
    if (!this.isOpen || event.isComposing) return false;
    const { key } = event;
    if (key === "ArrowDown") this.#choose(this.#chosen + 1);
    else if (key === "ArrowUp") this.#choose(this.#chosen < 0 ? this.#offered.length - 1 : this.#chosen - 1);
    else if (key === "Escape") this.close();
    else if (key === "Tab" && !event.shiftKey) this.#take(Math.max(0, this.#chosen));
    else if (key === "Enter" && !event.shiftKey && this.#chosen >= 0) this.#take(this.#chosen);
    else return false;
    event.preventDefault();
    return true;
  }

  #show(offered) {
    this.#offered = offered;
    this.#list.hidden = !offered.length;
    this.#list.replaceChildren(...offered.map((each, place) => element("li", {
      id: `suggestion-${place}`,
      role: "option",
      "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); this.#take(place); }, // the prompt keeps the keyboard
    }, element("span", { class: "word" }, each.label), " ", element("span", { class: "meaning" }, each.meaning))));
    find("count").textContent = offered.length ? `${offered.length} suggestions; arrow keys choose, Tab takes one` : "";
    this.#choose(-1);
  }

  #choose(place) {
    const options = [...this.#list.children];
    this.#chosen = place >= options.length ? -1 : place;
    options.forEach((option, each) => option.setAttribute("aria-selected", String(each === this.#chosen)));
    const option = options[this.#chosen];
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.#field.setAttribute("aria-activedescendant", option.id);
    else this.#field.removeAttribute("aria-activedescendant");
  }

  #take(place) {
    const { text, length } = this.#offered[place];
    const end = this.#field.selectionStart;
    this.#field.setRangeText(text, end - length, end, "end");
    this.close();
    this.#field.focus();
  }
}

const suggestions = new Suggestions();

find("name").value = sessionStorage.getItem("name") ?? "";
find("name").addEventListener("change", (event) => sessionStorage.setItem("name", event.target.value));
let lastTop = 0;
log.addEventListener("scroll", () => {
  // What grows below moves the end away, too; only the person scrolls up.
  if (log.scrollHeight - log.scrollTop - log.clientHeight < 80) follows = true;
  else if (log.scrollTop < lastTop) follows = false;
  lastTop = log.scrollTop;
});
new ResizeObserver(follow).observe(log);
find("form").addEventListener("submit", submit);
find("prompt").addEventListener("beforeinput", notePaste);
find("prompt").addEventListener("input", () => suggestions.update());
find("prompt").addEventListener("blur", () => suggestions.close());
find("prompt").addEventListener("keydown", (event) => {
  if (suggestions.press(event)) return;
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
});
find("stop").addEventListener("click", () => post("/api/stop", {}));
find("invite").addEventListener("click", () => post("/api/invite", {}));
find("mode").addEventListener("change", async (event) => {
  find("problem").textContent = await post("/api/mode", { mode: event.target.value });
});
main();
