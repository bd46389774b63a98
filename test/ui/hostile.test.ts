// Servers that fill every field with content that tries to run, fetch, hide or break something, or give it an unexpected type: viewed and
// tried in a real browser. Nothing runs, nothing is fetched, the page keeps its width, and valid content beside it keeps working.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Page } from 'playwright-core';
import { axeFindings, startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { JsonText } from '../support/json-text.js';
import { startMcpBackend, type McpBackend, type ReceivedCall } from '../support/mcp-backend.js';
import { until } from '../support/until.js';

const EVIL = `<img src=x onerror="globalThis.evil=1"><script>globalThis.evil=1</script><a href="javascript:globalThis.evil=1">a</a>\u202egnp.exe\u2066"'&`;
const LONG = EVIL.repeat(Math.ceil(2 ** 20 / EVIL.length));
const SOME = EVIL.repeat(60);
const WIDE = 'W'.repeat(5_000);
const PAGE_MS = 20_000;
const NARROW = { width: 360, height: 800 };

/** @param elsewhere an address that must not be requested. */
function iconsOf(elsewhere: string): readonly object[] {
  return [
    { src: `${elsewhere}/icon.png`, mimeType: 'image/png', sizes: [EVIL] },
    { src: 'javascript:globalThis.evil=1' },
    { src: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.evil=1"/>' },
  ];
}

/** A server that is valid in form, and hostile in every field. */
async function startHostile(elsewhere: string): Promise<McpBackend> {
  const icons = iconsOf(elsewhere);
  const base = { title: EVIL, icons, _meta: { [EVIL]: EVIL } };
  const markup = { name: WIDE, title: EVIL, description: SOME, icons };
  const evilSchema = new JsonText(
    `{"type":"object","title":${JSON.stringify(EVIL)},"properties":{"__proto__":{"type":"string","title":${JSON.stringify(EVIL)}},${JSON.stringify(EVIL)}:{"enum":[${JSON.stringify(EVIL)},null]},"loop":{"$ref":"#"},"far":{"$ref":"${elsewhere}/schema"}},"required":["__proto__"]}`,
  );
  return startMcpBackend({
    name: EVIL,
    framing: 'chunked',
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    initializeExtras: {
      serverInfo: { name: EVIL, version: EVIL, title: EVIL, websiteUrl: 'javascript:globalThis.evil=1', icons },
      instructions: SOME,
    },
    tools: [
      { name: 'good', inputSchema: { type: 'object', properties: { v: { type: 'string', maxLength: 9 } } } },
      new JsonText(
        `{"name":"evil","title":${JSON.stringify(EVIL)},"description":${JSON.stringify(LONG)},"icons":${JSON.stringify(icons)},"annotations":{"title":${JSON.stringify(EVIL)}},"inputSchema":${evilSchema.text}}`,
      ),
      ...Object.keys(CALLS).map((name) => ({ ...base, name, description: EVIL, inputSchema: { type: 'object' } })),
      { ...markup, name: 'wide', title: WIDE, description: WIDE, inputSchema: { type: 'object' } },
    ],
    methods: {
      'prompts/list': () => ({
        prompts: [
          {
            ...markup,
            name: 'evil-prompt',
            description: LONG,
            arguments: [{ name: EVIL, title: EVIL, description: SOME }],
          },
          { name: 'good-prompt', arguments: [{ name: 'to' }] },
        ],
      }),
      'prompts/get': () => ({
        description: LONG,
        messages: [{ role: EVIL, content: { type: 'resource_link', uri: 'javascript:globalThis.evil=1', icons } }],
      }),
      'resources/list': () => ({
        resources: [
          { ...markup, uri: 'javascript:globalThis.evil=1' },
          { ...markup, uri: `${elsewhere}/resource`, mimeType: EVIL },
          { uri: 'memo://good', name: 'good note' },
        ],
      }),
      'resources/templates/list': () => ({
        resourceTemplates: [
          { ...markup, uriTemplate: '{' },
          { ...markup, uriTemplate: `memo://{${WIDE}}` },
          { uriTemplate: 'memo://notes/{id}', name: 'good template' },
        ],
      }),
      'resources/read': () => ({
        contents: [
          { uri: 'memo://good', mimeType: 'text/html', text: EVIL },
          { uri: `${elsewhere}/blob`, mimeType: 'image/svg+xml', blob: Buffer.from(EVIL).toString('base64') },
        ],
      }),
    },
    onRequest: ({ text }) => {
      const id = /"id":"(question-\w+)"/.exec(text)?.[1];
      if (id !== undefined) answers.set(id, text);
      return false;
    },
    onCall: (call) => CALLS[call.name]?.(call, elsewhere),
  });
}

/** A server whose lists have members of wrong types. */
async function startOdd(): Promise<McpBackend> {
  return startMcpBackend({
    name: 'odd',
    capabilities: { tools: {}, prompts: {} },
    tools: [
      { name: 'good', inputSchema: { type: 'object' } },
      { name: 'untyped', title: { a: 1 }, description: EVIL, inputSchema: 7, icons: null, annotations: EVIL },
    ],
    methods: {
      'prompts/list': () => ({
        prompts: [
          { name: 'odd-prompt', title: 7, description: {}, arguments: [null, 7, { name: {} }, { name: 'to' }] },
          { name: 'good-prompt', arguments: [{ name: 'to' }] },
        ],
      }),
    },
  });
}

type Behaviour = (call: ReceivedCall, elsewhere: string) => unknown;

/** The behavior of each call, by the tool's name. */
const CALLS: Readonly<Record<string, Behaviour>> = {
  good: () => ({ content: [{ type: 'text', text: 'still here' }] }),
  notices: async (call) => {
    const token = JSON.parse(/"progressToken":("[^"]*"|\d+)/.exec(call.request.text)?.[1] ?? '0') as unknown;
    await call.notify('notifications/progress', { progressToken: token, progress: 1, total: 2, message: LONG });
    await call.notify('notifications/progress', { progressToken: token, progress: { a: 1 }, total: EVIL, message: {} });
    await call.notify('notifications/message', { level: EVIL, logger: EVIL, data: { [EVIL]: LONG } });
    await call.notify('notifications/message', { level: { a: 1 }, data: null });
    await call.notify('notifications/message', null);
    return CALLS['good']?.(call, '');
  },
  odd_blocks: (_, elsewhere) => ({
    content: [
      null,
      7,
      EVIL,
      { type: 'text', text: { a: EVIL } },
      { type: 'text', text: LONG },
      { type: 'image', mimeType: 'image/svg+xml', data: Buffer.from(EVIL).toString('base64') },
      { type: 'image', mimeType: 'image/png', data: '"><script>globalThis.evil=1</script>' },
      { type: 'image', mimeType: 'image/png', data: `,${elsewhere}/picture` },
      { type: 'resource_link', uri: `${elsewhere}/link`, name: EVIL, icons: iconsOf(elsewhere) },
    ],
    structuredContent: { [EVIL]: WIDE },
  }),
  no_object: () => new JsonText(JSON.stringify(EVIL)),
  asks: async (call, elsewhere) => {
    const requestedSchema = {
      type: 'object',
      properties: { [EVIL]: { type: 'string', title: EVIL, description: SOME } },
    };
    return answerTo(call, { message: SOME, requestedSchema, icons: iconsOf(elsewhere) });
  },
  asks_address: async (call, elsewhere) =>
    answerTo(call, {
      mode: 'url',
      elicitationId: 'e',
      message: EVIL,
      url: `${elsewhere}/consent?${encodeURIComponent(EVIL)}`,
    }),
  fails: async (call) => void (await call.fail({ code: -32_000, message: LONG, data: { [EVIL]: WIDE } })),
  fails_oddly: async (call) => void (await call.fail({ code: { a: 1 }, message: { [EVIL]: 1 }, data: null })),
};

async function answerTo(call: ReceivedCall, params: object): Promise<object> {
  const id = `question-${call.name}`;
  await call.send({ jsonrpc: '2.0', id, method: 'elicitation/create', params });
  let reply: string | undefined;
  await until(() => (reply = answers.get(id)) !== undefined, 'what the person says');
  return { content: [{ type: 'text', text: `heard ${reply}` }] };
}

/** The texts of the replies to a server's questions, by their ids. */
const answers = new Map<string, string>();

t.test('hostile servers in the console', async (t) => {
  const asked: string[] = [];
  const listener = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.teardown(() => listener.close());
  const elsewhere = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const [hostile, odd] = [await startHostile(elsewhere), await startOdd()];
  t.teardown(() => Promise.all([hostile.close(), odd.close()]));
  const controlPlane = await startControlPlane(t);
  const caller = await controlPlane.caller(t, 'alice@example.com');
  const description = `${EVIL}${WIDE}`.slice(0, 1_000);
  t.equal((await caller.post('/servers', { name: 'hostile', url: hostile.url, description })).status, 201);
  t.equal((await caller.post('/servers', { name: 'odd', url: odd.url })).status, 201);
  const idOf = async (name: string): Promise<string> =>
    ((await caller.get(`/servers/${name}`)).json() as { readonly id: string }).id;
  const [hostileId, oddId] = [await idOf('hostile'), await idOf('odd')];
  for (const name of ['hostile', 'odd']) {
    const { status, lastError } = (await caller.get(`/servers/${name}`)).json() as Record<string, unknown>;
    t.same({ status, lastError }, { status: 'active', lastError: null }, name);
  }

  const browser = await startBrowser(t);
  const context = await browser.newContext({ viewport: NARROW });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    // This control plane has no dataplane configured.
    const isExpected = message.location().url.endsWith('/dataplane/live');
    if (message.type() === 'error' && !isExpected) complaints.push(message.text());
  });
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  page.on('request', (request) => {
    if (!request.url().startsWith(controlPlane.origin) && !request.url().startsWith('data:'))
      complaints.push(request.url());
  });
  await page.goto(`${controlPlane.origin}/ui/servers`);
  await page.getByLabel('Token').fill(caller.token ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'hostile' }).waitFor();

  /** Checks what must hold on every page, in its current state. */
  async function checkPage(where: string): Promise<void> {
    t.equal(await page.evaluate('globalThis.evil'), undefined, `${where}: nothing runs`);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    t.ok(width <= NARROW.width, `${where}: ${width} pixels wide`);
    const links = await page.evaluate<string[]>(
      `[...document.querySelectorAll('a')].map((a) => a.getAttribute('href') ?? '')`,
    );
    const foreign = links.filter((href) => !/^(?:\/|#)/.test(href));
    t.same(foreign, [], `${where}: leads nowhere else`);
    t.same(complaints.splice(0), [], `${where}: nothing is thrown, refused or fetched`);
  }

  async function open(path: string, ready: () => Promise<unknown>): Promise<void> {
    await page.goto(`${controlPlane.origin}/ui${path}`);
    await ready();
    await openDetails(page);
    await checkPage(path);
  }

  await t.test('its pages', async (t) => {
    await open('', () => page.getByRole('heading', { level: 1 }).waitFor());
    await open('/servers', () => page.getByRole('link', { name: 'hostile' }).waitFor());
    const show = async (kind: string, good: string): Promise<void> => {
      await page.getByRole('button', { name: kind }).click();
      // What is good is shown.
      await page.getByText(good, { exact: true }).first().waitFor();
      await openDetails(page);
      await checkPage(kind);
      t.same(await axeFindings(page, 'all'), [], kind);
    };
    await open(`/servers/${hostileId}`, () => page.getByText('good', { exact: true }).waitFor());
    t.same(await axeFindings(page, 'all'), []);
    await show('prompts', 'good-prompt');
    await show('resources', 'memo://notes/{id}');
    await open(`/servers/${oddId}`, () => page.getByText('untyped').first().waitFor());
    await show('prompts', 'odd-prompt');
    await open('/compose/new', () => page.getByText('10 tools').first().waitFor());
    await open('/audit', () => page.getByText('hostile').first().waitFor());
  });

  const call = async (server: string, tool: string): Promise<void> => {
    await page.goto(`${controlPlane.origin}/ui/playground?server=${server}&tool=${tool}`);
    await page.getByRole('button', { name: 'Call the tool' }).click();
  };
  const outcome = (words: RegExp): Promise<void> => page.getByRole('heading', { name: words }).waitFor();

  await t.test('forms of a hostile server are harmless', async (t) => {
    await call(hostileId, 'evil');
    await page.getByText(/Please check: /).waitFor();
    await openDetails(page);
    await checkPage('a hostile schema');
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await page.getByRole('button', { name: 'Call the tool' }).click();
    await outcome(/^Answered/);
    t.same(await axeFindings(page, 'all'), []);
    await call(oddId, 'untyped');
    await outcome(/^Answered/);
    await checkPage('a schema that is none');
    for (const name of ['odd-prompt', 'good-prompt']) {
      await page.goto(`${controlPlane.origin}/ui/playground?server=${oddId}&kind=prompts&name=odd-${name}`);
      await page.getByLabel(/^to/).waitFor();
      await checkPage(name);
    }
  });

  await t.test('messages in the middle of a call, and answers, are harmless', async (t) => {
    for (const tool of ['notices', 'odd_blocks', 'no_object', 'fails', 'fails_oddly']) {
      await call(hostileId, tool);
      await outcome(/^(?:Answered|Failed)/);
      await openDetails(page);
      await checkPage(tool);
    }
    for (const tool of ['asks', 'asks_address']) {
      await call(hostileId, tool);
      await page.getByRole('form', { name: 'The server asks' }).waitFor();
      await openDetails(page);
      await checkPage(tool);
      t.same(await axeFindings(page, 'all'), [], tool);
      await page.getByRole('button', { name: 'Decline' }).click();
      await outcome(/^Answered/);
      t.match(answers.get(`question-${tool}`), '"action":"decline"', tool);
    }
    await call(hostileId, 'good');
    await page.getByText('still here').first().waitFor();
    await checkPage('a good call beside them');
  });

  await t.test('its prompts and resources', async () => {
    const offers = [
      ['prompts', 'hostile-evil-prompt'],
      ['resources', 'hostile+{'],
      ['resources', 'hostile+memo://good'],
      ['resources', 'hostile+javascript:globalThis.evil=1'],
    ] as const;
    for (const [kind, name] of offers) {
      const search = new URLSearchParams({ server: hostileId, kind, name });
      await page.goto(`${controlPlane.origin}/ui/playground?${search.toString()}`);
      await page.getByRole('button', { name: kind === 'prompts' ? 'Get the prompt' : 'Read the resource' }).click();
      await outcome(/^(?:Answered|Failed)/);
      await openDetails(page);
      await checkPage(name);
    }
    await page.goto(`${controlPlane.origin}/ui/playground?server=${hostileId}&kind=resources`);
    await page.getByRole('button', { name: /memo:..notes/ }).click();
    await page.getByLabel(/^id/).fill('7');
    await page.getByRole('button', { name: 'Read the resource' }).click();
    await outcome(/^Answered/);
    t.match(hostile.requestsOf('resources/read').at(-1)?.text, '"memo://notes/7"', 'a good template beside them');
  });

  t.same(asked, [], 'nobody asks where its addresses lead');
});

/** Opens everything that is folded or cut short, also what is within it. */
async function openDetails(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    for (let folded; (folded = document.querySelectorAll('details:not([open])')).length > 0;) {
      for (const each of folded) each.open = true;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  })()`);
  await page.evaluate(`for (const each of document.querySelectorAll('.long-said button')) each.click()`);
}
