// The pages at which a browser connects a backend. They are open, because browsers have no token: the ticket in the link
// identifies the user. They run no script, and texts of other parties are escaped. Cold path.
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../shared/index.js';
import { CALLBACK_PATH, type ConsentFlow, type ConsentPreview } from '../../connect/consent-flow.js';
import { ControlPlaneFault } from '../../common/control-plane-fault.js';
import { requireConsentFlow } from '../connection-operations.js';
import { cookieIn, html, type Html, htmlPage, setCookie, styleSource } from '../browser-parts.js';

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 4rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
dt { font-weight: 600; margin-top: 0.75rem; }
dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; margin-top: 1.5rem; padding: 0.5rem 1.25rem; border: 0; border-radius: 4px; color: #fff; background: #0b57d0; }
a { color: #0b57d0; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #16181c; } a { color: #8ab4f8; } button { color: #062e6f; background: #8ab4f8; } }
`;

/** The content security policy of these pages: a page loads nothing, runs no script, and submits its form only to this origin. */
const connectPolicy = [
  "default-src 'none'",
  styleSource(STYLE),
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

function consentPage({ ticket, server, resource, scope }: ConsentPreview, ticketText: string): string {
  const { backendName, subject, origin } = ticket;
  const { host } = new URL(server.authorization_endpoint);
  const who =
    subject === '' ? 'the control plane itself, which looks at the server and shows everybody its tools' : subject;
  return connectPage(
    `Connect ${printable(backendName)}`,
    html`<p>
        The gateway asks for access to this server, to use it for you. Continue only if you have just requested this
        link yourself.
      </p>
      <dl>
        <dt>In the name of</dt>
        <dd id="subject">${printable(who)}</dd>
        <dt>Server</dt>
        <dd id="server">${printable(origin + ticket.path)}</dd>
        <dt>What is asked for</dt>
        <dd id="scope">${scope === '' ? 'the default access of the authorization server' : printable(scope)}</dd>
        <dt>For the use of</dt>
        <dd id="resource">${resource === '' ? 'whatever the authorization server decides' : printable(resource)}</dd>
        <dt>Where you give your consent</dt>
        <dd id="issuer">${printable(server.issuer)}</dd>
      </dl>
      <form method="post">
        <input type="hidden" name="ticket" value="${ticketText}" />
        <button type="submit">Go on at ${printable(host)}</button>
      </form>`,
  );
}

/** A page that leads to the address. It replaces a redirect, which browsers would check against `form-action`. */
function onwardPage(address: string): string {
  return connectPage(
    'One moment',
    html`<p><a id="onward" href="${address}">Go on at ${printable(new URL(address).host)}</a></p>`,
    html`<meta http-equiv="refresh" content="0; url=${address}" />`,
  );
}

function connectedPage(backendName: string): string {
  return connectPage(
    `Connected ${printable(backendName)}`,
    html`<p id="outcome">You can close this window, and go on where you came from.</p>`,
  );
}

function refusedPage(words: string): string {
  return connectPage(
    'Not connected',
    html`<p id="outcome">${words}</p>
      <p>To try again, ask for what you wanted once more: you are given another link.</p>`,
  );
}

function connectPage(title: string, body: Html, head?: Html): string {
  const main = html`<main>
    <h1>${title}</h1>
    ${body}
  </main>`;
  return htmlPage(title, STYLE, main, head);
}

/** The text with control characters and direction marks replaced: they could make one name look like another. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
}

const COOKIE_NAME = 'switchyard-connect';
const BROWSER_SECRET_BYTES = 32;
const BROWSER_SECRET = /^[\w-]{43}$/;

/** @param flow `undefined` if users cannot connect servers. */
export async function mountConnectPages(app: FastifyInstance, flow: ConsentFlow | undefined): Promise<void> {
  await app.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 2 * limits.connectTicketCharsMax },
      (_request, body, done) => done(null, body),
    );
    const config = { isOpen: true };
    const asPage = (handler: (request: FastifyRequest, reply: FastifyReply) => Promise<string>) => {
      return async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
        // The page's own form may send its origin. No other site may see the URL, which contains a ticket.
        reply.header('content-security-policy', connectPolicy).header('referrer-policy', 'same-origin');
        void reply.type('text/html; charset=utf-8');
        try {
          return await handler(request, reply);
        } catch (error) {
          if (!(error instanceof ControlPlaneFault)) throw error;
          request.failure = error;
          reply.code(error.status);
          return refusedPage(error.message);
        }
      };
    };
    const show = asPage(async (request) => {
      const { ticket = '' } = request.query as { readonly ticket?: string };
      const text = textOrEmpty(ticket);
      return consentPage(await requireConsentFlow(flow).preview(serverNameIn(request), text), text);
    });

    scope.get('/connect/:server', { config }, show);
    const begin = asPage(async (request, reply) => {
      const { isTls } = requireConsentFlow(flow);
      const secret = browserSecret(request) || randomBytes(BROWSER_SECRET_BYTES).toString('base64url');
      const ticket = new URLSearchParams(textOrEmpty(request.body)).get('ticket') ?? '';
      const address = await requireConsentFlow(flow).start(serverNameIn(request), ticket, secret);
      setCookie(reply, COOKIE_NAME, secret, { path: '/connect', maxAgeMs: limits.personMsMax, sameSite: 'Lax', isTls });
      return onwardPage(address);
    });
    scope.post('/connect/:server', { config }, begin);
    const end = asPage(async (request) => {
      const [, query = ''] = request.url.split('?', 2);
      return connectedPage(await requireConsentFlow(flow).complete(new URLSearchParams(query), browserSecret(request)));
    });
    // A backend may be named `callback`: then its consent page has this path.
    scope.get(CALLBACK_PATH, { config }, async (request, reply) => {
      return 'ticket' in Object(request.query) ? show(request, reply) : end(request, reply);
    });
  });
}

function serverNameIn({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1);
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
}

function browserSecret(request: FastifyRequest): string {
  return cookieIn(request, COOKIE_NAME, BROWSER_SECRET);
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
