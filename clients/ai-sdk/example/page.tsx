// The page: a chat whose edits and answers anew are branches, with ‹ 2 / 3 ›.

import { useEffect, useRef, useState, type ReactNode, type SubmitEvent } from "react";

import { useChat } from "@ai-sdk/react";
import type { ChatStatus, UIMessage } from "ai";
import { createRoot } from "react-dom/client";

import type { Chat } from "@forklore/ai-sdk";

// the address names the chat, so it is the same after a reload and on another device
location.hash ||= crypto.randomUUID();
const id = location.hash.slice(1);

const STOP_AGAIN_MS = 300;

const load = async (through = ""): Promise<Chat> => {
	const response = await fetch(`/api/chat?${new URLSearchParams({ id, ...(through && { through }) })}`);
	if (!response.ok) throw new Error(await response.text());
	return (await response.json()) as Chat;
};

const textOf = ({ parts }: UIMessage): string =>
	parts.map((part) => (part.type === "text" ? part.text : "")).join("");

const isSpoken = (status: ChatStatus): boolean => status === "submitted" || status === "streaming";

function Page(): ReactNode {
	const [alternatives, setAlternatives] = useState<Chat["alternatives"]>({});
	const [edited, setEdited] = useState<string>();
	/** The message through which the shown branch goes; undefined: the current branch. */
	const through = useRef<string>(undefined);
	/** The answer of somebody else that was shown last. */
	const joined = useRef<string>(undefined);
	const { messages, setMessages, sendMessage, regenerate, resumeStream, status } = useChat({ id });
	const now = useRef(status);
	now.current = status;
	const isBusy = isSpoken(status);

	const show = async (): Promise<void> => {
		const place = through.current;
		const chat = await load(place);
		if (isSpoken(now.current) || place !== through.current) return; // the user has gone on
		setMessages(chat.messages);
		setAlternatives(chat.alternatives);
	};
	const move = (to: string | undefined): void => {
		through.current = to;
		void show();
	};
	/** Show an answer that is written. */
	const join = async (answerId: string): Promise<void> => {
		through.current = undefined;
		await show();
		if (isSpoken(now.current)) return;
		await resumeStream();
		if (now.current !== "error") joined.current = answerId;
	};
	/** While nobody speaks here, look what happens elsewhere. The first event tells what there is. */
	useEffect(() => {
		if (isBusy) return;
		const changes = new EventSource(`/api/chat/${id}/changes`);
		changes.onmessage = ({ data }: MessageEvent<string>) => {
			const { answerId } = JSON.parse(data) as { answerId?: string };
			void (answerId === undefined || answerId === joined.current ? show() : join(answerId));
		};
		return () => changes.close();
	}, [isBusy]);

	const send = (event: SubmitEvent<HTMLFormElement>): void => {
		event.preventDefault();
		const form = event.currentTarget;
		const text = new FormData(form).get("text") as string;
		form.reset();
		setEdited(undefined);
		through.current = undefined;
		void sendMessage({ text, ...(edited !== undefined && { messageId: edited }) });
	};
	const again = (messageId: string): void => {
		through.current = undefined;
		void regenerate({ messageId });
	};
	/** Stop the answer. In its first moment there is nothing to stop yet. */
	const stop = async (): Promise<void> => {
		for (let stopped = false; !stopped && isSpoken(now.current);) {
			const headers = { "Content-Type": "application/json" };
			const response = await fetch(`/api/chat/${id}/stop`, { method: "POST", headers });
			stopped = response.ok && ((await response.json()) as { stopped: boolean }).stopped;
			await new Promise((resolve) => setTimeout(resolve, STOP_AGAIN_MS));
		}
	};
	const branches = (of: string): ReactNode => {
		const ids = alternatives[of];
		if (ids === undefined) return null;
		const at = ids.indexOf(of);
		const button = (to: number, name: string, sign: string): ReactNode => (
			<button aria-label={name} disabled={ids[to] === undefined} onClick={() => move(ids[to])}>
				{sign}
			</button>
		);
		return (
			<span>
				{button(at - 1, "Before", "‹")} {at + 1} / {ids.length} {button(at + 1, "Next", "›")}
			</span>
		);
	};
	return (
		<main aria-busy={isBusy}>
			<ol>
				{messages.map((message) => (
					<li key={message.id}>
						<p>{textOf(message)}</p>
						{branches(message.id)}{" "}
						{message.role === "user" ? (
							<button onClick={() => setEdited(message.id)}>Edit</button>
						) : (
							<button onClick={() => again(message.id)}>Again</button>
						)}
					</li>
				))}
			</ol>
			<form onSubmit={send}>
				<input name="text" aria-label={edited === undefined ? "Message" : "Edited message"} required />
				<button>Send</button>
				{isBusy && (
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
