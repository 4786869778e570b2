// An entry is edited in what its agent reads of it: its words, or all of it as JSON. The edit begins a branch.

import { useMemo, useState } from "react";
import { newId } from "../../../clients/typescript/src/json.ts";
import { edited, editorText, truthOf, type Editable } from "../model/forms.ts";
import type { Entry } from "../model/types.ts";
import { visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { DraftBox, GiveUp } from "./Composer.tsx";
import { Press } from "./parts.tsx";

interface EditingProps {
	app: App;
	entry: Entry;
	editable: Editable;
	close: () => void;
}

/** Where the tab keeps the edits of an entry: of its words, and of its JSON. */
export const editsAt = (placeId: string, entryId: string): [string, string] => [
	`${placeId} edit ${entryId}`,
	`${placeId} edit ${entryId} json`,
];

export function Editing({ app, entry, editable, close }: EditingProps) {
	const [place] = useState(app.place!);
	const [wordsAt, jsonAt] = editsAt(place.id, entry.id);
	const [isJson, setJson] = useState(!editable.words || app.hasDraft(jsonAt));
	const [isCurrent, setCurrent] = useState(false);
	const [name, setName] = useState<{ name: string; expectRevision: number }>();
	const names = app.grove?.look(place.id)?.names ?? [];
	const drop = () => [wordsAt, jsonAt].forEach((at) => app.dropDraft(at));
	const draft = useSource(
		app.draft(isJson ? jsonAt : wordsAt, editorText(editable, isJson), {
			letterOf(text) {
				const { entries } = place;
				const after = entries.slice(entries.findIndex(({ id }) => id === entry.id) + 1);
				const from = { forkedAtConversationId: place.id, forkedAtEntryId: entry.id };
				const body = {
					...from,
					forkedAtPosition: "before",
					...edited(entry, truthOf(editable, text, isJson), after),
					...(isCurrent && { promote: true }),
					...(name && { name }),
				};
				return { conversationId: newId(), body };
			},
			sent(made) {
				drop();
				close();
				app.openEdit(made, entry, place);
				void app.grove?.loadForks();
				void app.grove?.loadBeside();
			},
		}),
	);
	const wrong = useMemo(() => {
		try {
			truthOf(editable, draft.text, isJson);
			return "";
		} catch (error) {
			return `This is no JSON: ${(error as Error).message}`;
		}
	}, [editable, draft.text, isJson]);
	const isSame = draft.text === editorText(editable, isJson);
	const choose = async (chosen: string) => {
		const found = chosen ? await app.client.api.lookUpName({ name: chosen }) : undefined;
		setName(found && { name: chosen, expectRevision: found.revision });
	};
	const send = () => (wrong || (isSame && !draft.held) ? undefined : draft.send());
	return (
		<div className={`edit ${isJson ? "as-json" : ""}`}>
			<DraftBox
				draft={draft}
				label={isJson ? "What the agent reads, as JSON" : "Your words in its place"}
				send={send}
				autoFocus={isSame} // a kept edit was opened by itself
			/>
			{wrong && (
				<p className="bad" role="alert">
					{wrong}
				</p>
			)}
			<div className="line foot">
				{editable.words && (
					<Press className="b ghost s" aria-pressed={isJson} press={() => setJson(!isJson)}>
						JSON
					</Press>
				)}
				<label>
					<input type="checkbox" checked={isCurrent} onChange={(event) => setCurrent(event.target.checked)} />{" "}
					make it current for everybody
				</label>
				{names.length > 0 && (
					<label className="cut">
						<select
							aria-label="Name to move"
							value={name?.name ?? ""}
							onChange={(event) => void choose(event.target.value)}
						>
							<option value="">no name moves</option>
							{names.map((one) => (
								<option key={one} value={one}>
									{visible(one)} moves: its agent goes on here
								</option>
							))}
						</select>
					</label>
				)}
				<span className="grow" />
				<GiveUp draft={draft} />
				<Press
					press={() => {
						drop();
						close();
					}}
				>
					Cancel
				</Press>
				<Press className="b main" disabled={wrong !== "" || (isSame && !draft.held)} press={send}>
					{draft.held ? "Send again" : "Send on a new branch"}
				</Press>
			</div>
		</div>
	);
}
