// An entry as a line: who says it, and its first words.

import { blocksOf, isHistory, roleNamed, roleOf, saidAt } from "./forms.ts";
import { firstWords } from "./shown.ts";
import type { Entry, Line } from "./types.ts";
import { unmarked, visible } from "./words.ts";

/** What adapters write for people where a tool is called or returns. */
const TOOL = /^\[(?:calls (.*?)|(?:\S+ )?returned (.*?))\]?$/;

/** Return what the tree draws of an entry, which the service may have listed as a line. before: that of its parent. */
export function lineOf(entry: Entry, before?: Line): Line {
	const { id, conversationId, parentId, createdAt, userId, agentId, usage } = entry;
	const { mergedFromConversationId, copiedFromConversationId } = entry;
	const kept = { id, conversationId, parentId, createdAt, userId };
	const beside = {
		...(agentId && { agentId }),
		...(mergedFromConversationId && { mergedFromConversationId }),
		...(copiedFromConversationId && { copiedFromConversationId }),
		...(usage && { usage }),
	};
	const known = entry.content.length || entry.erased;
	const { role, text, isTool, failed } = known ? said(entry) : told(entry, before);
	return {
		...kept,
		...beside,
		at: saidAt(entry),
		role,
		text: unmarked(text),
		...(isTool && { isTool }),
		...(failed && { failed }),
	};
}

function said(entry: Entry): Pick<Line, "role" | "text" | "isTool" | "failed"> {
	const blocks = blocksOf(entry);
	return {
		role: roleOf(entry),
		text: firstWords(entry),
		isTool: blocks.length > 0 && blocks.every(({ kind }) => kind === "call" || kind === "result"),
		failed: blocks.some((one) => "result" in one && one.result?.isError),
	};
}

/** Tell whether a line is of nothing but the call of a tool. */
export const isCall = (line: Line | undefined): line is Line => line?.role === "ai" && line.isTool === true;

/** Return what the service tells of an entry in place of its content. */
function told({ line, contentType, attachments }: Entry, before?: Line): ReturnType<typeof said> {
	if (!line) return { role: "other", text: "A long entry" };
	const { role, text, tool, failed, holds = [] } = line;
	const known = roleNamed(role);
	const [, called, returned] = (known !== "user" && TOOL.exec(text ?? "")) || [];
	const words = called ?? returned ?? text ?? tool;
	const wordless = isHistory(contentType) ? "Without words" : contentType;
	const asked = isCall(before) ? before.text.split(" ")[0] : undefined;
	const file = attachments?.[0]?.name ?? (holds.includes("attachments") ? "Attachment" : undefined);
	// Some providers let a user say what a tool has returned.
	const isResult = known === "tool" || (known === "user" && asked !== undefined && !words && !file);
	const isTool = returned !== undefined || (tool && known === "other") || isResult;
	const result = isResult ? (asked ? `${asked} returned` : "Tool result") : wordless;
	const other = failed ? (asked ? `${asked} failed` : "Failed tool") : (file ?? result);
	return {
		role: isTool ? "tool" : known,
		text: visible(words ?? other),
		isTool: isTool || called !== undefined || (!text && !file && (known !== "ai" || tool !== undefined)),
		failed: failed ?? false,
	};
}
