// Small parts that many views are made of.

import { EllipsisVertical, GitBranch, Search, Star } from "lucide-react";
import { flushSync } from "react-dom";
import { Component, useId, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import type { Look } from "../model/types.ts";
import { longTime, shortTime, shortTimes, visible } from "../model/words.ts";
import { sentenceOf } from "../service/connection.ts";
import { ApiError } from "@forklore/client";

/** Return the style that gives an element the colour of a branch. */
export const laneStyle = (lane: number | undefined): React.CSSProperties =>
	({ "--c": `var(--lane-${lane ?? 0})` }) as React.CSSProperties;

type PressProps = Omit<React.ComponentProps<"button">, "onClick" | "type"> & {
	press?: (event: React.MouseEvent<HTMLButtonElement>) => unknown;
	type?: "button" | "submit";
};

/** A button. A press while an earlier one is at work does nothing; the second press of a double click neither. */
export function Press({ press, className = "b ghost", type = "button", ...more }: PressProps) {
	const isBusy = useRef(false);
	const onClick = async (event: React.MouseEvent<HTMLButtonElement>) => {
		if (isBusy.current || event.detail > 1) return;
		isBusy.current = true;
		try {
			await press?.(event);
		} finally {
			isBusy.current = false;
		}
	};
	return <button {...more} type={type} className={className} onClick={onClick} />;
}

/** A button that shows a sign alone. */
export function IconPress({ label, className = "", ...more }: PressProps & { label: string }) {
	return <Press {...more} className={`b ghost icon ${className}`} aria-label={label} title={label} />;
}

/** A time. hasHour: also on another day. */
export function Time({ at, className, hasHour }: { at: string; className?: string; hasHour?: boolean }) {
	return (
		<time dateTime={at} title={longTime(at)} className={className}>
			{hasHour ? shortTimes(at) : shortTime(at)}
		</time>
	);
}

/** Text of others, kept apart from what stands around it. */
export const Said = ({ children }: { children: string }) => <bdi>{visible(children)}</bdi>;

export function Avatar({ name }: { name: string }) {
	const lane = [...name].reduce((sum, one) => sum + one.codePointAt(0)!, 0) % 10;
	return (
		<span className="av" style={laneStyle(lane)} title={visible(name)} aria-hidden="true">
			{(visible(name)[0] ?? "?").toUpperCase()}
		</span>
	);
}

/** A link that leaves the page. */
export const Outside = ({ href, children }: { href: string; children: ReactNode }) => (
	<a href={href} title={visible(href)} target="_blank" rel="noopener noreferrer nofollow">
		{children}
	</a>
);

/** The names of a branch, or if it has none, what it is called. */
export function BranchName({ look }: { look: Look | undefined }) {
	if (!look) return null;
	const Sign = look.isCurrent ? Star : GitBranch;
	const title = look.isCurrent ? "The current branch opens first for everybody" : "This branch";
	const [first, ...others] = look.names;
	return (
		<>
			<span
				className={`ref ${look.isCurrent ? "now" : ""} ${first === undefined ? "words" : ""}`}
				style={laneStyle(look.lane)}
				title={title}
			>
				<Sign />
				<span className="cut">{visible(first ?? look.label)}</span>
			</span>
			{others.map((name) => (
				<span key={name} className="ref" style={laneStyle(look.lane)}>
					<span className="cut">{visible(name)}</span>
				</span>
			))}
		</>
	);
}

/** What went wrong, as a sentence, with the id by which its request is found in the log. */
export function Problem({ error, again }: { error: unknown; again?: (() => unknown) | undefined }) {
	const requestId = error instanceof ApiError ? error.requestId : undefined;
	return (
		<div className="line problem" role="alert">
			<p>
				{sentenceOf(error)} {requestId && <small>Request {requestId}</small>}
			</p>
			{again && (
				<Press className="b s" press={again}>
					Try again
				</Press>
			)}
		</div>
	);
}

interface BoundaryProps {
	children: ReactNode;
	/** What stands in place of what cannot be drawn. */
	fallback: ReactNode;
}

/** Keeps what goes wrong in a part of the page, such as a part that could not be loaded, from the rest. */
export class Boundary extends Component<BoundaryProps, { hasFailed: boolean }> {
	override state = { hasFailed: false };

	static getDerivedStateFromError(this: void): { hasFailed: boolean } {
		return { hasFailed: true };
	}

	override render(): ReactNode {
		return this.state.hasFailed ? this.props.fallback : this.props.children;
	}
}

const TRIES = 30;
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 10_000;

/** A part of the page that is loaded when it is needed. While the server is gone it is asked for again, for some minutes. */
export async function inTime<T>(load: () => Promise<T>): Promise<T> {
	for (let tried = 1; tried < TRIES; tried++) {
		try {
			return await load();
		} catch {
			const pause = Math.min(PAUSE_MS * tried, PAUSE_MS_MAX);
			await new Promise((done) => setTimeout(done, pause));
		}
	}
	return load();
}

interface FilterFieldProps {
	field?: React.RefObject<HTMLInputElement | null>;
	query: string;
	filter: (query: string) => void;
}

/** Where one says which branches of a tree are shown. */
export const FilterField = ({ field, query, filter }: FilterFieldProps) => (
	<label className="line field">
		<Search />
		<input
			ref={field}
			value={query}
			onChange={({ target }) => filter(target.value)}
			placeholder="Filter branches"
			aria-label="Filter branches"
			title="Words of entries, names, tags and agents; also failed, agent:fixer, tag:passed, cost>0.01"
		/>
	</label>
);

/** Grey lines in place of what is loading. They come after a moment. */
export const Loading = ({ what }: { what: string }) => (
	<div className="loading" role="status" aria-label={`Loading ${what}`}>
		<i />
		<i />
		<i />
	</div>
);

export interface MenuItem {
	label: string;
	sign: ReactNode;
	press: () => unknown;
	hint?: string;
	isBad?: boolean;
}

interface PopoverProps extends Omit<PressProps, "role"> {
	label: string;
	sign: ReactNode;
	box: { className: string; role?: string; onKeyDown?: (event: React.KeyboardEvent<HTMLElement>) => void };
	children: ReactNode;
}

/** A button, and what it opens above the page. The children are drawn while it is open. */
export function Popover({ label, sign, box, children, ...more }: PopoverProps) {
	const place = useRef<HTMLDivElement>(null);
	const [isOpen, setOpen] = useState(false);
	const name = useId();
	const show = (event: React.MouseEvent<HTMLButtonElement>) => {
		const { bottom, right } = event.currentTarget.getBoundingClientRect();
		const { style } = place.current!;
		flushSync(() => setOpen(true));
		style.left = `${Math.max(8, right - 264)}px`;
		place.current!.showPopover();
		style.top = `${Math.max(8, Math.min(bottom + 4, innerHeight - place.current!.offsetHeight - 8))}px`;
		place.current!.querySelector<HTMLElement>("button, input")?.focus();
	};
	return (
		<>
			<IconPress {...more} label={label} press={show} aria-expanded={isOpen} aria-controls={name}>
				{sign}
			</IconPress>
			<div
				{...box}
				id={name}
				ref={place}
				popover="auto"
				onToggle={(event) => setOpen(event.newState === "open")}
			>
				{isOpen && children}
			</div>
		</>
	);
}

/** A button that opens a menu. Items: null is a line between two groups. */
export function Menu({
	label,
	items,
	id,
}: {
	label: string;
	id: string;
	items: readonly (MenuItem | null)[];
}) {
	const move = (event: React.KeyboardEvent<HTMLElement>) => {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!by) return;
		event.preventDefault();
		event.stopPropagation();
		const all = [...event.currentTarget.querySelectorAll("button")];
		all[(all.indexOf(document.activeElement as HTMLButtonElement) + by + all.length) % all.length]!.focus();
	};
	const press = (item: MenuItem) => (event: React.MouseEvent<HTMLElement>) => {
		event.currentTarget.closest<HTMLElement>("[popover]")!.hidePopover();
		return item.press();
	};
	return (
		<Popover
			label={label}
			sign={<EllipsisVertical />}
			id={id}
			aria-haspopup="menu"
			box={{ className: "menu", role: "menu", onKeyDown: move }}
		>
			{items.map((item, at) =>
				item ? (
					<Press key={item.label} role="menuitem" className={item.isBad ? "bad" : ""} press={press(item)}>
						{item.sign}
						{item.label}
						{item.hint && <kbd>{item.hint}</kbd>}
					</Press>
				) : (
					<hr key={at} />
				),
			)}
		</Popover>
	);
}

