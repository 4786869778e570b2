// What an entry says: its role, its text, and what else it holds. Pure.

// Control characters but for tabs and line ends, and all that changes the direction of text.
const HIDDEN = /(?![\t\n\r])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isObject = (value) =>
	typeof value === "object" && value !== null && !Array.isArray(value) && !Object.isFrozen(value); // JSON.rawJSON is

/** Return a number to count with. @param {any} value may be JSON.rawJSON */
export const numberOf = (value) => Number(value?.rawJSON ?? value);

/**
 * Return what an entry says. An entry that is no message has the role "other" and its content as `rest`.
 * An entry whose author was erased says so and no more.
 * @param {Pick<Entry, "channel" | "contentType" | "content" | "erased">} entry
 * @returns {Message}
 */
export function messageOf({ channel, contentType, content, erased }) {
	if (erased) return { role: "other", text: "[erased]", events: [], attachments: [], rest: undefined };
	const first = content[0];
	const isMessage = channel === "history" && /^history(\/|$)/i.test(contentType);
	if (!isMessage || content.length !== 1 || !isObject(first)) {
		return { role: "other", text: "", events: [], attachments: [], rest: content };
	}
	const { role: named, text, events, attachments, ...rest } = first;
	const role = typeof named === "string" ? named.toLowerCase() : "";
	const said = !text && Array.isArray(rest.content) ? rest.content.map((part) => part?.text) : [text];
	return {
		role: isRole(role) ? role : "other",
		text: said.filter((one) => typeof one === "string").join("\n"),
		events: Array.isArray(events) ? events : [],
		attachments: Array.isArray(attachments) ? attachments.filter(isObject) : [],
		rest: Object.keys(rest).length ? rest : undefined,
	};
}

/** @param {string} role @returns {role is Role} */
const isRole = (role) => ["user", "ai", "system", "tool"].includes(role);

/**
 * Tell whether an entry is its author's words and no more. Other words in place of them make another message; what
 * else an entry holds, such as a tool's result, may say the old ones again.
 * @param {Pick<Entry, "channel" | "contentType" | "content" | "erased">} entry
 */
export function isWordsAlone(entry) {
	const [first] = entry.content;
	const { text } = messageOf(entry);
	return (
		text !== "" && isObject(first) && Object.keys(first).every((name) => name === "role" || name === "text")
	);
}

/** Return one line of at most `length` characters that says what an entry holds. @param {Entry} entry @param {number} [length] */
export function lineOf(entry, length = 120) {
	const { text, events, attachments, rest } = messageOf(entry);
	const line = text
		.slice(0, length * 4)
		.replace(/\s+/g, " ")
		.trim();
	if (line) return clipped(visible(line), length);
	if (attachments.length) return counted(attachments.length, "attachment");
	if (events.length) return counted(events.length, "event");
	return rest === undefined ? "no text" : clipped(visible(entry.contentType), length);
}

/** Return a text with its control characters spelled out, as `[U+202E]`. Line ends stay. @param {string} text */
export const visible = (text) =>
	text.replace(HIDDEN, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

/** Return a text, cut after `length` characters. No character is split. @param {string} text @param {number} length */
export function clipped(text, length) {
	if (text.length <= length) return text;
	const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
	return `${text.slice(0, end)}…`;
}

/** Return a number with its noun: "2,000 forks". @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
	return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
