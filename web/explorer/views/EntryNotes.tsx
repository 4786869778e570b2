// The notes on a message: a mark under it, and the list that it opens.

import { MessageSquareText } from "lucide-react";
import { useRef, useState } from "react";
import { noteOf, notesWords } from "../model/notes.ts";
import type { Note } from "../model/types.ts";
import { clipped, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";
import type { Place } from "../service/place.ts";
import { ask } from "./ask.tsx";
import { isolated, may } from "./deeds.tsx";
import { Press, Problem, Said, Time } from "./parts.tsx";

const TEXT_MAX = 2000;

interface MarkProps {
	notes: readonly Note[];
	/** The id of the list that it opens. */
	opens: string;
	isOpen: boolean;
	press: () => void;
}

/** How many notes a message has, and their mean score. A press opens or closes the list. */
export function NotesMark({ notes, opens, isOpen, press }: MarkProps) {
	if (!notes.length) return null;
	return (
		<Press
			className="b ghost s noted"
			title="What was noted here, and the mean of its scores"
			aria-expanded={isOpen}
			aria-controls={isOpen ? opens : undefined}
			press={press}
		>
			<MessageSquareText />
			{notesWords(notes)}
		</Press>
	);
}

interface NotesProps {
	app: App;
	id: string;
	/** The entry that a new note is about. */
	entryId: string;
	notes: readonly Note[];
	close: () => void;
	/** Give the message the focus: a note is gone, and its button with it. */
	back: () => void;
}

/** The notes on a message, and where one writes another. */
export function EntryNotes({ app, id, entryId, notes, close, back }: NotesProps) {
	const [place] = useState(app.place!);
	const isCancelled = (event: React.KeyboardEvent) => {
		if (event.key !== "Escape" || event.nativeEvent.isComposing || app.dialogs.length) return;
		event.preventDefault();
		event.stopPropagation();
		close();
	};
	const remove = async (note: Note) => {
		const isGone = await ask(app, {
			title: `Delete the note of ${isolated(writerOf(note))}?`,
			explain: () => <p dir="auto">{visible(clipped(note.text ?? `Score ${note.score}`, 200))}</p>,
			confirm: "Delete",
			cancel: "Keep it",
			isBad: true,
			run: (_, { signal }) => place.notes.delete(note, signal),
			told: () => "The note is deleted.",
		});
		if (isGone !== null) requestAnimationFrame(back);
	};
	return (
		<section id={id} className="notes" aria-label="Notes" onKeyDown={isCancelled}>
			{notes.length > 0 && (
				<ul aria-label="Notes">
					{notes.map((note) => (
						<li key={note.id}>
							<div className="line">
								<b className="cut">
									<Said>{writerOf(note)}</Said>
								</b>
								{note.clientId && (
									<span className="quiet cut">
										for <Said>{note.userId}</Said>
									</span>
								)}
								{note.score !== undefined && <span className="chip">score {note.score}</span>}
								<Time at={note.createdAt} className="quiet" hasHour />
								<span className="grow" />
								{(note.userId === app.user || may(app, "manager")) && (
									<Press className="b ghost s bad" press={() => remove(note)}>
										Delete
									</Press>
								)}
							</div>
							{note.text && (
								<p className="as-is" dir="auto">
									{visible(note.text)}
								</p>
							)}
						</li>
					))}
				</ul>
			)}
			{may(app, "writer") && <NewNote {...{ app, place, entryId, close }} />}
		</section>
	);
}

/** Who has written a note: a person, or the agent that did it for them. */
const writerOf = ({ clientId, userId }: Note): string => clientId ?? userId;

/** Where one writes a note. Enter adds it. */
function NewNote({
	app,
	place,
	entryId,
	close,
}: Pick<NotesProps, "app" | "entryId" | "close"> & { place: Place }) {
	const [text, setText] = useState("");
	const [score, setScore] = useState("");
	const [problem, setProblem] = useState<unknown>();
	const isBusy = useRef(false);
	const box = useRef<HTMLTextAreaElement>(null);
	const { note, wrong } = noteOf(text, score);
	const isReady = Object.keys(note).length > 0 && !wrong;

	const add = async () => {
		if (isBusy.current || !isReady) return;
		isBusy.current = true;
		setProblem(undefined);
		try {
			const deed = `note on ${entryId}: ${JSON.stringify(note)}`;
			await app.once(deed, (key) => place.notes.add(entryId, note, key));
			setText("");
			setScore("");
			box.current?.focus();
			app.say("The note is added.");
		} catch (error) {
			if (!isAborted(error)) setProblem(error);
		} finally {
			isBusy.current = false;
		}
	};
	const press = (event: React.KeyboardEvent) => {
		if (event.key === "Escape") return;
		event.stopPropagation();
		if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
		event.preventDefault();
		void add();
	};
	return (
		<form
			onSubmit={(event) => {
				event.preventDefault();
				void add();
			}}
		>
			<textarea
				ref={box}
				className="input"
				rows={2}
				dir="auto"
				maxLength={TEXT_MAX}
				aria-label="Text of the note"
				placeholder="What is to be said about it?"
				value={text}
				onChange={({ target }) => setText(target.value)}
				onKeyDown={press}
			/>
			{wrong && (
				<p className="bad" role="alert">
					{wrong}
				</p>
			)}
			{problem !== undefined && <Problem error={problem} />}
			<div className="line">
				<input
					className="input"
					inputMode="decimal"
					autoComplete="off"
					aria-label="Score: a number"
					placeholder="Score"
					value={score}
					onChange={({ target }) => setScore(target.value)}
				/>
				<span className="grow" />
				<Press className="b ghost" press={close}>
					Close
				</Press>
				<button type="submit" className="b main" disabled={!isReady}>
					Add
				</button>
			</div>
		</form>
	);
}
