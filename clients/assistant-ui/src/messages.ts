// Messages of assistant-ui as messages of a chat, and back.

import type { ExportedMessageRepositoryItem, MessageStatus, ThreadMessage } from "@assistant-ui/core";
import type { ChatMessage, PlacedMessage } from "@forklore/client/chat";

/** What a thread's own format is called in `data`. */
const FORMAT = "assistant-ui";

/** Return the message of a chat that an item is kept as: the whole message of assistant-ui in `data`. */
export function messageOf({ message, runConfig }: ExportedMessageRepositoryItem): ChatMessage {
	const { id, role, attachments, status, ...rest } = message;
	const kept = {
		...rest,
		...(status && { status: jsonOf(status) }),
		// a file of this machine is no JSON; its content is in the attachment
		...(attachments && { attachments: attachments.map(({ file: _, ...one }) => one) }),
	};
	const text = textOfParts(message.content);
	return { id, role, text, data: { format: FORMAT, message: kept, runConfig } };
}

/** Return the item that a message is. One of another format has its text alone. */
export function threadMessageOf({
	id,
	parentId,
	role,
	text,
	createdAt,
	data,
}: PlacedMessage): ExportedMessageRepositoryItem {
	const named = role === "ai" ? "assistant" : role;
	const kept = data["format"] === FORMAT ? data["message"] : { createdAt, ...said(role, text) };
	const { createdAt: at, ...rest } = kept as { createdAt: string };
	const message = { ...rest, id, role: named, createdAt: new Date(at) } as ThreadMessage;
	const { runConfig } = data as Pick<ExportedMessageRepositoryItem, "runConfig">;
	return { parentId, message, ...(runConfig && { runConfig }) };
}

/** Return a status with the text of its error: the runtime keeps the error itself, which is no JSON. */
function jsonOf(status: MessageStatus): MessageStatus {
	const isError = status.type === "incomplete" && status.error instanceof Error;
	return isError ? { ...status, error: String(status.error) } : status;
}

/** Return the text of a message's parts: of those that are text, one behind another. */
export function textOfParts(parts: unknown): string {
	if (!Array.isArray(parts)) return "";
	return (parts as Partial<{ type: string; text: string }>[])
		.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
		.join("\n\n");
}

/** Return what a text is in another format; undefined if that is not known. */
export function plainOf(
	format: string,
	role: PlacedMessage["role"],
	text: string,
): Record<string, unknown> | undefined {
	if (!format.startsWith("ai-sdk/")) return undefined;
	return { role: role === "ai" ? "assistant" : role, parts: [{ type: "text", text }] };
}

/** Return what a message of assistant-ui has beside its id, if it is a text. */
function said(role: PlacedMessage["role"], text: string): Record<string, unknown> {
	const content = [{ type: "text", text }];
	const metadata = { custom: {} };
	if (role === "user") return { content, attachments: [], metadata };
	if (role === "system") return { content, metadata };
	return {
		content,
		status: { type: "complete", reason: "unknown" },
		metadata: { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], ...metadata },
	};
}
