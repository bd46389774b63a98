// The console in a real browser, on a running control plane with real servers, one of them hostile.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Page } from 'playwright-core';
import t from 'tap';
import { z } from 'zod';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { createCalculator, createWordsmith } from '../../demo/demo-servers.js';
import { axeFindings, startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { tabTo } from '../support/keyboard.js';
import { startMcpBackend } from '../support/mcp-backend.js';

const EVIL = `<img src=x onerror="globalThis.evil=1"><script>globalThis.evil=1</script>\u202egnp.exe"'&`;
const PAGE_MS = 20_000;

/** Of the browser's window, what a test asks. */
interface Styled {
  getComputedStyle(element: object, part: string): { readonly content: string };
}

function createAsker(): McpServer {
  const server = new McpServer({ name: 'asker', version: '1.0.0' });
  server.registerTool(
    'greet',
    { description: 'Asks for a name.', inputSchema: { hour: z.number().optional() } },
    async () => {
      const requestedSchema = {
        type: 'object' as const,
        properties: { name: { type: 'string' as const, title: 'Your name' } },
        required: ['name'],
      };
      const { action, content } = await server.server.elicitInput({ message: 'Who are you?', requestedSchema });
      return { content: [{ type: 'text', text: `${action}: ${String(content?.['name'])}` }] };
    },
  );
  return server;
}

t.test('the console', async (t) => {
  const controlPlane = await startControlPlane(t);
  const caller = await controlPlane.caller(t, 'alice@example.com');
  const backends = {
    calculator: await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' }),
    wordsmith: await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream' }),
    asker: await startDemoBackend({ createMcpServer: createAsker, answerAs: 'event-stream' }),
  };
  const hostile = await startMcpBackend({
    name: EVIL,
    tools: [
      {
        name: 'evil',
        title: EVIL,
        description: EVIL.repeat(9_000),
        inputSchema: { type: 'object', properties: { [EVIL]: { type: 'string', description: EVIL, title: EVIL } } },
      },
    ],
    onCall: () => ({
      content: [
        { type: 'text', text: EVIL },
        { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zy8+' },
      ],
    }),
  });
  t.teardown(async () => {
    await Promise.all(Object.values(backends).map((backend) => backend.close()));
    await hostile.close();
  });
  for (const name of ['wordsmith', 'asker'] as const) await caller.post('/servers', { name, url: backends[name].url });
  await caller.post('/servers', { name: 'hostile', url: hostile.url, tags: ['bad'] });

  const browser = await startBrowser(t);
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  /** Errors in the browser, and every request to another origin. */
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(controlPlane.origin) && !request.url().startsWith('data:'))
      complaints.push(request.url());
  });

  async function open(path: string): Promise<void> {
    await page.goto(`${controlPlane.origin}/ui${path}`);
  }

  async function signIn(page: Page, token: string): Promise<void> {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  await t.test(
    'signing in: a wrong token is explained in words, a valid one opens the page that was asked for',
    async (t) => {
      await open('/servers?search=word');
      await signIn(page, 'not-a-token');
      await page.getByRole('alert').waitFor();
      t.match(await page.getByRole('alert').textContent(), /token/i);
      t.equal(complaints.splice(0).filter((words) => !words.includes('401')).length, 0);
      await signIn(page, caller.token ?? '');
      await page.getByRole('link', { name: 'wordsmith' }).waitFor();
      t.match(page.url(), /search=word$/, 'the token is not in the address');
      t.equal(await page.getByRole('row').count(), 2, 'a head, and what the search finds');
    },
  );

  await t.test('a server is previewed, registered, and tried, by keyboard alone', async (t) => {
    await open('/servers/new');
    await page.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.type('calculator!');
    await page.keyboard.press('Tab');
    await page.keyboard.type('http://127.0.0.1:1/mcp');
    await page.keyboard.press('Enter');
    const faulty = page.locator(':focus[aria-invalid=true]');
    await faulty.waitFor();
    t.equal(await faulty.inputValue(), 'calculator!', 'what is wrong is said at its field, which gets the focus');
    t.match(await page.getByRole('alert').textContent(), /^name must be/);
    complaints.splice(0);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('calculator');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type(backends.calculator.url);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
    t.match(await page.locator('.preview').textContent(), /demo-calculator.*2\s+tools/s);
    t.equal((await caller.get('/servers/calculator')).status, 404, 'nothing is kept yet');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Try its tools' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /calculator-add/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('a required').focus();
    await page.keyboard.type('19');
    await page.keyboard.press('Tab');
    await page.keyboard.type('23');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Answered/ }).waitFor();
    t.match(await page.locator('.call').textContent(), /42/);
    await page
      .getByText(/^Timed by the control plane: .* in all: .* waiting for the server, .* in the gateway$/)
      .waitFor();
    t.match(await page.getByLabel('Request').textContent(), '"arguments":{"a":19,"b":23}');
    t.notMatch(await page.getByLabel('As curl').textContent(), caller.token ?? '', 'what is copied has no token in it');
  });

  await t.test('progress is shown as it arrives, and a call can be cancelled', async (t) => {
    const server = (await caller.get('/servers/wordsmith')).json() as { readonly id: string };
    await open(`/playground?server=${server.id}&tool=countdown`);
    await page.getByLabel('from required').fill('50');
    await page.getByRole('button', { name: 'Call the tool' }).click();
    await page.getByRole('progressbar').first().waitFor();
    await page.getByRole('button', { name: 'Cancel the request' }).click();
    await page.getByRole('heading', { name: /^Cancelled/ }).waitFor();
    t.ok(await page.getByRole('button', { name: 'Call the tool' }).isEnabled());
  });

  await t.test('a server’s question is answered in the page', async (t) => {
    const server = (await caller.get('/servers/asker')).json() as { readonly id: string };
    await open(`/playground?server=${server.id}&tool=greet`);
    await page.getByRole('button', { name: 'Call the tool' }).click();
    await page.getByLabel('Your name required').fill('Ada');
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByRole('heading', { name: /^Answered/ }).waitFor();
    t.match(await page.locator('.call').textContent(), 'accept: Ada');
  });

  await t.test('a tool is picked, called, cancelled, and its question answered, by keyboard alone', async (t) => {
    await open('/playground');
    await page.getByRole('button', { name: /wordsmith-countdown/ }).waitFor();
    await tabTo(page, /^Endpoint/);
    await page.keyboard.type('Server wordsmith');
    await page.getByRole('button', { name: /asker/ }).first().waitFor({ state: 'detached' });
    await tabTo(page, /^Search .*tools$/);
    await page.keyboard.type('count');
    await page.getByRole('button', { name: /reverse/ }).waitFor({ state: 'detached' });
    await tabTo(page, /countdown/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^from required$/);
    await page.keyboard.type('50');
    await page.keyboard.press('Enter');
    await page.getByRole('progressbar').first().waitFor();
    await tabTo(page, /^Cancel the request$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Cancelled/ }).waitFor();
    t.equal(await page.locator(':focus').textContent(), 'Cancelled', 'the focus is on what became of it');

    await open('/playground');
    await tabTo(page, /^Endpoint/);
    await page.keyboard.type('Server asker');
    await page.getByRole('button', { name: /countdown/ }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /greet/ }).waitFor();
    await tabTo(page, /greet/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Call the tool$/);
    await page.keyboard.press('Enter');
    await page.getByRole('form', { name: 'The server asks' }).waitFor();
    await tabTo(page, /^Your name required$/);
    await page.keyboard.type('Grace');
    await tabTo(page, /^Answer$/);
    await page.keyboard.press('Space');
    await page.getByRole('heading', { name: /^Answered/ }).waitFor();
    t.equal(await page.locator(':focus').textContent(), 'Answered', 'and after an answer');
    t.match(await page.locator('.call').textContent(), 'accept: Grace');
  });

  await t.test('tools are composed and published; the second of two people who change it is told', async (t) => {
    await open('/compose/new');
    await page.getByLabel('Name', { exact: true }).fill('desk');
    await page.getByText('wordsmith', { exact: false }).first().click();
    await page.getByLabel('reverse', { exact: true }).check();
    t.match(await page.locator('.composer').textContent(), 'wordsmith-reverse');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('heading', { name: 'desk', level: 1 }).waitFor();
    t.match((await caller.get('/compositions/desk')).json(), { servers: [{ name: 'wordsmith', tools: ['reverse'] }] });
    const servers = [{ name: 'wordsmith', tools: ['reverse', 'countdown'] }];
    await caller.put('/compositions/desk', { name: 'desk', servers });
    await page.getByLabel('Description').fill('mine');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('alert').waitFor();
    t.match(await page.getByRole('alert').textContent(), /changed since it was read/);
    await page.getByRole('button', { name: /^Reload/ }).click();
    await page.getByText('tool wordsmith: countdown').first().waitFor();
    t.match((await caller.get('/compositions/desk')).json(), { servers, description: '' }, 'nothing was overwritten');
    t.same(
      complaints.splice(0).filter((words) => !words.includes('412')),
      [],
    );
  });

  await t.test(
    'a server is read again, taken out of service and back, renamed, and deleted with what uses it',
    async (t) => {
      await caller.post('/servers', { name: 'sums', url: `${backends.calculator.url}?sums` });
      await open('/servers/sums');
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText(/^Read in \d+ ms\. Tools: /).waitFor();
      const history = page.getByRole('list', { name: 'Health history' }).getByRole('listitem');
      t.match(await history.allTextContents(), [/^Reached /]);
      // Down and up again while the page is open: its record looks the same as before, its history does not.
      const sums = ((await caller.get('/servers/sums')).json() as { readonly id: string }).id;
      await backends.calculator.close();
      await caller.post(`/servers/${sums}/refresh`);
      const { port } = new URL(backends.calculator.url);
      backends.calculator = await startDemoBackend({
        ...{ createMcpServer: createCalculator, answerAs: 'json' as const, port: Number(port) },
      });
      await caller.post(`/servers/${sums}/refresh`);
      await page.getByRole('button', { name: 'Refresh' }).click();
      await history.nth(2).waitFor();
      t.match((await history.allTextContents()).slice(0, 2), [/^Reached /, /^Not reached .*: /]);
      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('button', { name: 'Enable' }).waitFor();
      t.match((await caller.get('/servers/sums')).json(), { enabled: false });
      await page.getByRole('button', { name: 'Enable' }).click();
      await page.getByRole('button', { name: 'Disable' }).waitFor();
      t.match((await caller.get('/servers/sums')).json(), { enabled: true });
      const { id } = (await caller.get('/servers/sums')).json() as { readonly id: string };
      await open(`/servers/${id}`);

      await page.getByRole('button', { name: 'Edit' }).click();
      const form = page.getByRole('form', { name: 'Edit the server' });
      await form.getByLabel('Name', { exact: true }).fill('totals');
      const url = `${backends.calculator.url}?sums`;
      await caller.put('/servers/sums', { name: 'sums', url, description: 'of somebody else' });
      await form.getByRole('button', { name: 'Save changes' }).click();
      t.match(await form.getByRole('alert').textContent(), /changed since it was read/, 'the second is told');
      t.match(
        (await caller.get('/servers/sums')).json(),
        { description: 'of somebody else' },
        'nothing was overwritten',
      );
      await form.getByRole('button', { name: /^Reload/ }).click();
      await page.locator('main').getByText('of somebody else').waitFor();
      t.equal(await form.getByLabel('Name', { exact: true }).inputValue(), 'totals', 'nothing typed is lost');
      await form.getByRole('button', { name: 'Save changes' }).click();
      await page.getByRole('heading', { name: 'totals', level: 1 }).waitFor();
      t.equal((await caller.get('/servers/sums')).status, 404);

      await caller.post('/compositions', {
        name: 'books',
        servers: [{ name: 'totals', tools: ['add'] }],
        subjects: ['alice@example.com'],
      });
      t.equal(await page.title(), 'totals · Switchyard');
      await page.getByRole('button', { name: 'Disable' }).click();
      const disabling = page.getByRole('dialog', { name: 'Disable totals?' });
      await disabling.getByText('books, for 1 user').waitFor();
      await disabling.getByRole('button', { name: 'Cancel' }).click();
      t.match((await caller.get('/servers/totals')).json(), { enabled: true }, 'nobody loses tools unasked');
      await page.getByRole('button', { name: 'Delete' }).click();
      const question = page.getByRole('dialog', { name: 'Delete totals?' });
      await question.getByText('books, for 1 user').waitFor();
      await page.keyboard.press('Escape');
      await question.waitFor({ state: 'detached' });
      t.equal((await caller.get('/servers/totals')).status, 200, 'Escape means no');
      await page.getByRole('button', { name: 'Delete' }).click();
      await question.getByText('books, for 1 user').waitFor();
      await question.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { name: 'Servers', level: 1 }).waitFor();
      t.equal((await caller.get('/servers/totals')).status, 404);
      await open('/compose');
      await page.getByText('Missing: totals add').waitFor();
      t.same(
        complaints.splice(0).filter((words) => !words.includes('412')),
        [],
      );
    },
  );

  await t.test('a hostile server’s texts run nothing and load nothing', async (t) => {
    const server = (await caller.get('/servers/hostile')).json() as { readonly id: string };
    await open(`/servers/${server.id}`);
    await page.locator('summary', { hasText: 'evil' }).first().click();
    await page.getByRole('button', { name: 'Show more' }).first().click();
    t.match(await page.locator('main').textContent(), '<img src=x onerror=', 'it is text');
    t.match(await page.locator('main').textContent(), '⟨U+202E⟩', 'what turns the direction is written out');
    await open(`/playground?server=${server.id}&tool=evil`);
    await page.getByRole('button', { name: 'Call the tool' }).click();
    await page.getByRole('heading', { name: /^Answered/ }).waitFor();
    t.equal(await page.evaluate('globalThis.evil'), undefined);
    t.equal(await page.locator('main img, main script, main svg:not(.icon)').count(), 0);
    t.same(complaints.splice(0), []);
  });

  await t.test('a refused token is reported, and signing in continues on the same page', async (t) => {
    await open('/servers');
    await page.getByRole('link', { name: 'hostile' }).waitFor();
    const expired = await controlPlane.token('alice@example.com', { expiresInSeconds: -600 });
    await page.evaluate(`sessionStorage.setItem("switchyard.token", ${JSON.stringify(expired)})`);
    await page.reload();
    await page.getByLabel('Token').waitFor();
    t.match(await page.getByRole('alert').textContent(), /expired/i);
    await signIn(page, caller.token ?? '');
    await page.getByRole('link', { name: 'hostile' }).waitFor();
    complaints.splice(0);
  });

  await t.test(
    'a reader is offered no change, and an editor is offered changes of their own records alone',
    async (t) => {
      const changes = page.getByRole('button', { name: /^(?:Refresh|Disable|Edit|Delete|Publish)$/ });
      const makers = page.getByRole('link', { name: /^(?:Register a server|New composition)$/ });
      const composition = { name: 'seen', servers: [{ name: 'wordsmith', tools: ['reverse'] }] };
      await caller.post('/compositions', composition);
      const { id } = (await caller.get('/compositions/seen')).json() as { readonly id: string };
      for (const [role, offered, made] of [
        ['reader', 0, 0],
        ['editor', 4, 1],
      ] as const) {
        const body = JSON.stringify({ subject: 'alice@example.com', role, teams: [] });
        await page.route('**/whoami', (route) => route.fulfill({ contentType: 'application/json', body }));
        const pageOf = async (path: string, heading: string): Promise<void> => {
          const known = page.waitForResponse('**/whoami');
          await open(path);
          await known;
          await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
        };
        await pageOf('/servers/wordsmith', 'wordsmith');
        await page.getByRole('link', { name: 'Try its tools' }).waitFor();
        if (offered > 0) await changes.nth(offered - 1).waitFor();
        t.equal(await changes.count(), offered, `${role}: a server`);
        await pageOf(`/compose/${id}`, 'seen');
        if (role === 'reader') await page.getByText('Not yours to change.').waitFor();
        else await changes.first().waitFor();
        t.equal(await changes.count(), role === 'reader' ? 0 : 2, `${role}: a composition`);
        for (const [path, heading] of [
          ['/servers', 'Servers'],
          ['/compose', 'Compositions'],
        ] as const) {
          await pageOf(path, heading);
          if (made > 0) await makers.first().waitFor();
          t.equal(await makers.count(), made, `${role}: ${path}`);
        }
        await page.unroute('**/whoami');
      }
      t.same(complaints.splice(0), []);
    },
  );

  await t.test('the chosen theme stays, and the exact time appears with the focus', async (t) => {
    const scheme = (): Promise<string> => page.evaluate('getComputedStyle(document.documentElement).colorScheme');
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await open('/servers');
    const light = await ground();
    await page.getByLabel('Theme').selectOption('Dark');
    t.equal(await scheme(), 'dark');
    t.not(await ground(), light);
    await page.reload();
    t.equal(await scheme(), 'dark', 'after a reload, too');
    await page.getByLabel('Theme').selectOption('System');
    t.equal(await ground(), light);
    await page.getByRole('link', { name: 'wordsmith' }).focus();
    await page.keyboard.press('Tab');
    t.equal(await page.locator(':focus').textContent(), await page.locator('time').last().textContent());
    const exact = await page.evaluate<string>('getComputedStyle(document.activeElement, "::after").content');
    t.match(exact, String(new Date().getFullYear()));
    t.same(complaints.splice(0), []);
  });

  await t.test('Publish is in sight however long a composition is, and narrow rows name their columns', async (t) => {
    for (const viewport of [
      { width: 1_200, height: 700 },
      { width: 360, height: 640 },
    ]) {
      await page.setViewportSize(viewport);
      await open('/compose/seen');
      await page.getByRole('checkbox', { name: 'countdown' }).waitFor();
      const bottom = async (): Promise<number> => {
        const box = await page.getByRole('button', { name: 'Publish' }).boundingBox();
        return (box?.y ?? Infinity) + (box?.height ?? 0);
      };
      t.ok((await page.evaluate<number>('document.documentElement.scrollHeight')) > viewport.height);
      t.ok((await bottom()) <= viewport.height, 'at the top of the page');
      await page.evaluate('scrollTo(0, 200)');
      t.ok((await bottom()) <= viewport.height, 'and further down');
    }
    await open('/servers');
    await page.getByRole('link', { name: 'wordsmith' }).waitFor();
    const cells = page.getByRole('row').last().locator('[data-label]:not(:empty)');
    const named = await cells.evaluateAll((all) =>
      (all as unknown as object[]).map(
        (cell) => (globalThis as unknown as Styled).getComputedStyle(cell, '::before').content,
      ),
    );
    t.same(
      named,
      ['none', '"Tools"', '"Last seen"'],
      'of it, only what has a value; the status says itself what it is',
    );
    t.same(complaints.splice(0), []);
  });

  await t.test('axe finds nothing, and nothing is wider than a narrow screen, in either scheme', async (t) => {
    const server = (await caller.get('/servers/hostile')).json() as { readonly id: string };
    const pages = {
      ...{ '/': 'Overview', '/servers': 'Servers', '/servers/new': 'Register a server', '/playground': 'Playground' },
      ...{ [`/servers/${server.id}`]: 'hostile', '/compose': 'Compositions', '/compose/new': 'New composition' },
      [`/playground?server=${server.id}&tool=evil`]: 'Playground',
    };
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [path, heading] of Object.entries(pages)) {
      await open(path);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await page
        .getByText(/^(?:Reading|Opening a session) …$/)
        .first()
        .waitFor({ state: 'hidden' });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        t.same(await axeFindings(page, colorScheme === 'light' ? 'all' : 'colours'), [], `${path}, ${colorScheme}`);
      }
      const hidden = `document.querySelector('nav').scrollWidth - document.querySelector('nav').clientWidth`;
      t.ok((await page.evaluate<number>(hidden)) <= 0, 'every page is in sight in the navigation');
      const width = await page.evaluate('document.documentElement.scrollWidth');
      t.equal(width, 360, `${path} is ${String(width)} wide`);
    }
  });
});
