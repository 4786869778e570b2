// The messages of a chat with all its branches, as chat interfaces keep them: each names the one before it.

import type { ChatMessage, PlacedAnswer, PlacedMessage } from "./chatMessages.ts";
import {
	ApiError,
	BadRequestError,
	ConflictError,
	InputError,
	MismatchError,
	NotFoundError,
	TooLargeError,
	UnexpectedAnswerError,
} from "./errors.ts";
import { newId, stringify } from "./json.ts";
import { message, roleOf, textOf } from "./messages.ts";
import type { ChatFiles, Kept } from "./files.ts";
import type { AppendEntries, Entry, Fork, Operations } from "./generated/operations.ts";
import { branchesOf, treeOf } from "./tree.ts";
import { branchChangesOf } from "./watching.ts";
import type { Keyed, Matched, Sent } from "./wire.ts";
import { AnswerWriter, isEnded, type WriterOptions } from "./writing.ts";

export type { ChatAnswer, ChatMessage, PlacedAnswer, PlacedMessage } from "./chatMessages.ts";
export {
	ChatFiles,
	dataUrlOf,
	fileUrl,
	hashedFiles,
	readableFiles,
	staysInline,
	type FileClient,
} from "./files.ts";
export { newIdOf } from "./json.ts";
export { answerOf } from "./watching.ts";
export { AnswerWriter, dropAnswer, isEnded, type WriterOptions } from "./writing.ts";

/**
 * A chat: each message once, parents first. headId: the last message of the current branch; if other branches go
 * on from there, of the newest of them. answering: what is written just now; undefined, too, if the chat has gone on
 * since that was begun.
 */
export interface ChatTree {
	messages: PlacedMessage[];
	headId: string | null;
	answering?: PlacedAnswer | undefined;
}

/** A message that could not be stored. parentId: what it was said behind. error: why, at the last attempt. */
export interface Unsaved {
	readonly message: ChatMessage;
	readonly parentId: string | null;
	readonly error: unknown;
}

/**
 * How a store is made. onUnsaved: is told what is not stored whenever that has changed; of none, when all is. files:
 * what keeps the files of the messages beside them.
 */
export interface ChatStoreOptions {
	files?: ChatFiles | undefined;
	onUnsaved?: ((unsaved: Unsaved[]) => void) | undefined;
}

/**
 * A message to be stored. kept: its data at this attempt, in which attachments may stand for its bytes. error:
 * undefined before the first attempt. isPassed: what follows it is stored.
 */
interface Waiting {
	message: ChatMessage;
	kept: Kept;
	parentId: string | null;
	error: unknown;
	isPassed: boolean;
}

/** What the store has read. entries: the history by id. branches: the last entry that each shows. */
interface Known {
	entries: Map<string, Entry>;
	branches: Map<string, string | null>;
	currentId: string;
	/** The entries of each message, the oldest first. */
	messages: Map<string, [Entry, ...Entry[]]>;
	deleted: Set<string>;
	/** The branches in which answers are written, the one to be shown last. */
	answering: Fork[];
}

/** Where an append goes. */
interface Place {
	fields: { conversationId: string } & Partial<AppendEntries>;
	options?: Keyed & Matched;
}

const HISTORY = "history";
const IS_MESSAGE = /^history(\/|$)/i;
const NOTE = "application/vnd.forklore.chat+json";
const KEYS_MAX = 44; // entries with a key, in one append
const ATTEMPTS_MAX = 5;

/**
 * The messages of a fork tree, by their ids.
 *
 * A message is an entry of the history whose key is the message's id. One that goes on where a branch ends is
 * appended there; any other one begins a fork. Either way its branch becomes the current one. What is asked for
 * at once is done one after the other. Messages that were written without a key have their entry's id.
 *
 * What could not be stored is sent again before what is appended next, unless it was refused for what it is. What
 * follows a message that is not stored stands behind the nearest one before it that is.
 */
export class ChatStore {
	/** The conversation that the chat began with. */
	readonly conversationId: string;

