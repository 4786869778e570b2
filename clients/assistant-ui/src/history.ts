// The history of a thread: each message of assistant-ui is a message of the chat, with the same id.

import type {
	ExportedMessageRepositoryItem,
	GenericThreadHistoryAdapter,
	MessageFormatAdapter,
	MessageFormatItem,
	ThreadHistoryAdapter,
} from "@assistant-ui/core";
import { InputError, NotFoundError, type Forklore } from "@forklore/client";
import {
	ChatFiles,
	ChatStore,
	type ChatAnswer,
	type ChatMessage,
	type PlacedAnswer,
	type PlacedMessage,
	type Unsaved,
} from "@forklore/client/chat";

import { messageOf, plainOf, textOfParts, threadMessageOf } from "./messages.ts";
import { resultsOf } from "./results.ts";
import { answerAt, untilOver } from "./streams.ts";

/** A thread of assistant-ui's list: `aui.threadListItem`. */
export interface Thread {
	getState(): { readonly remoteId?: string | undefined };
	initialize(): Promise<{ remoteId: string }>;
}

/**
 * How a history is kept. onUnsaved: is told what is not stored of a thread whenever that has changed; of none, when
 * all is. remoteId: undefined for a thread that could not be made.
 */
export interface HistoryOptions {
	onUnsaved?: ((unsaved: Unsaved[], remoteId: string | undefined) => void) | undefined;
	/**
	 * A server streams answers with `resumableStreamStore`, which stores them. A page shows the one that is written when
	 * it is opened.
	 */
	answers?: boolean | undefined;
}

/** An answer that was written when a thread was loaded. shownAs: the message of this page that shows it. */
interface Resumed extends PlacedAnswer {
	thread: string;
	shownAs?: string | undefined;
}

const STORED_MS = 5_000; // how long a message waits for the answer before it to be stored

/**
 * A message on its way into the store of its thread. isNew: false for another version of one. error: why there is no
 * such thread yet.
 */
interface Said {
	readonly isNew: boolean;
	readonly thread: Thread;
	readonly parentId: string | null;
	readonly message: ChatMessage;
	error: unknown;
}

/** How items of a format become messages of the chat, and come back. undefined: the format cannot show it. */
interface Codec<Item> {
	encode: (item: Item) => ChatMessage;
	decode: (placed: PlacedMessage) => Item | undefined;
}

/** What all formats of a history do. */
type Adapter<Item> = Required<Pick<GenericThreadHistoryAdapter<unknown>, "pin">> & {
	load(): Promise<{ headId: string | null; messages: Item[]; unstable_resume?: boolean }>;
	append(item: Item): Promise<void>;
	update(item: Item): Promise<void>;
	delete(items: Item[]): Promise<void>;
};

/**
 * Return the history of one thread, for assistant-ui's `history`, with all branches.
 *
 * thread: the id of a conversation, new or not; or a function that returns `aui.threadListItem`. `append` and `update`
 * throw why a message is not stored. It is sent again before the next one.
 */
