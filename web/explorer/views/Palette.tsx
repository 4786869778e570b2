// Search, and all that one may go to or do, by keys.

import { Search, Sparkles } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { optionsFor, type Option, type OptionGroup } from "./options.tsx";
import { Modal, Press, Problem } from "./parts.tsx";
import { useSearch } from "./searching.ts";

export const openPalette = (app: App): void => void app.open((close) => <Palette app={app} close={close} />);

function Palette({ app, close }: { app: App; close: () => void }) {
	useSource(app);
	useEffect(() => void app.learnSearch(), []);
	const [text, setText] = useState("");
	const [active, setActive] = useState(0);
	const query = text.trim();
	const search = useSearch(app, query);
	const [titles, setTitles] = useState<ReadonlySet<string>>(new Set());
	useEffect(() => {
		setActive(0);
		setTitles(new Set());
	}, [query]);
	const open = (title: string) => setTitles((all) => new Set(all).add(title));
	const groups = optionsFor(app, query, search, { titles, open });
	const options = groups.flatMap(({ options }) => options);
	const at = Math.min(active, options.length - 1);
	const choose = (option: Option | undefined): void => {
		if (option && !option.stays) close();
		if (option?.hash) app.go(option.hash);
		void option?.run?.();
	};
	const press = (event: React.KeyboardEvent) => {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (by && options.length) {
			event.preventDefault();
			setActive((at + by + options.length) % options.length);
		} else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
			event.preventDefault();
			choose(options[at]);
		}
		event.stopPropagation();
	};
	const { found, isBusy, problem } = search;
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
				<Ways app={app} />
				<kbd>Esc</kbd>
			</div>
			<Options groups={groups} at={at} choose={choose} />
			{problem !== undefined && <Problem error={problem} again={search.again} />}
			<p className="none" role="status">
				{isBusy || (query && query !== found.query && !problem)
					? "Searching…"
					: !options.length && "Nothing is like that."}
			</p>
		</Modal>
	);
}

/** How one searches, where the service has a model. */
function Ways({ app }: { app: App }) {
	const { isByMeaning, isWide } = app.search;
	if (!app.hasModel) return null;
	return (
		<>
			{isByMeaning && app.place && (
				<Press
					className="b ghost s"
					aria-pressed={isWide}
					press={() => app.chooseSearch({ isWide: !isWide })}
					title="Find what this branch does not show, too"
				>
					Everywhere
				</Press>
			)}
			<Press
				className="b ghost s"
				aria-pressed={isByMeaning}
				press={() => app.chooseSearch({ isByMeaning: !isByMeaning })}
				title="Find what is meant, not only these words; what is found glows on the tree"
			>
				<Sparkles /> By meaning
			</Press>
		</>
	);
}

interface OptionsProps {
	groups: readonly OptionGroup[];
	/** Which one of all is chosen by the keys. */
	at: number;
	choose: (option: Option) => void;
}

function Options({ groups, at, choose }: OptionsProps) {
	const list = useRef<HTMLDivElement>(null);
	const all = groups.flatMap(({ options }) => options);
	useEffect(() => {
		list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
	}, [at]);
	return (
		<div className="found" role="listbox" id="found" aria-label="Found" ref={list}>
			{groups
				.filter(({ options }) => options.length > 0)
				.map(({ name, options }) => (
					<div key={name} role="group" aria-label={name}>
						<div className="day" role="presentation">
							{name}
						</div>
						{options.map((option) => (
							<div
								key={option.key}
								id={`found-${all.indexOf(option)}`}
								className="line opt"
								role="option"
								aria-selected={option === all[at]}
								onClick={() => choose(option)}
							>
								{option.sign}
								<span className="cut grow" dir="auto">
									{option.words}
								</span>
								<span className="quiet">{option.beside}</span>
							</div>
						))}
					</div>
				))}
		</div>
	);
}
