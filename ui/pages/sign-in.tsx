// Signing in: at the issuer, where the control plane has one, or with a token. The token is tried before it is kept; a refusal is shown in
// the control plane's own words.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { faultWords } from '../api/api.js';
import { isComing, leaveUrl, refusal, signIn } from '../api/session.js';
import { goToIssuer, issuerHost } from '../api/sign-in.js';
import { refusedWords, tokenIn } from '../model/token-claims.js';
import { Logo } from '../parts/icon.js';
import { Fault } from '../parts/notices.js';
import { CodeBlock } from '../parts/said.js';

const MAKE_TOKEN = [
  'switchyard token',
  '--subject alice@example.com',
  '--expires-in 8h',
  '--token-verification-private-key',
  'private.pem',
].join(' \\\n  ');

export function SignInPage(): JSX.Element {
  const [text, setText] = useState('');
  const [isTrying, setTrying] = useState(false);
  const [issuer, setIssuer] = useState('');
  useEffect(() => {
    document.title = 'Sign in · Switchyard';
    // Without a response the token field is shown all the same, and reports what is wrong when it is used.
    void issuerHost().then(setIssuer, () => {});
  }, []);
  const leave = async (): Promise<void> => {
    setTrying(true);
    await goToIssuer().catch((error: unknown) => {
      refusal.value = faultWords(error);
      setTrying(false);
    });
  };
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
      <h1 class="brand">
        <Logo />
        Switchyard
      </h1>
      <p class="note">One gateway between your clients and all your MCP servers.</p>
      <div class="card">
        {issuer !== '' && (
          <section aria-labelledby="at-issuer">
            <h2 id="at-issuer">With your account</h2>
            <p>
              <button type="button" class="main" disabled={isTrying || isComing.value} onClick={() => void leave()}>
                {isComing.value ? 'Signing in …' : `Sign in at ${issuer}`}
              </button>
            </p>
            <Fault words={refusal.value} />
            {leaveUrl.value !== '' && (
              <p>
                You are signed out. <a href={leaveUrl.value}>Sign out at {issuer}, too</a>
              </p>
            )}
            <h2 class="or">With a token</h2>
          </section>
        )}
        <form onSubmit={(event) => void submit(event)}>
          <label for="token">Token</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text}
            autofocus={issuer === ''}
            aria-describedby="token-help"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <p id="token-help" class="note">
            It says who you are, for a limited time. Get one from the operator of this gateway. It stays in this tab
            until you close it.
          </p>
          {issuer === '' && <Fault words={refusal.value} />}
          <button class={issuer === '' ? 'main' : ''} disabled={isTrying}>
            {isTrying ? 'Trying it …' : 'Sign in'}
          </button>
          <details>
            <summary>For the operator: make one</summary>
            <CodeBlock label="Command" text={MAKE_TOKEN} />
            <p class="note">
              With the private key whose public key both planes have. The name is the user’s, as in their compositions.
            </p>
          </details>
        </form>
      </div>
    </main>
  );
}

/** @returns `''` when the control plane accepts the token. */
async function refusalOf(token: string): Promise<string> {
  if (!/^[\x21-\x7e]+$/.test(token))
    return 'This is not a token: it has spaces or other characters that tokens cannot have';
  const request = fetch('/servers?limit=1', { headers: { authorization: `Bearer ${token}` } });
  const response = await request.catch(() => undefined);
  if (response === undefined) return 'The control plane does not respond: check that it is running, then try again';
  if (response.ok) return '';
  const { detail = `It responded with status ${response.status}` } = (await response.json()) as { detail?: string };
  return refusedWords(token, detail);
}
