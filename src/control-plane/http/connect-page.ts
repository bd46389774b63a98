// The HTML pages for a user who connects a backend: what will be granted, to whom, and the outcome. They run no script,
// and everything from other parties is escaped. Cold path.
import { createHash } from 'node:crypto';
import type { ConsentPreview } from '../connect/connect.js';
import { html, Html } from './html.js';

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
dt { font-weight: 600; margin-top: 0.75rem; }
dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; margin-top: 1.5rem; padding: 0.5rem 1.25rem; border: 0; border-radius: 4px; color: #fff; background: #0b57d0; }
a { color: #0b57d0; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #16181c; } a { color: #8ab4f8; } button { color: #062e6f; background: #8ab4f8; } }
`;

const styleHash = createHash('sha256').update(STYLE).digest('base64');

/** Loads nothing, runs no script, and submits its form only to this origin. */
export const connectPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** @param ticketText the ticket as received. */
export function consentPage({ ticket, server, resource, scope }: ConsentPreview, ticketText: string): string {
  const { backendName, subject, origin } = ticket;
  const at = new URL(server.authorization_endpoint).host;
  const who =
    subject === '' ? 'the control plane itself, which looks at the server and shows everybody its tools' : subject;
  return page(
    `Connect ${shown(backendName === '' ? origin : backendName)}`,
    html`<p>
        The gateway asks for access to this server, to use it for you. Continue only if you have just requested this
        link yourself.
      </p>
      <dl>
        <dt>In the name of</dt>
        <dd id="subject">${shown(who)}</dd>
        <dt>Server</dt>
        <dd id="server">${shown(origin + ticket.path)}</dd>
        <dt>What is asked for</dt>
        <dd id="scope">${scope === '' ? 'the default access of the authorization server' : shown(scope)}</dd>
        <dt>For the use of</dt>
        <dd id="resource">${resource === '' ? 'whatever the authorization server decides' : shown(resource)}</dd>
        <dt>Where you give your consent</dt>
        <dd id="issuer">${shown(server.issuer)}</dd>
      </dl>
      <form method="post">
        <input type="hidden" name="ticket" value="${ticketText}" />
        <button type="submit">Go on at ${shown(at)}</button>
      </form>`,
  );
}

/** Used instead of a redirect after a form, which browsers would check against `form-action`. @param address to continue at. */
export function onwardPage(address: string): string {
  return page(
    'One moment',
    html`<p><a id="onward" href="${address}">Go on at ${shown(new URL(address).host)}</a></p>`,
    html`<meta http-equiv="refresh" content="0; url=${address}" />`,
  );
}

export function connectedPage(backendName: string): string {
  return page(
    `Connected${backendName === '' ? '' : ` ${shown(backendName)}`}`,
    html`<p id="outcome">You can close this window, and go on where you came from.</p>`,
  );
}

export function refusedPage(words: string): string {
  return page(
    'Not connected',
    html`<p id="outcome">${words}</p>
      <p>To try again, ask for what you wanted once more: you are given another link.</p>`,
  );
}

function page(title: string, body: Html, head = new Html('')): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        ${head} ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`.text;
}

/** Replaces control characters and direction marks, which could make one name look like another. */
function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
