// One entry as a card: who said it, its text, and what else it holds. All of it goes in as text.

import { counted, messageOf, visible } from "../domain/message.js";
import { toConversation } from "../domain/route.js";
import { authorOf, longTime, shortTime, usageText } from "../domain/words.js";
import { button, fill, h } from "../dom.js";

const TEXT_FIRST = 20_000; // characters that are shown at once
const TEXT_MORE = 200_000;
const ROLES = { user: "User", ai: "AI", system: "System", tool: "Tool", other: "Entry" };
const LINK = /\bhttps?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]]/g;

/** Return a time, short, and long on hover. @param {string} time */
export const timeOf = (time) =>
	h("time", { datetime: time, title: longTime(time), class: "dim" }, shortTime(time));

/** Return the card of an entry. @type {EntryCard} */
export function entryCard(app, entry, { isPlain = false } = {}) {
	const { role, text, attachments, events, rest } = messageOf(entry);
	const time = timeOf(entry.createdAt);
	const href = toConversation(app.place?.conversationId ?? entry.conversationId, entry.id);
	const author = authorOf(entry);
	const header = h(
		"header",
		{},
		h("b", {}, ROLES[role]),
		h("span.author", { dir: "auto" }, author),
		isPlain ? time : h("a", { href }, time),
		h("span.dim", {}, usageText(entry.usage)),
	);
	const said = h(
		"div",
		{ class: `entry ${role}` },
		header,
		text && textOf(text),
		attachments.map(attachment),
		events.length > 0 && folded(counted(events.length, "event"), events),
		rest !== undefined && folded(role === "other" ? visible(entry.contentType) : "More fields", rest),
		originOf(entry),
	);
	return h("article.turn", { "aria-label": `${ROLES[role]}, ${author}` }, said);
}

/** @param {Entry} entry */
function originOf({ key, ...entry }) {
	const { mergedFromConversationId: merged, copiedFromConversationId: copied } = entry;
	if (!merged && !copied && !key) return null;
	return h(
		"p.row-actions.dim",
		{},
		merged && h("a", { href: toConversation(merged, entry.mergedUpToEntryId) }, "Sums up another branch"),
		copied && h("a", { href: toConversation(copied, entry.copiedFromEntryId) }, "Copied from another branch"),
		key && h("span", {}, `key ${visible(key)}`),
	);
}

/** @param {string} text */
function textOf(text) {
	const shown = h("div.text", { dir: "auto" });
	if (text.length <= TEXT_FIRST) fill(shown, blocks(visible(text)));
	else showPart(shown, text, 0, TEXT_FIRST);
	return shown;
}

/** Show a part of a long text as it is, and a button for more. @type {ShowPart} */
function showPart(shown, text, from, length) {
	const end = from + length;
	shown.append(h("p", {}, visible(text.slice(from, end))));
	if (end >= text.length) return;
	const more = button(`Show more: ${counted(text.length - end, "character")} left`, () => {
		more.remove();
		showPart(shown, text, end, TEXT_MORE);
	});
	shown.append(more);
}

/** Return a text in parts: what stands between two fences is a block of code. @param {string} text */
function blocks(text) {
	const parts = text.split(/^```(.*)$/m); // text, the words after ```, text, …
	/** @type {Child[]} */
	const found = [];
	for (let at = 0; at < parts.length; at += 4) {
		const [words, code, closed] = parts.slice(at + 1, at + 4);
		found.push(...linked(parts[at]));
		if (closed !== undefined) {
			const label = ["Code", words.trim()].filter(Boolean).join(", ");
			const block = h("code", {}, code.replace(/^\n|\n$/g, ""));
			found.push(h("pre", { tabindex: 0, "aria-label": label }, block), closed);
		} else if (code !== undefined) found.push(`\`\`\`${words}${code}`);
	}
	return found;
}

/** Return a text with its web addresses as links. @param {string} text */
function linked(text) {
	/** @type {Child[]} */
	const found = [];
	let at = 0;
	for (const { 0: address, index } of text.matchAll(LINK)) {
		found.push(text.slice(at, index), outside(address, address));
		at = index + address.length;
	}
	return [...found, text.slice(at)];
}

/** Return a link that leaves the page. Only web addresses become links. @param {string} href @param {string} label */
const outside = (href, label) =>
	/^https?:\/\//i.test(href)
		? h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, visible(label))
		: h("span", {}, visible(label));

/** @param {Record<string, unknown>} attachment */
function attachment({ href, name, contentType, attachmentId, ...rest }) {
	const label = [name, contentType, attachmentId].filter((one) => typeof one === "string").join(" · ");
	const isLink = typeof href === "string";
	return h(
		"p",
		{},
		"Attachment: ",
		isLink ? [outside(href, label || href), " ", visible(href.slice(0, 200))] : visible(label),
		Object.keys(rest).length > 0 && folded("More fields", rest),
	);
}

/** Return a value as JSON that is folded until one opens it. @param {Child} label @param {unknown} value */
export function folded(label, value) {
	const shown = h("div.json");
	const ontoggle = () => {
		if (!shown.hasChildNodes()) showPart(shown, JSON.stringify(value, null, 2), 0, TEXT_FIRST);
	};
	return h("details", { ontoggle }, h("summary", {}, label), shown);
}
