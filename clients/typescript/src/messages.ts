// Messages of the history, as their authors say them.

import { InputError } from "./errors.ts";
import type { Entry } from "./operations.ts";

/** Who says a message. The service knows three: `user`, `ai` and `system`. */
export type Role = "user" | "human" | "ai" | "assistant" | "system";

/** An entry, named by itself or by its id. */
export type EntryOrId = Pick<Entry, "id" | "channel"> | string;

const ROLES: Record<string, "USER" | "AI" | "SYSTEM"> = {
	user: "USER",
	human: "USER",
	ai: "AI",
	assistant: "AI",
	system: "SYSTEM",
};

/** Return the content of a history entry. Throws InputError for a role that there is not. */
export function message(role: Role, text: string): [{ role: "USER" | "AI" | "SYSTEM"; text: string }] {
	if (typeof text !== "string") throw new InputError("text is a string", "text");
	const known = knownRole(role);
	if (known === undefined) throw new InputError(`role is one of ${Object.keys(ROLES).join(", ")}`, "role");
	return [{ role: known, text }];
}

/** Return the author of a message: `user`, `ai` or `system`; undefined for another entry, or none. */
export const roleOf = (entry: Entry | undefined): "user" | "ai" | "system" | undefined =>
	knownRole(member(entry, "role"))?.toLowerCase() as "user" | "ai" | "system" | undefined;

/** Return the text of a message; undefined for an entry without one, or none. */
export function textOf(entry: Entry | undefined): string | undefined {
	const text = member(entry, "text");
	return typeof text === "string" ? text : undefined;
}

/** Return the id of an entry. Throws InputError for anything else, such as a conversation, which has an id, too. */
export function idOf(entry: EntryOrId): string {
	const given: unknown = entry;
	if (typeof given === "string") return given;
	if (typeof given === "object" && given !== null && "channel" in given) return (given as Entry).id;
	throw new InputError("an entry is named by itself or by its id");
}

function knownRole(role: unknown): "USER" | "AI" | "SYSTEM" | undefined {
	const name = typeof role === "string" ? role.toLowerCase() : "";
	return Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
}

function member(entry: Entry | undefined, name: "role" | "text"): unknown {
	const first = entry?.channel === "history" ? entry.content[0] : undefined;
	return typeof first === "object" && first !== null ? (first as Record<string, unknown>)[name] : undefined;
}
