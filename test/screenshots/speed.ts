// `npm run speed:console`: the time from a key press to the next paint, in the search of servers, in that of a composition and in
// the palette, with 1,000 servers of ten tools each. The browser measures it (Event Timing: from the event to the next paint, in steps of 8 ms). The
// servers are answered in place of the control plane, so that the pages are measured, not the registry. Nothing is asserted.
import type { Page, Route } from 'playwright-core';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';

const usage = `Usage: npm run speed:console`;
const SERVERS = 1_000;
const TOOLS_EACH = 10;
const WORDS = 'tool 77';
const ROUNDS = 3;
const READ_MS = 120_000;

const servers = Array.from({ length: SERVERS }, (_, index) => ({
  ...{ id: `id${index}`, name: `server-${index}`, slug: `server-${index}`, url: `https://s${index}.example/mcp` },
  ...{ description: 'One of many.', tags: [`tag-${index % 20}`], status: 'active', enabled: true, reachable: true },
  ...{ toolCount: TOOLS_EACH, promptCount: 0, resourceCount: 0, templateCount: 0, capabilities: {}, serverInfo: null },
  ...{ createdAt: '2026-01-01T00:00:00Z', updatedAt: '2026-01-01T00:00:00Z', lastSeen: '2026-01-01T00:00:00Z' },
  ...{ lastRefreshAt: null, lastError: null },
}));

await runProgram(usage, () => undefined, run);

async function run(): Promise<number> {
  const scope = new Scope();
  try {
    const controlPlane = await startControlPlane(scope);
    const token = await controlPlane.token('demo@example.com');
    const browser = await startBrowser(scope);
    const page = await browser.newPage({ viewport: { width: 1_200, height: 900 } });
    await page.addInitScript(`
      sessionStorage.setItem("switchyard.token", ${JSON.stringify(token)});
      globalThis.presses = [];
      new PerformanceObserver((list) => {
        for (const { name, duration } of list.getEntries()) if (name === "keydown") presses.push(duration);
      }).observe({ type: "event", durationThreshold: 16 });
    `);
    await page.route(/\/servers(?:\?.*)?$/, (route) => answer(route, servers));
    await page.route(/\/servers\/\w+\/tools$/, (route) => answer(route, toolsOf(route.request().url())));

    await page.goto(`${controlPlane.origin}/ui/servers`);
    await page.getByText(`${SERVERS.toLocaleString('en')} servers`).waitFor();
    await tell(page, 'servers', 'Search');
    await page.keyboard.press('Control+k');
    await tell(page, 'palette', /^Search pages/);

    await page.goto(`${controlPlane.origin}/ui/compose/new`);
    await page.getByLabel(/^Search servers/).fill('tool');
    await page.getByRole('button', { name: 'Load and search them, too' }).click();
    await page.getByText(/lists of \d+ servers are not loaded yet/).waitFor({ state: 'hidden', timeout: READ_MS });
    await page.getByLabel(/^Search servers/).fill('');
    await tell(page, 'compose', /^Search servers/);
    return 0;
  } finally {
    await scope.end();
  }
}

function toolsOf(url: string): readonly object[] {
  const server = /\/id(\d+)\/tools$/.exec(url)?.[1] ?? '';
  return Array.from({ length: TOOLS_EACH }, (_, index) => ({
    name: `tool_${server}_${index}`,
    title: `Tool ${index} of ${server}`,
    description: 'Does one of many things.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  }));
}

function answer(route: Route, value: unknown): Promise<void> {
  // A page of the console may have the same path as an endpoint of the API.
  if (route.request().resourceType() === 'document') return route.fallback();
  return route.fulfill({ contentType: 'application/json', body: JSON.stringify(value) });
}

async function tell(page: Page, name: string, label: string | RegExp): Promise<void> {
  const search = page.getByLabel(label);
  await page.evaluate('presses.length = 0');
  let count = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await search.focus();
    for (const key of [...WORDS, ...Array<string>(WORDS.length).fill('Backspace')]) {
      await page.keyboard.press(key === ' ' ? 'Space' : key);
      // Waits for a paint of its own for each press.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      count += 1;
    }
  }
  await page.waitForTimeout(500);
  // Presses too fast for the browser to report count as its threshold.
  const told = await page.evaluate<number[]>('presses');
  const all = [...told, ...Array<number>(Math.max(0, count - told.length)).fill(16)].sort((a, b) => a - b);
  const at = (share: number): number => all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? 0;
  process.stdout.write(`${name}: ${count} presses, median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms\n`);
}
