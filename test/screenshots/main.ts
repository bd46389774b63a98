// `npm run screenshots`: each page of the console with the demo's data, as a picture in docs/console/. As far as the browser's drawing
// allows, it is the same from run to run: ports and times are fixed. Exit status 1 when a picture is larger than a page should load.
// `npm run screenshots -- --sizes DIRECTORY` takes each page whole, in three widths and both schemes, into that directory instead; or
// only the pages that are named, such as `overview`.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { runProgram } from '../../bench/program.js';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { fillRegistry } from '../../demo/demo-registry.js';
import { createCalculator, createWordsmith } from '../../demo/demo-servers.js';
import { Scope } from '../attack/scope.js';
import { startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { findFreePort } from '../support/free-port.js';
import { projectRoot, startGateway, verifyWith } from '../support/gateway.js';
import { McpCaller } from '../support/mcp-caller.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const usage = `Usage: npm run screenshots [-- --sizes DIRECTORY [PAGE …]]`;
const DIRECTORY = join(projectRoot, 'docs', 'console');
const SUBJECT = 'demo@example.com';
/** Fixed, because they are visible in the pictures. */
const PORTS = { calculator: 45_081, wordsmith: 45_082, nobody: 45_083 };
const BYTES_MAX = 200 * 1_024;
/** Earlier than all real times, so that everything appears to have happened just now. */
const TIME = new Date('2026-01-01T12:00:00Z');
const WIDTHS = [1_440, 1_024, 360] as const;
const SCHEMES = ['light', 'dark'] as const;
const CALL_EVERY_MS = 50;

interface Options {
  /** `undefined`: the pictures of the documentation. */
  readonly sizesDirectory: string | undefined;
  /** `[]`: all. */
  readonly pages: readonly string[];
}

await runProgram(usage, optionsOf, run);

function optionsOf(words: readonly string[]): Options {
  const [name, directory, ...pages] = words;
  if (name === undefined) return { sizesDirectory: undefined, pages };
  if (name !== '--sizes' || directory === undefined) throw new Error('no such options');
  return { sizesDirectory: directory, pages };
}

async function run({ sizesDirectory, pages }: Options): Promise<number> {
  const scope = new Scope();
  try {
    const { calculator, wordsmith, nobody } = PORTS;
    for (const backend of [
      await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json', port: calculator }),
      await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream', port: wordsmith }),
    ]) {
      scope.teardown(() => backend.close());
    }
    const adminAddress = `127.0.0.1:${await findFreePort()}`;
    const { storeOptions } = await startRedis(scope);
    const controlPlane = await startControlPlane(scope, {
      ...{ storeOptions, options: ['--dataplane-admin-address', adminAddress] },
    });
    const gateway = await startGateway(scope, {
      ...{ storeOptions, keyOptions: verifyWith(controlPlane.key), upstreamConnectionMode: 'plain-text-or-tls' },
      environment: { SWITCHYARD_ADMIN_ADDRESS: adminAddress },
    });
    const token = await controlPlane.token(SUBJECT);
    const urlOf = (port: number): string => `http://127.0.0.1:${port}/mcp`;
    const urls = { calculator: urlOf(calculator), wordsmith: urlOf(wordsmith), notes: urlOf(nobody) };
    const { compositionId } = await fillRegistry(controlPlane.origin, token, urls);
    const session = await new McpCaller(gateway.origin, gateway.path(compositionId), token).openSession();
    const timer = setInterval(() => void session.call('calculator-now').catch(() => {}), CALL_EVERY_MS);
    scope.teardown(() => clearInterval(timer));

    const setting = { origin: controlPlane.origin, token, browser: await startBrowser(scope), compositionId };
    if (sizesDirectory === undefined) return (await takeAll(setting, documentation())) ? 0 : 1;
    for (const width of WIDTHS) {
      for (const scheme of SCHEMES) {
        await takeAll(setting, { ...{ directory: sizesDirectory, width, scheme, pages }, isWhole: true });
      }
    }
    return 0;
  } finally {
    await scope.end();
  }
}

interface Setting {
  readonly origin: string;
  readonly token: string;
  readonly browser: Browser;
  readonly compositionId: string;
}

interface Look {
  readonly directory: string;
  readonly width: number;
  readonly scheme: (typeof SCHEMES)[number];
  /** The whole page rather than a window of it, and the size in the name. */
  readonly isWhole: boolean;
  /** `[]`: all. */
  readonly pages: readonly string[];
}

function documentation(): Look {
  return { directory: DIRECTORY, width: 1_440, scheme: 'light', isWhole: false, pages: [] };
}

/** @returns whether all pictures are small enough. */
async function takeAll({ origin, token, browser, compositionId }: Setting, look: Look): Promise<boolean> {
  const viewport = { width: look.width, height: look.width < 600 ? 780 : 900 };
  const context = await browser.newContext({ viewport, colorScheme: look.scheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.clock.setFixedTime(TIME);
  await page.goto(`${origin}/ui`);
  mkdirSync(look.directory, { recursive: true });
  let isSmall = await take(page, 'sign-in', 'Switchyard', look);
  await page.evaluate(
    `sessionStorage.setItem("switchyard.token", ${JSON.stringify(token)});
     localStorage.setItem("switchyard.gateway", "https://gateway.example.com/gw-rs")`,
  );
  const all = [...shots(compositionId), ...(look.isWhole ? further() : [])];
  for (const { name, path, heading, prepare } of all) {
    if (look.pages.length > 0 && !look.pages.includes(name)) continue;
    await page.goto(`${origin}/ui${path}`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await prepare?.(page);
    isSmall = (await take(page, name, heading, look)) && isSmall;
  }
  await context.close();
  return isSmall;
}

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly heading: string;
  /** Waits until the page looks as intended. */
  readonly prepare?: (page: Page) => Promise<void>;
}

function shots(compositionId: string): readonly Shot[] {
  return [
    {
      ...{ name: 'overview', path: '/', heading: 'Overview' },
      prepare: async (page) => {
        await page.getByText('all respond').waitFor();
        await page.getByText(/in the gateway/).waitFor();
        const points = page.locator('.spark polyline').first();
        await until(async () => ((await points.getAttribute('points')) ?? '').split(' ').length >= 4, 'a curve');
      },
    },
    {
      name: 'servers',
      path: '/servers',
      heading: 'Servers',
      prepare: (page) => page.getByRole('link', { name: 'wordsmith' }).waitFor(),
    },
    {
      name: 'compositions',
      path: '/compose',
      heading: 'Compositions',
      prepare: (page) => page.getByText('desk').waitFor(),
    },
    {
      ...{ name: 'server', path: '/servers/calculator', heading: 'calculator' },
      prepare: async (page) => {
        await page.getByText('Adds two numbers.').first().waitFor();
        await page.getByRole('list', { name: 'Health history' }).waitFor();
      },
    },
    {
      ...{ name: 'register', path: '/servers/new', heading: 'Register a server' },
      prepare: async (page) => {
        await page.getByLabel('Name', { exact: true }).fill('sums');
        await page.getByLabel('URL of its MCP endpoint').fill(`http://127.0.0.1:${PORTS.calculator}/mcp`);
        await page.getByLabel('Tags').fill('demo, numbers');
        await page.getByRole('button', { name: 'Test connection' }).click();
        await page.getByRole('button', { name: 'Register server' }).scrollIntoViewIfNeeded();
      },
    },
    {
      ...{ name: 'playground', path: '/playground?tool=wordsmith-reverse', heading: 'Playground' },
      prepare: async (page) => {
        await page.getByRole('button', { name: /wordsmith-reverse/ }).click();
        await page.getByLabel('text required').fill('a gateway between clients and servers');
        await page.getByRole('button', { name: 'Call the tool' }).click();
        await page.getByRole('heading', { name: /^Answered/ }).waitFor();
      },
    },
    {
      ...{ name: 'compose', path: `/compose/${compositionId}`, heading: 'desk' },
      prepare: async (page) => {
        await page.locator('summary', { hasText: 'How clients see add' }).click();
        await page.getByLabel('Name of add').fill('sum');
        await page.getByText('tool add is called sum').waitFor();
        await page.getByRole('heading', { name: 'What clients will see' }).scrollIntoViewIfNeeded();
      },
    },
    {
      ...{
        name: 'explain',
        path: `/explain?virtualHost=${compositionId}&tool=wordsmith-countdown`,
        heading: 'Explain',
      },
      prepare: (page) =>
        page
          .getByRole('region', { name: 'Explanation' })
          .getByText(/^This composition/)
          .waitFor(),
    },
    { name: 'audit', path: '/audit', heading: 'Audit' },
  ];
}

/** What else there is to look at, but not to document. */
function further(): readonly Shot[] {
  return [
    {
      ...{ name: 'import', path: '/servers/import', heading: 'Import servers' },
      prepare: async (page) => {
        const servers = {
          github: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer x' } },
          calculator: { url: `http://127.0.0.1:${PORTS.calculator}/mcp` },
          files: { command: 'npx', args: ['files'] },
        };
        await page.getByLabel('Paste it here').fill(JSON.stringify({ mcpServers: servers }, undefined, 2));
        await page.getByRole('button', { name: /^Import/ }).waitFor();
      },
    },
    {
      name: 'change',
      path: '/servers/notes',
      heading: 'notes',
      prepare: (page) => page.getByRole('button', { name: 'Edit' }).click(),
    },
    { name: 'compose-new', path: '/compose/new', heading: 'New composition' },
    {
      ...{ name: 'palette', path: '/servers', heading: 'Servers' },
      prepare: async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('dialog').getByRole('option').first().waitFor();
      },
    },
  ];
}

/** @returns whether the picture is small enough. */
async function take(page: Page, name: string, heading: string, look: Look): Promise<boolean> {
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  await page
    .getByText(/^(?:Reading|Opening a session) …$/)
    .first()
    .waitFor({ state: 'hidden' });
  const { directory, width, scheme, isWhole } = look;
  const path = join(directory, isWhole ? `${name}-${width}-${scheme}.png` : `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', caret: 'hide', fullPage: isWhole });
  const { size } = statSync(path);
  const isSmall = isWhole || size <= BYTES_MAX;
  process.stdout.write(`${path}: ${size} bytes${isSmall ? '' : ', which is too much'}\n`);
  return isSmall;
}