	readonly #api: Operations;
	readonly #files: ChatFiles | undefined;
	readonly #onUnsaved: NonNullable<ChatStoreOptions["onUnsaved"]>;
	readonly #unsaved = new Map<string, Waiting>();
	/** The message before each one that was read or appended here, also of those that are not stored. */
	readonly #parents = new Map<string, string | null>();
	#known: Known | undefined;
	#last: Promise<unknown> = Promise.resolve();

	/** fl: a client. conversationId: any conversation of the tree; a new id for a new chat. */
	constructor(
		fl: { readonly api: Operations },
		conversationId: string,
		{ files, onUnsaved }: ChatStoreOptions = {},
	) {
		this.#api = fl.api;
		this.#files = files;
		this.#onUnsaved = onUnsaved ?? (() => undefined);
		this.conversationId = conversationId;
	}

	/** What was appended here and is not stored, the oldest first. */
	get unsaved(): Unsaved[] {
		return [...this.#unsaved.values()].map(({ message, parentId, error }) => ({ message, parentId, error }));
	}

	/** Return the chat as it is now: two requests, if a page holds it. A chat that does not exist is empty. */
	async load(): Promise<ChatTree> {
		return this.#inTurn(async () => {
			const chat = chatOf(await this.#read());
			const messages = chat.messages.map((one) => this.#files?.shown(one) ?? one);
			return { ...chat, messages };
		});
	}

	/**
	 * Append messages behind one another, the first behind `parentId`: one request for 44.
	 *
	 * A message that is there is updated. If one cannot be stored, the others are. Throws why then, of the first that
	 * is not; NotFoundError if there is no such parent.
	 */
	async append(parentId: string | null, ...messages: ChatMessage[]): Promise<void> {
		await this.#inTurn(async () => {
			this.#forgetIfEnding(messages);
			await this.#telling(async () => {
				let parent = parentId;
				for (const message of messages) {
					const { error, isPassed = false } = this.#unsaved.get(message.id) ?? {};
					const why = isRefused(error) ? undefined : error; // it may be another version
					const waiting = { message, kept: message, parentId: parent, error: why, isPassed };
					this.#unsaved.set(message.id, waiting);
					this.#parents.set(message.id, parent);
					parent = message.id;
				}
				await this.#saveAll();
			});
			for (const { id } of messages) {
				const left = this.#unsaved.get(id);
				if (left) throw left.error;
			}
		});
	}

	/**
	 * Replace a message: the new version is an entry with the same key, on a fork before the old one.
	 *
	 * The old one stays in the history. Without such a message it is appended.
	 */
	async update(parentId: string | null, message: ChatMessage): Promise<void> {
		await this.append(parentId, message);
	}

	/**
	 * Begin to write the answer that stands behind a message. A message with `answerId` ends it.
	 *
	 * takeOver: ends another one that is written there; `"own"` one of the same user and client only, such as that of
	 * a process that was killed. Without it that is a ConflictError with the reason `answer_in_progress`, also if it is
	 * the same user's, such as in another tab.
	 */
	async beginAnswer(
		parentId: string | null,
		{
			id,
			takeOver = false,
			...options
		}: WriterOptions & { id?: string | undefined; takeOver?: boolean | "own" | undefined } = {},
	): Promise<AnswerWriter> {
		const begin = async (known: Known, parent: string | null): Promise<AnswerWriter> =>
			AnswerWriter.begin(
				this.#api,
				{ ...answerPlace(known, parent), id, takeOver: takeOver === "own" ? undefined : takeOver },
				options,
			);
		return this.#inTurn(async () => this.#onKnown(parentId, begin));
	}

	/** Return the conversation in which the answer behind a message is begun. Throws NotFoundError without it. */
	async conversationBehind(parentId: string | null): Promise<string> {
		const place = (known: Known, parent: string | null) =>
			Promise.resolve(answerPlace(known, parent).conversationId);
		return this.#inTurn(async () => this.#onKnown(parentId, place));
	}

	/**
	 * Let what is appended behind `id`, which somebody else stores, stand behind the message that an entry is.
	 *
	 * parentId: stands in, while there is no such message.
	 */
	async follow(id: string, parentId: string | null, entryId: string | undefined): Promise<void> {
		await this.#inTurn(async () => {
			const stored = ofEntry(await this.#read(), entryId);
			if (stored !== id) this.#parents.set(id, stored ?? parentId);
		});
	}

	/**
	 * End an answer that nobody writes any more with a message, which has its `answerId`.
	 *
	 * Its branch does not become the current one if the chat has gone on since the answer was begun.
	 * Throws ConflictError if it is written, or ended, by somebody else.
	 */
	async endAnswer(parentId: string | null, message: ChatMessage): Promise<void> {
		await this.#inTurn(async () => {
			const kept = await this.#keep(message);
			this.#forgetIfEnding([message]);
			const stored = { ...message, data: kept.data };
			try {
				await this.#onKnown(parentId, async (known, parent) => this.#add(known, parent, [stored], true));
			} catch (error) {
				throw whyOf(error, kept);
			}
		});
	}

	/**
	 * Leave messages out of the chat for good; what follows one stands behind the message before it.
	 *
	 * The history keeps them: an entry tells that they are left out. What is not there is passed over.
	 */
	async delete(...ids: string[]): Promise<void> {
		await this.#inTurn(async () => {
			await this.#telling(async () => {
				await this.#onKnown(null, async (known) => {
					const deletes = ids.filter((id) => known.messages.has(id) && !known.deleted.has(id));
					if (deletes.length === 0) return;
					const entries = [{ contentType: NOTE, content: [{ deletes }] }];
					await this.#send(known, { conversationId: known.currentId, entries });
				});
				for (const id of ids) this.#unsaved.delete(id);
			});
		});
	}

	/**
	 * Pin a message for all who see it, in every branch that shows it. A later version of it is not pinned.
	 *
	 * Throws NotFoundError for a message that is not stored.
	 */
	async pin(id: string): Promise<void> {
		await this.#onVersions(id, async (versions) => {
			const newest = versions.at(-1);
			if (newest) await this.#api.addNote({ ...newest, pinned: true });
		});
	}

	/** Take the pins of a message away, whoever has made them. */
	async unpin(id: string): Promise<void> {
		await this.#onVersions(id, async (versions) => {
			for (const version of versions) {
				const { data } = await this.#api.listNotes({ ...version, limit: 200 });
				for (const { id: noteId, pinned } of data) {
					if (pinned) await this.#api.deleteNote({ ...version, noteId });
				}
			}
		});
	}

	/** Return the ids of the pinned messages that the current branch shows, the oldest first. */
	async pinned(): Promise<string[]> {
		return this.#inTurn(async () => {
			const known = (this.#known ??= await this.#read());
			const pins = new Set<string>();
			let afterCursor: string | undefined;
			do {
				if (known.entries.size === 0) break; // there is no such chat yet
				const asked = { conversationId: known.currentId, afterCursor, limit: 200 };
				const page = await this.#api.listNotes(asked);
				for (const { entryId, pinned } of page.data) {
					const id = pinned ? ofEntry(known, entryId) : undefined;
					if (id !== undefined && !known.deleted.has(id)) pins.add(id);
				}
				afterCursor = page.afterCursor ?? undefined;
			} while (afterCursor !== undefined);
			return [...pins];
		});
	}

	/** Do the work on the entries of a message, the oldest first, each with a conversation that shows it. */
	async #onVersions(
		id: string,
		work: (versions: { conversationId: string; entryId: string }[]) => Promise<void>,
	): Promise<void> {
		await this.#inTurn(async () => {
			await this.#onKnown(id, async (known, stored) => {
				const versions = stored === id ? known.messages.get(id) : undefined;
				if (versions === undefined)
					throw new NotFoundError(`the message ${JSON.stringify(id)} is not stored`, { status: 404 });
				await work(versions.map((one) => ({ conversationId: showing(known, one), entryId: one.id })));
			});
		});
	}

	/** Do the work, and tell of what is not stored, if it has changed that. */
	async #telling(work: () => Promise<void>): Promise<void> {
		const state = (): unknown[] => [...this.#unsaved.values()].flatMap((one) => [one, one.error]);
		const before = state();
		try {
			await work();
		} finally {
			const after = state();
			if (after.length !== before.length || after.some((held, at) => held !== before[at])) {
				this.#onUnsaved(this.unsaved);
			}
		}
	}

	/**
	 * Store what is not, the oldest first, and what stands behind one another together.
	 *
	 * What has failed goes by itself, so that it fails without what is new.
	 */
	async #saveAll(): Promise<void> {
		const runs: Waiting[][] = [];
		for (const one of this.#unsaved.values()) {
			if (isRefused(one.error)) continue;
			const last = runs.at(-1)?.at(-1);
			const isBehind = last?.message.id === one.parentId && !last.error === !one.error;
			if (isBehind) runs.at(-1)?.push(one);
			else runs.push([one]);
		}
		try {
			for (const run of runs) {
				this.#known ??= await this.#read();
				for (const one of run) one.kept = await this.#keep(one.message);
				await this.#save(run);
			}
		} catch (error) {
			for (const one of runs.flat()) if (!isRefused(one.error)) one.error = error;
		}
	}

	/** Return a message's data with attachments in place of bytes. The chat is read anew if it may have gone on. */
	async #keep(message: ChatMessage): Promise<Kept> {
		const kept = (await this.#files?.kept(message, this.conversationId)) ?? message;
		if (kept.data !== message.data) this.#forgetIfEnding([message]); // bytes take their time
		return kept;
	}

	/**
	 * Store messages that stand behind one another, and note why one is not stored. If one is refused, the others are.
	 *
	 * Throws what keeps the chat from being read, or any message from being stored.
	 */
	async #save(run: Waiting[]): Promise<void> {
		const [first] = run;
		if (first === undefined) return;
		this.#known ??= await this.#read();
		let saved: Waiting[];
		try {
			saved = await this.#onKnown(first.parentId, async (known, parent, passed) => {
				const old = run.findIndex(({ message: { id } }) => known.messages.has(id));
				const next = run.slice(0, old < 0 ? KEYS_MAX : Math.min(old || 1, KEYS_MAX));
				const messages = next.map(({ message, kept }) => ({ ...message, data: kept.data }));
				if (old === 0) await this.#replace(known, messages);
				else
					await this.#add(
						known,
						parent,
						messages,
						next.some(({ isPassed }) => !isPassed),
					);
				for (const one of passed.map((id) => this.#unsaved.get(id))) if (one) one.isPassed = true;
				return next;
			});
		} catch (error) {
			if (isOfAll(error)) throw error;
			const at = run.findIndex(({ kept }) => isOfFile(error, kept));
			const wrong = run[at];
			if (wrong !== undefined) {
				wrong.error = error;
				await this.#save(run.slice(0, at));
				await this.#save(run.slice(at + 1));
				return;
			}
			if (isEnded(error) && run.some(({ message }) => message.answerId !== undefined)) {
				await this.#save(await this.#withoutAnswer(run, error));
				return;
			}
			if (run.length === 1 || !isRefused(error)) {
				for (const one of run) one.error = whyOf(error, one.kept);
				return;
			}
			const half = Math.ceil(run.length / 2);
			await this.#save(run.slice(0, half));
			await this.#save(run.slice(half));
			return;
		}
		for (const { message } of saved) this.#unsaved.delete(message.id);
		await this.#save(run.slice(saved.length));
	}

	/**
	 * Return messages that are to be stored though their answer has ended: without the one that is its entry.
	 *
	 * Another page has ended it, under an id of its own. What follows stands behind that one.
	 */
	async #withoutAnswer(run: Waiting[], error: ApiError): Promise<Waiting[]> {
		const stored = ofEntry(await this.#read(), error.details["entryId"]);
		return run.filter((one) => {
			const { id, answerId } = one.message;
			const isStored = answerId !== undefined && stored !== undefined && stored !== id;
			if (isStored) {
				this.#parents.set(id, stored);
				this.#unsaved.delete(id);
			}
			one.message = { ...one.message, answerId: undefined };
			return !isStored;
		});
	}

	/** Let the chat be read anew if a message ends an answer that was found there: it may have gone on meanwhile. */
	#forgetIfEnding(messages: ChatMessage[]): void {
		const found = this.#known?.answering.map(({ answering }) => answering?.answerId) ?? [];
		if (messages.some(({ answerId }) => answerId !== undefined && found.includes(answerId)))
			this.#known = undefined;
	}

	async #inTurn<T>(work: () => Promise<T>): Promise<T> {
		const done = this.#last.then(work);
		this.#last = done.catch(() => undefined);
		return done;
	}

	async #read(): Promise<Known> {
		const { entries, branches } = await treeOf(this.#api, this.conversationId, { missing: "empty" });
		const known: Known = {
			entries: new Map(),
			branches: new Map(branches.map((one) => [one.conversationId, one.lastEntryId])),
			currentId: branches.find((one) => one.isCurrent)?.conversationId ?? this.conversationId,
			messages: new Map(),
			deleted: new Set(),
			answering: answeringOf(branches),
		};
		if (branches.length === 0) known.branches.set(this.conversationId, null);
		for (const entry of entries) take(known, entry);
		for (const [id, [first]] of known.messages) this.#parents.set(id, nearest(known, first.parentId));
		return (this.#known = known);
	}

	/** Return the message with the id, or the nearest one before it that is stored, and those that are `passed`. */
	#nearest(known: Known, id: string | null): { stored: string | null | undefined; passed: string[] } {
		const passed: string[] = [];
		let at: string | null | undefined = id;
		while (typeof at === "string" && !known.messages.has(at)) {
			passed.push(at);
			const before = this.#parents.get(at);
			at = passed.includes(before ?? "") ? undefined : before;
		}
		return { stored: at, passed };
	}

	/**
	 * Do the work on what is known, and on the message with the id, or the nearest one before it that is stored.
	 *
	 * On what is there now, if that is outdated: somebody else has gone on or has deleted a branch, or an append took
	 * effect whose answer was lost.
	 */
	async #onKnown<T>(
		id: string | null,
		work: (known: Known, stored: string | null, passed: string[]) => Promise<T>,
	): Promise<T> {
		for (let attempt = 1; ; attempt++) {
			let known = this.#known ?? (await this.#read());
			if (this.#nearest(known, id).stored === undefined) known = await this.#read();
			const { stored, passed } = this.#nearest(known, id);
			if (stored === undefined)
				throw new NotFoundError(`the chat has no message ${JSON.stringify(id)}`, { status: 404 });
			try {
				return await work(known, stored, passed);
			} catch (error) {
				this.#known = undefined; // it may have taken effect
				if (attempt === ATTEMPTS_MAX || !isOutdated(error)) throw error;
			}
		}
	}

	async #add(known: Known, parent: string | null, added: ChatMessage[], promote: boolean): Promise<void> {
		const place = endingWith(known, parent) ?? forkBehind(known, parent);
		const ended = known.answering.find(({ answering }) => answering?.answerId === added.at(-1)?.answerId);
		const isPast = ended !== undefined && hasGoneOn(known, ended);
		await this.#write(known, added, { ...place, fields: { ...place.fields, promote: promote && !isPast } });
	}

	/** Store a newer version of a message, if it differs. */
	async #replace(known: Known, [newer]: ChatMessage[]): Promise<void> {
		const versions = known.messages.get(newer?.id ?? "");
		if (newer === undefined || versions === undefined) return;
		if (isSame(contentOf(newer), versions.at(-1)?.content[0])) return;
		const [first] = versions;
		await this.#write(known, [newer], {
			fields: {
				conversationId: newId(),
				forkedAtConversationId: showing(known, first),
				forkedAtEntryId: first.id,
				forkedAtPosition: "before",
				promote: chatOf(known).headId === newer.id,
			},
		});
	}

	async #write(known: Known, added: ChatMessage[], { fields, options }: Place): Promise<void> {
		const entries = added.map((one) => ({
			contentType: HISTORY,
			content: [contentOf(one)],
			key: one.id,
			...(one.usage && { usage: one.usage }),
		}));
		const answerId = added.at(-1)?.answerId;
		await this.#send(known, { promote: true, ...fields, entries, answerId }, options);
		if (fields.promote !== false) known.currentId = fields.conversationId;
	}

	/** Append, and note what is there then. Somebody else's entry before it is not known: then nothing is. */
	async #send(
		known: Known,
		fields: Place["fields"] & AppendEntries,
		options?: Keyed & Matched,
	): Promise<void> {
		const appended = await this.#api.appendEntry(fields, options);
		if (!("data" in appended)) throw new UnexpectedAnswerError("the answer to several entries holds one");
		for (const entry of appended.data) {
			if (entry.parentId !== null && !known.entries.has(entry.parentId)) this.#known = undefined;
			take(known, entry);
			known.branches.set(entry.conversationId, entry.id);
		}
	}
}

