// What stands in place of a conversation: a word to who comes first, or that one may choose.

import { GitBranch, Plus } from "lucide-react";
import { useState } from "react";
import { toConversation } from "../model/route.ts";
import type { App } from "../service/app.ts";
import { isExampleBegun, loadExample } from "../service/example.ts";
import { useSource } from "../service/source.ts";
import { askNew } from "./deeds.tsx";
import { Press } from "./parts.tsx";
import { Notes } from "./Talk.tsx";

export function First({ app }: { app: App }) {
	const list = useSource(app.list);
	const [done, setDone] = useState<number>();
	const isBegun = isExampleBegun(app);
	const isNew = list.isEmpty || isBegun || done !== undefined;
	const begin = async () => {
		setDone(0);
		try {
			const first = await loadExample(app, setDone);
			await list.load();
			if (!app.place && !app.dialogs.length) app.go(toConversation(first));
		} catch (error) {
			app.fail(error);
		}
		setDone(undefined);
	};
	return (
		<main className="talk" id="main" tabIndex={-1} aria-label="Messages">
			<Notes app={app} />
			<div className="scroll">
				<div className="blank">
					<svg width="250" height="112" viewBox="0 0 250 112" fill="none" strokeWidth="4" aria-hidden="true">
						<path d="M8 56H232" stroke="var(--lane-0)" />
						<path d="M70 56C96 56 92 18 118 18H200" stroke="var(--lane-5)" />
						<path d="M104 56C130 56 126 94 152 94H216" stroke="var(--lane-4)" />
						<circle cx="232" cy="56" r="8" fill="var(--ember-fill)" />
						<circle cx="200" cy="18" r="6" fill="var(--bg)" stroke="var(--lane-5)" />
						<circle cx="216" cy="94" r="6" fill="var(--bg)" stroke="var(--lane-4)" />
					</svg>
					<h1>
						Every conversation has
						<br />
						roads not taken.
					</h1>
					<p>
						{isNew
							? "Point an agent here, or write to one yourself. Fork at any message, compare the ways, keep the best."
							: "Choose a conversation, or press Ctrl K to search."}
					</p>
					<p className="buttons">
						{isNew && (
							<Press className="b main" press={begin}>
								<GitBranch />{" "}
								{isBegun && done === undefined ? "Load the rest of the example" : "Load the example"}
							</Press>
						)}
						<Press className="b" press={() => askNew(app)}>
							<Plus /> New conversation
						</Press>
					</p>
					{done !== undefined && <progress max={1} value={done} aria-label="Loading the example" />}
					{isNew && <p className="quiet">What an agent writes appears in the list by itself.</p>}
				</div>
			</div>
		</main>
	);
}
