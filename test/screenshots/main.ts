// `npm run screenshots`: each page of the console with the demo's data, as a picture in docs/console/. As far as the browser's drawing
// allows, it is the same from run to run: ports and times are fixed. Exit status 1 when a picture is larger than a page should load.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { runProgram } from '../../bench/program.js';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { fillRegistry } from '../../demo/demo-registry.js';
import { createCalculator, createWordsmith } from '../../demo/demo-servers.js';
import { Scope } from '../attack/scope.js';
import { startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { projectRoot } from '../support/gateway.js';

const usage = `Usage: npm run screenshots`;
const DIRECTORY = join(projectRoot, 'docs', 'console');
const SUBJECT = 'demo@example.com';
/** Fixed, because they are visible in the pictures. */
const PORTS = { calculator: 45_081, wordsmith: 45_082, nobody: 45_083 };
const BYTES_MAX = 150 * 1_024;
/** Earlier than all real times, so that everything appears to have happened just now. */
const TIME = new Date('2026-01-01T12:00:00Z');

await runProgram(usage, () => undefined, run);

async function run(): Promise<number> {
  const scope = new Scope();
  try {
    const { calculator, wordsmith, nobody } = PORTS;
    for (const backend of [
      await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json', port: calculator }),
      await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream', port: wordsmith }),
    ]) {
      scope.teardown(() => backend.close());
    }
    const controlPlane = await startControlPlane(scope);
    const token = await controlPlane.token(SUBJECT);
    const urlOf = (port: number): string => `http://127.0.0.1:${port}/mcp`;
    const urls = { calculator: urlOf(calculator), wordsmith: urlOf(wordsmith), notes: urlOf(nobody) };
    const { compositionId } = await fillRegistry(controlPlane.origin, token, urls);

    const browser = await startBrowser(scope);
    const context = await browser.newContext({ viewport: { width: 1_100, height: 760 }, colorScheme: 'light' });
    const page = await context.newPage();
    await page.clock.setFixedTime(TIME);
    await page.goto(`${controlPlane.origin}/ui`);
    mkdirSync(DIRECTORY, { recursive: true });
    let isSmall = await take(page, 'sign-in', 'Switchyard');
    await page.evaluate(
      `sessionStorage.setItem("switchyard.token", ${JSON.stringify(token)});
       localStorage.setItem("switchyard.gateway", "https://gateway.example.com/gw-rs")`,
    );
    for (const { name, path, heading, prepare } of shots(compositionId)) {
      await page.goto(`${controlPlane.origin}/ui${path}`);
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await prepare?.(page);
      isSmall = (await take(page, name, heading)) && isSmall;
    }
    return isSmall ? 0 : 1;
  } finally {
    await scope.end();
  }
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
    { name: 'overview', path: '/', heading: 'Overview' },
    { name: 'servers', path: '/servers', heading: 'Servers', prepare: (page) => page.getByText('wordsmith').waitFor() },
    {
      ...{ name: 'server', path: '/servers/calculator', heading: 'calculator' },
      prepare: async (page) => {
        await page.getByText('Search its').waitFor();
        await page.getByRole('list', { name: 'Health history' }).waitFor();
      },
    },
    {
      ...{ name: 'register', path: '/servers/new', heading: 'Register a server' },
      prepare: async (page) => {
        await page.getByLabel('Name', { exact: true }).fill('sums');
        await page.getByLabel('URL of its MCP endpoint').fill(`http://127.0.0.1:${PORTS.calculator}/mcp`);
        await page.getByLabel('Tags').fill('demo, numbers');
        await page.getByRole('button', { name: 'Look at it' }).click();
        await page.getByRole('button', { name: 'Register it' }).scrollIntoViewIfNeeded();
      },
    },
    {
      ...{ name: 'playground', path: '/playground?tool=wordsmith-reverse', heading: 'Playground' },
      prepare: async (page) => {
        await page.getByRole('button', { name: /wordsmith-reverse/ }).click();
        await page.getByLabel('text needed').fill('a gateway between clients and servers');
        await page.getByRole('button', { name: 'Call the tool' }).click();
        await page.getByRole('heading', { name: /^Answered/ }).waitFor();
      },
    },
    {
      ...{ name: 'compose', path: `/compose/${compositionId}`, heading: 'desk' },
      prepare: async (page) => {
        await page.getByText('How clients see add').click();
        await page.getByLabel('Other name of add').fill('sum');
        await page.getByText('tool add is called sum').waitFor();
        await page.getByRole('heading', { name: 'What clients will see' }).scrollIntoViewIfNeeded();
      },
    },
    { name: 'explain', path: '/explain', heading: 'Explain' },
    { name: 'audit', path: '/audit', heading: 'Audit' },
  ];
}

/** @returns whether the picture is small enough. */
async function take(page: Page, name: string, heading: string): Promise<boolean> {
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  await page
    .getByText(/^(?:Reading|Opening a session) …$/)
    .first()
    .waitFor({ state: 'hidden' });
  const path = join(DIRECTORY, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
  const { size } = statSync(path);
  const isSmall = size <= BYTES_MAX;
  process.stdout.write(`docs/console/${name}.png: ${size} bytes${isSmall ? '' : ', which is too much'}\n`);
  return isSmall;
}
