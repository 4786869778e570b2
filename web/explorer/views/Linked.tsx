// The page of a link: what people read who have no account. Nothing here knows a person, and nothing is kept.

import type { LinkedConversation, LinkedEntry, LinkedEntryPage } from "@forklore/client";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { saidAt } from "../model/forms.ts";
import { shownOf } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import { titleOf, visible } from "../model/words.ts";
import { AWAY, type Files, Reader } from "./Attached.tsx";
import { Blocks } from "./Blocks.tsx";
import { Loading, Press, Said, Time } from "./parts.tsx";

const LINK = /^#link=([\w-]{43})$/;
const AT_ONCE = 100;
const TITLES_MAX = 20; // of a branch that is opened: all readers of a link share its requests of a minute
const SOMEBODY = "Somebody"; // whom the link does not name
const GONE = "This link leads nowhere. It may have ended.";
const SILENT = "The server does not answer as it should.";

/** Return the secret in the address of the page; none of any other address. */
export const secretIn = (hash: string): string | undefined => LINK.exec(hash)?.[1];

/** Read by the link. No credentials, no cookie and no address of this page are sent. */
async function get<T>(secret: string, rest = ""): Promise<T> {
	const response = await fetch(`/v1/links/${secret}${rest}`, {
		credentials: "omit",
		cache: "no-store",
		referrerPolicy: "no-referrer",
	});
	if (response.status === 404) throw new Error(GONE);
	if (!response.ok) throw new Error(SILENT);
	return (await response.json()) as T;
}

/** Return an entry as the page draws it. What a link does not show is empty. */
const entryOf = (linked: LinkedEntry, conversationId: string): Entry => ({
	userId: "",
	parentId: null,
	channel: "history",
	...linked,
	conversationId,
});

export function Linked({ secret }: { secret: string }) {
	const [conversation, setConversation] = useState<LinkedConversation>();
	const [branch, setBranch] = useState<string>();
	const [entries, setEntries] = useState<readonly LinkedEntry[]>();
	const [others, setOthers] = useState<readonly string[]>([]);
	const [titles, setTitles] = useState<ReadonlyMap<string, string | null>>(new Map());
	const [cursor, setCursor] = useState<string | null>(null);
	const [problem, setProblem] = useState("");
	const [dialog, setDialog] = useState<ReactNode>();
	const open = useRef(branch); // an answer about another branch comes too late
	open.current = branch;

	const fail = (error: unknown) =>
		setProblem(error instanceof Error && error.message === GONE ? GONE : SILENT);
	const more = async (after: string | null) => {
		const of = branch ? `&conversationId=${branch}` : "";
		const from = after ? `&afterCursor=${after}` : "";
		const page = await get<LinkedEntryPage>(secret, `/entries?limit=${AT_ONCE}${of}${from}`);
		if (open.current !== branch) return;
		setEntries((known) => [...((after && known) || []), ...page.data]);
		setOthers(page.alternativesAtEnd ?? []);
		setCursor(page.afterCursor);
	};
	useEffect(() => void get<LinkedConversation>(secret).then(setConversation, fail), [secret]);
	useEffect(() => void more(null).catch(fail), [secret, branch]);

	const named = [...(entries ?? []).flatMap((one) => one.alternatives ?? []), ...others];
	const unnamed = [...new Set(named)].slice(0, TITLES_MAX).filter((id) => !titles.has(id));
	useEffect(() => {
		const asked = unnamed.map((id) => get<LinkedConversation>(secret, `?conversationId=${id}`));
		void Promise.all(asked).then(
			(found) =>
				found.length > 0 &&
				setTitles(
					(known) => new Map([...known, ...found.map((one) => [one.conversationId, one.title] as const)]),
				),
			() => undefined, // the branches are counted then
		);
	}, [secret, unnamed.join(" ")]);

	if (problem)
		return (
			<main className="sign-in">
				<p role="alert">{problem}</p>
			</main>
		);
	if (!conversation || !entries) return <Loading what="the conversation" />;
	const of = branch ?? conversation.conversationId;
	const files: Files = {
		located: (url) => new URL(url, location.href).href,
		open: (draw) => setDialog(draw(() => setDialog(undefined))),
		async linkTo({ id }) {
			const holds = (one: LinkedEntry) => one.attachments?.find((file) => file.id === id);
			const before = entries[entries.findIndex(holds) - 1];
			const place = `conversationId=${of}${before ? `&afterCursor=${before.id}` : ""}`;
			const page = await get<LinkedEntryPage>(secret, `/entries?limit=1&${place}`).catch(() => undefined);
			const url = page?.data.map(holds)[0]?.url;
			return { url, told: url ? "" : AWAY };
		},
	};
	const ways = new Map(entries.map((one) => [one.id, one.alternatives ?? []]));
	return (
		<main className="linked">
			<header>
				<h1 dir="auto">{titleOf(conversation.title)}</h1>
				<p className="quiet">
					A conversation that was shared with you, to read. The link ends <Time at={conversation.endsAt} />.
				</p>
				{branch && (
					<Press className="b s" press={() => setBranch(undefined)}>
						Back to the first branch
					</Press>
				)}
			</header>
			{shownOf(entries.map((one) => entryOf(one, of))).map(({ id, role, who, entries: own, blocks }) => (
				<article key={id} className={`msg ${role}`} aria-label={visible(who) || SOMEBODY}>
					<span className="node" />
					<div className="line who">
						<h2 dir="auto">{visible(who) || SOMEBODY}</h2>
						<Time at={saidAt(own[0]!)} className="quiet" hasHour />
					</div>
					<div className="body md">
						<Reader value={files}>
							<Blocks blocks={blocks} />
						</Reader>
					</div>
					<Ways ids={ways.get(id) ?? []} titles={titles} open={setBranch} />
				</article>
			))}
			{!entries.length && <p className="quiet">Nothing was said yet.</p>}
			{cursor ? (
				<Press className="b" press={() => more(cursor).catch(fail)}>
					Show more
				</Press>
			) : (
				<Ways ids={others} titles={titles} open={setBranch} />
			)}
			{dialog}
		</main>
	);
}

interface WaysProps {
	ids: readonly string[];
	titles: ReadonlyMap<string, string | null>;
	open: (id: string) => void;
}

/** The other branches that go on differently here. */
const Ways = ({ ids, titles, open }: WaysProps) =>
	ids.length > 0 && (
		<div className="line">
			<span className="quiet">Goes on differently:</span>
			{ids.map((id, at) => (
				<Press key={id} className="b ghost s" press={() => open(id)}>
					{titles.get(id) ? <Said>{titleOf(titles.get(id))}</Said> : `Branch ${at + 1}`}
				</Press>
			))}
		</div>
	);
