// A page with the real list of threads and the real runtime, and nothing to click on.

import type { ReactNode } from "react";

import type { AssistantRuntime, ChatModelAdapter } from "@assistant-ui/core";
import {
	AssistantRuntimeProvider,
	useLocalRuntime,
	useRemoteThreadListRuntime,
} from "@assistant-ui/core/react";
import { createRoot } from "react-dom/client";

import { Forklore } from "@forklore/client";

import { threadListAdapter } from "../src/index.ts";

declare global {
	interface Window {
		runtime: AssistantRuntime;
	}
}

const [url = "", token = ""] = decodeURIComponent(location.hash.slice(1)).split(" ");
const adapter = threadListAdapter(new Forklore(url, { token }));
const model: ChatModelAdapter = {
	run: ({ messages }) =>
		Promise.resolve({ content: [{ type: "text", text: `answer to ${messages.length}` }] }),
};

function Page(): ReactNode {
	const runtime = useRemoteThreadListRuntime({ runtimeHook: () => useLocalRuntime(model), adapter });
	window.runtime = runtime;
	return <AssistantRuntimeProvider runtime={runtime}>ready</AssistantRuntimeProvider>;
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Page />);
