// Where one writes. The tab keeps a text until it arrives. Sent again under the same key, it takes effect once.

import { button, fill, h } from "../dom.js";
import { apiOf } from "../service/api.js";
import { isAborted, newKey, parse, Problem } from "../service/http.js";
import { aside, problemText } from "./problem.js";

/**
 * Return a box for a text, with a button that sends it. For one place it is one box, also after one was elsewhere.
 * While a text may have arrived, it cannot be changed: it can be sent again, or given up.
 * @type {BoxOf}
 */
export function boxOf(app, at, { label, first = "", send, letterOf, sent, cancel, more }) {
	const known = app.boxes.get(at);
	if (known) return Object.assign(known, { sent });
	/** What may have arrived. @type {Letter | null} */
	let held = null;
	let request = new AbortController();
	const text = h("textarea", {
		rows: 2,
		"aria-label": label,
		placeholder: label,
		dir: "auto",
		onkeydown: press,
		oninput: save,
	});
	const told = h("div", { role: "alert" });
	const sender = button(send, deliver, { class: "primary" });
	const drop = button("Give up", () => free(text.value), { hidden: true });
	const actions = h("div.row-actions", {}, more, drop, cancel && button("Cancel", cancel), sender);
	const box = { element: h("div.box", {}, told, text, actions), text, sent, free, end };
	app.boxes.set(at, box);
	const kept = parse(sessionStorage.getItem(at) ?? "null") ?? { text: first };
	text.value = kept.text;
	if (kept.letter) hold(kept.letter, "This message may not have arrived. Sent again, it takes effect once.");
	return box;

	/** @param {KeyboardEvent} event */
	function press(event) {
		if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		sender.click();
	}

	async function deliver() {
		if (!held && !text.value.trim()) return;
		const letter = held ?? { key: newKey(), ...letterOf(text.value) };
		request = new AbortController();
		hold(letter, "Sending…");
		save();
		try {
			const api = apiOf(app.http, request.signal);
			const entry = await api.appendEntry(letter.id, letter.body, letter.key);
			if (held === letter) free("");
			box.sent(entry);
		} catch (error) {
			if (isAborted(error)) return;
			// After a lost answer, 401 does not say that nothing arrived.
			if (error instanceof Problem && !error.isLost && error.status !== 401) free(text.value);
			fill(told, problemText(error));
			if (!text.checkVisibility()) app.fail(error);
		}
	}

	/** Hold a letter that may have arrived. @param {Letter} letter @param {string} words */
	function hold(letter, words) {
		held = letter;
		text.readOnly = true;
		sender.textContent = "Send again";
		drop.hidden = false;
		fill(told, aside(words));
	}

	/** @param {string} value */
	function free(value) {
		request.abort();
		held = null;
		text.value = value;
		save();
		text.readOnly = false;
		sender.textContent = send;
		drop.hidden = true;
		fill(told);
	}

	function save() {
		sessionStorage.removeItem(at);
		try {
			if (text.value) sessionStorage.setItem(at, JSON.stringify({ letter: held, text: text.value }));
		} catch {
			// a text that is too long for the tab's store is in the box alone
		}
	}

	function end() {
		request.abort();
		app.boxes.delete(at);
		text.readOnly = true;
		fill(told);
		actions.remove();
		if (!text.value) box.element.remove();
	}
}

/** Return the box under a conversation. @type {ComposerOf} */
export function composerOf(app, id, sent) {
	const roles = ["USER", "AI", "SYSTEM"].map((one) => h("option", {}, one));
	const role = h("select", { "aria-label": "Role" }, roles);
	return boxOf(app, app.keptAt + id, {
		label: "Write a message. Enter sends it, Shift+Enter is a new line.",
		send: "Send",
		more: role,
		letterOf: (text) => {
			const content = [{ role: role.value, text }];
			return { id, body: { channel: "history", contentType: "history", content } };
		},
		sent,
	}).element;
}