/** Tell whether a request was refused because of what has happened since the chat was read. */
const isOutdated = (error: unknown): boolean =>
	error instanceof MismatchError ||
	error instanceof NotFoundError ||
	(error instanceof ConflictError && ["stale", "key_in_use"].includes(error.reason ?? ""));

/**
 * Return what is written in a chat just now; undefined for nothing, or if the chat has gone on since that was begun.
 *
 * One request, if no answer is written in the chat.
 */
export async function answeringIn(
	fl: { readonly api: Operations },
	conversationId: string,
): Promise<PlacedAnswer | undefined> {
	const branches = await branchesOf(fl.api, conversationId, { missing: "empty" });
	if (answeringOf(branches).length === 0) return undefined;
	const { answering } = await new ChatStore(fl, conversationId).load();
	if (answering === undefined) return undefined;
	const { id: answerId, conversationId: branch } = answering;
	try {
		await fl.api.getAnswer({ conversationId: branch, answerId });
		return answering;
	} catch (error) {
		if (isEnded(error)) return undefined; // its log is gone
		throw error;
	}
}

/**
 * Yield which answer is written in a chat: at first, then whenever something has changed in it, be it a message.
 *
 * An answer that was left stays there for a day. A change in the 201st branch or a later one is not seen.
 */
export async function* changesInChat(
	fl: { readonly api: Operations },
	conversationId: string,
	sent: Sent = {},
): AsyncGenerator<{ answerId: string | undefined }, void, undefined> {
	for await (const branches of branchChangesOf(fl.api, conversationId, sent))
		yield { answerId: answeringOf(branches).at(-1)?.answering?.answerId };
}

