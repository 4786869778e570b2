// The history of a thread: each message of assistant-ui is a message of the chat, with the same id.

import type {
	ExportedMessageRepositoryItem,
	GenericThreadHistoryAdapter,
	MessageFormatAdapter,
	MessageFormatItem,
	ThreadHistoryAdapter,
} from "@assistant-ui/core";
import type { Forklore } from "@forklore/client";
import { ChatStore, type ChatMessage, type PlacedMessage } from "@forklore/client/chat";

import { messageOf, plainOf, textOfParts, threadMessageOf } from "./messages.ts";

/** A thread of assistant-ui's list: `aui.threadListItem`. */
export interface Thread {
	getState(): { readonly remoteId?: string | undefined };
	initialize(): Promise<{ remoteId: string }>;
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
 * thread: the id of a conversation, new or not; or a function that returns `aui.threadListItem`.
 */
export function historyAdapter(
	fl: Forklore,
	thread: string | (() => Thread),
): ThreadHistoryAdapter & Required<Pick<ThreadHistoryAdapter, "update" | "delete" | "withFormat">> {
	const stores = new Map<string, ChatStore>();
	const storeOf = (id: string): ChatStore => {
		const store = stores.get(id) ?? new ChatStore(fl, id);
		stores.set(id, store);
		return store;
	};
	const given = (): Thread => (typeof thread === "string" ? threadOf(thread) : thread());

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
			const message = encode(item);
			const { remoteId } = await (pinned ?? given()).initialize();
			await storeOf(remoteId).append(item.parentId, message);
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
				await opened()?.delete(...items.map((item) => encode(item).id));
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
