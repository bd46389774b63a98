// Drives a page by keyboard alone: presses Tab until the wanted element has the focus.
import type { Page } from 'playwright-core';

/** The name that a screen reader announces for the focused element; `''` between the last element and the first, where none is. */
const FOCUSED = `(() => {
  const { activeElement: element } = document;
  if (element === document.body) return '';
  const text = element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent;
  return text.replaceAll(/\\s+/g, ' ').trim();
})()`;
const PRESSES_MAX = 150;

/** Throws, listing the elements met on the way, when no element has the name. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  const met: string[] = [];
  for (let presses = 0; presses < PRESSES_MAX; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(FOCUSED);
    if (name.test(focused)) return;
    met.push(focused.slice(0, 40));
  }
  throw new Error(`${String(name)} is not reached by Tab at ${page.url()}: ${met.join(' | ')}`);
}
