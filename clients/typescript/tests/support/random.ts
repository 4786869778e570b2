// Random choices that a seed repeats.

export interface Random {
	/** A whole number from 0 on, below `bound`. */
	below(bound: number): number;
	/** One of several. */
	choose<T>(several: readonly T[]): T;
}

/** Return random choices: those of the seed in FORKLORE_TEST_SEED, or other ones each time. A failed test tells it. */
export function seeded(): { random: Random; seed: number } {
	const seed = Number(process.env["FORKLORE_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
	return { seed, random: seededWith(seed) };
}

/** Return the random choices of a seed. */
export function seededWith(seed: number): Random {
	let state = seed >>> 0;
	const next = (): number => {
		// mulberry32
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (bound: number): number => Math.floor(next() * bound);
	return { below, choose: (several) => several[below(several.length)] as never };
}
