// An entry as a line: who says it, and its first words.

import { roleOf } from "./forms.ts";
import { firstWords } from "./shown.ts";
import type { Entry, Line } from "./types.ts";

/** Return what the tree draws of an entry. */
export function lineOf(entry: Entry): Line {
	const { id, conversationId, parentId, createdAt, userId, agentId, usage } = entry;
	const { mergedFromConversationId, copiedFromConversationId } = entry;
	const kept = { id, conversationId, parentId, createdAt, userId };
	const beside = {
		...(agentId && { agentId }),
		...(mergedFromConversationId && { mergedFromConversationId }),
		...(copiedFromConversationId && { copiedFromConversationId }),
		...(usage && { usage }),
	};
	return { ...kept, ...beside, role: roleOf(entry), text: firstWords(entry) };
}
