// What the agent remembered at the chosen message, and what changed there.

import { ChevronLeft, ChevronRight } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { ForbiddenError } from "@forklore/client";
import { jsonOf } from "../model/json.ts";
import { factsOf, stopAt, stopsOf, type Fact } from "../model/memory.ts";
import { toConversation } from "../model/route.ts";
import { firstWords } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import { counted, visible } from "../model/words.ts";
import { isAborted } from "../service/connection.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { JsonTree } from "./JsonTree.tsx";
import { IconPress, Loading, Press, Problem } from "./parts.tsx";

const ENTRIES_MAX = 1000;
const SIGNS = { same: "", add: "+", del: "−", edit: "~" };
const SAID = { same: "unchanged", add: "added", del: "removed", edit: "changed" };
const SHOWN = ["Changes", "Everything", "JSON"] as const;

export function Memory({ app }: { app: App }) {
	const place = useSource(app.place!);
	const [context, setContext] = useState<readonly Entry[]>();
	const [problem, setProblem] = useState<unknown>();
	const [again, setAgain] = useState(0);
	const [shown, setShown] = useState<(typeof SHOWN)[number]>("Changes");
	useEffect(() => {
		const ended = new AbortController();
		const query = { channel: "context", epoch: "all" as const, tail: true, limit: ENTRIES_MAX };
		place.client.api
			.listEntries({ conversationId: place.id, ...query }, { signal: ended.signal })
			.then(({ data }) => {
				setContext(data);
				setProblem(undefined);
			})
			.catch((error: unknown) => isAborted(error) || setProblem(error));
		return () => ended.abort();
	}, [place, place.contextRound, again]);
	const { entries, chosen } = place;
	const stops = useMemo(() => stopsOf(context ?? [], entries), [context, entries]);
	const at = chosen === undefined ? stops.length - 1 : stopAt(stops, chosen);
	const [stop, before] = [stops[at], stops[at - 1]];
	const facts = useMemo(() => factsOf(stop?.elements ?? [], before?.elements ?? []), [stop, before]);

	if (problem instanceof ForbiddenError)
		return <p className="blank">The memory here belongs to another agent, who alone can read it.</p>;
	if (problem !== undefined)
		return (
			<Problem
				error={problem}
				again={() => {
					setProblem(undefined);
					setAgain(again + 1);
				}}
			/>
		);
	if (!context) return <Loading what="the memory" />;
	if (!stops.length) return <p className="blank">This agent remembers nothing here.</p>;

	const wordsOf = (id: string | null | undefined) => {
		const entry = entries.find((one) => one.id === id);
		return entry ? `“${firstWords(entry, 60)}”` : "the first message that is loaded";
	};
	const go = (to: number) => {
		const id = stops[to]?.afterEntryId;
		if (id) app.go(toConversation(place.id, id));
	};
	const count = (kind: Fact["kind"]) => facts.filter((one) => one.kind === kind).length;
	return (
		<div className="memory">
			<div className="bar">
				<div className="line">
					<IconPress label="Earlier change" className="s" disabled={at <= 0} press={() => go(at - 1)}>
						<ChevronLeft />
					</IconPress>
					<input
						type="range"
						aria-label="Change of the memory"
						aria-valuetext={stop ? `After ${wordsOf(stop.afterEntryId)}` : "Before the first change"}
						min={0}
						max={stops.length - 1}
						value={Math.max(0, at)}
						onChange={(event) => go(Number(event.target.value))}
					/>
					<IconPress
						label="Later change"
						className="s"
						disabled={at >= stops.length - 1}
						press={() => go(at + 1)}
					>
						<ChevronRight />
					</IconPress>
				</div>
				<div className="line">
					<b className="cut" dir="auto">
						{stop ? `After ${wordsOf(stop.afterEntryId)}` : "Nothing yet at this message"}
					</b>
					<span className="grow" />
					<span className="plus">+{count("add")}</span>
					<span className="minus">−{count("del")}</span>
					<span className="changed">~{count("edit")}</span>
				</div>
				<div className="line">
					{SHOWN.map((one) => (
						<Press key={one} className="b ghost s" aria-pressed={shown === one} press={() => setShown(one)}>
							{one}
						</Press>
					))}
					<span className="grow" />
					<span className="quiet cut" dir="auto">
						{before ? `since ${wordsOf(before.afterEntryId)}, ` : ""}epoch {stop?.epoch ?? 0}
					</span>
				</div>
			</div>
			<div className="facts">
				{shown === "JSON" ? (
					<JsonTree value={stop?.elements ?? []} />
				) : (
					<Facts facts={facts} isAll={shown === "Everything"} />
				)}
				{stop && !stop.elements.length && <p className="quiet">The memory is empty.</p>}
				{context.length === ENTRIES_MAX && (
					<p className="quiet">Older changes than the last {ENTRIES_MAX} are not shown.</p>
				)}
			</div>
		</div>
	);
}

/** The facts by topic, in the order in which the topics come. */
function Facts({ facts, isAll }: { facts: readonly Fact[]; isAll: boolean }) {
	return [...Map.groupBy(facts, ({ topic }) => topic)].map(([topic, all]) => {
		const shown = isAll ? all : all.filter(({ kind }) => kind !== "same");
		const same = all.length - shown.length;
		return (
			<section key={topic}>
				{topic && <h3 dir="auto">{visible(topic)}</h3>}
				{shown.map((fact, at) => (
					<OneFact key={at} {...fact} />
				))}
				{same > 0 && (
					<div className="fact quiet">
						<i />
						<span>{counted(same, "unchanged", "unchanged")}</span>
					</div>
				)}
			</section>
		);
	});
}

function OneFact({ kind, name, value, before }: Fact) {
	return (
		<div className={`fact ${kind}`}>
			<i title={SAID[kind]}>
				<span aria-hidden="true">{SIGNS[kind]}</span>
				<span className="sr">{SAID[kind]}</span>
			</i>
			<div dir="auto">
				{name && <div className="k">{visible(name)}</div>}
				{kind === "edit" ? (
					<>
						<del>{told(before)}</del>
						<ins>{told(value)}</ins>
					</>
				) : (
					told(value)
				)}
			</div>
		</div>
	);
}

const told = (value: unknown) =>
	typeof value === "string" ? (
		visible(value)
	) : typeof value === "object" ? (
		<JsonTree value={value} />
	) : (
		jsonOf(value)
	);
