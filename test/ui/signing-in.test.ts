// Signing in to the console at a real OpenID Connect issuer, in a real browser.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import t from 'tap';
import { axeFindings, startBrowser } from '../support/browser.js';
import { ConsentBrowser } from '../support/consent-browser.js';
import { startConsentServer } from '../support/consent-server.js';
import { findFreePort } from '../support/free-port.js';
import { startProgram } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const PAGE_MS = 60_000;
const LONG_S = 600;
const CALLBACK = '/ui/sign-in/callback';

t.test('signing in by OpenID Connect', async (t) => {
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const client = { id: 'console', secret: 'console-secret-5f' };
  const issuer = await startConsentServer(t, {
    ...{ scope: 'use', lifetimeSeconds: LONG_S, client, redirectUri: origin + CALLBACK },
  });
  issuer.audience = 'mcpgateway-api';
  const directory = createScratchDirectory(t);
  const secretFile = join(directory, 'secret');
  writeFileSync(secretFile, `${client.secret}\n`);
  const program = await startProgram(t, [
    ...['control-plane', '--address', `127.0.0.1:${port}`, '--store-path', join(directory, 'store')],
    ...['--connect-url', origin, '--token-jwks-url', issuer.issuer, '--rate-limit', '0', '--log-level', 'debug'],
    ...['--sign-in-issuer', issuer.issuer, '--sign-in-client-id', client.id],
    ...['--sign-in-client-secret-file', secretFile, '--sign-in-resource', 'https://gateway.example'],
  ]);
  const host = new URL(issuer.issuer).host;

  const browser = await startBrowser(t);
  const urls: string[] = [];
  const elsewhere: string[] = [];
  async function newPage(who: string): Promise<{ readonly page: Page; readonly context: BrowserContext }> {
    const context = await browser.newContext();
    context.setDefaultTimeout(PAGE_MS);
    await context.addCookies([{ name: 'who', value: who, url: issuer.issuer }]);
    const page = await context.newPage();
    page.on('request', (request) => {
      urls.push(request.url());
      const isOwn = request.url().startsWith(origin) || request.url().startsWith('data:');
      if (!isOwn && !request.isNavigationRequest()) elsewhere.push(request.url());
    });
    return { page, context };
  }
  const enter = async (page: Page): Promise<void> => page.getByRole('button', { name: `Sign in at ${host}` }).click();
  /** Waits until the page says so: an alert of before may still be there, or be about to change. */
  const isTold = async (page: Page, words: string | RegExp): Promise<void> =>
    page.getByRole('alert').filter({ hasText: words }).waitFor();
  const heading = async (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { name, level: 1 }).waitFor();

  /** Begins a sign-in. @returns the address to which the issuer redirects the browser, which has not been opened. */
  async function half(page: Page): Promise<string> {
    // With 204 the browser stays where it is: after an aborted navigation it would go on to a page of its own, some time later.
    await page.route(`${issuer.issuer}/auth?*`, (route) => route.fulfill({ status: 204 }));
    const away = page.waitForEvent('requestfailed', (request) => request.url().startsWith(issuer.issuer));
    await page.goto(`${origin}/ui/servers`);
    await enter(page);
    const url = (await away).url();
    await page.unroute(`${issuer.issuer}/auth?*`);
    return new ConsentBrowser('alice').sentBack(url);
  }

  const { page, context } = await newPage('alice');

  await t.test('the sign-in page passes axe, and still takes tokens', async (t) => {
    await page.goto(`${origin}/ui/servers?search=x`);
    await page.getByRole('button', { name: `Sign in at ${host}` }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      t.same(await axeFindings(page, 'all'), [], colorScheme);
    }
    t.equal(await page.getByLabel('Token').count(), 1);
  });

  await t.test('after signing in the requested page is shown, and the token is in no address', async (t) => {
    await enter(page);
    await heading(page, 'Servers');
    t.equal(page.url(), `${origin}/ui/servers?search=x`);
    await page.getByText('alice').first().waitFor();
    const token = await page.evaluate<string>('sessionStorage.getItem("switchyard.token")');
    t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    t.same(
      urls.filter((url) => url.includes(token.slice(0, 100)) || url.includes(token.slice(-40))),
      [],
    );
    t.same(elsewhere, [], 'the page asks nobody else for anything');
    const kept = (await context.cookies(origin)).filter(({ name }) => name.startsWith('switchyard'));
    t.same(kept, [], 'no cookie stays');
  });

  await t.test('an expired token is reported, and signing in again continues on the same page', async (t) => {
    issuer.lifetimeSeconds = 2;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await enter(page);
    await heading(page, 'Servers');
    issuer.lifetimeSeconds = LONG_S;
    const authorization = `Bearer ${await page.evaluate<string>('sessionStorage.getItem("switchyard.token")')}`;
    const ask = async (): Promise<Response> => fetch(`${origin}/whoami`, { headers: { authorization } });
    await until(async () => (await ask()).status === 401, 'the token expires');
    await page.getByRole('link', { name: 'Compositions' }).click();
    await isTold(page, /expired/i);
    await enter(page);
    await heading(page, 'Compositions');
    t.equal(page.url(), `${origin}/ui/compose`);
  });

  await t.test('signing out ends the session here, and leads to where it can be ended at the issuer', async (t) => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    const link = page.getByRole('link', { name: `Sign out at ${host}, too` });
    await link.waitFor();
    t.equal(await page.evaluate('sessionStorage.getItem("switchyard.token")'), null);
    await link.click();
    await page.waitForURL(`${issuer.issuer}/session/end?client_id=console`);
  });

  await t.test('another state, another browser, and a second use are refused; the right one is taken', async (t) => {
    const url = await half(page);
    const kept = await context.cookies(origin);
    const wrong = new URL(url);
    wrong.searchParams.set('state', 'another');
    await page.goto(wrong.href);
    await isTold(page, /was not started in this browser/);
    t.equal(page.url(), `${origin}/ui/servers`, 'what has come back does not stay in the address');

    const stranger = await newPage('mallory');
    await stranger.page.goto(url);
    await isTold(stranger.page, /was not started in this browser/);
    t.equal(await stranger.page.evaluate('sessionStorage.getItem("switchyard.token")'), null);
    await stranger.context.close();

    await page.goto(url);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(url);
    await isTold(page, /was already completed/);
    await context.addCookies(kept);
    await page.goto(url);
    await isTold(page, /^This sign-in was already completed/);
  });

  await t.test('a fault at the issuer is reported in words', async (t) => {
    issuer.audience = 'somewhere-else';
    await page.goto(`${origin}/ui/servers`);
    await enter(page);
    await isTold(
      page,
      /^You signed in at .*, but the access token that it issued is not for the audience mcpgateway-api: configure the issuer to put it into aud/,
    );
    issuer.audience = 'mcpgateway-api';

    const url = await half(page);
    issuer.isDown = true;
    await page.goto(url);
    await isTold(page, `The issuer ${host} cannot be reached`);
    // The alert of before says the same: what counts is that this try has ended, too.
    const tried = page.waitForResponse(`${origin}/ui/sign-in`);
    await enter(page);
    t.equal((await tried).ok(), false);
    await isTold(page, `The issuer ${host} cannot be reached`);
    issuer.isDown = false;
    await enter(page);
    await heading(page, 'Servers');

    const refused = await newPage('nobody');
    await refused.page.goto(`${origin}/ui/servers`);
    await enter(refused.page);
    await isTold(refused.page, `You are not signed in: it was refused at ${host}`);
    await refused.context.close();
  });

  await t.test('no page of another origin can begin a sign-in, and the log has no token', async (t) => {
    const headers = { origin: 'https://attacker.example' };
    t.equal((await fetch(`${origin}/ui/sign-in`, { method: 'POST', headers })).status, 403);
    const begun = await fetch(`${origin}/ui/sign-in`, { method: 'POST' });
    t.match(begun.headers.get('set-cookie'), /^switchyard-sign-in=[\w-]+; .*HttpOnly; SameSite=Strict$/);
    const { url } = (await begun.json()) as { readonly url: string };
    const query = Object.fromEntries(new URL(url).searchParams);
    t.match(query, { code_challenge_method: 'S256', scope: 'openid', response_type: 'code' });
    t.ok((query['nonce'] ?? '').length >= 43 && (query['state'] ?? '').length >= 43);
    const token = await page.evaluate<string>('sessionStorage.getItem("switchyard.token")');
    t.notMatch(JSON.stringify(program.logs), token);
  });
});
