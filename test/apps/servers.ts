// The official example servers of MCP Apps, and what a user does with the page of each.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Frame } from 'playwright-core';
import { findFreePort } from '../support/free-port.js';
import { childEnvironment, projectRoot } from '../support/gateway.js';
import { killWithProcess } from '../support/leftovers.js';
import { until } from '../support/until.js';

export const tools = join(projectRoot, 'test', 'apps', 'tools');

export interface AppServer {
  readonly label: string;
  /** The tool that has the page. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The tools that the page then calls by their bare names. */
  readonly calls: readonly string[];
  /** Words of the command line. */
  readonly words?: readonly string[];
  /** Uses the page as a person would; resolves once it shows what its server has answered. */
  use(page: Frame): Promise<void>;
}

const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/;
const basic = (label: string): AppServer => ({
  label,
  tool: 'get-time',
  args: {},
  calls: ['get-time'],
  use: async (page) => {
    await page.getByText(time).first().waitFor();
    const before = await page.getByText(time).first().textContent();
    await page.getByText('Get Server Time').click();
    await until(async () => (await page.getByText(time).first().textContent()) !== before, `a later time of ${label}`);
  },
});

const systemMonitor: AppServer = {
  label: 'system-monitor',
  tool: 'get-system-info',
  args: {},
  calls: ['poll-system-stats'],
  use: async (page) => {
    await until(async () => (await page.textContent('#info-hostname')) !== '--', 'the name of the host');
    if ((await page.textContent('#poll-toggle-btn')) === 'Start') await page.click('#poll-toggle-btn');
    await until(async () => /\d+%/.test((await page.textContent('#memory-percent')) ?? ''), 'the share of memory');
  },
};

/** The page shows the result of its tool, and calls nothing. */
const budgetAllocator: AppServer = {
  label: 'budget-allocator',
  tool: 'get-budget-data',
  args: {},
  calls: [],
  use: async (page) => {
    await until(async () => /\$[1-9]/.test((await page.textContent('#status-bar')) ?? ''), 'the budget');
  },
};

/** The page of 4 MB reads the document in parts. */
const pdf = (document: string): AppServer => ({
  label: 'pdf',
  tool: 'display_pdf',
  args: { url: document },
  calls: ['read_pdf_bytes'],
  words: [document],
  use: async (page) => {
    await page.locator('#viewer canvas').first().waitFor();
    await until(
      async () => (await page.textContent('.textLayer, #text-layer'))?.includes('Switchyard') === true,
      'text',
    );
  },
});

/** @param document the path of a PDF. @returns pairs that stand behind one virtual host. */
export function pairsOf(document: string): readonly (readonly [AppServer, AppServer])[] {
  return [
    [basic('basic-preact'), systemMonitor],
    [basic('basic-react'), budgetAllocator],
    [basic('basic-vanillajs'), pdf(document)],
  ];
}

export const NOT_TRIED = `Not tried: wiki-explorer, which reads Wikipedia, and the documents of pdf on the web (a local one is read instead): only npm may
be needed. Two basic servers at once: both have get-time and one URI, so a bare name means either, and the error names both.`;

/** Starts the example as its README says. @returns its URL. */
export async function startApp(
  { label, words = [] }: AppServer,
  teardown: (ending: () => unknown) => void,
): Promise<string> {
  const port = await findFreePort();
  const program = join(tools, 'node_modules', '@modelcontextprotocol', `server-${label}`, 'dist', 'index.js');
  const child = spawn(process.execPath, [program, ...words], {
    env: childEnvironment({ PORT: String(port) }),
    stdio: 'ignore',
  });
  killWithProcess(child);
  teardown(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}/mcp`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${label} has ended with ${child.exitCode}`);
    return fetch(url).then(
      () => true,
      () => false,
    );
  }, `${label} to listen`);
  return url;
}
