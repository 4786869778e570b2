// A page with the real runtime, and nothing to click on: of the list of threads, or of one thread by its id.

import type { ReactNode } from "react";

import type { AssistantRuntime, ChatModelAdapter } from "@assistant-ui/core";
import {
	AssistantRuntimeProvider,
	useLocalRuntime,
	useRemoteThreadListRuntime,
} from "@assistant-ui/core/react";
import { createRoot } from "react-dom/client";

import { Forklore } from "@forklore/client";

import { historyAdapter, threadListAdapter } from "../src/index.ts";

declare global {
	interface Window {
		runtime: AssistantRuntime;
	}
}

const [url = "", token = "", id] = decodeURIComponent(location.hash.slice(1)).split(" ");
const fl = new Forklore(url, { token });
const adapter = threadListAdapter(fl);
const model: ChatModelAdapter = {
	run: ({ messages }) =>
		Promise.resolve({ content: [{ type: "text", text: `answer to ${messages.length}` }] }),
};

const useThreads = (): AssistantRuntime =>
	useRemoteThreadListRuntime({ runtimeHook: () => useLocalRuntime(model), adapter });
const history = historyAdapter(fl, id ?? "");
const useThread = (): AssistantRuntime => useLocalRuntime(model, { adapters: { history } });
const useRuntime = id === undefined ? useThreads : useThread;

function Page(): ReactNode {
	const runtime = useRuntime();
	window.runtime = runtime;
	return <AssistantRuntimeProvider runtime={runtime}>ready</AssistantRuntimeProvider>;
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Page />);
