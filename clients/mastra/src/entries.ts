// What the entries of a thread say, and which messages a thread shows by them.

import type { MastraDBMessage } from "@mastra/core/memory";

import type { EntryFields, ListedEntry } from "@forklore/client";
import { contentOf, dataOf } from "@forklore/client/chat";

/** The content type of an entry that is no message. */
const NOTE = "application/vnd.forklore.mastra+json";
/** The key of the entry that a thread begins with. No message has it, as `keyOf` writes no `#`. */
export const THREAD_KEY = "#thread";
const DEPTH_MAX = 40;

/**
 * What an entry says beside its content.
 *
 * upTo: when the newest message so far was made; null if one of them is older than one that was stored before it. A
 * message has an id. of: the entry that the message was stored with at first; this one is a newer version. Of the
 * messages before it an entry without an id says which `deletes` are left out, that all but the `keeps` are, and whose
 * they are (`owner`).
 */
export interface Note {
	upTo: string | null;
	id?: string;
	role?: string;
	type?: string | undefined;
	createdAt?: string;
	resourceId?: string | undefined;
	of?: string | undefined;
	deletes?: string[];
	keeps?: string[];
	owner?: string;
	packed?: string;
	says?: boolean;
}

/** A message that a thread shows. entryId: of the entry that it was stored with at first. */
export interface Shown {
	entryId: string;
	message: MastraDBMessage;
}

/** Return the key of a message's entry: printable ASCII. */
export const keyOf = (id: string): string => encodeURIComponent(id);

/** Return the id of a message that a thread inherits. */
export const inheritedId = (threadId: string, storedId: string): string => `${threadId}~${storedId}`;

/** Return the threads that a message's id may name, if it is inherited. Ids of threads may have a `~`, too. */
export const threadsIn = (id: string): string[] =>
	[...id.matchAll(/~/g)].map(({ index }) => id.slice(0, index));

/** Return an entry that is no message. */
export const noteEntry = (note: Note, key?: string): EntryFields => ({
	contentType: NOTE,
	content: [{ mastra: note }],
	key,
});

/**
 * Return the entry of a message: its text for people, and Mastra's content as it is beside it.
 *
 * The text stands in it once. What JSON can hold and the service does not take as it is, is kept as text.
 */
export function messageEntry(message: MastraDBMessage, upTo: string | null, of?: string): EntryFields {
	const { id, role, type, resourceId } = message;
	const json = JSON.stringify(message.content);
	const content = JSON.parse(json) as MastraDBMessage["content"];
	const text = textIn(content).toWellFormed();
	const note: Note = { upTo, id, role, type, createdAt: timeOf(message), resourceId, of };
	const { content: words, ...rest } = content;
	const says = words === text;
	const data = isPlain(json)
		? { format: "mastra", message: says ? rest : content, mastra: { ...note, says } }
		: { mastra: { ...note, packed: json } };
	const said = { assistant: "ai", system: "system", signal: "system", user: "user" } as const;
	return {
		contentType: "history",
		content: [contentOf({ id, role: said[role], text, data })],
		key: of === undefined ? keyOf(id) : undefined,
	};
}

/** Goes back through the entries of a thread, and tells which messages it shows. */
export class Walk {
	/** The newest messages first, in the order in which they were stored. */
	readonly shown: Shown[] = [];
	/** The first entry of each message that was met, also of those that are left out. */
	readonly firsts = new Map<string, string>();
	/** The last entry of the thread. */
	last = "";
	/** As in `Note`; undefined before the first entry. */
	upTo: string | null | undefined;

	readonly threadId: string;
	readonly conversationId: string;
	readonly #newer = new Map<string, MastraDBMessage>();
	readonly #deleted = new Set<string>();
	#kept: Set<string> | undefined;
	#owner: string | undefined;

	constructor(threadId: string, conversationId: string) {
		this.threadId = threadId;
		this.conversationId = conversationId;
	}

	/** Take the entry before those that were taken. One that others have written says nothing. */
	take(entry: ListedEntry): void {
		this.last ||= entry.id;
		const held = (entry.content[0] ?? {}) as { mastra?: Note; message?: unknown; text?: string };
		const note = held.mastra;
		if (typeof note !== "object") return;
		if (this.upTo === undefined) this.upTo = note.upTo;
		if (note.id === undefined) {
			for (const one of note.deletes ?? []) if (!this.#newer.has(one)) this.#deleted.add(one);
			if (note.keeps) this.#kept ??= new Set(note.keeps);
			this.#owner ??= note.owner;
			return;
		}
		const first = note.of ?? entry.id;
		const isLeftOut = this.#deleted.has(first) || this.#kept?.has(first) === false;
		if (note.of !== undefined) {
			if (!isLeftOut && !this.#newer.has(first)) this.#newer.set(first, this.#messageOf(note, held));
			return;
		}
		const isOwn = entry.conversationId === this.conversationId;
		const id = isOwn ? note.id : inheritedId(this.threadId, note.id);
		this.firsts.set(id, first);
		const message = this.#newer.get(first) ?? (isLeftOut ? undefined : this.#messageOf(note, held));
		if (message) this.shown.push({ entryId: first, message: { ...message, id } });
	}

	#messageOf(note: Note, held: object): MastraDBMessage {
		const { id = "", role, type, createdAt = "" } = note;
		const resourceId = this.#owner ?? note.resourceId;
		return {
			id,
			role: role as MastraDBMessage["role"],
			createdAt: new Date(createdAt),
			threadId: this.threadId,
			...(resourceId !== undefined && { resourceId }),
			...(type !== undefined && { type }),
			content: contentIn(note, held as { text: string }),
		};
	}
}

function contentIn({ packed, says }: Note, held: { text: string }): MastraDBMessage["content"] {
	if (packed !== undefined) return JSON.parse(packed) as MastraDBMessage["content"];
	const content = dataOf({ ...held }, held.text)["message"] as MastraDBMessage["content"];
	return says ? { ...content, content: held.text } : content;
}

/** Return what a message says to people. Mastra takes null for no text, too. */
function textIn(content: unknown): string {
	if (typeof content === "string") return content;
	const { parts, content: words } = content as {
		parts?: MastraDBMessage["content"]["parts"];
		content?: string | null;
	};
	const texts = (parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
	return texts.length ? texts.join("\n\n") : (words ?? "");
}

/** Return when a message was made. */
export const timeOf = ({ createdAt }: MastraDBMessage): string => new Date(createdAt).toISOString();

/** Tell whether the service takes an object as it is, and gives it back as the same values. */
export const isPlain = (json: string): boolean =>
	json.startsWith("{") && !/\\ud[89a-f]/.test(json) && isFlat(JSON.parse(json), DEPTH_MAX);

const isFlat = (value: unknown, levels: number): boolean =>
	typeof value !== "object" ||
	value === null ||
	(levels > 0 && Object.values(value).every((held) => isFlat(held, levels - 1)));
