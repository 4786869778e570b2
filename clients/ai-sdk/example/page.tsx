// The page: a chat whose edits and answers anew are branches, with ‹ 2 / 3 ›.

import { useEffect, useState, type ReactNode, type SubmitEvent } from "react";

import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { createRoot } from "react-dom/client";

import type { Chat } from "@forklore/ai-sdk";

// the address names the chat, so it is the same after a reload and on another device
location.hash ||= crypto.randomUUID();
const id = location.hash.slice(1);

const load = async (through = ""): Promise<Chat> => {
	const response = await fetch(`/api/chat?${new URLSearchParams({ id, ...(through && { through }) })}`);
	if (!response.ok) throw new Error(await response.text());
	return (await response.json()) as Chat;
};

const textOf = ({ parts }: UIMessage): string =>
	parts.map((part) => (part.type === "text" ? part.text : "")).join("");

function Page(): ReactNode {
	const [alternatives, setAlternatives] = useState<Chat["alternatives"]>({});
	const [edited, setEdited] = useState<string>();
	const { messages, setMessages, sendMessage, regenerate, resumeStream, status } = useChat({
		id,
		onFinish: () => void show(),
	});
	const show = async (through?: string): Promise<void> => {
		const chat = await load(through);
		setMessages(chat.messages);
		setAlternatives(chat.alternatives);
	};
	/** Show the chat, and an answer that is written, here or elsewhere. */
	const look = async (): Promise<void> => {
		await show();
		await resumeStream();
		await show(); // the answer may have ended between the two
	};
	useEffect(() => void look(), []);

	const send = (event: SubmitEvent<HTMLFormElement>): void => {
		event.preventDefault();
		const form = event.currentTarget;
		const text = new FormData(form).get("text") as string;
		form.reset();
		setEdited(undefined);
		void sendMessage({ text, ...(edited !== undefined && { messageId: edited }) });
	};
	const stop = async (): Promise<void> => {
		await fetch(`/api/chat/${id}/stop`, { method: "POST", headers: { "Content-Type": "application/json" } });
	};
	const branches = (of: string): ReactNode => {
		const ids = alternatives[of];
		if (ids === undefined) return null;
		const at = ids.indexOf(of);
		const move = (to: number, name: string, sign: string): ReactNode => (
			<button aria-label={name} disabled={ids[to] === undefined} onClick={() => void show(ids[to])}>
				{sign}
			</button>
		);
		return (
			<span>
				{move(at - 1, "Before", "‹")} {at + 1} / {ids.length} {move(at + 1, "Next", "›")}
			</span>
		);
	};
	return (
		<main aria-busy={status !== "ready"}>
			<ol>
				{messages.map((message) => (
					<li key={message.id}>
						<p>{textOf(message)}</p>
						{branches(message.id)}{" "}
						{message.role === "user" ? (
							<button onClick={() => setEdited(message.id)}>Edit</button>
						) : (
							<button onClick={() => void regenerate({ messageId: message.id })}>Again</button>
						)}
					</li>
				))}
			</ol>
			<form onSubmit={send}>
				<input name="text" aria-label={edited === undefined ? "Message" : "Edited message"} required />
				<button>Send</button>
				{status !== "ready" && (
					<button type="button" onClick={() => void stop()}>
						Stop
					</button>
				)}
			</form>
		</main>
	);
}

const page = document.getElementById("page");
if (page) createRoot(page).render(<Page />);
