// `npm run apps`: the official example servers of MCP Apps, two at a time behind one virtual host, in a real browser with the official
// bridge of hosts; each app as directly at its server. Exit status 1 when one is worse.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSync } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { command, once } from '../eras/sdks/preparation.js';
import { startBrowser } from '../support/browser.js';
import { startControlPlane, type ControlPlane } from '../support/control-plane.js';
import { startDeployment, type Deployment } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { NOT_TRIED, pairsOf, startApp, tools, type AppServer } from './servers.js';

const usage = `Usage: npm run apps [-- --only words --screenshots directory]
  --only words             combinations whose labels have these words in them, as "pdf, 2026-07-28"
  --screenshots directory  where a picture of each page of the host is put`;

const ERAS = ['2025-11-25', '2026-07-28'] as const;
type Era = (typeof ERAS)[number];
/** With exposure `search`, the tools that have a page must still be listed. */
const PLANES = ['dataplane', 'control plane', 'dataplane with search', 'control plane with search'] as const;
type Plane = (typeof PLANES)[number];

/** What has gone well with an app, or has not, in words that are equal wherever it is the same. */
type Outcome = Readonly<Record<string, string>>;

interface Options {
  readonly only: string;
  readonly screenshots: string | undefined;
}

/** A server as the host page connects to it, with the apps to show from there. */
interface HostedServer {
  readonly era: Era;
  readonly url: string;
  readonly token?: string;
  readonly isDirect: boolean;
  readonly apps: readonly { readonly label: string; readonly name: string; readonly args: object }[];
}

interface Report {
  readonly isInitialized?: boolean;
  readonly sizes?: number;
  readonly result?: object;
  readonly page?: { readonly mimeType?: string; readonly text: number };
  readonly calls: Readonly<Record<string, readonly string[]>>;
}

interface Host {
  open(servers: readonly HostedServer[]): Promise<string[]>;
  report(label: string): Report;
}

interface Ground {
  readonly browser: Browser;
  readonly origin: string;
  readonly deployment: Deployment;
  readonly controlPlane: ControlPlane;
  readonly screenshots: string | undefined;
}

await runProgram(usage, parse, run);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: { only: { type: 'string', default: '' }, screenshots: { type: 'string' } },
  });
  return { only: values.only, screenshots: values.screenshots };
}

async function run({ only, screenshots }: Options): Promise<number> {
  const scope = new Scope();
  try {
    const lock = readFileSync(join(tools, 'package-lock.json'), 'utf8');
    const words = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict=false'];
    await once(join(tools, 'node_modules', '.made-of'), lock, () => command('npm', words, { cwd: tools }));
    const browser = await startBrowser(scope);
    const origin = await serveHost(scope);
    const options = ['--allowed-origins', origin];
    const deployment = await startDeployment(scope, { workerCount: 2, options });
    const controlPlane = await startControlPlane(scope, { options });
    const ground = { browser, origin, deployment, controlPlane, screenshots };
    let [asDirectly, worse] = [0, 0];
    for (const pair of pairsOf(await makeDocument(browser, createScratchDirectory(scope)))) {
      for (const [label, differences] of await tryPair(pair, only, ground)) {
        if (differences.length === 0) asDirectly += 1;
        else worse += 1;
        process.stdout.write(`${label}: ${differences.length === 0 ? 'as directly' : differences.join('; ')}\n`);
      }
    }
    process.stdout.write(`${NOT_TRIED}\n${asDirectly} as directly, ${worse} worse\n`);
    return worse === 0 ? 0 : 1;
  } finally {
    await scope.end();
  }
}

