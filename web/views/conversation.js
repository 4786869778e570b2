// The open conversation: its entries from the end, older ones as one scrolls up, and what one can do at each.

import { counted, isObject, isWordsAlone, messageOf } from "../domain/message.js";
import { toConversation } from "../domain/route.js";
import { isAtLeast } from "../domain/rules.js";
import { button, fill, h } from "../dom.js";
import { newKey } from "../service/http.js";
import { boxOf, composerOf } from "./composer.js";
import { entryCard } from "./entry.js";
import { aside, retry } from "./problem.js";

const NEAR_PX = 600; // so near to an edge more is loaded
const AT_END_PX = 60;

/** Show a conversation whose loading begins, until one goes elsewhere. @type {ShowConversation} */
export function showConversation(app, panel, place) {
	const { conversationId, opened, grove, signal, api } = place;
	/** @type {Map<string, Card>} */
	let shown = new Map();
	let hasBegun = false;
	let wasAtEnd = true;
	let lastTop = 0;

	const edges = { older: h("div.edge", {}, aside("Loading…")), newer: h("div.edge") };
	const cards = h("div", { role: "feed", "aria-label": "Messages" });
	const atEnd = h("div.switcher");
	const parts = [edges.older, cards, atEnd, edges.newer];
	const scroller = h("div.scroller", { tabindex: 0, onscroll: scrolled }, parts);
	const toEnd = button("↓ New messages", scrollToEnd, { class: "to-end", hidden: true });
	fill(panel, scroller, toEnd);
	const resized = new ResizeObserver(() => wasAtEnd && scrollToEnd());
	resized.observe(scroller);
	signal.addEventListener("abort", () => resized.disconnect());
	opened.addEventListener("change", draw, { signal });
	grove.addEventListener("change", () => keepPlace(drawSwitchers), { signal });
	return { goTo, end };

	/** Show the entry, or the end. @param {string} [entryId] */
	function goTo(entryId) {
		for (const { entry, element } of shown.values()) element.classList.toggle("chosen", entry.id === entryId);
		const card = shown.get(entryId ?? "");
		if (!card) return scrollToEnd();
		wasAtEnd = false;
		card.element.scrollIntoView({ block: "center" });
		scrolled();
	}

	/** Say that the conversation cannot be shown. @param {Element} words */
	function end(words) {
		fill(edges.older);
		fill(edges.newer, h("div", { role: "status" }, words));
		for (const box of app.boxes.values()) if (panel.contains(box.element)) box.end();
	}

	function draw() {
		const { entries, has, isLoaded } = opened;
		const last = cards.lastElementChild;
		keepPlace(() => {
			shown = new Map(entries.map((entry) => [entry.id, cardOf(entry)]));
			arrange([...shown.values()].map(({ element }) => element));
			const beginning = entries.length ? "The beginning" : "No messages yet";
			drawEdge("older", isLoaded ? beginning : "Loading…");
			drawEdge("newer", "");
			drawSwitchers();
			if (isLoaded && !hasBegun) begin();
		});
		const isNew = last && last !== cards.lastElementChild && last.parentNode && !has.newer;
		if (isNew && !wasAtEnd) toEnd.hidden = false;
		requestAnimationFrame(scrolled);
	}

	function begin() {
		hasBegun = true;
		if (!isAtLeast(opened.conversation.accessLevel, "writer")) return;
		const sent = (/** @type {Entry} */ entry) => {
			grove.addEntries([entry]);
			void app.list.load(); // it shows what was said last
			wasAtEnd = true;
			if (opened.has.newer && !signal.aborted) app.go(toConversation(conversationId));
			else opened.add(entry);
		};
		panel.append(composerOf(app, conversationId, sent));
	}

	/** Put the elements in their order; those that are in place stay untouched. @param {HTMLElement[]} elements */
	function arrange(elements) {
		const { children } = cards;
		elements.forEach((element, index) => {
			if (children[index] !== element) cards.insertBefore(element, children[index] ?? null);
		});
		while (children.length > elements.length) children[elements.length].remove();
	}

	/** @param {Entry} entry @returns {Card} */
	function cardOf(entry) {
		const known = shown.get(entry.id);
		if (known) return Object.assign(known, { entry });
		const switcher = h("div.switcher");
		const element = entryCard(app, entry);
		element.prepend(switcher);
		element.append(actionsOf(entry, element));
		const at = editedAt(entry);
		if (app.boxes.has(at) || at in sessionStorage) edit(entry, element);
		return { entry, element, switcher };
	}

	/** @type {AtCard<Element>} */
	function actionsOf(entry, element) {
		const { role } = messageOf(entry);
		const mayWrite = isAtLeast(opened.conversation?.accessLevel ?? "reader", "writer");
		/** @type {Action} */
		const action = (words, title, press) => mayWrite && button(words, press, { title });
		return h(
			"div.row-actions",
			{},
			isWordsAlone(entry) &&
				action("Edit", "Edit and send again, in a new branch", () => edit(entry, element).focus()),
			role === "ai" &&
				action("Try again", "A new branch without this answer", (event) => fork(entry, "before", event)),
			action("Fork here", "A new branch after this message", (event) => fork(entry, "after", event)),
			button("Copy link", () => copyLink(entry)),
		);
	}

	/** Begin a branch. One that waits for another answer becomes the current branch. @type {BeginFork} */
	async function fork({ id, parentId }, position, { detail }) {
		if (detail > 1) return; // the second press of a double click is not for the new branch
		const deed = conversationId + position + id;
		const key = app.keys.get(deed) ?? newKey();
		app.keys.set(deed, key);
		const isBefore = position === "before";
		try {
			const body = { atEntryId: id, position, promote: isBefore };
			const { id: forkId, ...made } = await app.api.forkConversation(conversationId, body, key);
			app.keys.delete(deed);
			const lastEntryId = isBefore ? parentId : id;
			if (!signal.aborted) app.openFork({ ...made, conversationId: forkId, lastEntryId });
			app.say(`This new branch ${isBefore ? "waits for another answer" : "goes on from here"}.`);
		} catch (error) {
			app.fail(error);
		}
	}

	/** @param {Entry} entry */
	async function copyLink({ id }) {
		const hash = toConversation(conversationId, id);
		try {
			await navigator.clipboard.writeText(new URL(hash, location.href).href);
			app.say("The link is copied.");
		} catch {
			app.go(hash);
			app.say("The browser does not allow copying: the link is in the address line.");
		}
	}

	/** Where the tab keeps an entry in other words. @param {Entry} entry */
	function editedAt({ id }) {
		return `${app.keptAt}${conversationId}:${id}`;
	}

	/** @type {AtCard<HTMLElement>} */
	function edit(entry, element) {
		const { channel, contentType, content } = entry;
		const at = editedAt(entry);
		const from = { forkedAtConversationId: conversationId, forkedAtEntryId: entry.id };
		const first = isObject(content[0]) ? content[0] : {};
		const cancel = () => {
			box.free("");
			box.element.parentElement?.classList.remove("edited");
			box.element.remove();
			app.boxes.delete(at);
		};
		const box = boxOf(app, at, {
			label: "The message in other words",
			first: messageOf(entry).text,
			send: "Send in a new branch",
			letterOf: (text) => {
				const { title } = opened.conversation;
				const body = { channel, contentType, content: [{ ...first, text }], title, ...from, promote: true };
				return { id: newKey(), body };
			},
			sent: (made) => {
				cancel();
				if (signal.aborted) return; // it comes with the next news
				const { id: lastEntryId, conversationId, createdAt } = made;
				const { title } = opened.conversation;
				const point = { ...from, forkedAtPosition: /** @type {Position} */ ("before") };
				grove.addEntries([made]);
				app.openFork(
					{ conversationId, title, ...point, lastEntryId, createdAt, isCurrent: true },
					lastEntryId,
				);
			},
			cancel,
		});
		element.classList.add("edited");
		element.append(box.element);
		return box.text;
	}

	/** @param {Side} side @param {string} beyond what is said where there is no more */
	function drawEdge(side, beyond) {
		const failed = opened.failed[side];
		const words = opened.has[side] ? `Loading ${side} messages…` : beyond;
		fill(edges[side], failed ? retry(failed, () => opened.again(side)) : aside(words));
	}

	function drawSwitchers() {
		const { entries, alternativesAtEnd, has } = opened;
		entries.forEach((entry, index) => {
			const slot = shown.get(entry.id)?.switcher;
			if (slot) drawSwitcher(slot, entry.alternatives ?? [], entry.conversationId, index);
		});
		// One that ends with an entry of its own is no alternative to the branches that go on from there.
		const own = entries.at(-1)?.conversationId === conversationId ? "" : conversationId;
		drawSwitcher(atEnd, has.newer ? [] : alternativesAtEnd, own, entries.length);
	}

	/** Draw ‹ 2 / 3 › at a place, if others go on differently from there. @type {DrawSwitcher} */
	function drawSwitcher(slot, others, own, index) {
		const { forks, hasForks } = grove;
		const drawn = others.length && hasForks ? [...others, own].join() : "";
		if (slot.dataset.drawn === drawn) return;
		slot.dataset.drawn = drawn;
		slot.role = drawn ? "group" : null;
		slot.ariaLabel = null;
		if (!drawn) return fill(slot);
		/** @param {string} id */
		const madeAt = (id) => (forks.get(id)?.createdAt ?? "") + id;
		const all = [...new Set([...others, own])].filter(Boolean);
		all.sort((one, other) => (madeAt(one) < madeAt(other) ? -1 : 1));
		const at = all.indexOf(own);
		/** @type {(id: string, label: string, sign: string) => Element} */
		const to = (id, label, sign) =>
			button(sign, () => openOther(id, index), { "aria-label": `${label} alternative`, disabled: !id });
		const count = h("span", {}, `${at < 0 ? "–" : at + 1} / ${all.length}`);
		fill(slot, to(all[at - 1], "Earlier", "‹"), count, to(all[at + 1], "Later", "›"));
		const branches = `${counted(all.length, "branch", "branches")} from here`;
		slot.ariaLabel = at < 0 ? branches : `Alternative ${at + 1} of ${all.length}`;
	}

	/** Open another conversation at the place before the entry with this index. @param {string} id @param {number} index */
	async function openOther(id, index) {
		try {
			const { entries } = opened;
			const afterCursor = index < entries.length ? entries[index].parentId : entries.at(-1)?.id;
			const page = await api.listEntries(id, { channel: "history", afterCursor, limit: 1 });
			app.go(toConversation(id, page.data[0]?.id));
		} catch (error) {
			app.fail(error);
		}
	}

	/** Draw, and stay at the end, or keep what is seen in its place. @param {() => void} redraw */
	function keepPlace(redraw) {
		const anchor = firstSeen();
		redraw();
		if (wasAtEnd && !opened.has.newer) scrollToEnd();
		else if (anchor) scroller.scrollTop += anchor.element.offsetTop - anchor.top;
	}

	/** The first element that can be seen, and where it is. */
	function firstSeen() {
		for (const { element } of shown.values()) {
			const top = element.offsetTop;
			if (top + element.offsetHeight > scroller.scrollTop) return { element, top };
		}
		return null;
	}

	function scrollToEnd() {
		scroller.scrollTop = scroller.scrollHeight;
		wasAtEnd = true;
		toEnd.hidden = true;
	}

	function scrolled() {
		const { scrollTop, scrollHeight, clientHeight } = scroller;
		if (!opened.isLoaded || !clientHeight) return;
		const below = scrollHeight - clientHeight - scrollTop;
		const isAtEnd = below < AT_END_PX && !opened.has.newer;
		// A head that grows moves the end out of view, too: only who scrolls up leaves it.
		if (isAtEnd || scrollTop < lastTop) wasAtEnd = isAtEnd;
		lastTop = scrollTop;
		if (wasAtEnd) toEnd.hidden = true;
		if (scrollTop < NEAR_PX) void opened.loadMore("older");
		if (below < NEAR_PX) void opened.loadMore("newer");
	}
}
