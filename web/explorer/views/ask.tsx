// A dialog that asks before a deed, does it, and tells what was done.

import { newId } from "../../../clients/typescript/src/json.ts";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { App } from "../service/app.ts";
import { isAborted, isLost, SLOW, SLOW_MS } from "../service/connection.ts";
import { Modal, Press, Problem } from "./parts.tsx";

/** What the fields hold. A checkbox that is ticked has the value "on"; one that is not has none. */
type Values = Record<string, string>;

interface Field {
	name: string;
	label: ReactNode;
	kind?: "text" | "lines" | "choice" | "checkbox";
	value?: string | undefined;
	/** The value, and the label if it is another. */
	options?: readonly (readonly [string, string?])[];
	required?: boolean;
	maxLength?: number;
	/** A field that is not shown has no value. */
	isShown?: (values: Values) => boolean;
}

interface Deed<R> {
	title: string;
	/** What will happen. */
	explain: (values: Values) => ReactNode;
	fields?: readonly Field[];
	confirm: string;
	cancel?: string;
	isBad?: boolean;
	/** Returns what is wrong with the values, or "". */
	check?: (values: Values) => string;
	/** idempotencyKey: the same while the values are the same. */
	run: (
		values: Values,
		sent: { idempotencyKey: string; signal: AbortSignal },
		progress: (sentence: string) => void,
	) => Promise<R>;
	/** Returns what was done, as a sentence. */
	told?: (result: R, values: Values) => string;
	/** What takes it back, if anything can. */
	undo?: (result: R) => (() => Promise<unknown>) | undefined;
	/** The hash to go to afterwards. */
	next?: string | undefined;
}

/** Returns what `run` returned, or null if one closes the dialog. */
export function ask<R>(app: App, deed: Deed<R>): Promise<R | null> {
	const { promise, resolve } = Promise.withResolvers<R | null>();
	app.open(
		(close) => <Question app={app} deed={deed} close={close} resolve={resolve} />,
		() => resolve(null),
	);
	return promise;
}

interface QuestionProps<R> {
	app: App;
	deed: Deed<R>;
	close: () => void;
	resolve: (result: R) => void;
}

function Question<R>({ app, deed, close, resolve }: QuestionProps<R>) {
	const { title, explain, fields = [], confirm, cancel = "Cancel", isBad, check, run } = deed;
	const [values, setValues] = useState<Values>(() =>
		Object.fromEntries(
			fields.map(({ name, kind, value, options }) => [
				name,
				value ?? (kind === "choice" ? options![0]![0] : ""),
			]),
		),
	);
	const [wrong, setWrong] = useState<unknown>();
	const [progress, setProgress] = useState("");
	const [isBusy, setBusy] = useState(false);
	const keys = useRef(new Map<string, string>());
	const ended = useMemo(() => new AbortController(), []);
	useEffect(() => () => ended.abort(), [ended]);
	const form = useRef<HTMLFormElement>(null);

	const shown = fields.filter((field) => field.isShown?.(values) !== false);
	const set = (name: string, value: string) => {
		setWrong(undefined);
		setValues((all) => ({ ...all, [name]: value }));
	};
	const perform = async () => {
		if (isBusy || !form.current!.reportValidity()) return;
		const given = Object.fromEntries(shown.map(({ name }) => [name, values[name] ?? ""]));
		const sentence = check?.(given);
		setWrong(sentence || undefined);
		if (sentence) return;
		const sent = JSON.stringify(given);
		const idempotencyKey = keys.current.get(sent) ?? newId();
		keys.current.set(sent, idempotencyKey);
		setBusy(true);
		let timer = 0;
		const progress = (told: string) => {
			setProgress(told);
			clearTimeout(timer);
			timer = window.setTimeout(setProgress, SLOW_MS, SLOW);
		};
		progress("");
		try {
			const result = await run(given, { idempotencyKey, signal: ended.signal }, progress);
			resolve(result);
			if (!ended.signal.aborted) close();
			if (deed.next && deed.next !== location.hash) app.go(deed.next);
			if (deed.told) app.say(deed.told(result, given), deed.undo?.(result));
			void app.reload();
		} catch (error) {
			setBusy(false);
			setProgress("");
			if (!ended.signal.aborted) return setWrong(error);
			if (isAborted(error)) app.say("You stopped waiting for the answer. It may have been done.");
			else app.fail(error);
			void app.reload();
		} finally {
			clearTimeout(timer);
		}
	};
	return (
		<Modal label={title} close={close}>
			<form
				ref={form}
				className="dlg"
				onSubmit={(event) => {
					event.preventDefault();
					void perform();
				}}
			>
				<h2 dir="auto">{title}</h2>
				<div aria-live="polite">{explain(values)}</div>
				{shown.map((field) => (
					<Control key={field.name} field={field} value={values[field.name] ?? ""} set={set} />
				))}
				{typeof wrong === "string" ? (
					<p className="bad" role="alert">
						{wrong}
					</p>
				) : (
					wrong !== undefined && <Problem error={wrong} />
				)}
				{isLost(wrong) && <p>It may have been done. Press again: it is not done twice.</p>}
				<p className="quiet" role="status">
					{progress}
				</p>
				<div className="line end">
					<Press className="b" press={close} autoFocus={isBad ?? false}>
						{cancel}
					</Press>
					<button type="submit" className={`b main ${isBad ? "bad" : ""}`} aria-busy={isBusy}>
						{confirm}
					</button>
				</div>
			</form>
		</Modal>
	);
}

interface ControlProps {
	field: Field;
	value: string;
	set: (name: string, value: string) => void;
}

function Control({ field, value, set }: ControlProps) {
	const { name, label, kind = "text", options = [], required, maxLength } = field;
	const common = { name, required, "data-field": name };
	const change = (event: { target: { value: string } }) => set(name, event.target.value);
	if (kind === "checkbox")
		return (
			<label className="line f check">
				<input
					{...common}
					type="checkbox"
					checked={value === "on"}
					onChange={(event) => set(name, event.target.checked ? "on" : "")}
				/>
				<span>{label}</span>
			</label>
		);
	return (
		<label className="f">
			{label}
			{kind === "choice" ? (
				<select {...common} className="input" value={value} onChange={change}>
					{options.map(([key, text = key]) => (
						<option key={key} value={key}>
							{text}
						</option>
					))}
				</select>
			) : kind === "lines" ? (
				<textarea
					{...common}
					className="input"
					rows={4}
					dir="auto"
					value={value}
					onChange={change}
					autoComplete="off"
				/>
			) : (
				<input
					{...common}
					className="input"
					maxLength={maxLength}
					dir="auto"
					value={value}
					onChange={change}
					autoComplete="off"
					autoCapitalize="none"
				/>
			)}
		</label>
	);
}
