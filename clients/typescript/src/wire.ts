// What a call is made of, and what comes back: the types that all rooms of the client know.

/**
 * How a call is sent. signal: ends it; whether it took effect is then unknown.
 *
 * ifNoneMatch: of a read: the `etag` of an answer; if the new one would be the same, the result is undefined.
 * onAnswer: is told the answer as it came.
 */
export interface Sent {
	signal?: AbortSignal | undefined;
	ifNoneMatch?: string | undefined;
	onAnswer?: ((answer: RawAnswer) => void) | undefined;
}

/** idempotencyKey: of one's own, for a call that may be made twice. Without it the call gets one. */
export interface Keyed extends Sent {
	idempotencyKey?: string | undefined;
}

/** ifMatch: only if this is still the last entry, or the time of the last change. */
export interface Matched extends Sent {
	ifMatch?: string | undefined;
}

/**
 * How an operation is called.
 *
 * query: the names of the query string, where there is a body, too. lengthsMax: the most characters or
 * elements of an argument. answers: the members of every answer; undefined for one without a body.
 */
export interface Shape {
	method: string;
	path: string;
	hasBody?: boolean;
	takesKey?: boolean;
	takesIfMatch?: boolean;
	isRead?: boolean;
	query?: readonly string[];
	lengthsMax?: Record<string, number>;
	answers?: readonly string[];
}

/** One call of an operation. It stays the same however often it is sent. */
export interface Call {
	readonly name: string;
	readonly shape: Shape;
	/** The path, with the query. */
	readonly target: string;
	readonly body: string | undefined;
	readonly idempotencyKey: string | undefined;
	readonly ifMatch: string | undefined;
	readonly ifNoneMatch: string | undefined;
}

/** An answer as it came, also that of an error. */
export interface RawAnswer {
	readonly status: number;
	/** JSON; empty without a body. */
	readonly text: string;
	readonly requestId: string | undefined;
	/** How long the service asks to wait; 0 if it does not ask. */
	readonly retryAfterMs: number;
	/** How often the call was sent. */
	readonly attempts: number;
	readonly idempotencyKey: string | undefined;
	/** Names this answer of a read, for `ifNoneMatch`. */
	readonly etag: string | undefined;
	/** After how long it is worth to read again. */
	readonly askAgainMs: number | undefined;
}
