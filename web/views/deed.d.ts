// The shapes of dialogs. For the type checker alone: it is not served.

/** What the fields hold. A checkbox that is ticked has the value "on"; one that is not has none. */
type Values = Record<string, string>;

interface Field {
	name: string;
	label: string;
	tag?: "input" | "textarea" | "select";
	type?: "checkbox";
	value?: string;
	options?: string[][]; // the value, and the label if it is another
	required?: boolean;
	maxlength?: number;
	/** A field that is not shown has no value. */
	isShown?(values: Values): boolean;
}

/** A paragraph each. What is false, undefined or "" is left out. */
type Sentences = (string | false | undefined)[];

interface Deed<R> {
	title: string;
	/** What will happen. */
	explain: Sentences | ((values: Values) => Sentences);
	fields?: Field[];
	confirm: string;
	kind?: "danger";
	/** Returns what is wrong with the values, or "". */
	check?(values: Values): string;
	/** key: an Idempotency-Key, the same while the values are the same. */
	run(values: Values, api: Api, key: string, progress: (sentence: string) => void): Promise<R>;
	/** Returns what was done, as a sentence. */
	told?(result: R, values: Values): string;
	/** The hash to go to afterwards. */
	next?: string;
	/** In place of `app.say`. */
	say?(sentence: string): void;
}

/** Returns what `run` returned, or null if one closes the dialog. */
type Ask = <R>(app: App, deed: Deed<R>) => Promise<R | null>;

type OpenDialog = (app: App, title: string, ...content: Child[]) => Frame;

/** Asks for a deed that concerns the open place. */
type AskAt = (app: App, place: Place) => unknown;

type AskDelete = (app: App, place: Place, scope: "branch" | "tree") => unknown;

interface Merge {
	from: string;
	into: string;
	/** The last entry that both branches show. */
	baseId: string | null;
}

type ShowHead = (app: App, panel: HTMLElement, place: Place) => void;

type DeedsOf = (app: App, place: Place, conversation: Conversation, otherId?: string) => HTMLElement;

type ShowComparison = (app: App, panel: HTMLElement, ids: [string, string], signal: AbortSignal) => void;

/** merge: asks for a merge into the other side; false if one may not write. */
type SideOf = (
	app: App,
	api: Api,
	grove: Grove,
	side: ComparedBranch,
	merge: false | (() => unknown),
) => HTMLElement;

type OptionsOf = (grove: Grove, openId: string) => HTMLElement[];

/** loading: its requests come before the dialog. */
type AskMerge = (app: App, loading: Api, grove: Grove, merge: Merge) => Promise<void>;

type Wrap = (...children: (Child | Child[])[]) => HTMLElement;

interface Frame {
	/** Comes when the dialog closes. */
	signal: AbortSignal;
	/** Its requests end with the dialog. */
	api: Api;
	close(): void;
}