/** @returns the combinations of the pair that are wanted, each with what is worse than directly. */
async function tryPair(
  pair: readonly [AppServer, AppServer],
  only: string,
  ground: Ground,
): Promise<[label: string, differences: string[]][]> {
  const scope = new Scope();
  const told: [string, string[]][] = [];
  const [one, two] = pair;
  const labelOf = (app: AppServer, era: Era, plane: Plane): string =>
    `${app.label} beside ${app === one ? two.label : one.label}, ${era}, ${plane}`;
  const isWanted = (era: Era, plane: Plane): boolean => pair.some((app) => labelOf(app, era, plane).includes(only));
  try {
    if (!ERAS.some((era) => PLANES.some((plane) => isWanted(era, plane)))) return told;
    const urls = [await startApp(one, scope.teardown), await startApp(two, scope.teardown)] as const;
    for (const era of ERAS) {
      const planes = PLANES.filter((plane) => isWanted(era, plane));
      if (planes.length === 0) continue;
      const direct = await show(ground, pair, `${one.label} directly, ${era}`, era, [
        { era, url: urls[0], isDirect: true, apps: [appOf(one, '')] },
        { era, url: urls[1], isDirect: true, apps: [appOf(two, '')] },
      ]);
      for (const [at, app] of pair.entries()) {
        const faults = Object.entries(direct[at]!).filter(([, outcome]) => outcome.startsWith('not'));
        if (faults.length > 0)
          throw new Error(`${app.label} does not work directly (${faults.join('; ')}): the test is at fault`);
      }
      for (const plane of planes) {
        const exposure = plane.endsWith('search') ? 'search' : 'all';
        const { prefixes, url, token } = await (plane.startsWith('dataplane')
          ? behindDataplane(ground, urls, exposure)
          : behindControlPlane(ground, urls, exposure, scope));
        const apps = pair.map((app, at) => appOf(app, prefixes[at]!));
        const through = await show(ground, pair, `${one.label}, ${era}, ${plane}`, era, [
          { era, url, token, isDirect: false, apps },
        ]);
        for (const [at, app] of pair.entries()) {
          const differences = differencesOf(direct[at]!, through[at]!);
          if (labelOf(app, era, plane).includes(only)) told.push([labelOf(app, era, plane), differences]);
        }
      }
    }
    return told;
  } finally {
    await scope.end();
  }
}

function appOf({ label, tool, args }: AppServer, prefix: string): HostedServer['apps'][number] {
  return { label, name: `${prefix}${tool}`, args };
}

interface Behind {
  readonly prefixes: readonly string[];
  readonly url: string;
  readonly token: string;
}

async function behindDataplane(
  { deployment }: Ground,
  urls: readonly [string, string],
  exposure: 'all' | 'search',
): Promise<Behind> {
  const caller = await deployment.caller({ one: { url: urls[0] }, two: { url: urls[1] } }, { exposure });
  return { prefixes: ['one-', 'two-'], url: caller.origin + caller.path, token: caller.token };
}

/** The servers are taken out of the registry with the pair, as others have tools of the same names. */
async function behindControlPlane(
  { controlPlane }: Ground,
  urls: readonly string[],
  exposure: 'all' | 'search',
  scope: Scope,
): Promise<Behind> {
  const token = await controlPlane.token('host@example.com');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const prefixes: string[] = [];
  for (const url of urls) {
    const name = `app-${new URL(url).port}`;
    const body = JSON.stringify({ name, url });
    const { status } = await fetch(`${controlPlane.origin}/servers`, { method: 'POST', headers, body });
    if (status === 201) {
      const place = `${controlPlane.origin}/servers/${name}`;
      scope.teardown(() => fetch(place, { method: 'DELETE', headers: { authorization: headers.authorization } }));
    } else if (status !== 409) throw new Error(`a server was not registered: ${status}`);
    prefixes.push(`${name}-`);
  }
  return { prefixes, url: `${controlPlane.origin}/mcp?exposure=${exposure}`, token };
}

