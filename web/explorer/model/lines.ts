// An entry as a line: who says it, and its first words.

import { roleOf, textOf, type ListedEntry } from "@forklore/client";
import type { Line } from "./types.ts";
import { clipped, visible } from "./words.ts";

const LINE_CHARACTERS = 120;

/** Return what the tree draws of an entry. */
export function lineOf(entry: ListedEntry): Line {
	const { id, conversationId, parentId, createdAt, userId, agentId, usage } = entry;
	const { mergedFromConversationId, copiedFromConversationId } = entry;
	const kept = { id, conversationId, parentId, createdAt, userId };
	const beside = {
		...(agentId && { agentId }),
		...(mergedFromConversationId && { mergedFromConversationId }),
		...(copiedFromConversationId && { copiedFromConversationId }),
		...(usage && { usage }),
	};
	return { ...kept, ...beside, role: roleOf(entry) ?? "other", text: firstWords(entry) };
}

function firstWords(entry: ListedEntry): string {
	if (entry.erased) return "[erased]";
	const text = textOf(entry) ?? "";
	return clipped(
		visible(text)
			.slice(0, LINE_CHARACTERS * 4)
			.replace(/\s+/g, " ")
			.trim(),
		LINE_CHARACTERS,
	);
}
