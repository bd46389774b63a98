// A page by keyboard alone: from one place that takes the focus to the next, until it is the one that is wanted.
import type { Page } from 'playwright-core';

/** What somebody hears of the place that has the focus. */
const FOCUSED = `(() => {
  const { activeElement: element } = document;
  const text = element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent;
  return text.replaceAll(/\\s+/g, ' ').trim();
})()`;
const PRESSES_MAX = 150;

/** Throws, with what was met on the way, when no place is called so. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  const met: string[] = [];
  for (let presses = 0; presses < PRESSES_MAX; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(FOCUSED);
    if (name.test(focused)) return;
    met.push(focused.slice(0, 40));
  }
  throw new Error(`${String(name)} is not reached by Tab: ${met.join(' | ')}`);
}
