// What stands in the place of an entry, on a new branch: the entry in other words, what a tool has returned put right,
// or another answer. The branch is made when it is sent.

import { useMemo, useState, type ReactNode } from "react";
import { newId } from "../../../clients/typescript/src/json.ts";
import { edited, editorOf, firstPart, type Editable, type EditedPart } from "../model/forms.ts";
import type { Entry } from "../model/types.ts";
import { visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import type { Draft } from "../service/drafts.ts";
import type { Place } from "../service/place.ts";
import { useSource } from "../service/source.ts";
import { DraftBox, GiveUp } from "./Composer.tsx";
import { Press } from "./parts.tsx";

/** What one writes in the place of an entry. */
export type Writes = EditedPart | "again";

/** Where the tab keeps what one writes in the place of an entry. */
const placeOf = (placeId: string, entryId: string, what: Writes | "" = ""): string =>
	`${placeId} edit ${entryId}${typeof what === "object" ? ` ${JSON.stringify(what)}` : what && ` ${what}`}`;

/** Return what the tab keeps that one has begun to write in the place of an entry; undefined if nothing. */
export function begunAt(app: App, placeId: string, entryId: string): Writes | undefined {
	const [end] = app.draftsBehind(`${placeOf(placeId, entryId)} `);
	return end?.startsWith("[") ? (JSON.parse(end) as EditedPart) : (end as Writes | undefined);
}

interface EditingProps {
	app: App;
	entry: Entry;
	editable: Editable;
	/** What is edited at first. */
	part: EditedPart;
	/** The tool whose result is edited. */
	tool: string | undefined;
	close: () => void;
}

/** An entry is edited in what its agent reads of it: its words, what a tool has returned, or all of it as JSON. */
export function Editing({ app, entry, editable, part: given, tool, close }: EditingProps) {
	const [place] = useState(app.place!);
	const jsonAt = placeOf(place.id, entry.id, "json");
	const [isJson, setJson] = useState(given === "json" || app.hasDraft(jsonAt));
	const first = given === "json" ? firstPart(editable) : given;
	const part = isJson ? "json" : first;
	const editor = useMemo(() => editorOf(editable, part), [editable, part]);
	const birth = useBirth(app, place);
	const drop = () => dropAll(app, place, entry);
	const failedIn = ({ isFailed }: Draft) => isFailed ?? editor.tool?.isError;
	const draft: Draft = useSource(
		app.draft(placeOf(place.id, entry.id, part), editor.text, {
			letterOf: (text): ReturnType<typeof letter> => {
				const { entries } = place;
				const after = entries.slice(entries.findIndex(({ id }) => id === entry.id) + 1);
				return letter(place, entry, {
					...edited(entry, editor.truthOf(text, failedIn(draft)), after),
					...birth.chosen,
				});
			},
			sent(made) {
				drop();
				close();
				app.openEdit(made, entry, place);
			},
		}),
	);
	const wrong = useMemo(() => {
		try {
			editor.truthOf(draft.text);
			return "";
		} catch (error) {
			return `This is no JSON: ${(error as Error).message}`;
		}
	}, [editor, draft.text]);
	const isSame = draft.text === editor.text && failedIn(draft) === editor.tool?.isError;
	const words = editor.tool ? `What ${visible(tool ?? "the tool")} has returned` : "Your words in its place";
	return (
		<NewBranch
			draft={draft}
			label={part === "json" ? "What the agent reads, as JSON" : words}
			isJson={part === "json"}
			wrong={wrong}
			isReady={!wrong && !isSame}
			autoFocus={isSame} // a kept edit was opened by itself
			cancel={() => {
				drop();
				close();
			}}
		>
			{first !== "json" && (
				<Press className="b ghost s" aria-pressed={isJson} press={() => setJson(!isJson)}>
					JSON
				</Press>
			)}
			{editor.tool && (editor.tool.canFail || editor.tool.isError) && (
				<label>
					<input
						type="checkbox"
						checked={failedIn(draft)}
						disabled={!editor.tool.canFail || draft.isHeld}
						onChange={({ target }) => draft.mark(target.checked)}
					/>{" "}
					failed
				</label>
			)}
			{birth.fields}
		</NewBranch>
	);
}

interface AgainProps {
	app: App;
	entry: Entry;
	close: () => void;
}

/** Another answer in the place of one. */
export function Again({ app, entry, close }: AgainProps) {
	const [place] = useState(app.place!);
	const birth = useBirth(app, place);
	const at = placeOf(place.id, entry.id, "again");
	const [isNew] = useState(() => !app.hasDraft(at));
	const draft = useSource(
		app.draft(at, "", {
			letterOf: (text) => {
				const content = [{ role: "AI", text }];
				return letter(place, entry, { channel: "history", contentType: "history", content, ...birth.chosen });
			},
			sent(made) {
				dropAll(app, place, entry);
				close();
				app.openEdit(made, entry, place);
			},
		}),
	);
	return (
		<NewBranch
			draft={draft}
			label="Another answer in its place"
			isReady={!draft.isEmpty}
			autoFocus={isNew}
			cancel={() => {
				dropAll(app, place, entry);
				close();
			}}
		>
			{birth.fields}
		</NewBranch>
	);
}

/** Return what begins a branch before an entry. */
const letter = (place: Place, entry: Entry, body: object) => ({
	conversationId: newId(),
	body: { forkedAtConversationId: place.id, forkedAtEntryId: entry.id, forkedAtPosition: "before", ...body },
});

function dropAll(app: App, place: Place, entry: Entry): void {
	const at = `${placeOf(place.id, entry.id)} `;
	for (const end of app.draftsBehind(at)) app.dropDraft(at + end);
}

/** Return what one chooses of a branch that is made: whether it becomes current, and which name moves there. */
function useBirth(app: App, place: Place): { chosen: object; fields: ReactNode } {
	const [isCurrent, setCurrent] = useState(false);
	const [name, setName] = useState<{ name: string; expectRevision: number }>();
	const names = app.grove?.look(place.id)?.names ?? [];
	const choose = async (chosen: string) => {
		const found = chosen ? await app.client.api.lookUpName({ name: chosen }) : undefined;
		setName(found && { name: chosen, expectRevision: found.revision });
	};
	const fields = (
		<>
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
		</>
	);
	return { chosen: { ...(isCurrent && { promote: true }), ...(name && { name }) }, fields };
}

interface NewBranchProps {
	draft: Draft;
	label: string;
	isJson?: boolean;
	/** What is wrong with the text, or "". */
	wrong?: string;
	/** Whether there is something to send. */
	isReady: boolean;
	autoFocus: boolean;
	cancel: () => void;
	/** What stands before the buttons. */
	children: ReactNode;
}

/** The text that begins a branch. Enter sends it, Esc cancels it. */
function NewBranch(props: NewBranchProps) {
	const { draft, label, isJson, wrong, isReady, autoFocus, cancel, children } = props;
	const send = () => (draft.held || isReady ? draft.send() : undefined);
	const isCancelled = (event: React.KeyboardEvent): boolean => {
		if (event.key !== "Escape" || event.nativeEvent.isComposing || draft.isHeld) return false;
		event.preventDefault();
		event.stopPropagation();
		cancel();
		return true;
	};
	return (
		<div className={`edit ${isJson ? "as-json" : ""}`} onKeyDown={isCancelled}>
			<DraftBox {...{ draft, label, send, autoFocus, isCancelled }} />
			{wrong && (
				<p className="bad" role="alert">
					{wrong}
				</p>
			)}
			<div className="line foot">
				{children}
				<span className="line end">
					<GiveUp draft={draft} />
					<Press press={cancel} data-do={draft.isHeld ? undefined : "cancel"}>
						Cancel
					</Press>
					<Press className="b main" disabled={!draft.held && !isReady} press={send}>
						{draft.held ? "Send again" : "Send on a new branch"}
					</Press>
				</span>
			</div>
		</div>
	);
}
