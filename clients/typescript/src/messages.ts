// Messages of the history, as their authors say them.

import { InputError } from "./errors.ts";
import { stringify } from "./json.ts";
import type { Entry } from "./generated/operations.ts";

/** Who says a message. The service knows four: `user`, `ai`, `system` and `tool`. */
export type Role = "user" | "human" | "ai" | "assistant" | "system" | "tool";

/** What a message says: its text, or its parts, as providers of models send them. */
export type Said = string | readonly Record<string, unknown>[];

/** An entry, named by itself or by its id. */
export type EntryOrId = Pick<Entry, "id" | "channel"> | string;

type Known = "USER" | "AI" | "SYSTEM" | "TOOL";

const ROLES: Record<string, Known> = {
	user: "USER",
	human: "USER",
	ai: "AI",
	assistant: "AI",
	system: "SYSTEM",
	tool: "TOOL",
};

/** Return the content of a history entry. Throws InputError for a role that there is not. */
export function message(role: Role, text: Said): [Record<string, unknown>] {
	if (typeof text !== "string" && !isParts(text)) throw new InputError("text is a string", "text");
	const known = knownRole(role);
	if (known === undefined) throw new InputError(`role is one of ${Object.keys(ROLES).join(", ")}`, "role");
	return [{ role: known, ...(typeof text === "string" ? { text } : { content: text }) }];
}

/** Return the author of a message: `user`, `ai`, `system` or `tool`; undefined for another entry, or none. */
export const roleOf = (entry: Entry | undefined): Lowercase<Known> | undefined =>
	knownRole(member(entry, "role"))?.toLowerCase() as Lowercase<Known> | undefined;

/**
 * Return the text of a message, or that of its parts; undefined for an entry without one, or none.
 *
 * That of a tool's result is what the tool has said.
 */
export function textOf(entry: Entry | undefined): string | undefined {
	const own = member(entry, "text");
	if (typeof own === "string" && own !== "") return own;
	const parts = [member(entry, "content"), member(entry, "events")].find(isParts) ?? [];
	const texts = parts.map(textOfPart).filter((one) => one !== undefined);
	if (texts.length > 0) return texts.join("\n");
	return typeof own === "string" ? own : undefined;
}

function textOfPart(part: Record<string, unknown>): string | undefined {
	const { type, text, content, output = "" } = part;
	if (typeof text === "string") return text;
	const isResult = typeof type === "string" && /(tool_result|_call_output)$/.test(type);
	return isResult ? wordsIn(content ?? output) : undefined;
}

/** Return the words in a value: a text, or the texts of parts; without any the value as JSON. */
function wordsIn(value: unknown): string {
	if (typeof value === "string") return value;
	const texts = (Array.isArray(value) ? value : [value]).map((part: unknown) => {
		if (typeof part === "string") return part;
		const { text } = (part ?? {}) as Record<string, unknown>;
		return typeof text === "string" ? text : "";
	});
	return texts.length > 0 && texts.every(Boolean) ? texts.join("\n") : stringify(value);
}

/** Return the id of an entry. Throws InputError for anything else, such as a conversation, which has an id, too. */
export function idOf(entry: EntryOrId): string {
	const given: unknown = entry;
	if (typeof given === "string") return given;
	if (typeof given === "object" && given !== null && "channel" in given) return (given as Entry).id;
	throw new InputError("an entry is named by itself or by its id");
}

const isParts = (given: unknown): given is Record<string, unknown>[] =>
	Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === "object" && one !== null);

function knownRole(role: unknown): Known | undefined {
	const name = typeof role === "string" ? role.toLowerCase() : "";
	return Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
}

function member(entry: Entry | undefined, name: "role" | "text" | "content" | "events"): unknown {
	const first = entry?.channel === "history" ? entry.content[0] : undefined;
	return typeof first === "object" && first !== null ? (first as Record<string, unknown>)[name] : undefined;
}
