// What changes and is drawn: a view asks to be told, and draws anew.

import { useSyncExternalStore } from "react";

export class Source {
	version = 0;
	readonly #listeners = new Set<() => void>();

	readonly subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};

	readonly changed = (): void => {
		this.version++;
		for (const listener of [...this.#listeners]) listener();
	};
}

/** Draw this component anew whenever the source changes. */
export function useSource<S extends Source | undefined>(source: S): S {
	useSyncExternalStore(source?.subscribe ?? never, () => source?.version);
	return source;
}

const never = () => () => undefined;
