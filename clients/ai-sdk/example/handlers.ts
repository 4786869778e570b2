// The route handlers, as any server has them that takes a Request and returns a Response.

import {
	consumeStream,
	convertToModelMessages,
	createUIMessageStreamResponse,
	streamText,
	toUIMessageStream,
	type UIMessage,
} from "ai";

import { loadChat, saveTurn } from "@forklore/ai-sdk";
import type { Forklore } from "@forklore/client";

import { model } from "./model.ts";

/** A message that cannot be stored, such as one that is too large, ends no chat. */
const tell = (error: unknown): void => {
	console.error("not stored:", error);
};

export async function GET(fl: Forklore, request: Request): Promise<Response> {
	const { searchParams } = new URL(request.url);
	const through = searchParams.get("through") ?? undefined;
	return Response.json(await loadChat(fl, searchParams.get("id") ?? "", { through }));
}

export async function POST(fl: Forklore, request: Request): Promise<Response> {
	const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] };
	const chat = await loadChat(fl, id);
	await saveTurn(chat, messages).catch(tell); // the question stays, whatever becomes of the answer
	const result = streamText({ model, messages: await convertToModelMessages(messages) });
	const stream = toUIMessageStream({
		stream: result.stream,
		originalMessages: messages,
		generateMessageId: () => crypto.randomUUID(),
		onEnd: ({ messages: whole }) => saveTurn(chat, whole, { usage: result.usage }).catch(tell),
	});
	// the answer comes to its end, and is stored, also if its reader has gone
	return createUIMessageStreamResponse({ stream, consumeSseStream: consumeStream });
}
