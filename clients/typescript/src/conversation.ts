// A conversation to talk in.

import { Answer } from "./answers.ts";
import { Context, type Based, type Memory } from "./context.ts";
import {
	ApiError,
	BadRequestError,
	ConflictError,
	ForbiddenError,
	InputError,
	NotFoundError,
	UnexpectedAnswerError,
} from "./errors.ts";
import { newId, newIdOf } from "./json.ts";
import { idOf, message, type EntryOrId, type Role, type Said } from "./messages.ts";
import {
	ATTACHMENTS_PER_ENTRY_MAX,
	DESCRIPTION,
	type Ancestor,
	type AddNote,
	type AnswerLog,
	type Append,
	type AppendEntries,
	type AppendEntry,
	type AppendedEntry,
	type Appended,
	type AttachedFile,
	type Comparison,
	type ConversationDetails,
	type CopyConversation,
	type CopyTree,
	type CreatedLink,
	type CreateLink,
	type Entry,
	type EntryFields,
	type Fork,
	type ForkConversation,
	type Hit,
	type Link,
	type ListedEntry,
	type ListEntriesArguments,
	type Membership,
	type RemovedMembership,
	type MergeConversation,
	type Name,
	type Note,
	type Operations,
	type UpdateConversation,
} from "./generated/operations.ts";
import { Pages, pagesOf, refusePaging, type Page } from "./pages.ts";
import { asked, HITS, type Recalled } from "./questions.ts";
import { treeOf, waysBeside, type Tree, type Way } from "./tree.ts";
import { changesOf } from "./watching.ts";
import type { Keyed, Matched, Sent } from "./wire.ts";
import { AnswerWriter, type WriterOptions } from "./writing.ts";

/** What goes with a message: a file, which is uploaded; what `upload` returned, one of another entry, or its id. */
export type FileGiven = File | Blob | Pick<AttachedFile, "id" | "name"> | string;

/** What `say` takes beside the role and the text. ifLast: append only behind this entry. */
export type SayOptions = Omit<AppendEntry, "content" | "contentType"> &
	Keyed &
	Bound & { files?: readonly FileGiven[] | undefined };

/** ifLast: append only behind this entry. */
interface Bound {
	ifLast?: EntryOrId | undefined;
}

/** What `turn` takes beside the role and the text. context: the agent's whole present memory. */
export type TurnOptions = Omit<SayOptions, "context"> &
	Based & { context?: Memory | undefined; contentType?: string | undefined };

/** What `append` takes beside the content. */
export type AppendOptions = Omit<AppendEntry, "content" | "contentType"> &
	Keyed &
	Matched &
	Bound & { contentType?: string | undefined };

/** What `appendAll` takes beside the entries. */
export type AppendAllOptions = Omit<AppendEntries, "entries"> & Keyed & Matched & Bound;

/**
 * What `answer` takes. after: the entry that it follows; without it the last one of the history. agentId: who answers.
 * takeOver: as of `beginAnswer`.
 */
export type AnswerOptions = Pick<WriterOptions, "onError" | "signal"> & {
	after?: EntryOrId | undefined;
	agentId?: string | undefined;
	takeOver?: boolean | undefined;
};

/** What the `finish` of an answer takes: as `turn`. fork: append to a new fork, which ends with what the answer follows. */
export type FinishOptions = TurnOptions & { fork?: boolean };

/**
 * What `fork` takes. before, after: the entry that the fork leaves out, or ends with; without both it is at the
 * head. name: a new name, which points to the fork from then on; with `count` the forks are made one by one, and
 * `trip` gives `trip-1`, `trip-2`, …. moveName: `name` may exist, and moves; without
 * `name` that of this object does.
 */
export type ForkOptions = Omit<ForkConversation, "atEntryId" | "count" | "name"> &
	Keyed &
	Matched & { before?: EntryOrId; after?: EntryOrId; name?: string | undefined; moveName?: boolean };

/** What `entries` takes. backward: the newest first. after: only what follows this entry. */
export type EntriesOptions = Sent &
	Omit<ListEntriesArguments, "conversationId" | "limit" | "tail" | "afterCursor" | "beforeCursor"> & {
		backward?: boolean;
		after?: EntryOrId | undefined;
		pageEntries?: number;
	};

/** What `history` takes: as `entries`. */
export type HistoryOptions = Omit<EntriesOptions, "channel">;

/** What `watch` takes. after: only what follows this entry; null: all. */
export type WatchOptions = Sent & { after?: EntryOrId | null | undefined; channel?: string | undefined };

/**
 * What `startChild` takes. agentId: who works in it. id: of one's own, a UUID. key: names the child among those of
 * this conversation; its id is made of both. by: the entry that starts it.
 */
export type ChildOptions = Sent &
	Pick<AppendEntry, "agentId" | (typeof DESCRIPTION)[number]> & {
		id?: string | undefined;
		key?: string | undefined;
		by?: EntryOrId | undefined;
	};

