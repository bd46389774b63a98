// What tests say of a page that `npm run docs` writes.
import type { Test } from 'tap';
import type { Page } from './generated.js';

/** Fails, and says what to do, when a page and the sources disagree. */
export function checkPage(t: Test, { name, current, text, faults }: Page): void {
  t.strictSame(faults, [], faults.join('\n'));
  t.ok(current === text, `docs/${name} is not what the sources say: run \`npm run docs\``);
}
