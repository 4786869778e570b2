// Messages of the AI SDK as messages of a chat, and back.

import type { FileUIPart, LanguageModelUsage, UIMessage } from "ai";

import type { AttachedFile, Attachment, Forklore } from "@forklore/client";
import { fileUrl, type ChatMessage, type PlacedMessage } from "@forklore/client/chat";

type Usage = NonNullable<ChatMessage["usage"]>;

/** What the last message of a turn has beside: what it has cost, and the answer in progress that it ends. */
export interface End {
	usage?: LanguageModelUsage | undefined;
	answerId?: string | undefined;
}

/** What the messages are called in `data`. assistant-ui calls them the same. */
const FORMAT = "ai-sdk/v6";

/** A message in its place. given: the id that the page had for it: an edited one has that of the old one. */
export interface Placed {
	id: string;
	given: string;
	parentId: string | null;
	message: UIMessage;
}

/**
 * Return the message of a chat that a message is kept as: with all that it has in `data`. given: as in `Placed`.
 *
 * The text of an answer that was cut off ends with `[…]`, so that it looks whole to no other program.
 */
export function chatMessageOf(
	{ id, ...message }: UIMessage,
	given: string,
	{ usage, answerId }: End = {},
): ChatMessage {
	const role = message.role === "assistant" ? "ai" : message.role;
	const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
	if (isCutOff(message)) texts.push("[…]");
	const data = { format: FORMAT, message, ...(given !== id && { edits: given }) };
	return { id, role, text: texts.join("\n\n"), data, answerId, ...(usage && { usage: usageOf(usage) }) };
}

/** Tell whether an answer did not come to its end: the model has failed, or nobody has waited for it. */
const isCutOff = ({ parts }: Pick<UIMessage, "parts">): boolean =>
	parts.some((part) => "state" in part && (part.state === "streaming" || part.state === "input-streaming"));

function usageOf({ inputTokens, outputTokens, inputTokenDetails }: LanguageModelUsage): Usage {
	return { inputTokens, outputTokens, cachedInputTokens: inputTokenDetails.cacheReadTokens };
}

/** Return an attachment as `sendMessage` of `useChat` takes it among its `files`: with a link, and without the bytes. */
export const filePart = (fl: Pick<Forklore, "located">, file: Attachment | AttachedFile): FileUIPart => ({
	type: "file",
	mediaType: file.contentType,
	filename: file.name,
	url: fileUrl(fl, file),
});

/** Return a stored message. One that another program has written has its text and its files alone. */
export function placedOf(
	fl: Pick<Forklore, "located">,
	{ id, parentId, role, text, data, files = [] }: PlacedMessage,
): Placed {
	const parts = [{ type: "text", text }, ...files.map((file) => filePart(fl, file))];
	const plain = { role: role === "ai" ? "assistant" : role, parts };
	const isOwn = typeof data["format"] === "string" && data["format"].startsWith("ai-sdk/");
	const stored = (isOwn ? data["message"] : plain) as Omit<UIMessage, "id">;
	const { edits } = data;
	return { id, given: typeof edits === "string" ? edits : id, parentId, message: { ...stored, id } };
}
