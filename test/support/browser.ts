// Debian's chromium, driven by playwright-core. Where it is missing the tests that need it say so, and how to get it.
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Test } from 'tap';

const PROGRAM = process.env['TEST_CHROMIUM'] ?? '/usr/bin/chromium';

/** Throws, in words for whoever runs the tests, when there is none. */
export async function startBrowser(t: Pick<Test, 'teardown'>): Promise<Browser> {
  if (!existsSync(PROGRAM)) {
    throw new Error(
      `the tests of the console need ${PROGRAM}: install it, for example with \`apt-get install --no-install-recommends chromium\`, or name another with TEST_CHROMIUM`,
    );
  }
  // The tests run as root in containers, where the browser's own sandbox cannot be had; it opens pages of ours alone.
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  t.teardown(() => browser.close());
  return browser;
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly unknown[] }[];
}

/**
 * What axe finds fault with on the page as it is, each as the rule and where.
 * @param rules all of them, or only those of colours.
 */
export async function axeFindings(page: Page, rules: 'all' | 'colours'): Promise<string[]> {
  await page.evaluate(axe.source);
  const options = rules === 'all' ? {} : { runOnly: { type: 'rule', values: ['color-contrast'] } };
  const findings = await page.evaluate(async (options) => {
    const { axe } = globalThis as unknown as {
      readonly axe: { run(options: object): Promise<{ violations: Finding[] }> };
    };
    return (await axe.run(options)).violations;
  }, options);
  return findings.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}
