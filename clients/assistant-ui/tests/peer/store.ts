// In place of the memory store of `assistant-stream`: each stream in a conversation of its own.

import type { ResumableStreamStore } from "assistant-stream/resumable";
import { inject } from "vitest";

import { Forklore } from "@forklore/client";

import { resumableStreamStore } from "../../src/index.ts";

export function createInMemoryResumableStreamStore(): Required<ResumableStreamStore> {
	const fl = new Forklore(inject("url"), { token: crypto.randomUUID() });
	const made = new Map<string, string>();
	const store = resumableStreamStore(fl, {
		conversationOf: (streamId) => made.get(streamId) ?? crypto.randomUUID(),
	});
	const make = async (streamId: string): Promise<void> => {
		if (!made.has(streamId)) made.set(streamId, (await fl.create()).id);
	};
	return {
		...store,
		async acquire(streamId, options) {
			await make(streamId);
			return store.acquire(streamId, options);
		},
		async acquireLease(streamId, options) {
			await make(streamId);
			return store.acquireLease(streamId, options);
		},
	};
}
