// The console's pages for operators of the gateway, in a real browser: with a control plane, a dataplane with its admin listener, and a
// server, all of them real.
import type { Page } from 'playwright-core';
import t from 'tap';
import { axeFindings, startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { findFreePort } from '../support/free-port.js';
import { startGateway, verifyWith, type Gateway } from '../support/gateway.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { INITIALIZE_PARAMS, McpCaller } from '../support/mcp-caller.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const EVIL = `<img src=x onerror="globalThis.evil=1"><script>globalThis.evil=1</script>\u202e`;
const PAGE_MS = 20_000;

t.test('the pages for operators', async (t) => {
  const adminPort = await findFreePort();
  const redis = await startRedis(t);
  const { storeOptions } = redis;
  const controlPlane = await startControlPlane(t, {
    storeOptions,
    options: ['--dataplane-admin-address', `127.0.0.1:${adminPort}`],
  });
  const startDataplane = (): Promise<Gateway> =>
    startGateway(t, {
      ...{ storeOptions, keyOptions: verifyWith(controlPlane.key), upstreamConnectionMode: 'plain-text-or-tls' },
      environment: { SWITCHYARD_ADMIN_ADDRESS: `127.0.0.1:${adminPort}` },
      workerCount: 2,
    });
  let gateway = await startDataplane();
  const alice = await controlPlane.caller(t, 'alice@example.com');
  const backend = await startMcpBackend({ tools: ['add', 'sub'] });
  t.teardown(() => backend.close());
  await alice.post('/servers', { name: 'calc', url: backend.url });
  const servers = [{ name: 'calc', tools: ['add'] }];
  await alice.post('/compositions', { name: 'desk', servers, subjects: ['alice@example.com'] });
  const { id: deskId } = (await alice.get('/compositions/desk')).json() as { readonly id: string };

  /** Calls through the dataplane as a client with a hostile name. */
  async function callOnce(): Promise<string> {
    const caller = new McpCaller(gateway.origin, gateway.path(deskId), alice.token ?? '');
    const clientInfo = { name: EVIL, version: '1' };
    const session = await caller.openSession({
      params: INITIALIZE_PARAMS.replace(/"clientInfo":.*}$/, `"clientInfo":${JSON.stringify(clientInfo)}}`),
    });
    const answer = await session.call('calc-add');
    return answer.header('x-request-id') ?? '';
  }

  const browser = await startBrowser(t);
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('request', (request) => {
    if (!request.url().startsWith(controlPlane.origin)) complaints.push(request.url());
  });
  const open = (path: string): Promise<unknown> => page.goto(`${controlPlane.origin}/ui${path}`);

  async function signIn(page: Page, token: string): Promise<void> {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function is360Wide(page: Page): Promise<boolean> {
    return (await page.evaluate('document.documentElement.scrollWidth')) === 360;
  }

  await open('/');
  await signIn(page, alice.token ?? '');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await t.test('a tool’s presence or absence is explained, by keyboard alone', async (t) => {
    await callOnce();
    await page.getByRole('link', { name: 'Explain' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'desk' }).waitFor({ state: 'attached' });
    await page.getByLabel('Composition').focus();
    await page.keyboard.type('desk');
    await page.keyboard.press('Tab');
    await page.keyboard.type('calc-sub');
    await page.keyboard.press('Enter');
    const card = page.getByRole('region', { name: 'Explanation' });
    await card.getByText(/^This composition does not include the tool "sub" of calc/).waitFor();
    // One line for both processes, of which one has been called; and one for each on demand.
    const lines = card.getByRole('region', { name: 'Servers', exact: true }).getByRole('row');
    t.match(await lines.allTextContents(), [
      /^Server/,
      /^calc(?=.*working \(process \d\))(?=.*not used yet \(process \d\)).*add1 open$/,
    ]);
    await card.getByText('The processes differ').click();
    const each = card.getByRole('region', { name: 'Servers by process' }).getByRole('row');
    t.match(await each.allTextContents(), [/^Server/, /^calc.*process 0.*add/, /^calc.*process 1.*add/]);
    t.match(page.url(), /tool=calc-sub/, 'it can be sent to somebody');
    await page.getByRole('textbox', { name: 'Tool', exact: true }).fill('calc-add');
    await page.keyboard.press('Enter');
    await card.getByText(/^A call goes to calc/).waitFor();
    await page.getByRole('combobox', { name: 'User', exact: true }).fill('nobody@example.com');
    await page.keyboard.press('Enter');
    await card.getByText('No composition is published to this user').waitFor();
    await card.getByRole('link', { name: 'Add this user to desk' }).click();
    const users = page.getByRole('textbox', { name: 'Users', exact: true });
    t.match(await users.inputValue(), /\nnobody@example\.com$/, 'added, and not published yet');
    await page.getByRole('button', { name: 'Discard' }).click();
    t.notMatch(await users.inputValue(), 'nobody@example.com');
  });

  await t.test('what became of a request, and who has sessions', async (t) => {
    const requestId = await callOnce();
    await open('/explain');
    await page.getByRole('textbox', { name: 'Request id' }).fill(requestId);
    await page.keyboard.press('Enter');
    const told = await page.getByRole('group', { name: 'Request' }).textContent();
    t.match(told, /Outcomeok.*tools\/call of add.*calc.*in all: .*waiting for the server.*in the gateway/s);
    const sessions = page.getByRole('region', { name: 'Table of sessions' });
    t.match(await sessions.textContent(), '<img src=x onerror=', 'the client’s name is text');
    t.match(await sessions.textContent(), '⟨U+202E⟩');
    t.match(await sessions.textContent(), /calc: open/);
    t.equal(await page.evaluate('globalThis.evil'), undefined);
    await page.getByRole('textbox', { name: 'Request id' }).fill('no-such-id');
    await page.keyboard.press('Enter');
    await page.getByText('No recent request with this id').waitFor();
  });

  await t.test('a user who is no admin asks only about himself, and is not told where the listener is', async (t) => {
    const body = JSON.stringify({ subject: 'alice@example.com', role: 'reader', teams: [] });
    await page.route('**/whoami', (route) => route.fulfill({ contentType: 'application/json', body }));
    await open('/explain');
    await page.getByText('only admins may ask about others').waitFor();
    await page.getByRole('heading', { name: 'Your sessions' }).waitFor();
    t.equal(await page.getByRole('combobox', { name: 'User', exact: true }).count(), 0);
    await page.unroute('**/whoami');
  });

  await t.test('a lost dataplane is reported in words, and found again without a reload', async (t) => {
    await open('/explain');
    const again = page.getByRole('button', { name: 'Try again' });
    await page
      .getByText('1 session')
      .or(page.getByText(/\d sessions/))
      .first()
      .waitFor();
    await gateway.stop();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await again.waitFor();
    t.match(await page.getByRole('alert').textContent(), /does not respond.*--dataplane-admin-address/);
    gateway = await startDataplane();
    await again.click();
    await again.waitFor({ state: 'hidden' });
    await page.getByText('0 sessions').waitFor();
  });

  await t.test('the audit page shows who changed what, newest first, for one record or for all', async (t) => {
    const said = `${EVIL} ${'x'.repeat(5_000)}`.slice(0, 4_000);
    await alice.put('/servers/calc', { name: 'calc', url: backend.url, description: said });
    await alice.put('/servers/calc', { name: 'calc', url: backend.url, description: 'sums' });
    await open('/audit');
    const changes = page.getByRole('list', { name: 'Changes' }).locator('> li');
    await changes.nth(3).waitFor();
    t.match(await changes.first().textContent(), /^alice@example\.com changed the server calc.*description.*→ ?sums/);
    t.match(await changes.nth(1).textContent(), '<img src=x onerror=', 'what was said is text');
    t.match(await changes.nth(1).textContent(), '⟨U+202E⟩');
    t.equal(await page.evaluate('globalThis.evil'), undefined);
    t.notMatch(await changes.last().textContent(), backend.url, 'of an address its origin alone');
    await page.getByRole('searchbox', { name: 'Server or composition' }).fill('desk');
    await page.keyboard.press('Enter');
    await changes.nth(1).waitFor({ state: 'detached' });
    t.match(await changes.textContent(), /alice@example\.com composed desk/);
    t.match(page.url(), /record=desk$/);
    const wanted = Array.from({ length: 52 }, (_, n) => `n${n}`);
    for (const description of wanted) await alice.put('/servers/calc', { name: 'calc', url: backend.url, description });
    await open('/audit?record=calc');
    await changes.nth(49).waitFor();
    t.equal(await changes.count(), 50);
    await page.getByRole('button', { name: 'Show older' }).click();
    await page.getByText('registered the server').waitFor();
    t.equal(await changes.count(), 55);
  });

  await t.test('a tool that a composition lacks is added from its explanation, and withdrawn again', async (t) => {
    await open(`/explain?virtualHost=${deskId}&tool=calc-sub`);
    await page.getByRole('heading', { name: 'alice@example.com cannot use calc-sub' }).waitFor();
    await page.getByRole('link', { name: 'Add it to desk' }).click();
    const sub = page.getByRole('checkbox', { name: 'sub', exact: true });
    for (const [act, verdict] of [
      [() => sub.check(), 'alice@example.com can use calc-sub'],
      [() => sub.uncheck(), 'alice@example.com cannot use calc-sub'],
    ] as const) {
      await act();
      await page.getByRole('button', { name: 'Publish' }).click();
      await page.getByText('Everything is published').waitFor();
      await open(`/explain?virtualHost=${deskId}&tool=calc-sub`);
      await page.getByRole('heading', { name: verdict }).waitFor();
      await open(`/compose/${deskId}?search=calc+sub`);
    }
    await open('/audit');
    t.same(complaints.splice(0), []);
  });

  await t.test('a lost store is reported in words, and the list continues without a reload', async (t) => {
    await redis.kill();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    t.match(await page.getByRole('alert').textContent(), /store cannot be reached/);
    await redis.start();
    await until(async () => (await alice.get('/health')).status === 200, 'the store is back');
    await again.click();
    await again.waitFor({ state: 'hidden' });
  });

  await t.test('the overview is live, says when it is not, and recovers without a reload', async (t) => {
    await open('/');
    const live = page.getByRole('region', { name: 'Live figures of the gateway' });
    await live.getByText('all respond').waitFor();
    await until(async () => {
      await callOnce();
      return /Median latency[\d.]+ m?s/.test((await live.textContent()) ?? '');
    }, 'calls are seen');
    await page.evaluate('globalThis.mark = 1');
    await gateway.stop();
    await live.getByText(/does not respond/).waitFor();
    await page.getByText('The state of the gateway is not available').waitFor();
    gateway = await startDataplane();
    await live.getByText(/does not respond/).waitFor({ state: 'hidden' });
    await live.getByText('all respond').waitFor();
    t.equal(await page.evaluate('globalThis.mark'), 1);
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/dataplane/live'));
    await page.getByRole('button', { name: 'Sign out' }).click();
    t.ok(await ended, 'who signs out watches no more');
    await signIn(page, alice.token ?? '');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  await t.test('axe finds nothing, and nothing is wider than a narrow screen, in either scheme', async (t) => {
    const requestId = await callOnce();
    const explained = `virtualHost=${deskId}&tool=calc-sub`;
    const pages = { [`/explain?${explained}&request=${requestId}`]: 'Explain', '/audit': 'Audit', '/': 'Overview' };
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [path, heading] of Object.entries(pages)) {
      await open(path);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      const words = async (): Promise<string> => (await page.locator('main').textContent()) ?? '';
      await until(async () => !(await words()).includes('Reading …'), 'all is read');
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        t.same(await axeFindings(page, colorScheme === 'light' ? 'all' : 'colours'), [], `${path}, ${colorScheme}`);
      }
      t.ok(await is360Wide(page), path);
    }
    await page.setViewportSize({ width: 1_200, height: 900 });
  });

  t.same(complaints, [], 'nothing was thrown, and nobody else was asked for anything');
});
