// All ways on from one entry, as a table: which was the cheapest of those that are good.

import { Columns2, Download, GitMerge, RotateCcw, Tag, Trash2 } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { toCompare, toConversation } from "../model/route.ts";
import {
	bestOf,
	csvOf,
	jsonLinesOf,
	sorted,
	waysFrom,
	type Best,
	type Measure,
	type Member,
} from "../model/ways.ts";
import { clipped, counted, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { CompareHead } from "./Compare.tsx";
import { askAgain, askDelete, askMerge, askTag, may } from "./deeds.tsx";
import { saveFile } from "./keeping.ts";
import { Press } from "./parts.tsx";
import { WaysTable } from "./WaysTable.tsx";

const COMPARED_MAX = 6;
const HEADING_MAX = 40; // characters of the entry

interface AltTableProps {
	app: App;
	/** A branch that shows the entry, to which one goes back. */
	id: string;
	/** The entry that all alternatives follow; null: the beginning. */
	entryId: string | null;
}

export function AltTable({ app, id, entryId }: AltTableProps) {
	const { shape } = app.grove!;
	const [sort, setSort] = useState<{ by: Measure | Member; down: boolean }>({ by: "score", down: true });
	const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
	const [least, setLeast] = useState<number>();
	const ways = useMemo(() => waysFrom(shape, entryId), [shape, entryId]);
	const best = useMemo(() => bestOf(ways, least), [ways, least]);

	const rows = sorted(ways, sort.by, sort.down);
	const ids = rows.map(({ limb }) => limb.id);
	const chosen = ids.filter((one) => picked.has(one));
	const from = shape.places.get(entryId ?? "")?.line;
	const isThere = entryId === null || from !== undefined;
	const words = from && (from.text || from.role);
	const sortBy = (by: Measure | Member): void =>
		setSort({ by, down: sort.by === by ? !sort.down : by === "score" });
	const toggle = (one?: string): void => {
		const all = chosen.length === ids.length ? [] : ids;
		const others = picked.has(one ?? "") ? chosen.filter((other) => other !== one) : [...chosen, one!];
		setPicked(new Set(one === undefined ? all : others));
	};
	const saveLines = async (): Promise<void> => {
		try {
			const notes = await app.client.conversation(id).notes({ allForks: true, signal: app.signal }).list();
			saveFile("ways.jsonl", jsonLinesOf(rows, notes), "application/jsonl");
		} catch (error) {
			app.fail(error);
		}
	};
	return (
		<main className="talk" id="main" tabIndex={-1}>
			<CompareHead
				app={app}
				id={id}
				heading={
					<>
						{counted(ways.length, "way")} from{" "}
						<bdi>
							{words ? `“${clipped(words, HEADING_MAX)}”` : isThere ? "the beginning" : "what is not here"}
						</bdi>
					</>
				}
				sides={toCompare((chosen.length > 1 ? chosen : ids).slice(0, COMPARED_MAX))}
			>
				{ways.length > 0 && (
					<>
						<Press
							className="b"
							title="Save the table as CSV"
							press={() => saveFile("ways.csv", csvOf(rows), "text/csv")}
						>
							<Download />
							CSV
						</Press>
						<Press
							className="b"
							title="Save each way as a line of JSON, with all its metadata and notes"
							press={saveLines}
						>
							<Download />
							JSONL
						</Press>
					</>
				)}
				{from && may(app, "writer") && (
					<Press className="b" press={() => askAgain(app, id, from)} title="Answer again on a new branch">
						<RotateCcw />
						Try again
					</Press>
				)}
			</CompareHead>
			<div className="cmp" tabIndex={0} role="region" aria-label="Ways from here">
				{isThere ? (
					<p className="quiet told">
						Each row continues after{" "}
						{words ? (
							<a href={toConversation(id, entryId)}>
								<bdi>“{words}”</bdi>
							</a>
						) : (
							"nothing"
						)}
						; sums count from there. <Told best={best} least={least} setLeast={setLeast} />
					</p>
				) : (
					<p className="told">
						This tree does not show that message: it was deleted, or it is of another tree.
					</p>
				)}
				{ways.length > 0 && <WaysTable {...{ app, rows, best, sort, sortBy, picked, toggle }} />}
			</div>
			{chosen.length > 0 && (
				<Tray app={app} chosen={chosen} current={ways.find(({ limb }) => limb.look.isCurrent)?.limb.id} />
			)}
		</main>
	);
}

interface ToldProps {
	best: Best;
	/** The score that one has named. */
	least: number | undefined;
	setLeast: (score: number | undefined) => void;
}

/** What green means here: one names another score than that of the rule. */
function Told({ best: { good }, least, setLeast }: ToldProps): ReactNode {
	if (good === undefined) return "No way has a score yet: “Names and tags…” of a branch gives one.";
	return (
		<label>
			<b className="best">Green</b> is best of those with a score of{" "}
			<input
				className="input"
				type="number"
				step="any"
				value={least ?? Math.round(100 * good) / 100}
				onChange={({ target }) =>
					setLeast(Number.isNaN(target.valueAsNumber) ? undefined : target.valueAsNumber)
				}
			/>{" "}
			or more.
		</label>
	);
}

interface TrayProps {
	app: App;
	/** Ids of branches. */
	chosen: readonly string[];
	/** The current branch, if it is one of the ways. */
	current: string | undefined;
}

/** What one may do with the chosen branches. */
function Tray({ app, chosen, current }: TrayProps) {
	const mayWrite = may(app, "writer");
	const mergeAll = async (into: string) => {
		for (const one of chosen)
			if (one !== into && (await askMerge(app, one, into).catch(app.fail)) === null) return;
	};
	return (
		<div className="line tray" role="toolbar" aria-label="Chosen branches">
			<b>{chosen.length} chosen</b>
			{mayWrite && (
				<Press press={() => askTag(app, chosen)}>
					<Tag />
					Tag…
				</Press>
			)}
			{may(app, "manager") && (
				<Press className="b ghost bad" press={() => askDelete(app, chosen)}>
					<Trash2 />
					Delete…
				</Press>
			)}
			{mayWrite && current && chosen.some((one) => one !== current) && (
				<Press className="b" press={() => mergeAll(current)}>
					<GitMerge />
					Merge into {visible(app.grove?.look(current)?.names[0] ?? "the current branch")}…
				</Press>
			)}
			{chosen.length > 1 && chosen.length <= COMPARED_MAX && (
				<a className="b main" href={toCompare(chosen)}>
					<Columns2 />
					Side by side
				</a>
			)}
		</div>
	);
}
