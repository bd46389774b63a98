// Debian's chromium, driven by playwright-core. Where it is missing, the tests that need it say so, and how to install it.
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Test } from 'tap';

const PROGRAM = process.env['TEST_CHROMIUM'] ?? '/usr/bin/chromium';

/** Throws an error that says how to install the browser when it is missing. */
export async function startBrowser(t: Pick<Test, 'teardown'>): Promise<Browser> {
  if (!existsSync(PROGRAM)) {
    throw new Error(
      `the tests of the console need ${PROGRAM}: install it, for example with \`apt-get install --no-install-recommends chromium\`, or name another with TEST_CHROMIUM`,
    );
  }
  // The tests run as root in containers, where the browser's own sandbox does not work; it opens only the tests' own pages.
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  t.teardown(() => browser.close());
  return browser;
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly unknown[] }[];
}

/**
 * What axe finds wrong with the page in its present state, each finding as rule and place.
 * @param rules all rules, or only those about colours.
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
