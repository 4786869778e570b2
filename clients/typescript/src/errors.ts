// The errors that a caller sees: one family, by status.

/** What an error knows beside its message. */
export interface Told {
	status?: number | undefined;
	code?: string | undefined;
	details?: Record<string, unknown> | undefined;
	requestId?: string | undefined;
	attempts?: number | undefined;
	idempotencyKey?: string | undefined;
	cause?: unknown;
}

/** A call failed. */
export class ApiError extends Error {
	/** Of the answer; undefined without one. */
	readonly status: number | undefined;
	/** The service's word for the error, such as `not_found`; empty without one. */
	readonly code: string;
	/** All that the service says. */
	readonly details: Record<string, unknown>;
	/** For the service's log. */
	readonly requestId: string | undefined;
	/** How often the call was sent. After more than one, an earlier attempt may have taken effect. */
	readonly attempts: number;
	/** What the call was sent with. To repeat it with the same key never doubles it. */
	readonly idempotencyKey: string | undefined;

	constructor(message: string, told: Told = {}) {
		super(message, "cause" in told ? { cause: told.cause } : undefined);
		this.status = told.status;
		this.code = told.code ?? "";
		this.details = told.details ?? {};
		this.requestId = told.requestId;
		this.attempts = told.attempts ?? 1;
		this.idempotencyKey = told.idempotencyKey;
	}

	/** Why: a word of the service for programs, such as `stale`. */
	get reason(): string | undefined {
		return textIn(this.details, "reason");
	}

	/** The wrong member of the request. */
	get field(): string | undefined {
		return textIn(this.details, "field");
	}
}

/** The call cannot be sent as it is. Nothing was sent. `field` names the wrong argument. */
export class InputError extends ApiError {
	constructor(message: string, field?: string) {
		super(message, { attempts: 0, details: field === undefined ? {} : { field } });
	}
}

/** No answer came in time. The call may have taken effect: repeat it with `idempotencyKey`. */
export class NoAnswerError extends ApiError {}

/** The answer is not forklore's. The call may have taken effect. */
export class UnexpectedAnswerError extends ApiError {}

/** 400: the call can never succeed as it was sent. */
export class BadRequestError extends ApiError {}

/** 401: the credentials are missing or bad. */
export class UnauthorizedError extends ApiError {}

/** 403: the caller may not do this. */
export class ForbiddenError extends ApiError {}

/** 404: there is no such thing, or it is deleted, or the caller may not see it. */
export class NotFoundError extends ApiError {}

/**
 * 409: somebody was faster, or the thing is in another state. `reason` says what; never sent again.
 *
 * After more than one attempt, somebody may be an earlier attempt of the same call.
 */
export class ConflictError extends ApiError {}

/** 412: a precondition does not hold. */
export class PreconditionFailedError extends ApiError {}

/** 413: more than the service takes at once. */
export class TooLargeError extends ApiError {}

/** 422: the idempotency key was used with another request. */
export class MismatchError extends ApiError {}

/** 5xx: the service failed, after all attempts. */
export class ServerError extends ApiError {}

/** 503: the service is busy, after all attempts. */
export class UnavailableError extends ServerError {}

const BY_STATUS: Record<number, typeof ApiError> = {
	400: BadRequestError,
	401: UnauthorizedError,
	403: ForbiddenError,
	404: NotFoundError,
	409: ConflictError,
	412: PreconditionFailedError,
	413: TooLargeError,
	422: MismatchError,
	503: UnavailableError,
};

/** Return the kind of error for a status of 300 and more. */
export const errorOf = (status: number): typeof ApiError =>
	BY_STATUS[status] ?? (status >= 500 ? ServerError : ApiError);

const NAMED = {
	ApiError,
	InputError,
	NoAnswerError,
	UnexpectedAnswerError,
	BadRequestError,
	UnauthorizedError,
	ForbiddenError,
	NotFoundError,
	ConflictError,
	PreconditionFailedError,
	TooLargeError,
	MismatchError,
	ServerError,
	UnavailableError,
};
// A minifier renames classes, but not the members of this object.
for (const [name, kind] of Object.entries(NAMED)) kind.prototype.name = name;

function textIn(details: Record<string, unknown>, member: string): string | undefined {
	const held = details[member];
	return typeof held === "string" && held ? held : undefined;
}
