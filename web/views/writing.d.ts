// The shapes of the open conversation and of what one writes there. For the type checker alone: it is not served.

/** What is sent, under which key, to which conversation. */
interface Letter {
	key: string;
	id: string;
	body: object;
}

/** What a box for a text is for. */
interface Writing {
	label: string;
	/** What stands in it at first. */
	first?: string;
	/** What the button says. */
	send: string;
	/** Returns what is sent for a text. */
	letterOf(text: string): { id: string; body: object };
	/** Called with the entry that it became. */
	sent(entry: Entry): void;
	cancel?(): void;
	more?: Element;
}

interface Box {
	element: HTMLElement;
	text: HTMLTextAreaElement;
	sent(entry: Entry): void;
	/** Holds nothing more, and has this text: what is under way ends. */
	free(value: string): void;
	/** Lets the text be read, and no more: its conversation is gone. */
	end(): void;
}

/** at: where the tab keeps the text, for one person and server. */
type BoxOf = (app: App, at: string, writing: Writing) => Box;

type ComposerOf = (app: App, id: string, sent: (entry: Entry) => void) => HTMLElement;

type ShowConversation = (
	app: App,
	panel: HTMLElement,
	place: Place,
) => { goTo(entryId?: string): void; end(words: Element): void };

type AtCard<R> = (entry: Entry, element: HTMLElement) => R;

type BeginFork = (entry: Entry, position: "before" | "after", press: MouseEvent) => Promise<void>;

/** others: their ids. own: "" if the open conversation is none of them. index: of the entry after the place. */
type DrawSwitcher = (slot: HTMLElement, others: string[], own: string, index: number) => void;

/** isPlain: without a link to the entry itself. */
type EntryCard = (app: App, entry: Entry, settings?: { isPlain?: boolean }) => HTMLElement;

type ShowPart = (shown: Element, text: string, from: number, length: number) => void;

type Action = (words: string, title: string, press: (event: MouseEvent) => unknown) => Child;
