// From an answer to a result or an error.

import { errorOf, UnexpectedAnswerError, type ApiError } from "./errors.ts";
import { read } from "./json.ts";
import type { RawAnswer, Call } from "./wire.ts";

const MESSAGE_CHARACTERS_MAX = 300;
const NOT_MODIFIED = 304;

/** Return what an answer means; undefined without a body. Throws SyntaxError if it is no JSON. */
export const valueOf = (answer: RawAnswer): unknown => (answer.text ? read(answer.text) : undefined);

/**
 * Return the result that a success holds; undefined if nothing has changed since an `ifNoneMatch`.
 *
 * Throws the ApiError of another status, UnexpectedAnswerError for what is not forklore's.
 */
export function resultOf({ shape, ifNoneMatch }: Call, answer: RawAnswer): unknown {
	if (answer.status === NOT_MODIFIED && ifNoneMatch !== undefined) return undefined;
	if (answer.status < 200 || answer.status >= 300) throw failure(answer);
	if (shape.answers === undefined) return undefined;
	const value = objectIn(answer);
	const missing = value === undefined ? "object" : shape.answers.find((name) => !(name in value));
	if (missing === undefined) return value;
	throw new UnexpectedAnswerError(`the answer ${answer.status} has no ${missing}`, toldOf(answer));
}

/** Return whether the service itself says that there is nothing. Others on the way have a 404 of their own. */
export const findsNothing = (answer: RawAnswer): boolean =>
	answer.status === 404 && objectIn(answer)?.["code"] === "not_found";

/** Return the error that an answer stands for. It also reads errors of API Gateway. */
function failure(answer: RawAnswer): ApiError {
	const said = objectIn(answer) ?? {};
	const { message, ...details } = isObject(said["details"]) ? said["details"] : {};
	const words = [message, said["message"], said["error"]].find(
		(word) => typeof word === "string" && word !== "",
	);
	const text = typeof words === "string" ? words : "no explanation";
	const { code, requestId } = said;
	return new (errorOf(answer.status))(text.slice(0, MESSAGE_CHARACTERS_MAX), {
		...toldOf(answer),
		status: answer.status,
		code: typeof code === "string" ? code : "",
		details,
		requestId: typeof requestId === "string" ? requestId : answer.requestId,
	});
}

const toldOf = ({ requestId, attempts, idempotencyKey }: RawAnswer) => ({
	requestId,
	attempts,
	idempotencyKey,
});

function objectIn(answer: RawAnswer): Record<string, unknown> | undefined {
	try {
		const value = valueOf(answer);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