/** Stop the answer that is written in a chat, whoever writes it. Tell whether there was one. */
export async function stopAnswer(fl: { readonly api: Operations }, chatId: string): Promise<boolean> {
	const branch = answeringOf(await branchesOf(fl.api, chatId, { missing: "empty" })).at(-1);
	if (branch?.answering === undefined) return false;
	const { conversationId, answering } = branch;
	try {
		await fl.api.stopAnswer({ conversationId, answerId: answering.answerId });
		return true;
	} catch (error) {
		if (isEnded(error)) return false;
		throw error;
	}
}

/** Return the branches in which answers are written, by their beginnings, but the current one last. */
function answeringOf(branches: Fork[]): Fork[] {
	const written = branches.filter(({ answering }) => answering !== undefined);
	const since = ({ isCurrent, answering }: Fork): string => (isCurrent ? "~" : (answering?.since ?? ""));
	return written.sort((one, other) => (since(one) < since(other) ? -1 : 1));
}

/**
 * Tell whether a chat has gone on since the answer of a branch was begun: a message is newer, and not before it.
 *
 * Such an answer hides nothing of the chat: it may have been left, and may stand there for a day.
 */
function hasGoneOn(known: Known, { answering }: Fork): boolean {
	const { afterEntryId = null, since = "" } = answering ?? {};
	const before = new Set<string>();
	for (let id = nearest(known, afterEntryId); id !== null && !before.has(id);) {
		before.add(id);
		id = nearest(known, known.messages.get(id)?.[0].parentId ?? null);
	}
	return [...known.messages].some(([id, [first]]) => !before.has(id) && first.createdAt > since);
}

