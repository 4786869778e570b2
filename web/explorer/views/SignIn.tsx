// The form that asks who one is.

import { useState } from "react";
import type { Credentials } from "../service/connection.ts";

const mark = new URL("../mark.svg", import.meta.url).href;

interface SignInProps {
	/** Where the token goes; "" for the local server, whose token is the user id. */
	stage: string;
	/** Why one is asked again. */
	notice: string;
	/** Takes what was given; returns what is in the way, or "". */
	enter: (credentials: Credentials) => Promise<string>;
}

export function SignIn({ stage, notice, enter }: SignInProps) {
	const [told, setTold] = useState(notice);
	const open = async (form: FormData) => {
		const given = (name: string) => (form.get(name) as string).trim();
		const credentials = { token: given("token"), key: given("key") };
		if (!credentials.token) setTold(stage ? "Paste a token." : "Choose a user id.");
		else setTold(await enter(credentials));
	};
	const plain = { autoComplete: "off", spellCheck: false, autoCapitalize: "none", className: "input" };
	return (
		<main className="sign-in" id="main">
			<form
				onSubmit={(event) => {
					event.preventDefault();
					void open(new FormData(event.currentTarget));
				}}
			>
				<h1>
					<img src={mark} alt="" width={32} height={32} /> forklore
				</h1>
				<p>See conversations fork, follow their branches, compare them, choose one.</p>
				<p className="bad" role="alert">
					{told}
				</p>
				<label>
					{stage ? "Token" : "User id"}
					<input {...plain} type={stage ? "password" : "text"} name="token" autoFocus />
				</label>
				<p className="quiet">
					{stage ? `A token for ${stage}, without “Bearer”.` : "Any name, such as ann."}
				</p>
				<label>
					Agent key (to look as an agent)
					<input {...plain} type="password" name="key" />
				</label>
				<p className="quiet">An agent also sees its context. Both are kept for this tab only.</p>
				<button type="submit" className="b main">
					Open
				</button>
				{!stage && <a href="/docs">API reference</a>}
			</form>
		</main>
	);
}
