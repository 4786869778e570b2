// What the palette offers for a query, in groups: what is here, what the service has found, and what one may do.

import {
	Bookmark,
	CornerDownRight,
	GitBranch,
	MessageSquare,
	MessagesSquare,
	Search as Sign,
} from "lucide-react";
import type { ReactNode } from "react";
import { toConversation } from "../model/route.ts";
import type { ConversationDetails, Hit, Name } from "../model/types.ts";
import { grouped } from "../model/shape.ts";
import { counted, shortTime, titleOf, toldOf, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { everyAction } from "./actions.tsx";
import { isolated } from "./deeds.tsx";
import { BranchName } from "./parts.tsx";
import { ROWS, type Search } from "./searching.ts";

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

export interface Option {
	key: string;
	sign: ReactNode;
	words: ReactNode;
	beside?: ReactNode;
	/** Where it leads; what only does something leads nowhere. */
	hash?: string;
	run?: () => unknown;
	/** The palette stays open. */
	stays?: boolean;
}

export interface OptionGroup {
	name: string;
	options: Option[];
}

/** What is shown of hits on other branches: the titles of their trees. */
export interface Opened {
	titles: ReadonlySet<string>;
	open: (title: string) => void;
}

/** Return what there is for a query; without one, what one may do. */
export function optionsFor(app: App, query: string, search: Search, opened: Opened): OptionGroup[] {
	const { names, conversations, hits, cursor } = search.found;
	const on: Option = { key: "more", sign: <Sign />, words: "Search on", run: search.more, stays: true };
	return [
		{ name: "Here", options: query ? branchesHere(app, query) : [] },
		{ name: "Messages here", options: query ? messagesHere(app, query) : [] },
		{ name: "Names", options: names.map((one) => optionOfName(one, query)) },
		{
			name: "Conversations",
			options: [...byId(query), ...conversations.map((one) => optionOfConversation(one, query))],
		},
		{
			name: "Messages",
			options: [...optionsOfHits(hits, query, opened), ...(cursor && !search.isBusy ? [on] : [])],
		},
		{ name: "Do", options: deedsFor(app, query) },
	];
}

const fits = (query: string, ...words: string[]): boolean =>
	words.some((one) => one.toLowerCase().includes(query.toLowerCase()));

function branchesHere({ grove }: App, query: string): Option[] {
	const found = [...(grove?.shape.limbs.values() ?? [])].filter(
		({ branch, look }) => branch && fits(query, look.label, ...look.names),
	);
	return found
		.slice(0, ROWS)
		.map(({ id, look }) => ({
			key: `b${id}`,
			sign: <GitBranch />,
			words: marked(look.label, query),
			beside: look.names.length > 0 && <BranchName look={look} />,
			hash: toConversation(id),
		}));
}

function messagesHere({ grove, place }: App, query: string): Option[] {
	const found = grove?.lines.filter((line) => fits(query, line.text)) ?? [];
	return found
		.slice(-ROWS)
		.map(({ id, conversationId, text, at }) => ({
			key: `l${id}`,
			sign: <CornerDownRight />,
			words: marked(text, query),
			beside: shortTime(at),
			hash: toConversation(grove!.fork(conversationId) ? conversationId : place!.id, id),
		}));
}

const optionOfName = ({ name, conversationId }: Name, query: string): Option => ({
	key: `n${name}`,
	sign: <Bookmark />,
	words: marked(name, query),
	hash: toConversation(conversationId),
});

/** The conversation that a query names by its id. */
function byId(query: string): Option[] {
	const id = query.toLowerCase();
	if (!ID.test(id)) return [];
	return [{ key: "id", sign: <MessagesSquare />, words: `The conversation ${id}`, hash: toConversation(id) }];
}

const optionOfConversation = (
	{ id, title, lastMessagePreview = "", updatedAt }: ConversationDetails,
	query: string,
): Option => ({
	key: `c${id}`,
	sign: <MessagesSquare />,
	words: (
		<>
			{marked(titleOf(title), query)} <span className="quiet">{visible(lastMessagePreview)}</span>
		</>
	),
	beside: shortTime(updatedAt),
	hash: toConversation(id),
});

/**
 * Return the hits, the best first: behind those of a branch, as one option, those of other branches with its title. A
 * fork has the title of its source until it gets one of its own.
 */
function optionsOfHits(hits: readonly Hit[], query: string, { titles, open }: Opened): Option[] {
	const trees = grouped(hits, ({ conversationTitle, conversationId }) => conversationTitle ?? conversationId);
	return [...trees].flatMap(([title, all]) => {
		const isHere = ({ conversationId }: Hit): boolean => conversationId === all[0]!.conversationId;
		const others = all.filter((one) => !isHere(one));
		const isShown = others.length < 2 || titles.has(title);
		const more: Option = {
			key: `s${title}`,
			sign: <GitBranch />,
			words: `${counted(others.length, "more message")} on other branches of “${isolated(titleOf(title))}”`,
			run: () => open(title),
			stays: true,
		};
		const shown = [...all.filter(isHere), ...(isShown ? others : [])];
		return [...shown.map((one) => optionOfHit(one, query)), ...(isShown ? [] : [more])];
	});
}

const optionOfHit = (
	{ entryId, conversationId, conversationTitle, highlights, createdAt, line }: Hit,
	query: string,
): Option => ({
	key: `h${entryId}`,
	sign: <MessageSquare />,
	words: (
		<>
			{marked(highlights.join(" … ") || toldOf(line), query)}{" "}
			<span className="quiet">in {titleOf(conversationTitle)}</span>
		</>
	),
	beside: shortTime(line.saidAt ?? createdAt),
	hash: toConversation(conversationId, entryId),
});

const deedsFor = (app: App, query: string): Option[] =>
	everyAction(app)
		.filter(({ label }) => fits(query, label))
		.map(({ label, hint, sign, press }) => ({
			key: `d${label}`,
			sign,
			words: marked(label, query),
			beside: hint && <kbd>{hint}</kbd>,
			run: press,
		}));

/** Return a text in which the words of a query are marked, as a search finds them. */
function marked(text: string, query: string): ReactNode {
	const words = [...query.matchAll(/\+?"([^"]+)"|\+(\S+)|([^\s"+]+)/g)];
	if (!words.length) return visible(text);
	const said = words.map(([, quoted, demanded, free]) => {
		const letters = (quoted ?? demanded ?? free!).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		return free && /^\w/.test(free) ? `(?<![\\p{L}\\p{N}_])${letters}` : letters;
	});
	const pattern = new RegExp(`(${said.join("|")})`, "giu");
	return visible(text)
		.split(pattern)
		.map((part, at) => (at % 2 ? <mark key={at}>{part}</mark> : part));
}