/** Shows the apps of a pair beside each other on a page of the host, and uses each. */
async function show(
  { browser, origin, screenshots }: Ground,
  pair: readonly AppServer[],
  title: string,
  era: Era,
  servers: readonly HostedServer[],
): Promise<Outcome[]> {
  const page = await browser.newPage();
  try {
    await page.goto(origin);
    const opened = await page
      .evaluate((servers) => (globalThis as unknown as { readonly host: Host }).host.open(servers), servers)
      .catch((error: unknown) => messageOf(error));
    const outcomes: Outcome[] = [];
    for (const app of pair) outcomes.push(await use(page, app, opened, era, servers[0]!.isDirect));
    if (screenshots !== undefined)
      await page.screenshot({ path: join(screenshots, `${title.replaceAll(/\W+/g, '-')}.png`), fullPage: true });
    return outcomes;
  } finally {
    await page.close();
  }
}

async function use(
  page: Page,
  app: AppServer,
  opened: string[] | string,
  era: Era,
  isDirect: boolean,
): Promise<Outcome> {
  const frame = page.frames().find((each) => each.parentFrame() !== null && each.name() === app.label);
  const seen = frame === undefined ? Promise.reject(new Error('no frame')) : app.use(frame);
  const shows = await seen.then(
    () => 'what its server answers',
    (error: unknown) => `not what its server answers: ${messageOf(error)}`,
  );
  const report = (): Promise<Report> =>
    page.evaluate((label) => (globalThis as unknown as { readonly host: Host }).host.report(label), app.label);
  const { isInitialized, sizes = 0, result, page: read, calls } = await report();
  return {
    host: typeof opened === 'string' ? `not open: ${opened}` : 'open',
    revision:
      isDirect || (Array.isArray(opened) && opened.every((version) => version === era)) ? 'its own' : 'not its own',
    initialized: isInitialized === true ? 'yes' : 'not initialized',
    resized: sizes > 0 ? 'yes' : 'not resized',
    result: result === undefined ? 'not arrived' : shapeOf(result),
    page: read === undefined ? 'not read' : `${read.text} characters of ${read.mimeType}`,
    shows,
    ...Object.fromEntries(app.calls.map((name) => [`calls ${name}`, 'not called'])),
    ...Object.fromEntries(
      Object.entries(calls).map(([name, outcomes]) => [`calls ${name}`, [...outcomes].sort().join()]),
    ),
  };
}

/** What is in a result, without values that differ from call to call, and without what the gateway adds to `_meta`. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.slice(0, 1).map(shapeOf).join()}]`;
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).filter(([name]) => !['_meta', 'resultType'].includes(name));
  return `{${members
    .map(([name, member]) => `${name}:${shapeOf(member)}`)
    .sort()
    .join()}}`;
}

function differencesOf(direct: Outcome, through: Outcome): string[] {
  return [...new Set([...Object.keys(direct), ...Object.keys(through)])]
    .filter((what) => direct[what] !== through[what])
    .map((what) => `${what}: directly ${direct[what]}, through the gateway ${through[what]}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.split('\n')[0]! : String(error);
}

/** A document with its fonts in it, which needs nothing from elsewhere. */
async function makeDocument(browser: Browser, directory: string): Promise<string> {
  const page = await browser.newPage();
  await page.setContent('<h1>Switchyard</h1>');
  const path = join(directory, 'document.pdf');
  writeFileSync(path, await page.pdf());
  await page.close();
  return path;
}

/** @returns the origin of the host page. */
async function serveHost(scope: Scope): Promise<string> {
  const { outputFiles } = buildSync({
    absWorkingDir: tools,
    entryPoints: ['host.js'],
    bundle: true,
    format: 'iife',
    write: false,
    logLevel: 'error',
  });
  const script = outputFiles[0]!.contents;
  const document = '<!doctype html><meta charset="utf-8"><title>Host</title><body><script src="/host.js"></script>';
  const server = createServer((request, response) => {
    const isScript = request.url === '/host.js';
    response.setHeader('content-type', isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8');
    response.end(isScript ? script : document);
  });
  const port = await findFreePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  scope.teardown(() => server.closeAllConnections());
  scope.teardown(() => server.close());
  return `http://127.0.0.1:${port}`;
}
