// Search, and all that one may go to or do, by keys.

import { Bookmark, CornerDownRight, GitBranch, MessageSquare, MessagesSquare, Search } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { toConversation } from "../model/route.ts";
import type { ConversationDetails, Hit, Name } from "../model/types.ts";
import { shortTime, titleOf, toldOf, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";
import { everyAction } from "./actions.tsx";
import { BranchName, Modal, Problem } from "./parts.tsx";

const TYPED_MS = 200;
const ROWS = 8;
const HITS = 20;
const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

interface Option {
	key: string;
	sign: ReactNode;
	words: ReactNode;
	beside?: ReactNode;
	run: () => unknown;
}

interface Found {
	query: string;
	conversations: readonly ConversationDetails[];
	names: readonly Name[];
	hits: readonly Hit[];
	/** Where the search goes on; null: all was searched. */
	cursor: string | null;
}

const NOTHING: Found = { query: "", conversations: [], names: [], hits: [], cursor: null };

export const openPalette = (app: App): void => void app.open((close) => <Palette app={app} close={close} />);

function Palette({ app, close }: { app: App; close: () => void }) {
	const [text, setText] = useState("");
	const [found, setFound] = useState(NOTHING);
	const [isBusy, setBusy] = useState(false);
	const [problem, setProblem] = useState<unknown>();
	const [active, setActive] = useState(0);
	const list = useRef<HTMLDivElement>(null);
	const round = useRef(new AbortController());
	const query = text.trim();
	const { client, grove } = app;

	const search = async (from: Found, afterCursor?: string) => {
		round.current.abort();
		round.current = new AbortController();
		const { signal } = round.current;
		setBusy(true);
		setProblem(undefined);
		try {
			const more = client.api.searchConversations(
				{ query, limit: HITS, includeEntry: false, afterCursor },
				{ signal },
			);
			if (!afterCursor) {
				const listed = { query, mode: "all", ancestry: "all", archived: "include", limit: ROWS } as const;
				const [titles, names] = await Promise.all([
					client.api.listConversations(listed, { signal }),
					client.names({ signal }).list(),
				]);
				const fits = names.filter(
					({ name, deleted }) => !deleted && name.toLowerCase().includes(query.toLowerCase()),
				);
				from = { ...NOTHING, query, conversations: titles.data, names: fits.slice(0, ROWS) };
				setFound({ ...from, cursor: "" });
			}
			const page = await more;
			setFound({ ...from, hits: [...from.hits, ...page.data], cursor: page.afterCursor });
		} catch (error) {
			if (isAborted(error)) return;
			setProblem(error);
		}
		setBusy(false);
	};
	useEffect(() => {
		setActive(0);
		round.current.abort();
		if (!query) return setFound(NOTHING);
		const timer = setTimeout(() => void search(NOTHING), TYPED_MS);
		return () => clearTimeout(timer);
	}, [query]);
	useEffect(() => () => round.current.abort(), []);

	const go = (hash: string) => () => {
		close();
		app.go(hash);
	};
	const low = query.toLowerCase();
	const fits = (...words: string[]) => words.some((one) => one.toLowerCase().includes(low));
	const branches = [...(grove?.shape.limbs.values() ?? [])].filter(
		({ branch, look }) => branch && fits(look.label, ...look.names),
	);
	const lines = query && grove ? grove.lines.filter((line) => fits(line.text)) : [];
	const groups: [string, Option[]][] = [
		[
			"Here",
			query
				? branches
						.slice(0, ROWS)
						.map(({ id, look }) => ({
							key: `b${id}`,
							sign: <GitBranch />,
							words: marked(look.label, query),
							beside: look.names.length > 0 && <BranchName look={look} />,
							run: go(toConversation(id)),
						}))
				: [],
		],
		[
			"Messages here",
			lines
				.slice(-ROWS)
				.map(({ id, conversationId, text: said, at }) => ({
					key: `l${id}`,
					sign: <CornerDownRight />,
					words: marked(said, query),
					beside: shortTime(at),
					run: go(toConversation(grove!.fork(conversationId) ? conversationId : app.place!.id, id)),
				})),
		],
		[
			"Names",
			found.names.map(({ name, conversationId }) => ({
				key: `n${name}`,
				sign: <Bookmark />,
				words: marked(name, query),
				run: go(toConversation(conversationId)),
			})),
		],
		[
			"Conversations",
			[
				...(ID.test(low)
					? [
							{
								key: "id",
								sign: <MessagesSquare />,
								words: `The conversation ${low}`,
								run: go(toConversation(low)),
							},
						]
					: []),
				...found.conversations.map(({ id, title, lastMessagePreview = "", updatedAt }) => ({
					key: `c${id}`,
					sign: <MessagesSquare />,
					words: (
						<>
							{marked(titleOf(title), query)} <span className="quiet">{visible(lastMessagePreview)}</span>
						</>
					),
					beside: shortTime(updatedAt),
					run: go(toConversation(id)),
				})),
			],
		],
		[
			"Messages",
			found.hits.map(({ entryId, conversationId, conversationTitle, highlights, createdAt, line }) => ({
				key: `h${entryId}`,
				sign: <MessageSquare />,
				words: (
					<>
						{marked(highlights.join(" … ") || toldOf(line), query)}{" "}
						<span className="quiet">in {titleOf(conversationTitle)}</span>
					</>
				),
				beside: shortTime(line.saidAt ?? createdAt),
				run: go(toConversation(conversationId, entryId)),
			})),
		],
		[
			"Do",
			everyAction(app)
				.filter(({ label }) => fits(label))
				.map(({ label, hint, sign, press }) => ({
					key: `d${label}`,
					sign,
					words: marked(label, query),
					beside: hint && <kbd>{hint}</kbd>,
					run: () => {
						close();
						return press();
					},
				})),
		],
	];
	if (found.cursor && !isBusy)
		groups[4]![1].push({
			key: "more",
			sign: <Search />,
			words: "Search on",
			run: () => search(found, found.cursor!),
		});
	const options = groups.flatMap(([, some]) => some);
	const at = Math.min(active, options.length - 1);
	useEffect(() => {
		list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
	}, [at]);
	const press = (event: React.KeyboardEvent) => {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (by && options.length) {
			event.preventDefault();
			setActive((at + by + options.length) % options.length);
		} else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
			event.preventDefault();
			void options[at]?.run();
		}
		event.stopPropagation();
	};
	return (
		<Modal label="Search or go to" className="pal" close={close}>
			<div className="line in">
				<Search />
				<input
					type="text"
					autoFocus
					role="combobox"
					aria-label="Search or go to"
					aria-expanded="true"
					aria-controls="found"
					aria-activedescendant={options[at] && `found-${at}`}
					placeholder="Words, names, ids, or what to do"
					maxLength={500}
					value={text}
					onChange={(event) => setText(event.target.value)}
					onKeyDown={press}
				/>
				<kbd>Esc</kbd>
			</div>
			<div className="found" role="listbox" id="found" aria-label="Found" ref={list}>
				{groups.map(
					([name, some]) =>
						some.length > 0 && (
							<div key={name} role="group" aria-label={name}>
								<div className="day" role="presentation">
									{name}
								</div>
								{some.map((option) => (
									<div
										key={option.key}
										id={`found-${options.indexOf(option)}`}
										className="line opt"
										role="option"
										aria-selected={option === options[at]}
										onClick={() => void option.run()}
									>
										{option.sign}
										<span className="cut grow" dir="auto">
											{option.words}
										</span>
										<span className="quiet">{option.beside}</span>
									</div>
								))}
							</div>
						),
				)}
			</div>
			{problem !== undefined && <Problem error={problem} again={() => search(NOTHING)} />}
			<p className="none" role="status">
				{isBusy || (query && query !== found.query && !problem)
					? "Searching…"
					: !options.length && "Nothing is like that."}
			</p>
		</Modal>
	);
}

/** Return a text in which the words of a query are marked, as a search finds them. */
function marked(text: string, query: string): ReactNode {
	const words = [...query.matchAll(/\+?"([^"]+)"|\+(\S+)|([^\s"+]+)/g)].map(
		([, quoted, demanded, free]) => ({ word: quoted ?? demanded ?? free!, isWord: free !== undefined }),
	);
	if (!words.length) return visible(text);
	const said = words.map(({ word, isWord }) => {
		const letters = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
		return isWord && /^[a-z\d]/i.test(word) ? `(?<![\\p{L}\\p{N}_])${letters}` : letters;
	});
	const pattern = new RegExp(`(${said.join("|")})`, "giu");
	return visible(text)
		.split(pattern)
		.map((part, at) => (at % 2 ? <mark key={at}>{part}</mark> : part));
}
