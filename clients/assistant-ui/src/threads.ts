// The list of threads: each thread is the fork tree of a conversation.

import { useEffect, useMemo, useRef } from "react";

import type { RemoteThreadListAdapter, RemoteThreadMetadata, ThreadMessage } from "@assistant-ui/core";
import { useAui, type AssistantClient } from "@assistant-ui/store";
import { createAssistantStream } from "assistant-stream";

import { NotFoundError, type ConversationDetails, type Forklore } from "@forklore/client";

import { historyAdapter, type HistoryOptions, type Thread } from "./history.ts";
import { textOfParts } from "./messages.ts";

/** Of the title that the service makes. */
const TITLE_CHARACTERS = 40;
/** Of a user. */
const PINS_MAX = 50;

/** How a list is made. title: makes a thread's title; without it the service does, from the first text. */
export interface ThreadListOptions extends HistoryOptions {
	title?: ((messages: readonly ThreadMessage[]) => Promise<string>) | undefined;
	/** How many threads are asked for at a time, those that were used last first. */
	pageRows?: number | undefined;
}

/** What `threadListAdapter` returns: all that assistant-ui may ask for. */
export type ThreadListAdapter = RemoteThreadListAdapter &
	Required<Pick<RemoteThreadListAdapter, "unarchive" | "updateCustom" | "unstable_useAdapters">>;

/**
 * Return the list of the user's threads, for assistant-ui's `useRemoteThreadListRuntime`.
 *
 * A thread's remote id is the id of the conversation that began it. Each thread has its history here, too. What the
 * user has pinned is first, in the user's own order, with `pinned: true` in `custom`: to set that pins the thread
 * before the others, and a `custom` without it unpins it.
 */
export function threadListAdapter(fl: Forklore, options: ThreadListOptions = {}): ThreadListAdapter {
	const { title: titleOf, pageRows: limit = 50, onUnsaved, answers } = options;
	const rename = async (remoteId: string, title: string): Promise<void> => {
		await fl.conversation(remoteId).update({ title });
	};
	/** The pinned threads, as far as it is known here: to pin one again would move it. */
	const pins = new Set<string>();
	const threadOf = (of: ConversationDetails): RemoteThreadMetadata => metadataOf(of, pins.has(of.id));
	return {
		async list({ after } = {}) {
			const asked = { mode: "roots", archived: "include" } as const;
			const [page, pinned] = await Promise.all([
				fl.api.listConversations({ ...asked, limit, afterCursor: after }),
				after === undefined && fl.api.listConversations({ ...asked, pinned: true, limit: PINS_MAX }),
			]);
			if (pinned) {
				pins.clear();
				for (const { id } of pinned.data) pins.add(id);
			}
			const rows = [...(pinned ? pinned.data : []), ...page.data.filter(({ id }) => !pins.has(id))];
			return { threads: rows.map(threadOf), nextCursor: page.afterCursor ?? undefined };
		},
		async initialize(threadId, { custom } = {}) {
			// asked for twice for one thread, it is made once
			const sent = { idempotencyKey: `thread ${threadId}` };
			const { id } = await fl.api.createConversation({ metadata: custom }, sent);
			return { remoteId: id };
		},
		rename,
		async updateCustom(remoteId, { pinned, ...rest } = {}) {
			const isPin = pinned === true;
			const metadata = isPin || pinned === undefined ? rest : { ...rest, pinned };
			const chat = fl.conversation(remoteId);
			await chat.update({ metadata });
			if (isPin === pins.has(remoteId)) return;
			await (isPin ? chat.pin() : chat.unpin());
			if (isPin) pins.add(remoteId);
			else pins.delete(remoteId);
		},
		async archive(remoteId) {
			await fl.conversation(remoteId).archive();
		},
		async unarchive(remoteId) {
			await fl.conversation(remoteId).unarchive();
		},
		async delete(remoteId) {
			try {
				await fl.conversation(remoteId).deleteTree();
			} catch (error) {
				if (!(error instanceof NotFoundError)) throw error; // it is deleted
			}
		},
		async fetch(threadId) {
			return threadOf(await fl.conversation(threadId).details());
		},
		async generateTitle(remoteId, messages) {
			// without a function it is what the service calls the thread, which may not have the message yet
			const title = titleOf
				? await titleOf(messages)
				: Array.from(textOfParts(messages[0]?.content)).slice(0, TITLE_CHARACTERS).join("");
			if (titleOf) await rename(remoteId, title);
			return createAssistantStream((controller) => {
				if (title !== "") controller.appendText(title);
			});
		},
		// eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other place for it yet
		unstable_useAdapters: function useHistory() {
			const aui = useAui();
			const current = useRef(aui);
			useEffect(() => {
				current.current = aui;
			});
			return useMemo(
				() => ({ history: historyAdapter(fl, () => threadIn(current.current), { onUnsaved, answers }) }),
				[],
			);
		},
	};
}

const metadataOf = (
	{ id, title, metadata, archived, lastUsedAt }: ConversationDetails,
	isPinned: boolean,
): RemoteThreadMetadata => ({
	remoteId: id,
	status: archived ? "archived" : "regular",
	title: title ?? undefined,
	lastMessageAt: new Date(lastUsedAt),
	custom: isPinned ? { ...metadata, pinned: true } : metadata,
});

/** Return the thread that is shown, as an object that stays with it when another one is. */
function threadIn(aui: AssistantClient): Thread {
	const live = aui.threadListItem;
	const { id } = live.getState();
	const isListed = aui.threads.getState().threadItems.some((item) => item.id === id);
	return isListed ? aui.threads.item({ id }) : live;
}
