// Messages of assistant-ui as messages of a chat, and back.

import type {
	CompleteAttachment,
	ExportedMessageRepositoryItem,
	FileMessagePart,
	ImageMessagePart,
	MessageStatus,
	ThreadMessage,
} from "@assistant-ui/core";

import type { Forklore } from "@forklore/client";
import { fileUrl, type ChatMessage, type PlacedMessage } from "@forklore/client/chat";

/** What of a client makes the addresses of files. */
type Locating = Pick<Forklore, "located">;

/** A file, as messages name it. */
interface Named {
	name: string;
	contentType: string;
}

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

/** Return the item that a message is. One of another format has its text and its files alone. */
export function threadMessageOf(fl: Locating, placed: PlacedMessage): ExportedMessageRepositoryItem {
	const { id, parentId, role, createdAt, data } = placed;
	const named = role === "ai" ? "assistant" : role;
	const kept = data["format"] === FORMAT ? data["message"] : { createdAt, ...said(fl, placed) };
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

/** Return what a text with files is in another format; undefined if that is not known. */
export function plainOf(
	fl: Locating,
	format: string,
	{ role, text, files = [] }: PlacedMessage,
): Record<string, unknown> | undefined {
	if (!format.startsWith("ai-sdk/")) return undefined;
	const parts = files.map((file) => {
		const { name: filename, contentType: mediaType } = file;
		return { type: "file", mediaType, filename, url: fileUrl(fl, file) };
	});
	return { role: role === "ai" ? "assistant" : role, parts: [{ type: "text", text }, ...parts] };
}

/** Return an attachment of a message whose content is at an address. */
export function completeWith(
	{ id, name, contentType }: Named & { id: string },
	url: string,
): CompleteAttachment {
	const part = partOf({ name, contentType }, url);
	const type = part.type === "image" ? "image" : "document";
	return { id, type, name, contentType, content: [part], status: { type: "complete" } };
}

const partOf = (
	{ name: filename, contentType: mimeType }: Named,
	url: string,
): ImageMessagePart | FileMessagePart =>
	mimeType.startsWith("image/")
		? { type: "image", image: url, filename }
		: { type: "file", data: url, filename, mimeType };

/** Return what a message of assistant-ui has beside its id, if it is a text with files. */
function said(fl: Locating, { role, text, files = [] }: PlacedMessage): Record<string, unknown> {
	const content = [{ type: "text", text }];
	const metadata = { custom: {} };
	if (role === "user")
		return { content, attachments: files.map((file) => completeWith(file, fileUrl(fl, file))), metadata };
	if (role === "system") return { content, metadata }; // it can show a text alone
	return {
		content: [...content, ...files.map((file) => partOf(file, fileUrl(fl, file)))],
		status: { type: "complete", reason: "unknown" },
		metadata: { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], ...metadata },
	};
}
