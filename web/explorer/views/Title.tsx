// The title of the open branch. A press renames it: Enter saves, Esc leaves it as it is.

import { useRef, useState } from "react";
import type { App } from "../service/app.ts";
import { may, rename } from "./deeds.tsx";
import { Press } from "./parts.tsx";

/** title: as it is shown. */
export function Title({ app, title }: { app: App; title: string }) {
	const { id, conversation } = app.place!;
	const before = conversation?.title ?? "";
	const [text, setText] = useState<string>();
	const wasEdited = useRef(false);
	const end = (saved?: string) => {
		setText(undefined);
		if (saved !== undefined && saved.trim() !== before) void rename(app, id, saved.trim());
	};
	const press = (event: React.KeyboardEvent<HTMLInputElement>) => {
		if (event.nativeEvent.isComposing || !["Enter", "Escape"].includes(event.key)) return;
		event.preventDefault();
		event.stopPropagation();
		wasEdited.current = true; // the focus goes back
		end(event.key === "Enter" ? text : undefined);
	};
	if (text !== undefined)
		return (
			<h1>
				<input
					className="input"
					aria-label="Title"
					autoFocus
					autoComplete="off"
					maxLength={500}
					dir="auto"
					value={text}
					onChange={({ target }) => setText(target.value)}
					onFocus={({ target }) => target.select()}
					onKeyDown={press}
					onBlur={() => end(text)}
				/>
			</h1>
		);
	if (!may(app, "writer"))
		return (
			<h1 className="cut" dir="auto">
				{title}
			</h1>
		);
	const edit = () => {
		wasEdited.current = false;
		setText(before);
	};
	return (
		<h1 dir="auto">
			<Press className="rename cut" title="Rename" autoFocus={wasEdited.current} press={edit}>
				{title}
			</Press>
		</h1>
	);
}
