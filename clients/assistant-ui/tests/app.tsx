// A page with the real runtime, and nothing to click on: of the list of threads, or of one thread by its id. If it
// exists, a server answers.

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

import { historyAdapter, threadListAdapter } from "../src/index.ts";

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
	// eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other name for the message yet
	async *run({ unstable_assistantMessageId: message = "", abortSignal: signal }) {
		const { body } = await fetch(`/answers?${new URLSearchParams({ id: id ?? "", message })}`, { signal });
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
