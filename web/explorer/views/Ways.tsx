// A fork in the conversation: the ways on from there, and which one is open.

import { ChevronLeft, ChevronRight, Columns2 } from "lucide-react";
import { toAlternatives, toCompare } from "../model/route.ts";
import { waysFrom, type Way } from "../model/ways.ts";
import { counted, usd, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { BranchName, IconPress, laneStyle, Press } from "./parts.tsx";

const LISTED_MAX = 5;

interface WaysProps {
	app: App;
	/** The entry after which the ways part; null: the beginning. */
	after: string | null;
	/** The next entry of the open way; undefined: it ends here. */
	next: string | undefined;
}

export function Ways({ app, after, next }: WaysProps) {
	const { grove, place } = app;
	const ways = waysFrom(grove!.shape, after);
	if (ways.length < 2) return null;
	const at = ways.findIndex(({ lines, limb }) => (next ? lines[0]?.id === next : limb.id === place!.id));
	const open = ways[at];
	const before = after === null ? undefined : grove!.shape.places.get(after)?.limb.look;
	const from = Math.max(0, Math.min(at - 2, ways.length - LISTED_MAX));
	const isListed = ways.length > 2;
	const listed = isListed ? ways.slice(from, from + LISTED_MAX) : [];
	const other = isListed ? undefined : ways[at === 0 ? 1 : 0];
	const go = (way: Way | undefined) => way && app.openOther(way.limb.id, after);
	const step = (by: 1 | -1, label: string, hint: string, sign: React.ReactNode) => (
		<IconPress
			label={label}
			title={`${label} (${hint})`}
			className="s"
			disabled={!ways[at + by]}
			data-way={by}
			press={() => go(ways[at + by])}
		>
			{sign}
		</IconPress>
	);
	const count = at < 0 ? `– / ${ways.length}` : `${at + 1} / ${ways.length}`;
	return (
		<div
			className="forks"
			style={laneStyle(before?.lane ?? open?.limb.look.lane)}
			role="group"
			aria-label={at < 0 ? `${counted(ways.length, "way")} from here` : `Way ${at + 1} of ${ways.length}`}
			data-after={after ?? ""}
		>
			<i className="rail" style={laneStyle((open ?? ways[0])!.limb.look.lane)} />
			<div className="line forkhead">
				{other && <i className="bend" style={laneStyle(other.limb.look.lane)} />}
				{step(-1, "Previous way", "[", <ChevronLeft />)}
				<b>{count}</b>
				{step(1, "Next way", "]", <ChevronRight />)}
				{other ? (
					<span className="cut">
						instead of{" "}
						<Press className="link" style={laneStyle(other.limb.look.lane)} press={() => go(other)}>
							{wordsOf(other)}
						</Press>
					</span>
				) : (
					<span className="cut">ways from here</span>
				)}
				<span className="grow" />
				<a
					className="b ghost s"
					href={other ? toCompare([place!.id, other.limb.id]) : toAlternatives(place!.id, after)}
				>
					<Columns2 /> {isListed ? "Compare all" : "Compare"}
				</a>
			</div>
			{isListed && (
				<div role="radiogroup" aria-label="Ways from here">
					{listed.map((way) => (
						<Press
							key={way.limb.id}
							role="radio"
							aria-checked={way === open}
							className="line way"
							style={laneStyle(way.limb.look.lane)}
							press={() => way !== open && go(way)}
						>
							{way !== open && <i className="bend" />}
							<span className="dot" />
							<span className="cut">{wordsOf(way)}</span>
							{way.limb.look.names.length > 0 && <BranchName look={way.limb.look} />}
							<span className="grow" />
							<span className="facts">
								{way.score !== undefined && <span>score {way.score}</span>}
								<span>{counted(way.entries, "entry", "entries")}</span>
								{way.costUsd > 0 && <span className="keep">{usd(way.costUsd)}</span>}
							</span>
						</Press>
					))}
					{ways.length > listed.length && (
						<a className="line way" href={toAlternatives(place!.id, after)}>
							<span className="cut">{counted(ways.length - listed.length, "more way")}</span>
						</a>
					)}
				</div>
			)}
		</div>
	);
}

/** What a way is called: the first words from where it parts. */
const wordsOf = ({ lines, words }: Way): string => visible(lines.length ? words : "It ends here");
