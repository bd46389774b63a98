// Signing in: a token is tried before it is kept, and what is wrong with it is said in the control plane's own words.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { faultWords } from '../api/api.js';
import { refusal, signIn } from '../api/session.js';
import { tokenIn } from '../model/token-claims.js';
import { Fault } from '../parts/notices.js';

export function SignInPage(): JSX.Element {
  const [text, setText] = useState('');
  const [isTrying, setTrying] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const token = tokenIn(text);
    if (token === '') {
      refusal.value = 'Paste a token first';
      return;
    }
    setTrying(true);
    refusal.value = await refusalOf(token).catch(faultWords);
    setTrying(false);
    if (refusal.value === '') signIn(token);
  };
  return (
    <main class="sign-in">
      <h1>Switchyard</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={text}
          autofocus
          aria-describedby="token-help"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <p id="token-help" class="note">
          Whoever runs this gateway gives you one, or makes it with <code>switchyard token</code>. It stays in this tab
          until you close it.
        </p>
        <Fault words={refusal.value} />
        <button class="main" disabled={isTrying}>
          {isTrying ? 'Trying it …' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}

/** `''` when the control plane takes the token. */
async function refusalOf(token: string): Promise<string> {
  if (!/^[\x21-\x7e]+$/.test(token)) return 'This is not a token: it has spaces or other characters that no token has';
  const request = fetch('/servers?limit=1', { headers: { authorization: `Bearer ${token}` } });
  const response = await request.catch(() => undefined);
  if (response === undefined) return 'The control plane does not answer: see that it runs, then try again';
  if (response.ok) return '';
  const { detail = `It answered with status ${response.status}` } = (await response.json()) as { detail?: string };
  return detail;
}
