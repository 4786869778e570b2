// The history of a thread: each message of assistant-ui is a message of the chat, with the same id.

import type {
	ExportedMessageRepositoryItem,
	GenericThreadHistoryAdapter,
	MessageFormatAdapter,
	MessageFormatItem,
	ThreadHistoryAdapter,
} from "@assistant-ui/core";
import type { Forklore } from "@forklore/client";
import { ChatStore, type ChatMessage, type PlacedMessage, type Unsaved } from "@forklore/client/chat";

import { messageOf, plainOf, textOfParts, threadMessageOf } from "./messages.ts";

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
}

/** A message on its way into the store of its thread. error: why there is no such thread yet. */
interface Said {
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
	load(): Promise<{ headId: string | null; messages: Item[] }>;
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
	{ onUnsaved }: HistoryOptions = {},
): ThreadHistoryAdapter & Required<Pick<ThreadHistoryAdapter, "update" | "delete" | "withFormat">> {
	const stores = new Map<string, ChatStore>();
	const storeOf = (id: string): ChatStore => {
		const tell = (unsaved: Unsaved[]): void => onUnsaved?.(unsaved, id);
		const store = stores.get(id) ?? new ChatStore(fl, id, { onUnsaved: tell });
		stores.set(id, store);
		return store;
	};
	const given = (): Thread => (typeof thread === "string" ? threadOf(thread) : thread());

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
				stored = storeOf(remoteId).append(one.parentId, one.message);
				stored.catch(() => undefined); // the store tells it
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
		const append = async (item: Item): Promise<void> => {
			const { parentId } = item;
			const said = { thread: pinned ?? given(), parentId, message: encode(item), error: undefined };
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
				const chat = await opened()?.load();
				if (chat === undefined) return { headId: null, messages: [] };
				const shown = new Map<string | null, string | null>([[null, null]]);
				const messages = chat.messages.flatMap((placed) => {
					const parentId = shown.get(placed.parentId) ?? null;
					const item = decode({ ...placed, parentId });
					shown.set(placed.id, item === undefined ? parentId : placed.id);
					return item === undefined ? [] : [item];
				});
				return { headId: shown.get(chat.headId) ?? null, messages };
			},
			append,
			update: append,
			async delete(items) {
				const ids = items.map((item) => encode(item).id);
				setEarly(early.filter(({ message }) => !ids.includes(message.id)));
				await opened()?.delete(...ids);
			},
		};
	};

	const { pin: _, ...plain } = adapted<ExportedMessageRepositoryItem>({
		encode: messageOf,
		decode: threadMessageOf,
	});
	return { ...plain, withFormat: (format) => adapted(codecOf(format)) };
}

const threadOf = (remoteId: string): Thread => ({
	getState: () => ({ remoteId }),
	initialize: () => Promise.resolve({ remoteId }),
});

/** Return how messages of another format are kept: as the format's own adapter encodes them. */
function codecOf<TMessage, TStored extends Record<string, unknown>>(
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
		decode({ id, parentId, role, text, data }) {
			const stored = data["format"] === format ? data["message"] : plainOf(format, role, text);
			if (stored === undefined) return undefined;
			return adapter.decode({ id, parent_id: parentId, format, content: stored as TStored });
		},
	};
}