const HISTORY = "history";
const PAGE_ENTRIES = 100;
const PAGE_ROWS = 200;
const APPEND_ENTRIES_MAX = 50;
const FORKS_AT_ONCE = 10;
const SCORES_AT_ONCE = 40;
/** What an append of one entry says of the conversation that it makes: `metadata` is that of the entry. */
const OF_CONVERSATION = DESCRIPTION.filter((name) => name !== "metadata");
/** What an append of one entry says beside the entry. */
const BESIDE = new RegExp(
	`^(forkedAt|startedBy)|^(${OF_CONVERSATION.join("|")}|promote|name|context|answerId)$`,
);

/** What of a client a conversation needs. */
interface Client {
	readonly api: Operations;
	upload: (
		file: Blob,
		options?: { signal?: AbortSignal | undefined },
	) => Promise<Pick<AttachedFile, "id" | "name">>;
}

/**
 * One conversation. Nothing is sent before the first call.
 *
 * A conversation that is named by a name is looked up at the first call. From then on the object stands for that
 * conversation, wherever the name moves later.
 */
export class Conversation {
	/** The name that the conversation was asked for by. */
	readonly name: string | undefined;
	/** The agent's own memory. */
	readonly context: Context;

	readonly #fl: Client;
	readonly #api: Operations;
	readonly #born: Partial<AppendEntry>;
	readonly #unanswered = new Set<string>();
	#id: string | undefined;
	#isMade: boolean;

