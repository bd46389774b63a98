// The store is lost while a page of the console is open, or the control plane is killed and started again: each kind of page reports it
// in words, and reads again without a reload. And each page at 200 % zoom.
import t from 'tap';
import { startDemoBackend } from '../../demo/demo-backend.js';
import { createWordsmith } from '../../demo/demo-servers.js';
import { startBrowser } from '../support/browser.js';
import { startControlPlane } from '../support/control-plane.js';
import { startProgram, storeOptionWords, verifyWith, type Gateway } from '../support/gateway.js';
import { startRedis } from '../support/redis.js';
import { until } from '../support/until.js';

const PAGE_MS = 20_000;
const CLICK_MS = 1_000;
/** The size of a window of 1280 by 1024 at 200 % zoom. */
const ZOOMED = { width: 640, height: 512 };

/** Finds buttons, links, headings and fields beyond the window's edge, where no ancestor can be scrolled. */
const CUT_OFF = `(width) => [...document.querySelectorAll('button, a, h1, h2, h3, label, input, select, textarea')]
  .filter((element) => element.checkVisibility() && !element.closest('.skip'))
  .filter((element) => { const box = element.getBoundingClientRect(); return box.right > width + 1 || box.left < -1; })
  .filter((element) => {
    for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement)
      if (each.scrollWidth > each.clientWidth && /auto|scroll/.test(getComputedStyle(each).overflowX)) return false;
    return true;
  })
  .map((element) => element.outerHTML.slice(0, 100))`;

t.test('what is gone comes back', async (t) => {
  const redis = await startRedis(t);
  const controlPlane = await startControlPlane(t, {
    storeOptions: redis.storeOptions,
  });
  const caller = await controlPlane.caller(t, 'alice@example.com');
  const backend = await startDemoBackend({
    createMcpServer: createWordsmith,
    answerAs: 'event-stream',
  });
  t.teardown(() => backend.close());
  await caller.post('/servers', { name: 'wordsmith', url: backend.url });
  const { id: serverId } = (await caller.get('/servers/wordsmith')).json() as {
    readonly id: string;
  };
  await caller.post('/compositions', {
    name: 'desk',
    servers: [{ name: 'wordsmith', tools: ['reverse'] }],
  });
  const { id: deskId } = (await caller.get('/compositions/desk')).json() as {
    readonly id: string;
  };
  const browser = await startBrowser(t);
  const context = await browser.newContext({
    viewport: ZOOMED,
    deviceScaleFactor: 2,
  });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const thrown: string[] = [];
  page.on('pageerror', ({ message }) => thrown.push(message));
  const goTo = async (name: string): Promise<void> =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
  const heading = (name: string): Promise<void> => page.getByRole('heading', { name, level: 1 }).waitFor();
  const again = page.getByRole('button', { name: 'Try again' });
  await page.goto(`${controlPlane.origin}/ui/servers`);
  await page.getByLabel('Token').fill(caller.token ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'wordsmith' }).waitFor();

  /** The link to click, the page's title, and what it shows once it can read. */
  const pages = [
    ['Overview', 'Overview', 'Inventory'],
    ['Servers', 'Servers', 'wordsmith'],
    ['Playground', 'Playground', 'wordsmith-reverse'],
    ['Compositions', 'Compositions', 'desk'],
    ['Audit', 'Audit', 'registered the server'],
  ] as const;

  let program: Gateway = controlPlane.program;
  const losses = [
    {
      what: 'store',
      words: /store cannot be reached/i,
      lose: () => redis.kill(),
      restore: () => redis.start(),
    },
    {
      what: 'control plane',
      words: /control plane does not respond/i,
      lose: async () => {
        process.kill(program.pid, 'SIGKILL');
        await program.exit;
      },
      restore: async () => {
        const address = ['--address', new URL(controlPlane.origin).host, '--rate-limit', '0'];
        const means = [...storeOptionWords(redis.storeOptions), ...verifyWith(controlPlane.key)];
        program = await startProgram(t, ['control-plane', ...address, ...means]);
      },
    },
  ];
  for (const { what, words: lost, lose, restore } of losses)
    for (const [link, title, content] of pages) {
      await t.test(`${title}, opened while there is no ${what}`, async (t) => {
        await page.reload();
        await goTo('Explain');
        await heading('Explain');
        await page.evaluate('globalThis.mark = 1');
        await lose();
        await goTo(link);
        await page.locator('main').getByText(lost).first().waitFor();
        await restore();
        await until(async () => (await caller.get('/health')).status === 200, `the ${what} is back`);
        await until(async () => {
          const words = (await page.locator('main').textContent()) ?? '';
          if (words.includes(content) && !lost.test(words)) return true;
          // Some pages read again by themselves, and remove the button.
          await again
            .first()
            .click({ timeout: CLICK_MS })
            .catch(() => {});
          return false;
        }, `${title} is read`);
        t.equal(await page.evaluate('globalThis.mark'), 1, 'without a reload');
      });
    }

  await t.test('nothing is wider than the window at 200 %', async (t) => {
    const paths = {
      ...{
        '/': 'Overview',
        '/servers': 'Servers',
        '/servers/new': 'Register a server',
        '/audit': 'Audit',
      },
      ...{
        [`/servers/${serverId}`]: 'wordsmith',
        '/compose': 'Compositions',
        '/compose/new': 'New composition',
      },
      ...{
        [`/compose/${deskId}`]: 'desk',
        [`/playground?server=${serverId}&tool=countdown`]: 'Playground',
      },
      '/explain': 'Explain',
    };
    for (const width of [ZOOMED.width, 360]) {
      await page.setViewportSize({ width, height: ZOOMED.height });
      for (const [path, title] of Object.entries(paths)) {
        await page.goto(`${controlPlane.origin}/ui${path}`);
        await heading(title);
        const words = async (): Promise<string> => (await page.locator('main').textContent()) ?? '';
        await until(async () => !/(?:Reading|Opening a session) …/.test(await words()), 'all is read');
        t.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${path} at ${width}`);
        t.same(await page.evaluate(`(${CUT_OFF})(${width})`), [], `${path} at ${width}: nothing is cut`);
      }
    }
  });

  t.same(thrown, []);
});