interface ModalProps {
	label: string;
	className?: string;
	close: () => void;
	children: ReactNode;
}

export function Modal({ label, className, close, children }: ModalProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	useLayoutEffect(() => {
		const shown = dialog.current!;
		if (!shown.open) shown.showModal();
		return () => shown.close();
	}, []);
	const cancel = (event: React.SyntheticEvent) => {
		event.preventDefault();
		close();
	};
	return (
		<dialog
			ref={dialog}
			aria-label={label}
			className={className}
			onCancel={cancel}
			onClick={(event) => event.target === dialog.current && close()}
		>
			{children}
		</dialog>
	);
}

interface SplitterProps {
	label: string;
	/** The side of the splitter on which what it sizes stands. */
	side: "left" | "right";
	width: number;
	least: number;
	most: number;
	resize: (width: number) => void;
}

/** What one drags, or moves by keys, to size a pane. */
export function Splitter({ label, side, width, least, most, resize }: SplitterProps) {
	const sign = side === "left" ? 1 : -1;
	const set = (wanted: number) => resize(Math.round(Math.min(most, Math.max(least, wanted))));
	const drag = (event: React.PointerEvent<HTMLDivElement>) => {
		const from = event.clientX;
		event.currentTarget.setPointerCapture(event.pointerId);
		event.currentTarget.onpointermove = (move) => set(width + sign * (move.clientX - from));
		event.currentTarget.onpointerup = (up) => ((up.currentTarget as HTMLElement).onpointermove = null);
	};
	const press = (event: React.KeyboardEvent) => {
		const by = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
		if (!by) return;
		event.preventDefault();
		event.stopPropagation();
		set(width + sign * by);
	};
	return (
		<div
			className={`grip ${side}`}
			role="separator"
			tabIndex={0}
			aria-label={label}
			aria-orientation="vertical"
			aria-valuenow={width}
			aria-valuemin={least}
			aria-valuemax={most}
			onPointerDown={drag}
			onKeyDown={press}
		/>
	);
}

/** Return a width that this browser keeps, once one has chosen it. */
export function useKept(name: string, first: number): [number, (value: number) => void] {
	const [value, setValue] = useState(() => Number(localStorage.getItem(name)) || first);
	const keep = (chosen: number) => {
		localStorage.setItem(name, String(chosen));
		setValue(chosen);
	};
	return [value, keep];
}
