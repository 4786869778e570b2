// A message in the conversation, with what one may do at it.

import {
	Braces,
	GitFork,
	Link,
	MessageSquarePlus,
	NotebookText,
	Pencil,
	Pin,
	PinOff,
	RotateCcw,
} from "lucide-react";
import { useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { duration } from "../model/costs.ts";
import { editableOf, firstPart, saidAt, type EditedPart } from "../model/forms.ts";
import { lineOf } from "../model/lines.ts";
import { sumOf } from "../model/shape.ts";
import type { Result } from "../model/parts.ts";
import type { CallShown, Shown } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import { toConversation } from "../model/route.ts";
import { usageWords, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import type { Writing } from "../service/place.ts";
import { Words } from "./Block.tsx";
import { Blocks, Stored } from "./Blocks.tsx";
import { ChildCard } from "./ChildCard.tsx";
import { may } from "./deeds.tsx";
import { EntryNotes, NotesMark } from "./EntryNotes.tsx";
import { Again, begunAt, Editing, type Writes } from "./Editing.tsx";
import { IconPress, laneStyle, Press, Time } from "./parts.tsx";
import { toggleEntryPin } from "./Pinned.tsx";

interface TurnProps {
	app: App;
	message: Shown;
	isChosen: boolean;
	isFirst: boolean;
	isLast: boolean;
}

export function Turn({ app, message, isChosen, isFirst, isLast }: TurnProps) {
	const { id, role, who, entries, blocks, ms } = message;
	const [entry] = entries as [Entry];
	const place = app.place!;
	const lane = app.grove?.look(entry.conversationId)?.lane;
	const mayWrite = may(app, "writer");
	const [written, setWritten] = useState(() => begunIn(app, entries));
	const article = useRef<HTMLElement>(null);
	const [isStored, setStored] = useState(false);
	const notes = place.notes.on(entries);
	const isPinned = entries.some((one) => place.notes.pinned.includes(one.id));
	const notesId = useId();
	const [isNoted, setNoted] = useState(false);
	const inEdit = mayWrite ? entries.find((one) => one.id === written?.id) : undefined;
	const editable = inEdit && editableOf(inEdit, place.entries);
	const back = () => article.current?.focus({ preventScroll: true });
	const close = () => {
		setWritten(undefined);
		back();
	};
	const closeNotes = () => {
		setNoted(false);
		back();
	};
	const what = inEdit && written?.what;
	const isInPlace = inEdit === entry && (what === "words" || what === "json" || role === "tool");
	const calls = blocks.filter((block) => block.kind === "call");
	const children = app.grove?.tree.children.filter(({ startedByEntryId: by }) =>
		entries.some((one) => one.id === by),
	);
	const used = usageWords({ ...sumOf(entries.map((one) => lineOf(one))) });
	const facts = role === "ai" && ms ? [...used, duration(ms)] : used;
	/** What one may do at an entry. */
	const pressEdit = (one: Entry, label: string, part?: EditedPart) => {
		const held = editableOf(one, place.entries);
		return (
			held && (
				<Press
					className="b ghost s"
					data-do={label}
					title="Edit, and go on on a new branch (E)"
					press={() => setWritten({ id: one.id, what: part ?? firstPart(held) })}
				>
					<Pencil /> Edit
				</Press>
			)
		);
	};
	const pressFork = (one: Entry) => (
		<Press className="b ghost s" data-do="fork" title="New branch from here (F)" press={() => app.fork(one)}>
			<GitFork /> Fork here
		</Press>
	);
	const actsAt = ({ entry: asked, result, resultEntry }: CallShown) =>
		resultEntry && (
			<>
				{pressEdit(resultEntry, "edit-result", result?.path)}
				{resultEntry !== asked && pressFork(resultEntry)}
			</>
		);
	return (
		<article
			ref={article}
			className={`msg ${role} ${isFirst ? "first" : ""} ${isLast ? "last" : ""} ${isChosen ? "chosen" : ""}`}
			style={laneStyle(lane)}
			data-key={id}
			tabIndex={0}
			aria-label={visible(who)}
		>
			<span className="node" />
			<div className="line who">
				<h2 dir="auto">{visible(who)}</h2>
				<Time at={saidAt(entry)} className="quiet" hasHour />
				{isPinned && (
					<span className="quiet" title="Pinned, for all who see it">
						<Pin aria-hidden="true" />
						<span className="sr">Pinned</span>
					</span>
				)}
				<div className="acts" role="toolbar" aria-label="Message">
					{mayWrite && (
						<>
							{pressEdit(entry, "edit")}
							{role === "ai" && (
								<Press
									className="b ghost s"
									data-do="again"
									title="Answer again on a new branch (R)"
									press={() => setWritten({ id: entry.id, what: "again" })}
								>
									<RotateCcw /> Try again
								</Press>
							)}
							{pressFork(entries.at(-1)!)}
							<IconPress
								label="Add a note"
								className="s"
								data-do="note"
								press={() => {
									flushSync(() => setNoted(true));
									document.getElementById(notesId)?.querySelector("textarea")?.focus();
								}}
							>
								<MessageSquarePlus />
							</IconPress>
							<IconPress
								label={isPinned ? "Unpin message" : "Pin message"}
								className="s"
								data-do="pin"
								press={() => toggleEntryPin(app, entries)}
							>
								{isPinned ? <PinOff /> : <Pin />}
							</IconPress>
						</>
					)}
					<IconPress
						label="Copy link"
						className="s"
						data-do="link"
						press={() => app.copyLink(toConversation(place.id, id))}
					>
						<Link />
					</IconPress>
					{app.isAgent && (
						<IconPress
							label="Memory here"
							className="s"
							data-do="memory"
							press={() => {
								app.showPane("memory");
								app.go(toConversation(place.id, id));
							}}
						>
							<NotebookText />
						</IconPress>
					)}
					<IconPress
						label="As stored"
						className="s"
						aria-pressed={isStored}
						press={() => setStored(!isStored)}
					>
						<Braces />
					</IconPress>
				</div>
				<span className="facts">
					{facts.map((one) => (
						<span key={one} className={one.startsWith("$") ? "keep" : undefined}>
							{one}
						</span>
					))}
				</span>
			</div>
			{isStored ? (
				<Stored entries={entries} />
			) : (
				<div className="body md">
					{!isInPlace && <Blocks blocks={blocks} acts={mayWrite ? actsAt : undefined} />}
					{inEdit &&
						(what === "again" ? (
							<Again app={app} entry={inEdit} close={close} />
						) : (
							editable && (
								<Editing
									key={`${inEdit.id} ${String(what)}`}
									{...{ app, editable, close }}
									entry={inEdit}
									part={what ?? "json"}
									tool={
										calls.find(({ resultEntry, result }) => resultEntry === inEdit && isAt(result, what))
											?.name
									}
								/>
							)
						))}
					{entry.erased && <p className="quiet">[erased]</p>}
				</div>
			)}
			<Origin entry={entry} />
			<NotesMark notes={notes} opens={notesId} isOpen={isNoted} press={() => setNoted(!isNoted)} />
			{isNoted && (mayWrite || notes.length > 0) && (
				<EntryNotes {...{ app, notes, back }} id={notesId} entryId={entry.id} close={closeNotes} />
			)}
			{children?.map((one) => (
				<ChildCard key={one.id} child={one} />
			))}
		</article>
	);
}

/** Return in the place of which entry one has begun to write, and what. */
function begunIn(app: App, entries: readonly Entry[]): { id: string; what: Writes } | undefined {
	for (const { id } of entries) {
		const what = begunAt(app, app.place!.id, id);
		if (what) return { id, what };
	}
	return undefined;
}

/** Whether a result stands at a place. */
const isAt = (result: Result | undefined, what: Writes | undefined): boolean =>
	typeof what === "object" && result?.path.join() === what.join();

/** Where an entry comes from, if it sums up another branch or is a copy. */
function Origin({ entry }: { entry: Entry }) {
	const { mergedFromConversationId: merged, copiedFromConversationId: copied } = entry;
	if (!merged && !copied) return null;
	return (
		<p className="origin">
			{merged && <a href={toConversation(merged, entry.mergedUpToEntryId)}>Merged from another branch</a>}
			{copied && <a href={toConversation(copied, entry.copiedFromEntryId)}>Copied from another branch</a>}
		</p>
	);
}

/** The answer that is written, so far. */
export function WritingTurn({ app, writing }: { app: App; writing: Writing }) {
	const lane = app.grove?.look(writing.conversationId)?.lane;
	const text = writing.pieces
		.map((one) =>
			typeof one === "string"
				? one
				: ((one as { text?: string; delta?: string }).text ?? (one as { delta?: string }).delta ?? ""),
		)
		.join("");
	const isOpen = writing.state === "open";
	return (
		<article
			className={`msg ai last ${isOpen ? "live" : ""}`}
			style={laneStyle(lane)}
			aria-label="An answer that is written"
			tabIndex={0}
		>
			<span className="node" />
			<div className="line who">
				<h2>{visible(writing.agentId ?? writing.clientId ?? writing.userId)}</h2>
				<span className="quiet">{isOpen ? "now" : writing.state}</span>
			</div>
			<div className="body md">
				<Words text={text} end={isOpen && <span className="caret" />} />
			</div>
		</article>
	);
}
