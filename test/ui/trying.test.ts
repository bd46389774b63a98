// The playground in a real browser, on a real control plane with a real server: each kind of item, each way to enter arguments, servers'
// questions during a call, and the messages when the server is removed or the token expires.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Page } from 'playwright-core';
import t from 'tap';
import { z } from 'zod';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { axeFindings, startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { findFreePort } from '../support/free-port.js';
import { until } from '../support/until.js';

const run = promisify(execFile);
const PAGE_MS = 20_000;
const BYTES = Buffer.from([0, 1, 2, 250, 255]).toString('base64');

t.test('the playground', async (t) => {
  /** Calls that have begun and not ended. */
  let waiting = 0;
  function createServer(): McpServer {
    const mcpServer = new McpServer({ name: 'studio', version: '1.0.0' });
    const { server } = mcpServer;
    const shape = { text: z.string(), size: z.number().optional() };
    mcpServer.registerTool('echo', { inputSchema: shape }, async (said) => ({
      content: [{ type: 'text', text: `heard ${JSON.stringify(said)}` }],
    }));
    mcpServer.registerTool('think', {}, async () => {
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'What is the answer?' } }];
      const answer = await server.createMessage({ messages, maxTokens: 10 }).catch((error: unknown) => error);
      const text = answer instanceof Error ? `refused: ${answer.message}` : `thought: ${JSON.stringify(answer)}`;
      return { content: [{ type: 'text', text }] };
    });
    mcpServer.registerTool('hang', {}, async ({ signal, sendNotification, _meta }) => {
      waiting++;
      const progressToken = _meta?.progressToken ?? 0;
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 9 } });
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      waiting--;
      return { content: [] };
    });
    mcpServer.registerPrompt('letter', { argsSchema: { to: z.string() } }, ({ to }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Dear ${to}` } }],
    }));
    mcpServer.registerResource('note', 'memo://note', { mimeType: 'text/plain' }, ({ href }) => ({
      contents: [{ uri: href, mimeType: 'text/plain', text: 'a note <b>of mine</b>' }],
    }));
    mcpServer.registerResource('bytes', 'memo://bytes', { mimeType: 'application/octet-stream' }, ({ href }) => ({
      contents: [{ uri: href, mimeType: 'application/octet-stream', blob: BYTES }],
    }));
    return mcpServer;
  }
  const port = await findFreePort();
  const start = (): ReturnType<typeof startDemoBackend> =>
    startDemoBackend({ createMcpServer: createServer, answerAs: 'event-stream', port });
  let backend = await start();
  t.teardown(() => backend.close());
  const controlPlane = await startControlPlane(t);
  const caller = await controlPlane.caller(t, 'alice@example.com');
  await caller.post('/servers', { name: 'studio', url: backend.url });
  const { id } = (await caller.get('/servers/studio')).json() as { readonly id: string };
  const subjects = ['alice@example.com'];
  await caller.post('/compositions', { name: 'desk', servers: [{ name: 'studio', tools: ['echo'] }], subjects });
  const { id: deskId } = (await caller.get('/compositions/desk')).json() as { readonly id: string };
  await caller.post('/compositions', { name: 'drawer', servers: [{ name: 'studio', tools: ['echo'] }], subjects: [] });

  const browser = await startBrowser(t);
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 } });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const thrown: string[] = [];
  page.on('pageerror', ({ message }) => thrown.push(message));
  const open = (path: string): Promise<unknown> => page.goto(`${controlPlane.origin}/ui${path}`);
  const signIn = async (page: Page, token: string): Promise<void> => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const button = (name: string): ReturnType<Page['getByRole']> => page.getByRole('button', { name, exact: true });
  const outcome = (words: string): Promise<void> => page.getByRole('heading', { name: words, exact: true }).waitFor();
  const told = async (): Promise<string> => (await page.locator('.call').textContent()) ?? '';
  const block = async (name: string): Promise<string> =>
    (await page.getByLabel(name, { exact: true }).textContent()) ?? '';
  await open('/playground');
  await signIn(page, caller.token ?? '');
  await page.getByRole('button', { name: /studio-echo/ }).waitFor();

  await t.test('JSON arguments: faults are explained, and values carry over to the form and back', async (t) => {
    await open(`/playground?server=${id}&tool=echo`);
    await page.getByLabel('text required').fill('one');
    await button('JSON').click();
    const field = page.getByLabel('Arguments as JSON');
    t.same(JSON.parse(await field.inputValue()), { text: 'one' });
    await field.fill('{"text":');
    await button('Call the tool').click();
    t.match(await page.getByRole('alert').textContent(), /This is not JSON/);
    await field.fill('[1]');
    await button('Form').click();
    t.match(await page.getByRole('alert').textContent(), /must be a JSON object/);
    await field.fill('{"text":"two","size":7}');
    await button('Form').click();
    t.equal(await page.getByLabel('text required').inputValue(), 'two');
    await button('JSON').click();
    await field.fill('{"text":"3 \\u00e9","size":8,"more":[null]}');
    await button('Call the tool').click();
    await outcome('Answered');
    t.match(await block('Request'), '"arguments":{"text":"3 é","size":8,"more":[null]}');
  });

  await t.test('the exact request and answer, the split of the time, and a working shell command appear', async (t) => {
    await open(`/playground?server=${id}&tool=echo`);
    await page.getByLabel('text required').fill(`it's $HOME "q"`);
    const sent = page.waitForRequest((request) => (request.postData() ?? '').includes('tools/call'));
    await button('Call the tool').click();
    const request = await sent;
    await outcome('Answered');
    await page
      .getByText(
        /^Timed by the control plane: [\d.]+ ms in all: [\d.]+ ms waiting for the server, [\d.]+ ms in the gateway/,
      )
      .waitFor();
    const answer = await (await request.response())?.text();
    await page.getByText('Raw request and response').click();
    const shown = await block('Request');
    t.equal(shown.slice(shown.indexOf('\n\n') + 2), request.postData(), 'the body to the byte');
    t.match(shown, `POST ${request.url()}\n`);
    t.match(shown, `mcp-session-id: ${String(request.headers()['mcp-session-id'])}`);
    t.equal(await block('Answer'), answer, 'what came, to the byte');
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: controlPlane.origin });
    await button('Copy the command').click();
    await page.getByText(/^Copied without the token/).waitFor({ state: 'attached' });
    const line = await page.evaluate<string>('navigator.clipboard.readText()');
    t.equal(line, await block('As curl'));
    const env = { ...process.env, SWITCHYARD_TOKEN: caller.token };
    const { stdout } = await run('sh', ['-c', line], { env });
    t.match(
      stdout,
      String.raw`heard {\"text\":\"it's $HOME \\\"q\\\"\"}`,
      'the line that was copied gets the same answer',
    );
  });

  await t.test(
    'former calls are shown again with their arguments, on other endpoints too, until the user signs out',
    async (t) => {
      await open(`/playground?server=${id}&tool=echo`);
      await page.getByLabel('text required').fill('first');
      await button('Call the tool').click();
      await page.locator('.result', { hasText: 'first' }).waitFor();
      await button('Copy the result').click();
      await page.getByText('Copied', { exact: true }).waitFor({ state: 'attached' });
      t.equal(await page.evaluate<string>('navigator.clipboard.readText()'), 'heard {"text":"first"}');
      await button('JSON').click();
      await page.getByLabel('Arguments as JSON').fill('{"text":"second","more":1}');
      await button('Call the tool').click();
      await page.locator('.result', { hasText: 'second' }).waitFor();
      const calls = page.getByRole('list', { name: 'History' }).getByRole('button');
      t.equal(await calls.count(), 2);
      await page.getByLabel('Endpoint').selectOption({ label: 'Composition desk' });
      await page.getByText('Nothing selected').waitFor();
      await calls.last().click();
      await page.locator('.result', { hasText: 'first' }).waitFor();
      t.equal(await page.getByLabel('text required').inputValue(), 'first');
      t.match(page.url(), `server=${id}`);
      t.equal(await calls.last().getAttribute('aria-current'), 'true');
      await calls.first().click();
      await page.locator('.result', { hasText: 'second' }).waitFor();
      const text = await page.getByLabel('Arguments as JSON').inputValue();
      t.same(JSON.parse(text), { text: 'second', more: 1 }, 'the form has no field for one of them');
      await button('Call the tool').click();
      await calls.nth(2).waitFor();
      t.same(await axeFindings(page, 'all'), []);
      await button('Sign out').click();
      await signIn(page, caller.token ?? '');
      await open(`/playground?server=${id}&tool=echo`);
      await page.getByLabel('text required').waitFor();
      t.equal(await calls.count(), 0);
    },
  );

  await t.test('a prompt, a text resource and a binary resource are read', async (t) => {
    await open(`/playground?server=${id}`);
    await button('prompts').click();
    await page.getByRole('button', { name: /studio-letter/ }).click();
    await button('Get the prompt').click();
    await page.getByText('Please check: to').waitFor();
    await page.getByLabel('to required').fill('Ada');
    await button('Get the prompt').click();
    await outcome('Answered');
    t.match(await told(), 'Dear Ada');
    await button('resources').click();
    await page.getByRole('button', { name: /memo:\/\/note/ }).click();
    await button('Read the resource').click();
    await outcome('Answered');
    t.match(await told(), 'a note <b>of mine</b>');
    t.equal(await page.locator('.call b').count(), 0, 'its markup is text');
    await page.getByRole('button', { name: /memo:\/\/bytes/ }).click();
    await button('Read the resource').click();
    await outcome('Answered');
    t.match(await block('Result'), BYTES);
  });

  await t.test('a tool of a composition can be called, and none that is not in it', async (t) => {
    await open('/playground');
    await page.getByLabel('Endpoint').selectOption({ label: 'Composition desk' });
    await page.getByRole('button', { name: /hang/ }).waitFor({ state: 'detached' });
    t.match(page.url(), `composition=${deskId}`);
    await page.getByRole('button', { name: /echo/ }).click();
    await page.getByLabel('text required').fill('desk');
    await button('Call the tool').click();
    await outcome('Answered');
    t.match(await block('Request'), `/servers/${deskId}/mcp`);
    t.match(await told(), 'heard {"text":"desk"}');
  });

  await t.test('a server’s sampling request is answered in the page, or declined', async (t) => {
    await open(`/playground?server=${id}&tool=think`);
    await button('Call the tool').click();
    const question = page.getByRole('form', { name: 'The server asks a model' });
    await question.getByText('What is the answer?').waitFor();
    t.same(await axeFindings(page, 'all'), []);
    await question.getByLabel('Answer').fill('forty-two');
    await question.getByRole('button', { name: 'Answer' }).click();
    await outcome('Answered');
    t.match(await told(), /thought: .*forty-two/);
    await button('Call the tool').click();
    await question.getByRole('button', { name: 'Decline' }).click();
    await outcome('Answered');
    t.match(await told(), /refused: .*User rejected sampling request/);
  });

  await t.test('a cancelled call ends at the server, and its progress stays visible', async (t) => {
    await open(`/playground?server=${id}&tool=hang`);
    await button('Call the tool').click();
    await page.getByRole('progressbar').waitFor();
    t.equal(waiting, 1);
    await button('Cancel the request').click();
    await outcome('Cancelled');
    await until(() => waiting === 0, 'the server hears of it');
    t.equal(await page.getByRole('progressbar').getAttribute('value'), '1');
  });

  await t.test(
    'the loss of a server in the middle of a call is explained; once it is back, so are its tools',
    async (t) => {
      await page.evaluate('globalThis.mark = 1');
      await button('Call the tool').click();
      await page.getByRole('progressbar').waitFor();
      await backend.close();
      await outcome('Failed');
      t.match(
        await page.locator('.call').getByRole('alert').first().textContent(),
        /Backend "studio" failed: stream ended without a response/,
      );
      backend = await start();
      await page.getByRole('button', { name: /studio-echo/ }).click();
      await page.getByLabel('text required').fill('back');
      await until(async () => {
        await button('Call the tool').click();
        await page.getByRole('heading', { name: /^(?:Answered|Failed)$/ }).waitFor();
        return (await told()).includes('heard {"text":"back"}');
      }, 'calls go through');
      t.equal(await page.evaluate('globalThis.mark'), 1, 'without a reload');
    },
  );

  await t.test('a composition for nobody is said to be, where its server is deleted and in the list', async (t) => {
    await open('/servers/studio');
    await button('Delete').click();
    const question = page.getByRole('dialog', { name: 'Delete studio?' });
    await question.getByText('drawer, for nobody yet').waitFor();
    await question.getByText('desk, for 1 user').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      t.same(await axeFindings(page, 'all'), [], colorScheme);
    }
    await page.keyboard.press('Escape');
    await open('/compose');
    await page.getByRole('row', { name: /drawer.*nobody yet/ }).waitFor();
  });

  await t.test(
    'a token that expires while a page is open is reported, and signing in continues there without a reload',
    async (t) => {
      await button('Sign out').click();
      const authorization = await controlPlane.token('alice@example.com', { expiresInSeconds: 5 });
      await signIn(page, authorization);
      await page.getByRole('heading', { name: 'Compositions', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('button', { name: /studio-echo/ }).click();
      await page.getByLabel('text required').fill('late');
      await page.evaluate('globalThis.mark = 2');
      const headers = { authorization: `Bearer ${authorization}` };
      await until(async () => (await fetch(`${controlPlane.origin}/whoami`, { headers })).status === 401, 'it ends');
      const url = page.url();
      // The click may come too late, because the page's open streams can notice the expiry first.
      await button('Call the tool')
        .click({ timeout: 2_000 })
        .catch(() => {});
      await page.getByLabel('Token').waitFor();
      t.match(await page.getByRole('alert').textContent(), /expired/i);
      await signIn(page, caller.token ?? '');
      await page.getByLabel('text required').waitFor();
      t.equal(page.url(), url);
      await page.getByLabel('text required').fill('again');
      await button('Call the tool').click();
      await outcome('Answered');
      t.equal(await page.evaluate('globalThis.mark'), 2);
    },
  );

  t.same(thrown, []);
});
