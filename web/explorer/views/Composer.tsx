// Where one writes: a message, or the answer of an agent while it comes.

import { Paperclip, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { AppendedEntry } from "@forklore/client";
import type { App } from "../service/app.ts";
import type { Draft } from "../service/drafts.ts";
import { useSource } from "../service/source.ts";
import { quoted } from "./deeds.tsx";
import { Enclosed, useDrop } from "./Enclosed.tsx";
import { IconPress, Press } from "./parts.tsx";

interface DraftBoxProps {
	draft: Draft;
	label: string;
	send: () => unknown;
	/** Take files that are pasted. */
	take?: ((files: FileList) => void) | undefined;
	autoFocus?: boolean;
	/** Handles a key that cancels what one writes, and returns whether it does. */
	isCancelled?: (event: React.KeyboardEvent) => boolean;
}

/** The text of a draft, with what is told of it. Enter sends it. */
export function DraftBox({ draft, label, send, take, autoFocus, isCancelled }: DraftBoxProps) {
	useSource(draft);
	const box = useRef<HTMLTextAreaElement>(null);
	useEffect(() => {
		const { style, scrollHeight } = box.current!;
		style.height = "auto";
		style.height = `${Math.min(box.current!.scrollHeight || scrollHeight, 240)}px`;
	}, [draft.text]);
	const press = (event: React.KeyboardEvent) => {
		if (isCancelled?.(event)) return;
		event.stopPropagation();
		if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
		event.preventDefault();
		void send();
	};
	const paste = (event: React.ClipboardEvent) => {
		const { files, types } = event.clipboardData;
		const isText = types.includes("text/plain") && types.includes("text/html"); // with a picture of itself
		if (!take || !files.length || isText) return;
		event.preventDefault();
		take(files);
	};
	return (
		<>
			{draft.told && (
				<p role="alert" className={draft.isBad ? "bad" : "quiet"}>
					{draft.told}
				</p>
			)}
			<textarea
				ref={box}
				rows={1}
				dir="auto"
				autoFocus={autoFocus}
				data-draft={draft.at}
				aria-label={label}
				placeholder={label}
				value={draft.text}
				readOnly={draft.isHeld}
				onChange={(event) => draft.write(event.target.value)}
				onKeyDown={press}
				onPaste={paste}
			/>
		</>
	);
}

/** The button that frees a draft that waits, or that may have arrived. */
export const GiveUp = ({ draft }: { draft: Draft }) =>
	draft.isHeld && !draft.isOver ? (
		<Press className="b ghost" press={() => draft.free(draft.text)}>
			{draft.waits ? "Do not send yet" : "Give up"}
		</Press>
	) : null;

export function Composer({ app, sent }: { app: App; sent: (entry: AppendedEntry) => void }) {
	const place = useSource(app.place!);
	const [role, setRole] = useState("USER");
	const { writing } = place;
	const isWriting = writing?.state === "open";
	const draft = useSource(
		app.draft(place.id, "", {
			letterOf: (text, files) => {
				const attachments = files.map(({ id, name }) => ({ id, name }));
				const content = [{ role, text, ...(files.length && { attachments }) }];
				return { conversationId: place.id, body: { channel: "history", contentType: "history", content } };
			},
			isBusy: isWriting,
			sent,
		}),
	);
	useEffect(() => {
		if (draft.waits && !isWriting) void draft.send();
	}, [isWriting, draft]);
	const send = () => draft.send();
	const take = app.keepsFiles && !draft.isHeld ? draft.files.take : undefined;
	const isOver = useDrop(app, take);
	const chooser = useRef<HTMLInputElement>(null);
	const who = writing?.agentId ?? writing?.clientId ?? writing?.userId;
	const on = quoted(app.grove, place.id);
	const label = isWriting
		? "Write while the answer comes. It is sent when the agent is done."
		: "Write a message";
	return (
		<div className="pen">
			<div className={isOver ? "over" : ""}>
				<Enclosed files={draft.files} isHeld={draft.isHeld} />
				<DraftBox draft={draft} label={label} send={send} take={take} />
				<div className="line foot">
					{isWriting ? (
						<>
							<span className="dot live" />
							<span className="cut" role="status">
								{who} is writing{draft.waits && ". Your message waits"}
							</span>
						</>
					) : (
						<label className="cut">
							as{" "}
							<select
								className="plain"
								aria-label="Role"
								value={role}
								onChange={(event) => setRole(event.target.value)}
							>
								{["USER", "AI", "SYSTEM"].map((one) => (
									<option key={one} value={one}>
										{one.toLowerCase()}
									</option>
								))}
							</select>{" "}
							on {on}
						</label>
					)}
					<span className="grow" />
					{!draft.isOver && (
						<>
							{take && (
								<>
									<input
										ref={chooser}
										type="file"
										multiple
										hidden
										onChange={({ target }) => {
											take(target.files!);
											target.value = "";
										}}
									/>
									<IconPress label="Attach files" press={() => chooser.current!.click()}>
										<Paperclip />
									</IconPress>
								</>
							)}
							<GiveUp draft={draft} />
							{isWriting && (
								<Press className="b" press={() => app.stop()}>
									<Square className="stop" /> Stop <kbd>Esc</kbd>
								</Press>
							)}
							<Press className="b main" press={send}>
								{draft.held ? "Send again" : "Send"}
							</Press>
						</>
					)}
				</div>
			</div>
		</div>
	);
}
