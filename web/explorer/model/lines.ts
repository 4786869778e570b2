// An entry as a line: who says it, and its first words.

import { blocksOf, isHistory, roleNamed, roleOf } from "./forms.ts";
import { firstWords } from "./shown.ts";
import type { Entry, Line, Role } from "./types.ts";
import { unmarked, visible } from "./words.ts";

/** What adapters write for people where a tool is called or returns. */
const TOOL = /^\[(?:calls (.*?)|(?:\S+ )?returned (.*?))\]?$/;

/** Return what the tree draws of an entry, which the service may have listed as a line. */
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
	const { role, text, failed } = entry.content.length || entry.erased ? said(entry) : told(entry);
	return { ...kept, ...beside, role, text: unmarked(text), ...(failed && { failed }) };
}

const said = (entry: Entry) => ({
	role: roleOf(entry),
	text: firstWords(entry),
	failed: blocksOf(entry).some((one) => "result" in one && one.result?.isError),
});

/** Return what the service tells of an entry in place of its content. */
function told({ line, contentType, attachments }: Entry): {
	role: Role;
	text: string;
	failed?: boolean | undefined;
} {
	if (!line) return { role: "other", text: "A long entry" };
	const { role, text, tool, failed, holds = [] } = line;
	const known = roleNamed(role);
	const [, called, returned] = (known !== "user" && TOOL.exec(text ?? "")) || [];
	const words = called ?? returned ?? text ?? tool;
	const isTool = returned !== undefined || (tool && known === "other");
	const wordless = isHistory(contentType) ? "Without words" : contentType;
	const result = known === "tool" ? "Tool result" : wordless;
	const file = attachments?.[0]?.name ?? (holds.includes("attachments") ? "Attachment" : undefined);
	const other = failed ? "Failed tool" : (file ?? result);
	return { role: isTool ? "tool" : known, text: visible(words ?? other), failed };
}
