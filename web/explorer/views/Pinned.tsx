// What is pinned in the open conversation: the bar above the messages, and what pins a message.

import { Pin } from "lucide-react";
import { toConversation } from "../model/route.ts";
import type { Entry } from "../model/types.ts";
import { clipped, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";

const WORDS = 120;

/** The pinned messages by their first words. A press goes to one. */
export function PinnedBar({ app }: { app: App }) {
	const { id, chosen, notes } = app.place!;
	const { pinned } = notes;
	if (!pinned.length) return null;
	const wordsOf = (entryId: string) => app.grove?.lines.find((line) => line.id === entryId)?.text;
	return (
		<nav className="line pinned" aria-label="Pinned messages">
			<Pin aria-hidden="true" />
			<ul>
				{pinned.map((entryId) => (
					<li key={entryId}>
						<a
							className="cut"
							href={toConversation(id, entryId)}
							aria-current={entryId === chosen ? "location" : undefined}
							dir="auto"
						>
							{visible(clipped(wordsOf(entryId) || "A message", WORDS))}
						</a>
					</li>
				))}
			</ul>
		</nav>
	);
}

/** Pin a message, or take its pins away. */
export async function toggleEntryPin(app: App, entries: readonly Entry[]): Promise<void> {
	const { notes } = app.place!;
	const pinned = entries.filter(({ id }) => notes.pinned.includes(id));
	try {
		for (const { id } of pinned) await notes.unpin(id);
		if (pinned.length) return;
		await notes.pin(entries[0]!.id);
		app.say("It is pinned above the messages, for all who see it.");
	} catch (error) {
		app.fail(error);
	}
}