/** Tell whether a server takes no writes now, or not so many, or knows not who asks. */
const isOfAll = (error: unknown): boolean =>
	error instanceof ApiError && [401, 429, 503, 507].includes(error.status ?? 0);

/** Tell whether an append was refused for an attachment that a message names: such errors tell which. */
const isOfFile = (error: unknown, { data: { attachments } }: Kept): boolean =>
	error instanceof ApiError &&
	Array.isArray(attachments) &&
	(attachments as { id: string }[]).some(({ id }) => error.message.includes(id));

/** Return why a message is not stored: if it is too large with bytes that belong beside it, why they are in it. */
const whyOf = (error: unknown, { failed }: Kept): unknown =>
	error instanceof TooLargeError ? (failed ?? error) : error;

/** Tell whether a message was refused for what it is, so that it would be again. */
export const isRefused = (error: unknown): boolean =>
	error instanceof BadRequestError ||
	error instanceof InputError ||
	error instanceof TooLargeError ||
	(error instanceof ConflictError && error.reason === "key_in_use");

/** Return the content of a message's entry: the role, the text, and the rest beside them, without the text again. */
export function contentOf({ role, text, data }: ChatMessage): Record<string, unknown> {
	if ("role" in data || "text" in data) throw new InputError("role and text stand outside of data", "data");
	const [said] = message(role, text);
	let end = 0;
	const pointing = eachPart(data, (part) => {
		if (typeof part["text"] !== "string" || "textAt" in part) return part;
		const from = text.indexOf(part["text"], end);
		if (from < 0) return part;
		end = from + part["text"].length;
		const { text: _, ...rest } = part;
		return { ...rest, textAt: [from, end] };
	});
	return { ...said, ...pointing };
}

