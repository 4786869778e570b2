// All ways on from one entry, as a table: which was the cheapest of those that are good.

import { Columns2, GitMerge, RotateCcw, Star, Tag, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { duration } from "../model/costs.ts";
import { toCompare, toConversation } from "../model/route.ts";
import { bestOf, sorted, waysFrom, type Best, type Measure, type Way } from "../model/ways.ts";
import { clipped, counted, short, usd, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { CompareHead } from "./Compare.tsx";
import { askAgain, askDelete, askMerge, askPromote, askTag, may } from "./deeds.tsx";
import { Refs } from "./Outline.tsx";
import { laneStyle, Press } from "./parts.tsx";
import { Score } from "./MapRow.tsx";

const COMPARED_MAX = 6;
const HEADING_MAX = 40; // characters of the entry
const COLUMNS: readonly [Measure, string, string][] = [
	["entries", "Entries", "r hidenarrow"],
	["inputTokens", "Tokens in, out", "r hidenarrow"],
	["costUsd", "Cost", "r"],
	["seconds", "Time", "r"],
];

interface AltTableProps {
	app: App;
	/** A branch that shows the entry, to which one goes back. */
	id: string;
	/** The entry that all alternatives follow; null: the beginning. */
	entryId: string | null;
}

export function AltTable({ app, id, entryId }: AltTableProps) {
	const { shape } = app.grove!;
	const mayWrite = may(app, "writer");
	const [sort, setSort] = useState<{ by: Measure; down: boolean }>({ by: "score", down: true });
	const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
	const ways = useMemo(() => waysFrom(shape, entryId), [shape, entryId]);
	const best = useMemo(() => bestOf(ways), [ways]);

	const rows = sorted(ways, sort.by, sort.down);
	const hasEnds = ways.some(({ last, words }) => last !== words);
	const ids = rows.map(({ limb }) => limb.id);
	const chosen = ids.filter((one) => picked.has(one));
	const current = ways.find(({ limb }) => limb.look.isCurrent)?.limb;
	const from = shape.places.get(entryId ?? "")?.line;
	const isThere = entryId === null || from !== undefined;
	const words = from && (from.text || from.role);
	const sortBy = (by: Measure): void => setSort({ by, down: sort.by === by ? !sort.down : by === "score" });
	const head = (by: Measure, label: string, className?: string) => (
		<th
			key={by}
			className={className}
			aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : undefined}
		>
			<button type="button" onClick={() => sortBy(by)}>
				{label}
				{sort.by === by && (sort.down ? " ↓" : " ↑")}
			</button>
		</th>
	);
	const toggle = (one: string): void =>
		setPicked(new Set(picked.has(one) ? chosen.filter((other) => other !== one) : [...chosen, one]));
	const toggleAll = (): void => setPicked(new Set(chosen.length === ids.length ? [] : ids));
	const mergeAll = async (into: string) => {
		for (const one of chosen)
			if (one !== into && (await askMerge(app, one, into).catch(app.fail)) === null) return;
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
				{from && mayWrite && (
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
						; sums count from there. <Told best={best} />
					</p>
				) : (
					<p className="told">
						This tree does not show that message: it was deleted, or it is of another tree.
					</p>
				)}
				{ways.length > 0 && (
					<table className="alts">
						<thead>
							<tr>
								<th>
									<input
										type="checkbox"
										aria-label="Choose all"
										checked={ids.length > 0 && chosen.length === ids.length}
										onChange={toggleAll}
									/>
								</th>
								<th>Way</th>
								{hasEnds && <th className="hidenarrow">Ends with</th>}
								{head("score", "Score")}
								{COLUMNS.map(([by, label, className]) => head(by, label, className))}
								<th>Tags</th>
								{mayWrite && (
									<th>
										<span className="sr">Do</span>
									</th>
								)}
							</tr>
						</thead>
						<tbody>
							{rows.map((way) => (
								<WayRow
									key={way.limb.id}
									app={app}
									way={way}
									best={best}
									hasEnds={hasEnds}
									isChosen={picked.has(way.limb.id)}
									toggle={toggle}
								/>
							))}
						</tbody>
					</table>
				)}
			</div>
			{chosen.length > 0 && (
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
					{mayWrite && current && chosen.some((one) => one !== current.id) && (
						<Press className="b" press={() => mergeAll(current.id)}>
							<GitMerge />
							Merge into {visible(current.look.names[0] ?? "the current branch")}…
						</Press>
					)}
					{chosen.length > 1 && chosen.length <= COMPARED_MAX && (
						<a className="b main" href={toCompare(chosen)}>
							<Columns2 />
							Side by side
						</a>
					)}
				</div>
			)}
		</main>
	);
}

/** What green means here. */
function Told({ best: { good } }: { best: Best }) {
	if (good === undefined) return "No way has a score yet: “Names and tags…” of a branch gives one.";
	return (
		<>
			<b className="best">Green</b> is best of those with a score of{" "}
			{good.toLocaleString("en", { maximumFractionDigits: 2 })} or more.
		</>
	);
}

interface WayRowProps {
	app: App;
	way: Way;
	best: Best;
	/** Whether one of the ways ends with other words than it begins with. */
	hasEnds: boolean;
	isChosen: boolean;
	toggle: (id: string) => void;
}

function WayRow({ app, way, best, hasEnds, isChosen, toggle }: WayRowProps) {
	const { limb, score, entries, inputTokens, outputTokens, costUsd, seconds, words, last } = way;
	const { id, look, branch } = limb;
	const isGood = best.good === undefined || (score !== undefined && score >= best.good);
	const isBest = (measure: "costUsd" | "seconds"): string =>
		`r ${isGood && way[measure] === best[measure] ? "best" : ""}`;
	return (
		<tr className={isChosen ? "on" : ""} style={laneStyle(look.lane)}>
			<td>
				<input
					type="checkbox"
					checked={isChosen}
					onChange={() => toggle(id)}
					aria-label={`Choose ${words}`}
				/>
			</td>
			<td className="way-name">
				<a className="line" href={toConversation(id)} title={look.label}>
					<i className="dot" />
					<bdi className="cut">{words}</bdi>
				</a>
				<Refs look={look} />
			</td>
			{hasEnds && (
				<td className="ends hidenarrow">
					<bdi className="cut" title={last}>
						{last}
					</bdi>
				</td>
			)}
			<td>
				{score === undefined ? (
					<span className="quiet">none</span>
				) : (
					<Score value={score} isBest={score === best.score} />
				)}
			</td>
			<td className="r hidenarrow">{entries}</td>
			<td className="r hidenarrow">
				{inputTokens || outputTokens ? `${short(inputTokens)}, ${short(outputTokens)}` : ""}
			</td>
			<td className={isBest("costUsd")}>{costUsd > 0 && usd(costUsd)}</td>
			<td className={isBest("seconds")}>{seconds > 0 && duration(1000 * seconds)}</td>
			<td>
				{Object.entries(branch?.tags ?? {}).map(([name, value]) => (
					<span key={name} className="chip">
						{visible(value ? `${name}: ${value}` : name)}
					</span>
				))}
			</td>
			{may(app, "writer") && (
				<td className="r">
					{look.isCurrent ? (
						<span className="quiet">current</span>
					) : (
						<Press className="b ghost s" press={() => askPromote(app, id)}>
							<Star />
							Make current…
						</Press>
					)}
				</td>
			)}
		</tr>
	);
}
