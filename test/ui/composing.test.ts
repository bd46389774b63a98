// Composing and registering in a real browser: by keyboard alone, with prompts, resources and patterns, with other names and fixed
// arguments, at two widths. The result is checked at the composition's own endpoint.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { axeFindings, startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { tabTo } from '../support/keyboard.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const PAGE_MS = 20_000;
/** Nothing listens there: the browser's response is scripted. */
const CONNECT_URL = 'http://connect.example';
const bookSchema = {
  type: 'object',
  properties: { shelf: { type: 'string' }, number: { type: 'integer' } },
  required: ['shelf'],
};

t.test('composing and registering', async (t) => {
  const keyFile = join(createScratchDirectory(t), 'secret-keys');
  writeFileSync(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
  const options = ['--connect-url', CONNECT_URL, '--secrets-key-file', keyFile];
  const controlPlane = await startControlPlane(t, { options });
  const caller = await controlPlane.caller(t, 'alice@example.com');
  const library = await startMcpBackend({
    capabilities: { tools: {}, prompts: {}, resources: {} },
    tools: [
      { name: 'read_book', description: 'Reads a book.', inputSchema: bookSchema },
      { name: 'read_page', inputSchema: { type: 'object' } },
      { name: 'odd.name', inputSchema: { type: 'object' } },
    ],
    methods: {
      'prompts/list': () => ({ prompts: [{ name: 'review', arguments: [{ name: 'tone' }] }] }),
      'resources/list': () => ({ resources: [{ uri: 'book://1', name: 'First book' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'book://{n}', name: 'Any book' }] }),
    },
  });
  t.teardown(() => library.close());

  const browser = await startBrowser(t);
  const context = await browser.newContext({ viewport: { width: 640, height: 900 } });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  const open = (path: string) => page.goto(`${controlPlane.origin}/ui${path}`);

  async function ask(composition: string, method: string): Promise<Record<string, readonly Record<string, unknown>[]>> {
    const { id } = (await caller.get(`/compositions/${composition}`)).json() as { readonly id: string };
    const answer = await caller.post(`/servers/${id}/mcp`, { jsonrpc: '2.0', id: 1, method, params: {} });
    return (answer.json() as { result: Record<string, readonly Record<string, unknown>[]> }).result;
  }

  await t.test('a server is registered by keyboard alone', async (t) => {
    await open('/servers');
    await tabTo(page, /^Token$/);
    await page.keyboard.type(caller.token ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
    await tabTo(page, /^Register a server$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Name$/);
    await page.keyboard.type('library');
    await tabTo(page, /^URL of its MCP endpoint$/);
    await page.keyboard.type(library.url);
    await tabTo(page, /^Transport$|Streamable HTTP/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await tabTo(page, /^Tags$/);
    await page.keyboard.type('books, demo');
    await tabTo(page, /^Team$/);
    await page.keyboard.type('readers');
    await tabTo(page, /^Test connection$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'library', level: 1 }).waitFor();
    const found = { toolCount: 3, promptCount: 1, resourceCount: 1, templateCount: 1 };
    t.match((await caller.get('/servers/library')).json(), {
      ...{ tags: ['books', 'demo'], transport: 'STREAMABLEHTTP', team: 'readers' },
      ...found,
    });
    await tabTo(page, /^prompts 1$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^review/);
    await page.keyboard.press('Enter');
    t.match(await page.getByRole('list', { name: 'Arguments' }).textContent(), /^tone ?text/);
    await tabTo(page, /^resources 2$/);
    await page.keyboard.press('Space');
    await page.getByText('book://{n}').waitFor();
  });

  await t.test('a composition gets another name and a fixed argument by keyboard alone', async (t) => {
    await open('/compose');
    await tabTo(page, /^New composition$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Name$/);
    await page.keyboard.type('desk');
    await tabTo(page, /^Search servers/);
    await page.keyboard.type('book');
    await page.getByRole('checkbox', { name: 'read_book' }).waitFor();
    // The list is one stop of Tab: the arrow keys move within it.
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page
      .locator(':focus')
      .and(page.getByRole('checkbox', { name: 'read_book' }))
      .waitFor();
    await page.keyboard.press('Space');
    await tabTo(page, /^How clients see read_book/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Name of read_book$/);
    await page.keyboard.type('lookup');
    await tabTo(page, /^Argument shelf of read_book$/);
    await page.keyboard.press('ArrowDown');
    await tabTo(page, /^Value of shelf/);
    await page.keyboard.type('A7');
    await page.keyboard.press('Enter');
    t.equal((await caller.get('/compositions/desk')).status, 404, 'Enter in a field publishes nothing');
    t.match(await page.locator('.differences').textContent(), /tool read_book is called lookup, fixes shelf = "A7"/);
    await tabTo(page, /^Publish$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'desk', level: 1 }).waitFor();
    const { tools } = await ask('desk', 'tools/list');
    t.match(tools, [{ name: 'library-lookup', inputSchema: { properties: { number: { type: 'integer' } } } }]);
    t.notMatch(JSON.stringify(tools), /shelf/);
  });

  await t.test('prompts, resources and a pattern are picked, and broken rules of clients are shown', async (t) => {
    await open('/compose/new');
    await page.getByLabel('Name', { exact: true }).fill('all');
    await page.getByText('library', { exact: false }).first().click();
    await page.getByText('Add by pattern').click();
    await page.locator('.by-pattern select').selectOption('library');
    await page.getByLabel(/^Pattern of tools/).fill('*');
    await page.getByRole('button', { name: 'Add pattern' }).click();
    const matched = page.getByRole('checkbox', { name: /^read_book/ });
    await matched.click({ force: true });
    t.ok(await matched.isChecked(), 'what a pattern includes is shown as chosen, and goes with the pattern');
    await page.getByRole('checkbox', { name: 'review' }).check();
    await page.getByRole('checkbox', { name: 'book://1' }).check();
    await page.getByRole('checkbox', { name: 'book://{n}' }).check();
    const seen = page.locator('section', { has: page.getByRole('heading', { name: 'What clients will see' }) });
    t.match(await seen.textContent(), /3 tools, 1 prompt, 2 resources.*about \d+ tokens.*estimate.*1 to check/s);
    t.match(await seen.textContent(), /library-odd\.name\s*This name has \.: Claude Desktop/);
    await page.locator('summary', { hasText: 'How clients see read_book' }).click();
    await page.getByLabel('Argument number of read_book').selectOption('Always this value');
    await page.getByLabel('Value of number').fill('se7en');
    await page.getByRole('button', { name: 'Publish' }).click();
    t.equal((await caller.get('/compositions/all')).status, 404, 'what is no JSON is not published');
    await page.getByLabel('Value of number').fill('7');
    await page.getByLabel('Users').fill('alice@example.com\nbob@example.com');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('heading', { name: 'all', level: 1 }).waitFor();
    t.match((await caller.get('/compositions/all')).json(), {
      servers: [
        {
          ...{ tools: ['*'], prompts: ['review'], resources: ['book://1', 'book://{n}'] },
          curation: { tools: { read_book: { fixed_arguments: { number: 7 } } } },
        },
      ],
      subjects: ['alice@example.com', 'bob@example.com'],
    });
    const { prompts } = await ask('all', 'prompts/list');
    const { resources } = await ask('all', 'resources/list');
    t.match([prompts, resources], [[{ name: 'library-review' }], [{ uri: 'library+book://1' }]]);
    const { id } = (await caller.get('/compositions/all')).json() as { readonly id: string };
    await page.getByText('Claude Desktop', { exact: true }).click();
    const settings = (await page.getByLabel('Settings for Claude Desktop').textContent()) ?? '';
    t.match(settings, `${controlPlane.origin}/servers/${id}/mcp`);
    t.match(settings, 'mcp-remote');
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: controlPlane.origin });
    await page.getByRole('button', { name: 'Cursor', exact: true }).click();
    await page.getByRole('button', { name: 'Copy the settings for Cursor' }).click();
    await page.getByText(/^Copied\. It contains no token/).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    t.equal(copied, await page.getByLabel('Settings for Cursor').textContent());
    t.notMatch(await page.content(), caller.token ?? '', 'no token is on the page');
    await page.getByLabel(/^Many tools/).check();
    await page.getByText('its tools are searched').waitFor();
    t.match(await seen.textContent(), /3 tools, .*; clients list find_tools and call_tool alone/);
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('its tools are searched').waitFor({ state: 'detached' });
    t.match((await ask('all', 'tools/list'))['tools'], [{ name: 'call_tool' }, { name: 'find_tools' }]);
  });

  await t.test('of a long list only a part exists, and the keyboard reaches all of it', async (t) => {
    const tools = Array.from({ length: 1_500 }, (_, index) => `tool_${index}`);
    const large = await startMcpBackend({ tools });
    t.teardown(() => large.close());
    await caller.post('/servers', { name: 'large', url: large.url });
    await open('/compose/new');
    await page.getByLabel(/^Search servers/).fill('large');
    await page.getByRole('checkbox', { name: 'tool_0', exact: true }).waitFor();
    const list = page.getByRole('list', { name: 'Servers and what they have' });
    t.ok((await list.getByRole('listitem').count()) < 100);
    await page.keyboard.press('ArrowDown');
    await page
      .locator(':focus')
      .and(page.getByRole('checkbox', { name: 'All tools of large' }))
      .waitFor();
    await page.keyboard.press('End');
    await page
      .locator(':focus')
      .and(page.getByRole('checkbox', { name: 'tool_1499' }))
      .waitFor();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Remove tool_1499 of large' }).waitFor();
    await page.keyboard.press('Home');
    await page
      .locator(':focus')
      .and(page.getByRole('checkbox', { name: 'All tools of large' }))
      .waitFor();
    await page.keyboard.press('Space');
    await page.getByText('1,500 tools; about').waitFor();
    await page.keyboard.press('Space');
    await page.getByText('Nothing selected yet').first().waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('checkbox', { name: 'tool_0', exact: true }).waitFor({ state: 'detached' });
  });

  await t.test('typed text survives somebody else’s change, which is reported', async (t) => {
    const { servers } = (await caller.get('/compositions/desk')).json() as { readonly servers: readonly object[] };
    await open('/compose/desk');
    await page.getByLabel('Description', { exact: true }).fill('mine');
    await caller.put('/compositions/desk', { name: 'desk', servers, subjects: ['carol@example.com'] });
    await page.getByRole('button', { name: 'Publish' }).click();
    t.match(await page.getByRole('alert').textContent(), /changed since it was read/);
    await page.getByRole('button', { name: /^Reload/ }).click();
    const theirs = page.locator('section', { has: page.getByRole('heading', { name: /somebody else/ }) });
    await theirs.waitFor();
    t.match(await theirs.textContent(), /added user carol@example\.com.*removed user alice@example\.com/s);
    t.equal(
      await page.getByLabel('Description', { exact: true }).inputValue(),
      'mine',
      'nothing that was typed is lost',
    );
    t.match((await caller.get('/compositions/desk')).json(), { description: '', subjects: ['carol@example.com'] });
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Published: clients can see it now').waitFor();
    t.same(
      complaints.splice(0).filter((words) => !words.includes('412')),
      [],
    );
  });

  await t.test('a page with edits that are not published is not left without a question', async (t) => {
    const asked: string[] = [];
    let isMeant = false;
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void (isMeant ? dialog.accept() : dialog.dismiss());
    });
    const edit = async (text: string): Promise<void> => {
      await open('/compose');
      await page.getByRole('link', { name: 'desk', exact: true }).click();
      await page.getByLabel('Description', { exact: true }).fill(text);
      await page.getByText('1 unpublished change').waitFor();
    };
    const goTo = (name: string): Promise<void> => page.getByRole('link', { name, exact: true }).click();
    const typed = (): Promise<string> => page.getByLabel('Description', { exact: true }).inputValue();
    await edit('not published');
    await goTo('Servers');
    await until(() => asked.length === 1, 'the question about a link');
    t.equal(await typed(), 'not published');
    await page.evaluate('history.back()');
    await until(() => asked.length === 2, 'the question about the way back');
    t.equal(await typed(), 'not published');
    t.match(page.url(), /\/compose\/.+/);
    const closing = `(() => { const e = new Event('beforeunload', { cancelable: true }); dispatchEvent(e); return e.defaultPrevented; })()`;
    t.equal(await page.evaluate(closing), true, 'closing the page asks, too');
    isMeant = true;
    await goTo('Servers');
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
    t.same(asked, ['confirm', 'confirm', 'confirm']);

    await edit('published');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Everything is published').waitFor();
    t.equal(await page.evaluate(closing), false);
    await goTo('Servers');
    await page.getByRole('heading', { name: 'Servers' }).waitFor();
    t.equal(asked.length, 3, 'nothing is asked where nothing would be lost');
    page.removeAllListeners('dialog');
    t.same(complaints.splice(0), []);
  });

  await t.test('credentials and transport are set and replaced, and a secret is never shown', async (t) => {
    const { id } = (await caller.get('/servers/library')).json() as { readonly id: string };
    await open(`/servers/${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('A secret in a header').check();
    await page.getByLabel('Name of the secret').fill('library-key');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('a secret in authorization').waitFor();
    t.match((await caller.get('/servers/library')).json(), {
      auth: { type: 'headers', headers: { authorization: { secret: 'library-key' } } },
    });
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Transport').selectOption('SSE');
    await page.getByLabel('None').check();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('over the older transport').waitFor();
    t.match((await caller.get('/servers/library')).json(), { transport: 'SSE', team: 'readers' });
    const back = { name: 'library', url: library.url, transport: 'STREAMABLEHTTP' };
    t.match((await caller.put('/servers/library', back)).json(), { status: 'active', toolCount: 3 });
  });

  await t.test('a server that wants consent is connected on the consent page, which cannot reach back', async (t) => {
    await context.route(`${CONNECT_URL}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>Consent</title>' }),
    );
    const auth = { type: 'oauth2-user' };
    const { id } = (await caller.post('/servers', { name: 'mine', url: library.url, auth })).json() as { id: string };
    await open(`/servers/${id}`);
    const opening = context.waitForEvent('page');
    await page.getByRole('button', { name: 'Connect it for me' }).click();
    const consent = await opening;
    await consent.waitForURL(`${CONNECT_URL}/connect/mine?*`);
    t.match(consent.url(), /\?ticket=[^&]+$/);
    t.equal(await consent.evaluate('window.opener'), null);
    t.match(page.url(), `/ui/servers/${id}`, 'the console stays where it was');
    await consent.close();
    t.same(complaints.splice(0), []);
  });

  await t.test('at 200 % zoom and on a narrow screen pages scroll down only, and axe finds nothing', async (t) => {
    for (const [path, heading] of [
      ['/compose/all', 'all'],
      ['/servers/library', 'library'],
    ] as const) {
      await open(path);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      if (path === '/compose/all') await page.locator('summary', { hasText: 'How clients see read_book' }).click();
      else await page.getByRole('button', { name: 'Edit' }).click();
      // A window of 1,280 pixels at 200 % zoom is 640 wide.
      for (const width of [640, 360]) {
        await page.setViewportSize({ width, height: 740 });
        t.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${path} at ${width}`);
      }
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        t.same(await axeFindings(page, colorScheme === 'light' ? 'all' : 'colours'), [], `${path}, ${colorScheme}`);
      }
    }
    t.same(complaints.splice(0), []);
  });
});