/** Return what `contentOf` was given as `data`. */
export function dataOf(content: Record<string, unknown>, text: string): Record<string, unknown> {
	const { role: _, text: __, ...data } = content;
	return eachPart(data, (part) => {
		const { textAt, ...rest } = part;
		return Array.isArray(textAt) && !("text" in part)
			? { ...rest, text: text.slice(...(textAt as [number, number])) }
			: part;
	});
}

/** Return the same with each part that is a text, at any depth, such as `{ type: "text", text }`, changed. */
function eachPart(
	value: Record<string, unknown>,
	change: (part: Record<string, unknown>) => Record<string, unknown>,
): Record<string, unknown> {
	const within = (held: unknown): unknown => {
		if (Array.isArray(held)) return held.map(within);
		return held?.constructor === Object ? eachPart(held as Record<string, unknown>, change) : held;
	};
	if (value["type"] === "text") return change(value);
	return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, within(held)]));
}

/** Put an entry in its place. */
function take(known: Known, entry: Entry): void {
	known.entries.set(entry.id, entry);
	const id = messageIdOf(entry);
	const versions = id === undefined ? undefined : known.messages.get(id);
	if (versions) versions.push(entry);
	else if (id !== undefined) known.messages.set(id, [entry]);
	for (const each of deletedBy(entry)) known.deleted.add(each);
}

