// The route handlers, as any server has them that takes a Request and returns a Response.

import {
	convertToModelMessages,
	createUIMessageStreamResponse,
	streamText,
	toUIMessageStream,
	type UIMessage,
} from "ai";

import {
	beginAnswer,
	loadChat,
	readableFiles,
	resumeAnswer,
	saveTurn,
	stopAnswer,
	watchChat,
} from "@forklore/ai-sdk";
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
	const answer = await beginAnswer(chat, messages, { onError: tell });
	const result = streamText({
		model,
		messages: await convertToModelMessages(await readableFiles(fl, id, messages)),
		abortSignal: answer.signal, // somebody has stopped it; a page that has gone has not
	});
	const stream = toUIMessageStream({
		stream: result.stream,
		originalMessages: messages,
		generateMessageId: () => crypto.randomUUID(),
		onEnd: ({ messages: whole }) => answer.save(whole, { usage: result.usage }).catch(tell),
	});
	return createUIMessageStreamResponse({ stream, consumeSseStream: answer.record });
}

/** What `useChat` asks for as `GET /api/chat/[id]/stream`. */
export const GET_STREAM = async (fl: Forklore, id: string): Promise<Response> =>
	resumeAnswer(fl, id, { onError: tell });

/** What a page listens to, as `GET /api/chat/[id]/changes`. */
export const GET_CHANGES = (fl: Forklore, id: string): Response => watchChat(fl, id, { onError: tell });

/** What a page's button asks for, again while there is nothing to stop yet. */
export async function POST_STOP(fl: Forklore, id: string): Promise<Response> {
	return Response.json({ stopped: await stopAnswer(fl, id) });
}
