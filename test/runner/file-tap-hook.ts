// Loaded by Node into the thread that resolves imports, in the process of a group: its files get tests of their own for tap.
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