export function historyAdapter(
	fl: Forklore,
	thread: string | (() => Thread),
	{ onUnsaved, answers = false }: HistoryOptions = {},
): ThreadHistoryAdapter &
	Required<Pick<ThreadHistoryAdapter, "update" | "delete" | "withFormat" | "resume">> {
	const files = new ChatFiles(fl);
	const stores = new Map<string, ChatStore>();
	const storeOf = (id: string): ChatStore => {
		const tell = (unsaved: Unsaved[]): void => onUnsaved?.(unsaved, id);
		const store = stores.get(id) ?? new ChatStore(fl, id, { files, onUnsaved: tell });
		stores.set(id, store);
		return store;
	};
	const given = (): Thread => (typeof thread === "string" ? threadOf(thread) : thread());

	let resumed: Resumed | undefined;
	/** Answers that a server stores, by their messages, until it has. */
	const served = new Map<string, Promise<void>>();
	/** Return the answer in progress that a message is; undefined if no server writes it. */
	const answerIn = async (
		thread: string,
		{ isNew, message: { id, role, text }, parentId: parent }: Said,
	): Promise<ChatAnswer | undefined> => {
		if (!answers || !isNew || role === "user" || role === "system") return undefined;
		try {
			const answer =
				resumed?.shownAs === id ? resumed : await answerAt(storeOf(thread), { thread, parent, message: id });
			const { conversationId, id: answerId } = answer;
			const { state } = await fl.api.getAnswer({ conversationId, answerId });
			return state === "dropped" && text !== "" ? undefined : answer;
		} catch (error) {
			if (error instanceof NotFoundError || error instanceof InputError) return undefined;
			throw error;
		}
	};
	/** Wait until a server has stored an answer, and let what follows stand behind it. */
	const storedElsewhere = async (
		thread: string,
		{ message: { id }, parentId: parent }: Said,
		answer: ChatAnswer,
	): Promise<void> => {
		const place = { thread, parent, message: "shownAs" in answer ? answer.id : id };
		const patience = AbortSignal.timeout(STORED_MS);
		let entryId: string | undefined;
		try {
			for await (const log of untilOver(fl, place, answer, patience)) ({ entryId } = log);
		} catch (error) {
			if (!patience.aborted) throw error;
		}
		await storeOf(thread).follow(id, parent, entryId);
	};

	/** What was said in a thread that could not be made. */
	let early: Said[] = [];
	const setEarly = (left: Said[]): void => {
		if (left.length === 0 && early.length === 0) return;
		early = left;
		onUnsaved?.(
			early.map(({ message, parentId, error }) => ({ message, parentId, error })),
			undefined,
		);
	};
	/** Append what was said, after what was said before its thread could be made. */
	const hand = async (said: Said): Promise<{ stored: Promise<void> }> => {
		const left: Said[] = [];
		let stored = Promise.resolve();
		for (const one of [...early, said]) {
			try {
				const { remoteId } = await one.thread.initialize();
				await (served.get(one.message.id) ?? served.get(one.parentId ?? ""));
				const answer = await answerIn(remoteId, one);
				stored =
					answer === undefined
						? storeOf(remoteId).append(one.parentId, one.message)
						: storedElsewhere(remoteId, one, answer);
				const settled = stored.catch(() => undefined); // the store tells it
				if (answer !== undefined) served.set(one.message.id, settled);
			} catch (error) {
				left.push({ ...one, error });
			}
		}
		setEarly(left);
		if (left.at(-1)?.message === said.message) throw left.at(-1)?.error;
		return { stored };
	};
	let last: Promise<unknown> = Promise.resolve();

	const adapted = <Item extends { parentId: string | null }>({
		encode,
		decode,
	}: Codec<Item>): Adapter<Item> => {
		let pinned: Thread | undefined;
		const opened = (): ChatStore | undefined => {
			const { remoteId } = (pinned ?? given()).getState();
			return remoteId === undefined ? undefined : storeOf(remoteId);
		};
		const append = async (item: Item, isNew = true): Promise<void> => {
			const { parentId } = item;
			const message = encode(item);
			const said = { isNew, thread: pinned ?? given(), parentId, message, error: undefined };
			const handed = last.then(() => hand(said));
			last = handed.catch(() => undefined);
			await (
				await handed
			).stored;
		};
		return {
			pin() {
				pinned = given();
			},
			async load() {
				const store = opened();
				if (store === undefined) return { headId: null, messages: [] };
				const chat = await store.load();
				const shown = new Map<string | null, string | null>([[null, null]]);
				const messages = chat.messages.flatMap((placed) => {
					const parentId = shown.get(placed.parentId) ?? null;
					const item = decode({ ...placed, parentId });
					shown.set(placed.id, item === undefined ? parentId : placed.id);
					return item === undefined ? [] : [item];
				});
				const { answering } = chat;
				resumed = answers && answering ? { ...answering, thread: store.conversationId } : undefined;
				const headId = shown.get(resumed ? resumed.parentId : chat.headId) ?? null;
				return { headId, messages, ...(resumed && { unstable_resume: true }) };
			},
			append: async (item) => append(item),
			update: async (item) => append(item, false),
			async delete(items) {
				const ids = items.map((item) => encode(item).id);
				setEarly(early.filter(({ message }) => !ids.includes(message.id)));
				await opened()?.delete(...ids);
			},
		};
	};

	const { pin: _, ...plain } = adapted<ExportedMessageRepositoryItem>({
		encode: messageOf,
		decode: (placed) => threadMessageOf(fl, placed),
	});
	return {
		...plain,
		// eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other name for the message yet
		async *resume({ abortSignal: signal, unstable_assistantMessageId: shownAs }) {
			if (resumed === undefined) return;
			const answer = Object.assign(resumed, { shownAs });
			const { id: answerId, conversationId, thread, parentId: parent } = answer;
			const stop = (): void => {
				const { detach = false } = (signal.reason ?? {}) as { detach?: boolean };
				if (!detach) fl.api.stopAnswer({ conversationId, answerId }).catch(() => undefined); // it has ended
			};
			signal.addEventListener("abort", stop, { once: true });
			try {
				yield* resultsOf(untilOver(fl, { thread, parent, message: answerId }, answer, signal));
			} catch (error) {
				if (!signal.aborted) throw error;
			} finally {
				signal.removeEventListener("abort", stop);
			}
		},
		withFormat: (format) => adapted(codecOf(fl, format)),
	};
}

const threadOf = (remoteId: string): Thread => ({
	getState: () => ({ remoteId }),
	initialize: () => Promise.resolve({ remoteId }),
});

/** Return how messages of another format are kept: as the format's own adapter encodes them. */
function codecOf<TMessage, TStored extends Record<string, unknown>>(
	fl: Forklore,
	adapter: MessageFormatAdapter<TMessage, TStored>,
): Codec<MessageFormatItem<TMessage>> {
	const { format } = adapter;
	return {
		encode(item) {
			const message = adapter.encode(item);
			const role = message["role"] === "user" || message["role"] === "system" ? message["role"] : "ai";
			const text = textOfParts(message["parts"]);
			return { id: adapter.getId(item.message), role, text, data: { format, message } };
		},
		decode(placed) {
			const { id, parentId, data } = placed;
			const stored = data["format"] === format ? data["message"] : plainOf(fl, format, placed);
			if (stored === undefined) return undefined;
			return adapter.decode({ id, parent_id: parentId, format, content: stored as TStored });
		},
	};
}