	/** id: undefined for the conversation that `name` points to. born: what its first append has, which makes it. */
	constructor(fl: Client, id: string | undefined, name?: string, born?: Partial<AppendEntry>) {
		if (id === undefined && (typeof name !== "string" || name === ""))
			throw new InputError("a name is text", "name");
		const { api } = fl;
		this.#fl = fl;
		this.#api = api;
		this.#id = id;
		this.name = name;
		this.#born = born ?? {};
		this.#isMade = born === undefined;
		this.context = new Context(
			api,
			(sent) => this.#shown(sent),
			async (sent) => {
				this.#isMade ||= await this.exists(sent);
				if (!this.#isMade) throw new InputError("the child has no entry yet, and its first entry makes it");
				return (await this.#shown(sent)) ?? this.#makeNamed(sent);
			},
		);
	}

	/** The conversation's id. Throws InputError for a name that nothing has been asked about yet. */
	get id(): string {
		if (this.#id !== undefined) return this.#id;
		throw new InputError(`what ${JSON.stringify(this.name)} points to is known after the first call`);
	}

	/**
	 * Return the conversation's id; look the name up if it is not known yet.
	 *
	 * Throws NotFoundError for a name that does not exist, or whose conversation is gone: its next entry makes one.
	 */
	async resolve(options: Sent = {}): Promise<string> {
		if (this.#id === undefined) {
			const named = await this.#api.lookUpName({ name: this.name ?? "" }, options);
			if (named.deleted === true) {
				const why = `what ${JSON.stringify(this.name)} pointed to is gone`;
				throw new NotFoundError(why, { status: 404, code: "not_found" });
			}
			this.#id = named.conversationId;
		}
		return this.#id;
	}

	/** Tell whether there is such a conversation that the caller may see. */
	async exists(options: Sent = {}): Promise<boolean> {
		try {
			await this.details(options);
			return true;
		} catch (error) {
			if (saysNothing(error) || error instanceof ForbiddenError) return false;
			throw error;
		}
	}

	/** Return the id; undefined for a name that does not exist. It shows nothing. */
	async #shown(options: Sent): Promise<string | undefined> {
		try {
			return await this.resolve(options);
		} catch (error) {
			if (saysNothing(error)) return undefined;
			throw error;
		}
	}

	/**
	 * Make an empty conversation for a name that `resolve` does not find, and return its id.
	 *
	 * If somebody is faster, it is theirs, and the empty one stays without a name.
	 */
	async #makeNamed(options: Sent): Promise<string> {
		const name = this.name ?? "";
		const { id: conversationId } = await this.#api.createConversation({}, options);
		const gone = await this.#api.lookUpName({ name }, options).catch((error: unknown) => {
			if (saysNothing(error)) return undefined;
			throw error;
		});
		const expectRevision = gone?.deleted === true ? gone.revision : 0;
		try {
			await this.#api.setName({ name, conversationId, expectRevision }, options);
		} catch (error) {
			if (!(error instanceof ConflictError && error.reason === "name_moved")) throw error;
		}
		return this.resolve(options);
	}

	// Writing

	/**
	 * Append a message and return it. The conversation is made if it does not exist. Files are uploaded first.
	 *
	 * `metadata` is the entry's own. Throws InputError for a title or tags of a conversation that exists already,
	 * unless the call has an idempotency key, so that it may repeat the one that made it.
	 * Throws ConflictError if another entry has the `key`, or if `ifLast` is not the last entry.
	 */
	async say(role: Role, text: Said, options: SayOptions = {}): Promise<AppendedEntry> {
		const { files = [], ...rest } = options;
		const [said] = message(role, text);
		if (files.length === 0) return this.append([said], rest);
		if (files.length > ATTACHMENTS_PER_ENTRY_MAX)
			throw new InputError(
				`an entry has at most ${ATTACHMENTS_PER_ENTRY_MAX} files, not ${files.length}`,
				"files",
			);
		const attachments: { id: string; name?: string }[] = [];
		for (const one of files) {
			if (typeof one === "string") attachments.push({ id: one });
			else {
				const { id, name } = one instanceof Blob ? await this.#fl.upload(one, { signal: rest.signal }) : one;
				attachments.push({ id, name });
			}
		}
		return this.append([{ ...said, attachments }], rest);
	}

	/**
	 * Append a message together with the agent's whole present memory, in one transaction.
	 *
	 * No fork ever shows one without the other. What became of the memory is in `context` of what is returned.
	 * Throws ConflictError with the reason `context_moved` if the memory would replace another one than that which
	 * it is based on. Then the message is not appended either.
	 */
	async turn(role: Role, text: Said, options: TurnOptions = {}): Promise<AppendedEntry> {
		const { context: memory, contentType, basedOn, ...rest } = options;
		if (memory === undefined) return this.say(role, text, rest);
		const context = this.context.present(memory, { contentType, basedOn });
		const appended = await this.say(role, text, { ...rest, context });
		this.context.written(memory, appended.context);
		return appended;
	}

	/**
	 * Begin an answer that others can read while it is written. `finish` makes a turn of it, and `drop` ends it without.
	 *
	 * Throws ConflictError with the reason `answer_in_progress` if another one is written.
	 */
	async answer(options: AnswerOptions = {}): Promise<Answer<FinishOptions>> {
		const { after, agentId, takeOver, signal, onError } = options;
		const afterEntryId = after === undefined ? undefined : idOf(after);
		const place = { ...(await this.#here({ signal })), afterEntryId, agentId, takeOver };
		const writer = await AnswerWriter.begin(this.#api, place, { signal, onError });
		const forkId = newId();
		return new Answer<FinishOptions>(writer, async (said, { fork = false, ...more }) => {
			const { afterEntryId: forkedAtEntryId } = writer;
			const born = {
				forkedAtConversationId: writer.conversationId,
				...(forkedAtEntryId !== null && { forkedAtEntryId, forkedAtPosition: "after" as const }),
			};
			const into = fork ? new Conversation(this.#fl, forkId, undefined, born) : this;
			return into.turn("ai", said, { agentId, ...more });
		});
	}

	/** Append one entry with any content: an array of JSON values. */
	async append(content: readonly unknown[], options: AppendOptions = {}): Promise<AppendedEntry> {
		if (!Array.isArray(content)) throw new InputError("content is an array", "content");
		const { contentType = HISTORY, idempotencyKey, signal, ifMatch, ifLast, ...rest } = options;
		const appended = await this.#append(
			{ ...rest, contentType, content },
			{ idempotencyKey, ifMatch: boundTo(ifLast) ?? ifMatch, signal },
		);
		if (!("data" in appended)) return appended;
		const [only, ...others] = appended.data;
		if (only === undefined || others.length) {
			throw new UnexpectedAnswerError("the answer to one entry holds several");
		}
		return { ...only, ...(appended.context && { context: appended.context }) };
	}

	/** Append up to 50 entries, all or none, in order. */
	async appendAll(entries: readonly EntryFields[], options: AppendAllOptions = {}): Promise<Entry[]> {
		if (!Array.isArray(entries)) throw new InputError("entries is an array", "entries");
		const { idempotencyKey, signal, ifMatch, ifLast, ...rest } = options;
		const sent = { idempotencyKey, ifMatch: boundTo(ifLast) ?? ifMatch, signal };
		const appended = await this.#append({ ...rest, entries }, sent);
		if (!("data" in appended)) throw new UnexpectedAnswerError("the answer to several entries holds one");
		return appended.data;
	}

	/**
	 * Append by the id, or by the name while the id is not known. Both make what is missing.
	 *
	 * What was sent by the name and has no answer may be where the name pointed then. So it is sent by the name again.
	 */
	async #append(fields: Append, options: Keyed & Matched): Promise<Appended> {
		const key = options.idempotencyKey ?? newId();
		if (options.idempotencyKey === undefined) await this.#refuseDescription(fields, options);
		const sent = { ...options, idempotencyKey: key };
		if (this.#id !== undefined && !this.#unanswered.has(key)) {
			const appended = await this.#api.appendEntry(
				{ conversationId: this.#id, ...this.#withBirth(fields) },
				sent,
			);
			this.#isMade = true;
			return appended;
		}
		const name = this.name ?? "";
		if (fields.name) throw new InputError(`${JSON.stringify(name)} is the name of this append`, "name");
		await this.#requireName(name, sent);
		this.#unanswered.add(key);
		const appended = await this.#api.appendEntryByName({ ...fields, name }, sent);
		this.#unanswered.delete(key);
		const [first] = "data" in appended ? appended.data : [appended];
		this.#id ??= first?.conversationId;
		return appended;
	}

	/**
	 * Throw InputError for a title, tags or metadata if the conversation exists: its append would not change them.
	 *
	 * One with a key of the caller's is let through: it may repeat the one that made the conversation.
	 */
	async #refuseDescription(fields: Append, { signal }: Sent): Promise<void> {
		const said = "entries" in fields ? DESCRIPTION : OF_CONVERSATION;
		const told = said.find((field) => fields[field] !== undefined);
		if (told === undefined || !(await this.exists({ signal }))) return;
		throw new InputError(
			`the conversation exists, and an append does not change its ${told}: use update`,
			told,
		);
	}

	/** Throw InputError if the name has moved since an entry was sent by it: that entry may be here or there. */
	async #requireName(name: string, { signal }: Sent): Promise<void> {
		if (this.#id === undefined) return;
		if ((await this.#api.lookUpName({ name }, { signal })).conversationId === this.#id) return;
		const why = `${JSON.stringify(name)} points elsewhere since the entry was sent by it: look whether it is here`;
		throw new InputError(why, "idempotencyKey");
	}

	/**
	 * Return the fields of an append with those that make its conversation.
	 *
	 * They stand in every append, so that one that is repeated is the same. In a batch, the agent is a field of each
	 * entry. Only a batch says the metadata of a conversation.
	 */
	#withBirth(fields: Append): Append {
		const { agentId, ...others } = this.#born;
		if (!("entries" in fields)) {
			if (others.metadata === undefined) return { ...this.#born, ...fields };
			const [beside, entry] = [true, false].map((is) =>
				Object.fromEntries(Object.entries(fields).filter(([name]) => BESIDE.test(name) === is)),
			);
			return this.#withBirth({ ...beside, entries: [entry as unknown as EntryFields] });
		}
		return { ...others, ...fields, entries: fields.entries.map((entry) => ({ agentId, ...entry })) };
	}

	// Forks and children

	/**
	 * Fork before or after an entry, without both at the head; nothing is copied.
	 *
	 * count: makes so many equal forks, and returns an array of them; up to 10 are made at once, all or none. Throws ConflictError with the reason
	 * `name_moved` for a `name` that exists, unless `moveName` is set.
	 */
	async fork(options: ForkOptions & { count: number }): Promise<Conversation[]>;
	async fork(options?: ForkOptions): Promise<Conversation>;
	async fork(options: ForkOptions & { count?: number } = {}): Promise<Conversation | Conversation[]> {
		const {
			before,
			after,
			name,
			moveName = false,
			count,
			idempotencyKey,
			ifMatch,
			signal,
			...more
		} = options;
		if ("before" in options && "after" in options)
			throw new InputError("a fork is before an entry or after one");
		const taken = moveName ? (name ?? this.name) : name;
		if (moveName && taken === undefined) {
			throw new InputError("the conversation was not asked for by a name", "moveName");
		}
		const isAnchored = "before" in options || "after" in options;
		if (isAnchored && more.position !== undefined) {
			throw new InputError("before and after say the position", "position");
		}
		const fields = {
			...more,
			conversationId: await this.resolve({ signal }),
			...(isAnchored && {
				atEntryId: anchorOf(before ?? after),
				position: before ? ("before" as const) : ("after" as const),
			}),
			name: taken === undefined ? undefined : { name: taken, ...(!moveName && { expectRevision: 0 }) },
		};
		if (moveName && count !== undefined)
			throw new InputError("a name moves to one fork, not to several", "moveName");
		const sent = { idempotencyKey, ifMatch, signal };
		if (count !== undefined && (count > FORKS_AT_ONCE || (count > 1 && taken !== undefined)))
			return this.#forkOften(count, { ...fields, name: undefined }, sent, taken);
		const several = count === 1 ? undefined : count; // the service takes 2 and more
		const forked = await this.#api.forkConversation({ ...fields, count: several }, sent);
		if ("data" in forked) return forked.data.map((one) => new Conversation(this.#fl, one.id));
		const made = new Conversation(this.#fl, forked.id, taken);
		return count === undefined ? made : [made];
	}

	/**
	 * Make more equal forks than the service makes at once, or some with names: one by one.
	 *
	 * The idempotency keys follow from one. At the head, those of a later request would differ if something came
	 * between, so it is bound to what the first ones show.
	 */
	async #forkOften(
		count: number,
		fields: ForkConversation & { conversationId: string },
		{ idempotencyKey: key = newId(), ifMatch, signal }: Keyed & Matched,
		name: string | undefined,
	): Promise<Conversation[]> {
		const isAtHead = fields.atEntryId === undefined && fields.atKey === undefined;
		const made: Conversation[] = [];
		while (made.length < count) {
			const left = count - made.length;
			const each = name === undefined ? undefined : `${name}-${made.length + 1}`;
			const several = Math.ceil(left / Math.ceil(left / FORKS_AT_ONCE)); // never one alone
			const chosen = each === undefined ? { count: several } : { name: { name: each, expectRevision: 0 } };
			const sent = { idempotencyKey: `${key}-${left}`, ifMatch, signal };
			const forked = await this.#api
				.forkConversation({ ...fields, ...chosen }, sent)
				.catch((error: unknown) => {
					throw error instanceof ApiError ? Object.assign(error, { idempotencyKey: key }) : error;
				});
			const forks = "data" in forked ? forked.data : [forked];
			if (isAtHead) ifMatch ??= forks[0]?.forkedAtEntryId;
			made.push(...forks.map((one) => new Conversation(this.#fl, one.id, each)));
		}
		return made;
	}

	/**
	 * Return a child conversation, which its first entry makes.
	 *
	 * With an id or a key, a run that is repeated finds the child of the first one.
	 */
	async startChild(options: ChildOptions = {}): Promise<Conversation> {
		const { by, id, key, signal, ...more } = options;
		if (id !== undefined && key !== undefined)
			throw new InputError("a child has an id of its own or a key, not both", "key");
		const parentId = await this.resolve({ signal });
		const childId = key === undefined ? (id ?? newId()) : await newIdOf(parentId, key);
		return new Conversation(this.#fl, childId, undefined, {
			...more,
			startedByConversationId: parentId,
			startedByEntryId: by === undefined ? undefined : idOf(by),
		});
	}

	/** Return the child conversations, the oldest first. by: only those of this entry. */
	children(options: Sent & { by?: EntryOrId | undefined } = {}): Pages<ConversationDetails> {
		const startedByEntryId = options.by === undefined ? undefined : idOf(options.by);
		return this.#listed(options, (given, sent) =>
			this.#api.listChildren({ ...given, startedByEntryId }, sent),
		);
	}

	/**
	 * Return the entries that fit a question best, of those that this conversation shows.
	 *
	 * What only a sibling says is not found, and counts nothing. By meaning and words where the service has a model, else
	 * by words. Marks demand nothing here: to demand words, `search`. A name that does not exist yet shows nothing.
	 * `around` and `minScore` are as for the client's.
	 */
	async recall(question: string, options: Sent & Recalled = {}): Promise<Hit[]> {
		const { limit = HITS, around, minScore, ...sent } = options;
		const conversationId = await this.#shown(sent);
		if (conversationId === undefined) return [];
		const given = { query: asked(question), conversationId, limit, around, minScore };
		return (await this.#api.searchConversations(given, sent)).data;
	}

	/** Return the conversations of the fork tree, the oldest first. */
	forks(options: Sent = {}): Pages<Fork> {
		return this.#listed(options, (given, sent) => this.#api.listForks(given, sent));
	}

	/** Return the conversations whose entries this one shows, the oldest first, and itself. */
	async ancestors(options: Sent = {}): Promise<Ancestor[]> {
		return (await this.#api.listAncestors(await this.#here(options), options)).data;
	}

	/** Return the history of the whole fork tree: every entry with the one before it, and every branch. */
	async tree(options: Sent = {}): Promise<Tree> {
		return treeOf(this.#api, await this.resolve(options), options);
	}

	/**
	 * Return the ways on from the place just before a history entry: its own, and all others.
	 *
	 * Each with its tokens, cost, time, failures and score, by which tries are compared. Throws NotFoundError if no
	 * branch shows the entry in its history.
	 */
	async ways(entry: EntryOrId, options: Sent = {}): Promise<Way[]> {
		const lines = await treeOf(this.#api, await this.resolve(options), { ...options, view: "line" });
		return waysBeside(lines, idOf(entry));
	}

	// Reading

	/**
	 * Return what the conversation shows, the oldest first; with `backward` the newest first.
	 *
	 * A name that does not exist yet shows nothing. Without `channel` users see the history, and agents their own
	 * context as well.
	 */
	entries(options: EntriesOptions = {}): Pages<ListedEntry> {
		refusePaging(options);
		const { backward = false, after, pageEntries = PAGE_ENTRIES, signal, ...more } = options;
		if (backward && after !== undefined) {
			throw new InputError("backward begins at the end, so it goes without after", "after");
		}
		const begin = after === undefined ? undefined : idOf(after);
		return new Pages(async (cursor): Promise<Page<ListedEntry>> => {
			const conversationId = await this.#shown({ signal });
			if (conversationId === undefined) return { data: [], cursor: null };
			const given = { ...more, conversationId, limit: pageEntries };
			if (!backward) {
				const page = await this.#api.listEntries({ ...given, afterCursor: cursor ?? begin }, { signal });
				return { data: page.data, cursor: page.afterCursor };
			}
			const where = cursor === undefined ? { tail: true } : { beforeCursor: cursor };
			const page = await this.#api.listEntries({ ...given, ...where }, { signal });
			return { data: page.data.reverse(), cursor: page.beforeCursor };
		});
	}

	/** Return what people see of the conversation: `entries` with the channel `history`. */
	history(options: HistoryOptions = {}): Pages<ListedEntry> {
		return this.entries({ ...options, channel: HISTORY });
	}

	/** Return the last entry of the history; undefined without any. */
	async last(options: Sent = {}): Promise<ListedEntry | undefined> {
		return this.history({ ...options, backward: true, pageEntries: 1 }).first();
	}

	/**
	 * Yield what is new, as it comes: entries; with `answers` also what is new of the answer that is written at the end.
	 * It has no end.
	 *
	 * after: begin behind this entry, or with null at the beginning; without it, behind the last entry of now. A
	 * connection that is lost meanwhile is no end. Throws the error of a caller who may not see it, or not any more.
	 */
	watch(options: WatchOptions & { answers: true }): AsyncGenerator<ListedEntry | AnswerLog, void, undefined>;
	watch(options?: WatchOptions): AsyncGenerator<ListedEntry, void, undefined>;
	async *watch({
		after,
		answers = false,
		channel,
		signal,
	}: WatchOptions & { answers?: boolean } = {}): AsyncGenerator<ListedEntry | AnswerLog, void, undefined> {
		const conversationId = await this.resolve({ signal });
		const last = (): Promise<ListedEntry | undefined> =>
			this.entries({ signal, channel, backward: true, pageEntries: 1 }).first();
		const begin = after === undefined ? ((await last()) ?? null) : after;
		const from = { after: begin && idOf(begin), answers, channel, signal };
		yield* changesOf(this.#api, conversationId, from);
	}

	/** Return one entry that the conversation shows. */
	async entry(entryId: string, options: Sent = {}): Promise<Entry> {
		return this.#api.getEntry({ ...(await this.#here(options)), entryId }, options);
	}

	/** Return the entry that the conversation shows under a key of its author's. */
	async entryOf(key: string, options: Sent = {}): Promise<Entry> {
		return this.#api.lookUpEntry({ ...(await this.#here(options)), key }, options);
	}

	/**
	 * Return the conversations that go on differently just before a history entry.
	 *
	 * Throws NotFoundError if the conversation does not show the entry in its history.
	 */
	async alternativesOf(entry: EntryOrId, options: Sent = {}): Promise<Conversation[]> {
		const upToEntryId = idOf(entry);
		const place = {
			channel: HISTORY,
			upToEntryId,
			tail: true,
			limit: APPEND_ENTRIES_MAX,
			alternatives: true,
		};
		const none = `the history shows no entry ${JSON.stringify(upToEntryId)}`;
		try {
			const page = await this.#api.listEntries({ ...(await this.#here(options)), ...place }, options);
			const shown = page.data.find((one) => one.id === upToEntryId);
			if (shown) return (shown.alternatives ?? []).map((id) => new Conversation(this.#fl, id));
		} catch (cause) {
			if (!(cause instanceof BadRequestError && cause.code === "invalid_cursor")) throw cause;
			throw new NotFoundError(none, { status: 404, cause });
		}
		throw new NotFoundError(none, { status: 404 });
	}

	/**
	 * Return where two conversations of a fork tree part, and how each goes on: first this one.
	 *
	 * limit: entries of each, up to 1,000.
	 */
	async compare(
		other: Conversation | string,
		options: Sent & { limit?: number | undefined } = {},
	): Promise<Comparison> {
		const { limit, signal } = options;
		const given = { ...(await this.#here({ signal })), with: await resolved(other, { signal }), limit };
		return this.#api.compareConversations(given, { signal });
	}

	// The conversation as a whole

	/** Return the conversation: its title, owner, tags, metrics, and so on. */
	async details(options: Sent = {}): Promise<ConversationDetails> {
		return this.#api.getConversation(await this.#here(options), options);
	}

	/** Replace title, tags or metadata. A title of null is taken away. */
	async update(fields: UpdateConversation, options: Matched = {}): Promise<ConversationDetails> {
		return this.#api.updateConversation({ ...fields, ...(await this.#here(options)) }, options);
	}

	/**
	 * Score branches of this fork tree: the number `score` in the metadata of each.
	 *
	 * scores: by the ids of the branches; null takes a score away. Up to 40 are scored at once, all
	 * or none, and more one portion after the other.
	 */
	async setScores(scores: Readonly<Record<string, number | null>>, options: Sent = {}): Promise<void> {
		const tree = await this.#here(options);
		const rows = Object.entries(scores).map(([conversationId, score]) => ({ conversationId, score }));
		for (let start = 0; start < rows.length; start += SCORES_AT_ONCE) {
			await this.#api.setScores({ ...tree, scores: rows.slice(start, start + SCORES_AT_ONCE) }, options);
		}
	}

	/**
	 * Append copies of what another branch shows and this one does not have; return them.
	 *
	 * The memory that `withContext` brings is read by `context.latest`.
	 * Throws TooLargeError for more than 50 entries; nothing is merged in parts by itself.
	 */
	async merge(
		other: Conversation | string,
		options: Omit<MergeConversation, "fromConversationId"> & Keyed & Matched = {},
	): Promise<Entry[]> {
		const { idempotencyKey, ifMatch, signal, ...more } = options;
		const from = { fromConversationId: await resolved(other, { signal }) };
		const given = { ...more, ...from, ...(await this.#here({ signal })) };
		return (await this.#api.mergeConversation(given, { idempotencyKey, ifMatch, signal })).data;
	}

	/** Copy the history into a tree of one's own. */
	async copy(options: CopyConversation & Keyed = {}): Promise<Conversation> {
		const { idempotencyKey, signal, ...more } = options;
		const given = { ...more, ...(await this.#here({ signal })) };
		return new Conversation(
			this.#fl,
			(await this.#api.copyConversation(given, { idempotencyKey, signal })).id,
		);
	}

	/** Copy the whole tree into one of one's own. Returns the copy of this branch. */
	async copyTree(options: CopyTree & Keyed = {}): Promise<Conversation> {
		const { idempotencyKey, signal, ...more } = options;
		const given = { ...more, ...(await this.#here({ signal })) };
		return new Conversation(this.#fl, (await this.#api.copyTree(given, { idempotencyKey, signal })).id);
	}

	/** Make this branch the current one of its fork tree. */
	async promote(options: Sent = {}): Promise<void> {
		await this.#api.promoteConversation(await this.#here(options), options);
	}

	/**
	 * Make a name point to this conversation. expectRevision: 0 for a name that must be new.
	 *
	 * Throws ConflictError if the name has another revision.
	 */
	async point(name: string, options: Sent & { expectRevision?: number | undefined } = {}): Promise<Name> {
		const { expectRevision, signal } = options;
		return this.#api.setName({ name, expectRevision, ...(await this.#here({ signal })) }, { signal });
	}

	/**
	 * Delete this branch. Other branches keep what they show; with the last one the tree goes.
	 *
	 * A name that points here stays: the next append by it makes a new conversation. Return the conversation by its
	 * id: its `restore` brings the branch back while it is in the trash.
	 */
	delete(options: Sent = {}): Promise<Conversation> {
		return this.#delete("branch", options);
	}

	/**
	 * Delete the whole fork tree, and every tree that was started from it.
	 *
	 * Return the conversation by its id: its `restore` brings all back while the tree is in the trash of the service.
	 * With `forGood` it is not put there, or is taken out.
	 */
	deleteTree(options: Sent & { forGood?: boolean | undefined } = {}): Promise<Conversation> {
		return this.#delete("tree", options);
	}

	async #delete(
		scope: "tree" | "branch",
		{ forGood, ...sent }: Sent & { forGood?: boolean | undefined },
	): Promise<Conversation> {
		const here = await this.#here(sent);
		await this.#api.deleteConversation({ ...here, scope, forGood }, sent);
		return new Conversation(this.#fl, here.conversationId);
	}

	/** Bring a deleted fork tree back, and all that was deleted with it. Return what is told of it. */
	async restore(options: Sent = {}): Promise<ConversationDetails> {
		return this.#api.restoreConversation(await this.#here(options), options);
	}

	/** Leave the fork tree out of one's own lists of conversations. It holds for nobody else. */
	async archive(options: Sent = {}): Promise<void> {
		await this.#api.archiveConversation(await this.#here(options), options);
	}

	/** Take the fork tree out of one's archive. */
	async unarchive(options: Sent = {}): Promise<void> {
		await this.#api.unarchiveConversation(await this.#here(options), options);
	}

	/**
	 * Pin the fork tree first among one's own pins, or just after the pinned one that `after` names.
	 * `conversations({ pinned: true, ancestry: "all" })` lists the pins. It holds for nobody else.
	 */
	async pin(options: Sent & { after?: Conversation | string | undefined } = {}): Promise<void> {
		const { after, ...sent } = options;
		const afterConversationId = after && (await resolved(after, sent));
		await this.#api.pinConversation({ ...(await this.#here(sent)), afterConversationId }, sent);
	}

	/** Take the fork tree out of one's pins. */
	async unpin(options: Sent = {}): Promise<void> {
		await this.#api.unpinConversation(await this.#here(options), options);
	}

	/**
	 * Write a note on an entry of the history: a text, a score, or both. Every branch that shows the entry
	 * shows it. It is no part of the history, and no context.
	 */
	async note(entry: EntryOrId, options: AddNote & Keyed): Promise<Note> {
		const { idempotencyKey, signal, ...said } = options;
		const given = { ...said, ...(await this.#here({ signal })), entryId: idOf(entry) };
		return this.#api.addNote(given, { idempotencyKey, signal });
	}

	/** Return the notes on all that the conversation shows, on one entry, or on all of the fork tree. */
	notes(options: Sent & { entryId?: string | undefined; allForks?: boolean | undefined } = {}): Pages<Note> {
		const { entryId, allForks, ...sent } = options;
		return this.#listed(sent, (given, more) => this.#api.listNotes({ ...given, entryId, allForks }, more));
	}

	/** Delete a note: one's own, or as a manager; a pin as a writer, too. */
	async deleteNote(note: Note, options: Sent = {}): Promise<void> {
		const of = { entryId: note.entryId, noteId: note.id };
		await this.#api.deleteNote({ ...(await this.#here(options)), ...of }, options);
	}

	/**
	 * Pin an entry of the history, for all who see it. The pin is a note: every branch that shows the entry shows it.
	 * What is pinned already keeps its pin.
	 */
	pinEntry(entry: EntryOrId, options: Keyed = {}): Promise<Note> {
		return this.note(entry, { ...options, pinned: true });
	}

	/** Take the pins of an entry away, whoever has pinned it. */
	async unpinEntry(entry: EntryOrId, options: Sent = {}): Promise<void> {
		for await (const note of this.notes({ ...options, entryId: idOf(entry) }))
			if (note.pinned)
				await this.deleteNote(note, options).catch((error: unknown) => {
					if (!saysNothing(error)) throw error; // somebody else has done it
				});
	}

	/** Return the pinned entries that the conversation shows, the oldest first. */
	async pinnedEntries(options: Sent = {}): Promise<Entry[]> {
		const pins = new Set<string>();
		for await (const note of this.notes(options)) if (note.pinned) pins.add(note.entryId);
		return Promise.all([...pins].map((id) => this.entry(id, options)));
	}

	/**
	 * Make a link by which people without an account read what was said until now. Only the answer has the
	 * `secret`, which opens it.
	 */
	async link(options: CreateLink & Keyed = {}): Promise<CreatedLink> {
		const { idempotencyKey, signal, ...more } = options;
		const given = { ...more, ...(await this.#here({ signal })) };
		return this.#api.createLink(given, { idempotencyKey, signal });
	}

	/** End a link to the fork tree. */
	async unlink(link: { id: string } | string, options: Sent = {}): Promise<void> {
		const linkId = typeof link === "string" ? link : link.id;
		await this.#api.deleteLink({ ...(await this.#here(options)), linkId }, options);
	}

	/** Return the links to the fork tree that have not ended, the oldest first. */
	links(options: Sent = {}): Pages<Link> {
		return this.#listed(options, (given, sent) => this.#api.listLinks(given, sent));
	}

	/**
	 * Let a user into the fork tree, or change the level of who is in it. A lower level is also for the
	 * trees that were started from this one; `children: "keep"`: not. To let a user into these, too, needs
	 * `children: "include"`.
	 */
	async share(
		userId: string,
		accessLevel: "manager" | "writer" | "reader",
		{ children, ...options }: Sent & { children?: "include" | "keep" } = {},
	): Promise<Membership> {
		const given = { ...(await this.#here(options)), userId, accessLevel };
		try {
			return await this.#api.shareConversation({ ...given, children }, options);
		} catch (error) {
			if (!(error instanceof ConflictError && error.reason === "already_member")) throw error;
			return this.#api.updateMembership({ ...given, children }, options);
		}
	}

	/**
	 * End a membership: that of another user, or one's own. It is also for the trees that were started
	 * from this one; `children: "keep"`: not.
	 */
	async unshare(
		userId: string,
		{ children, ...options }: Sent & { children?: "include" | "keep" } = {},
	): Promise<RemovedMembership> {
		const here = await this.#here(options);
		return this.#api.removeMembership({ ...here, userId, children }, options);
	}

	/** Return who may see the fork tree, the oldest member first. */
	members(options: Sent = {}): Pages<Membership> {
		return this.#listed(options, (given, sent) => this.#api.listMemberships(given, sent));
	}

	async #here(options: Sent): Promise<{ conversationId: string }> {
		return { conversationId: await this.resolve({ signal: options.signal }) };
	}

	/** Return a list of what belongs to this conversation. */
	#listed<T>(
		{ signal }: Sent,
		ask: (
			given: { conversationId: string; afterCursor: string | undefined; limit: number },
			sent: Sent,
		) => Promise<{ data: T[]; afterCursor: string | null }>,
	): Pages<T> {
		return pagesOf(async (afterCursor) =>
			ask({ ...(await this.#here({ signal })), afterCursor, limit: PAGE_ROWS }, { signal }),
		);
	}
}

/** Return the condition of an append that stands behind an entry only. */
const boundTo = (ifLast: EntryOrId | undefined): string | undefined =>
	ifLast === undefined ? undefined : idOf(ifLast);

/** Whether the service itself says that there is nothing. Others on the way have a 404 of their own. */
const saysNothing = (error: unknown): boolean => error instanceof NotFoundError && error.code === "not_found";

function anchorOf(entry: EntryOrId | undefined): string {
	if (entry) return idOf(entry);
	throw new InputError("a fork at the head has neither before nor after");
}

const resolved = (conversation: Conversation | string, options: Sent): string | Promise<string> =>
	typeof conversation === "string" ? conversation : conversation.resolve(options);
