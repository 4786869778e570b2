// A page with the real runtime, and nothing to click on: of the list of threads, or of one thread by its id. If it
// is served, a server answers.

import type { ReactNode } from "react";

import type { AssistantRuntime, ChatModelAdapter } from "@assistant-ui/core";
import {
	AssistantRuntimeProvider,
	useLocalRuntime,
	useRemoteThreadListRuntime,
} from "@assistant-ui/core/react";
import { AssistantMessageStream, AssistantStream, DataStreamDecoder } from "assistant-stream";
import { createRoot } from "react-dom/client";

import { Forklore } from "@forklore/client";

import { historyAdapter, stopAnswer, streamId, threadListAdapter } from "../src/index.ts";

declare global {
	interface Window {
		runtime: AssistantRuntime;
	}
}

const [url = "", token = "", id, isServed] = decodeURIComponent(location.hash.slice(1)).split(" ");
const fl = new Forklore(url, { token });
const adapter = threadListAdapter(fl);
const model: ChatModelAdapter = {
	run: ({ messages }) =>
		Promise.resolve({ content: [{ type: "text", text: `answer to ${messages.length}` }] }),
};

/** A model whose answers a server streams. */
const served: ChatModelAdapter = {
	async *run({ messages, abortSignal: signal, ...named }) {
		// eslint-disable-next-line @typescript-eslint/no-deprecated -- there are no other names for the place yet
		const { unstable_assistantMessageId: message = "", unstable_parentId: parent = null } = named;
		const place = { thread: id ?? "", parent, message };
		const [said] = messages.at(-1)?.content ?? [];
		const text = said?.type === "text" ? said.text : "";
		signal.addEventListener("abort", () => void stopAnswer(fl, place.thread));
		const { body } = await fetch(`/answers?${new URLSearchParams({ id: streamId(place), text })}`, {
			signal,
		});
		const stream = AssistantStream.fromByteStream(body as never, new DataStreamDecoder());
		for await (const { parts: content } of AssistantMessageStream.fromAssistantStream(stream))
			yield { content };
	},
};

const useThreads = (): AssistantRuntime =>
	useRemoteThreadListRuntime({ runtimeHook: () => useLocalRuntime(model), adapter });
const history = historyAdapter(fl, id ?? "", { answers: Boolean(isServed) });
const useThread = (): AssistantRuntime =>
	useLocalRuntime(isServed ? served : model, { adapters: { history } });
const useRuntime = id === undefined ? useThreads : useThread;

function Page(): ReactNode {
	const runtime = useRuntime();
	window.runtime = runtime;
	return <AssistantRuntimeProvider runtime={runtime}>ready</AssistantRuntimeProvider>;
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Page />);