/** Return the id of the message that an entry is; undefined for any other entry. */
const messageIdOf = (entry: Entry): string | undefined =>
	IS_MESSAGE.test(entry.contentType) && speakerOf(entry) !== undefined ? (entry.key ?? entry.id) : undefined;

/** Return the id of the message that has an entry among its versions. */
const ofEntry = (known: Known, entryId: unknown): string | undefined =>
	[...known.messages].find(([, versions]) => versions.some(({ id }) => id === entryId))?.[0];

/** Return who says a message of a chat. What a tool says is none. */
function speakerOf(entry: Entry): PlacedMessage["role"] | undefined {
	const role = roleOf(entry);
	return role === "tool" ? undefined : role;
}

function deletedBy({ contentType, content }: Entry): string[] {
	const [note] = content;
	if (contentType !== NOTE || typeof note !== "object" || note === null) return [];
	const { deletes } = note as Record<string, unknown>;
	return Array.isArray(deletes) ? deletes.filter((id) => typeof id === "string") : [];
}

/** Return the message that an entry is, or the nearest one before it that `counts`; null without any. */
function nearest(
	known: Known,
	entryId: string | null,
	counts = (_id: string): boolean => true,
): string | null {
	for (let entry = known.entries.get(entryId ?? ""); entry; entry = known.entries.get(entry.parentId ?? "")) {
		const id = messageIdOf(entry);
		if (id !== undefined && counts(id)) return id;
	}
	return null;
}

