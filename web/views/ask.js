// Dialogs: one that asks before a deed, and the frame of all dialogs. And what several views draw of a branch.

import { clipped, visible } from "../domain/message.js";
import { toConversation } from "../domain/route.js";
import { titleOf } from "../domain/words.js";
import { button, fill, h } from "../dom.js";
import { apiOf } from "../service/api.js";
import { isAborted, newKey, Problem } from "../service/http.js";
import { problemText } from "./problem.js";

/** Open a modal dialog. It closes when the person goes elsewhere or leaves. @type {OpenDialog} */
export function openDialog(app, title, ...content) {
	const closing = new AbortController();
	const { signal } = closing;
	const opener = document.activeElement?.id ?? "";
	// All at once, and not when "close" comes: a key that is pressed before that would be for the closed dialog.
	const close = () => {
		if (signal.aborted) return;
		closing.abort();
		dialog.close();
		dialog.remove();
		document.getElementById(opener)?.focus(); // it may have been drawn anew meanwhile
	};
	const heading = h("h2", { dir: "auto" }, title);
	const dialog = h("dialog.ask", { "aria-label": title, oncancel: close, onclose: close }, heading, content);
	app.signal.addEventListener("abort", close, { signal });
	addEventListener("hashchange", close, { signal });
	document.body.append(dialog);
	dialog.showModal();
	return { signal, api: apiOf(app.http, signal), close };
}

/** Tell whether a dialog is open. */
export const isAsking = () => document.querySelector("dialog") !== null;

/** Ask before a deed, do it, and tell what was done. @type {Ask} */
export function ask(app, deed) {
	const { explain, fields = [], check, run, next, kind = "primary" } = deed;
	const say = deed.say ?? ((sentence) => app.say(sentence));
	const controls = fields.map(controlOf);
	const explained = h("div", { "aria-live": "polite" });
	const wrong = h("div.danger", { role: "alert" });
	const progress = h("p.dim", { role: "status" });
	/** @type {Map<string, string>} by the values that were sent */
	const keys = new Map();
	/** @type {PromiseWithResolvers<any>} */
	const { promise, resolve } = Promise.withResolvers();

	const valuesOf = () => /** @type {Values} */ (Object.fromEntries(new FormData(form)));

	const show = () => {
		for (const { field, input, row } of controls)
			row.hidden = input.disabled = field.isShown?.(valuesOf()) === false;
		const sentences = (typeof explain === "function" ? explain(valuesOf()) : explain).filter(Boolean);
		const paragraphs = sentences.map((sentence) => p(sentence));
		if (sentences.join("") !== explained.textContent) fill(explained, paragraphs);
		if (!confirm.ariaBusy) fill(wrong);
	};

	const perform = async () => {
		if (!form.checkValidity()) return; // the browser says what is missing
		const values = valuesOf();
		const sentence = check?.(values);
		fill(wrong, sentence);
		if (sentence) return;
		const sent = JSON.stringify(values);
		const key = keys.get(sent) ?? newKey();
		keys.set(sent, key);
		let result;
		try {
			result = await run(values, frame.api, key, (text) => fill(progress, text));
		} catch (error) {
			fill(progress);
			const isLost = error instanceof Problem && error.isLost;
			const again = isLost && "It may have been done. Press again: it is not done twice.";
			if (!frame.signal.aborted) return fill(wrong, problemText(error), again);
			if (isAborted(error)) say("You stopped waiting for the answer. It may have been done.");
			app.fail(error);
			return app.reload();
		}
		resolve(result);
		frame.close();
		if (next && next !== location.hash) {
			addEventListener("hashchange", () => void app.reload(), { once: true, signal: app.signal });
			app.go(next);
		} else void app.reload();
		if (deed.told) say(deed.told(result, values));
	};

	const cancel = button("Cancel", () => frame.close());
	const confirm = button(deed.confirm, perform, { type: "submit", class: kind });
	const form = h("form", { oninput: show }, explained);
	form.append(...controls.map(({ row }) => row), wrong, progress, actions(cancel, confirm));
	form.addEventListener("submit", (event) => event.preventDefault());
	show();
	const frame = openDialog(app, deed.title, form);
	frame.signal.addEventListener("abort", () => resolve(null));
	return promise;
}

/** @param {Field} field */
function controlOf(field) {
	const { name, label, tag = "input", type, value, options = [], required, maxlength } = field;
	const made = options.map(([key, text = key]) => h("option", { value: key }, text));
	const manners = { dir: "auto", autocomplete: "off", autocapitalize: "none" };
	const input = h(tag, { name, type, required, maxlength, ...manners }, made);
	if (value) input.value = value;
	return { field, input, row: h("label.field", {}, label, input) };
}

/** @type {Wrap} */
export const p = (...children) => h("p", {}, ...children);

/** @type {Wrap} */
export const actions = (...buttons) => h("div.row-actions", {}, ...buttons);

/** Replace what an element holds, but keep the focus on the control with the same id. @type {typeof fill} */
export function refill(element, ...children) {
	const focused = element.querySelector(":focus");
	fill(element, ...children);
	if (focused) document.getElementById(focused.id)?.focus({ preventScroll: true });
}

/** Return text of others, kept apart from what stands around it. @param {string} text */
export const bdi = (text) => h("bdi", {}, visible(text));

/** @type {(title: string | null | undefined, id: string, entryId?: string) => Element} */
export const link = (title, id, entryId) =>
	h("a", { href: toConversation(id, entryId) }, bdi(titleOf(title)));

/** Return text of others for the middle of a sentence. @param {string} text */
export const isolated = (text) => `\u2068${visible(text)}\u2069`;

/** @param {string | null} [title] */
export const quoted = (title) => `“${isolated(clipped(titleOf(title), 80))}”`;

/** Ask, and make a branch the current one. @param {App} app @param {Grove} grove @param {string} id */
export function askPromote(app, { forks, current }, id) {
	const title = quoted(forks.get(id)?.title);
	const place = current ? `, in place of ${quoted(current.title)}` : "";
	return ask(app, {
		title: `Make ${title} the current branch?`,
		explain: [`It becomes the branch that opens first for everybody${place}. Nothing else changes.`],
		confirm: "Make it current",
		run: (_, api, key) => api.promoteConversation(id, key),
		told: () => `${title} is the current branch.`,
	});
}
