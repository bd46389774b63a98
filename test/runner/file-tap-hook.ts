// Runs in Node's loader thread, in the process of a group: the imports of tap in each file resolve to that file's own test.
import type { ResolveHook } from 'node:module';

const files = new Set<string>();

export function initialize(urls: readonly string[]): void {
  for (const url of urls) files.add(url);
}

export const resolve: ResolveHook = (specifier, context, nextResolve) => {
  const { parentURL = '' } = context;
  if (specifier !== 'tap' || !files.has(parentURL)) return nextResolve(specifier, context);
  return {
    url: new URL(`./file-tap.js?file=${encodeURIComponent(parentURL)}`, import.meta.url).href,
    shortCircuit: true,
  };
};