const lastMessageOf = (known: Known, branch: string): string | null =>
	nearest(known, known.branches.get(branch) ?? null);

/** Return the branch that ends with a message, the current one if it does; undefined if none does. */
function endingWith(known: Known, parent: string | null): Place | undefined {
	const branches = [known.currentId, ...[...known.branches.keys()].reverse()];
	const conversationId = branches.find(
		(branch) => known.branches.has(branch) && lastMessageOf(known, branch) === parent,
	);
	if (conversationId === undefined) return undefined;
	const after = known.branches.get(conversationId) ?? null;
	// nothing can be matched in an empty branch: so all who begin it use one key, and only the first succeeds
	const options = after === null ? { idempotencyKey: `first of ${conversationId}` } : { ifMatch: after };
	return { fields: { conversationId }, options };
}

function forkBehind(known: Known, parent: string | null): Place {
	const entry = parent === null ? undefined : known.messages.get(parent)?.at(-1);
	const at =
		entry === undefined
			? { forkedAtConversationId: known.currentId }
			: {
					forkedAtConversationId: showing(known, entry),
					forkedAtEntryId: entry.id,
					forkedAtPosition: "after" as const,
				};
	return { fields: { ...at, conversationId: newId() } };
}

/** Return where the answer behind a message is begun: always in the same conversation. */
function answerPlace(known: Known, parent: string | null): { conversationId: string; afterEntryId?: string } {
	const entry = parent === null ? undefined : known.messages.get(parent)?.at(-1);
	if (entry === undefined) return { conversationId: known.currentId };
	return { conversationId: showing(known, entry), afterEntryId: entry.id };
}

/** Return a conversation that shows an entry: the one that it was written in, or one that was forked behind it. */
function showing(known: Known, { id, conversationId }: Entry): string {
	if (known.branches.has(conversationId)) return conversationId;
	for (const [branch, last] of known.branches) {
		for (let entry = known.entries.get(last ?? ""); entry; entry = known.entries.get(entry.parentId ?? "")) {
			if (entry.id === id) return branch;
		}
	}
	return conversationId;
}

function chatOf(known: Known): ChatTree {
	const isKept = (id: string): boolean => !known.deleted.has(id);
	const messages = [...known.messages].flatMap(([id, [first, ...newer]]): PlacedMessage[] => {
		if (!isKept(id)) return [];
		const stored = newer.at(-1) ?? first;
		const parentId = nearest(known, first.parentId, isKept);
		const said = { role: speakerOf(stored) ?? "user", text: textOf(stored) ?? "" };
		const data = dataOf(stored.content[0] as Record<string, unknown>, said.text);
		return [{ id, ...said, data, parentId, createdAt: first.createdAt, files: stored.attachments }];
	});
	let headId = nearest(known, known.branches.get(known.currentId) ?? null, isKept);
	const lastChild = new Map(messages.map(({ id, parentId }) => [parentId, id]));
	for (let next = lastChild.get(headId); next !== undefined; next = lastChild.get(next)) headId = next;
	const shown = known.answering.findLast((one) => !hasGoneOn(known, one));
	if (shown?.answering === undefined) return { messages, headId };
	const { conversationId, answering } = shown;
	const parentId = nearest(known, answering.afterEntryId, isKept);
	return { messages, headId, answering: { id: answering.answerId, conversationId, parentId } };
}

/** Tell whether two values are the same JSON, in whatever order their members stand. */
export const isSame = (one: unknown, other: unknown): boolean =>
	stringify(sorted(one)) === stringify(sorted(other));

function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (value?.constructor !== Object) return value;
	const members = Object.entries(value).map(([name, held]) => [name, sorted(held)] as const);
	return Object.fromEntries(members.sort(([name], [other]) => (name < other ? -1 : 1)));
}
