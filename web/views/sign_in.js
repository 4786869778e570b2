// The form that asks who one is.

import { button, h } from "../dom.js";
import { aside } from "./problem.js";

/**
 * Return the form. enter: called with what was given; returns what is in the way, or "". stage: where the token goes;
 * without one, to the local server, whose token is the user id.
 * @type {(settings: {stage: string, notice: string, enter(credentials: Credentials): Promise<string>}) => Element}
 */
export function signIn({ stage, notice, enter }) {
	const type = stage ? "password" : "text";
	const plain = { autocomplete: "off", spellcheck: "false", autocapitalize: "none" };
	const token = h("input", { ...plain, type, name: "token", autofocus: true });
	const key = h("input", { ...plain, type: "password", name: "key" });
	const told = h("p.danger", { role: "alert" }, notice);
	const open = async () => {
		const given = { token: token.value.trim(), key: key.value.trim() };
		if (!given.token) told.textContent = stage ? "Paste a token." : "Choose a user id.";
		else if (/[^ -~\xa0-\xff]/.test(given.token + given.key))
			told.textContent = "A header can hold no such characters.";
		else told.textContent = await enter(given);
	};
	return h(
		"main.sign-in",
		{},
		h(
			"form",
			{ onsubmit: (/** @type {SubmitEvent} */ event) => event.preventDefault() },
			h("h1", {}, h("img", { src: "/web/icon.svg", alt: "", width: 32, height: 32 }), " forklore"),
			h("p", {}, "See conversations fork, follow their branches, compare them, choose one."),
			told,
			h("label", {}, stage ? "Token" : "User id", token),
			aside(stage ? `Of the issuer of ${stage}, without “Bearer”.` : "Any name, such as ann."),
			h("label", {}, "Agent key (to look as an agent)", key),
			aside("An agent also sees its context. Both are kept for this tab only."),
			button("Open", open, { type: "submit", class: "primary" }),
			!stage && h("a", { href: "/docs" }, "API reference"),
		),
	);
}
