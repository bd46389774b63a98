// The lists of servers, read on demand and kept for as long as the page is open.
import { useCallback, useRef, useState } from 'preact/hooks';
import { ask, faultWords } from '../../api/api.js';
import type { Server } from '../../api/types.js';
import { itemsOf, listPaths, type ItemKind, type ServerItem, type ServerItems } from '../../model/server-items.js';

export interface Lists {
  /** By the server's name. */
  readonly known: ReadonlyMap<string, ServerItems>;
  /** Why the lists of a server could not be read, by its name. */
  readonly faults: ReadonlyMap<string, string>;
  readonly read: (servers: readonly Server[]) => Promise<void>;
}

/** How many servers are read at once. */
const SERVERS_AT_ONCE = 6;

export function useLists(): Lists {
  const [known, setKnown] = useState<Lists['known']>(new Map());
  const [faults, setFaults] = useState<Lists['faults']>(new Map());
  const begun = useRef(new Set<string>());
  const read = useCallback(async (servers: readonly Server[]): Promise<void> => {
    const wanted = servers.filter(({ name }) => !begun.current.has(name));
    for (const { name } of wanted) begun.current.add(name);
    for (let start = 0; start < wanted.length; start += SERVERS_AT_ONCE) {
      const part = wanted.slice(start, start + SERVERS_AT_ONCE);
      const outcomes = await Promise.all(part.map(async (server) => [server.name, await readLists(server)] as const));
      const refused = outcomes.filter((each): each is [string, string] => typeof each[1] === 'string');
      const found = outcomes.filter((each): each is [string, ServerItems] => typeof each[1] !== 'string');
      setKnown((before) => new Map([...before, ...found]));
      setFaults((before) => {
        const left = [...before].filter(([name]) => !found.some(([other]) => other === name));
        return new Map([...left, ...refused]);
      });
      for (const [name] of refused) begun.current.delete(name);
      if (refused.length === 0) continue;
      // The rest would most likely fail for the same reason.
      for (const { name } of wanted.slice(start + SERVERS_AT_ONCE)) begun.current.delete(name);
      return;
    }
  }, []);
  return { known, faults, read };
}

/** @returns the lists, or in words why they could not be read. */
async function readLists(server: Server): Promise<ServerItems | string> {
  const items: Record<ItemKind, ServerItem[]> = { tools: [], prompts: [], resources: [] };
  try {
    for (const [kind, path] of listPaths(server))
      items[kind].push(...itemsOf(kind, (await ask<unknown[]>(path)).value));
    return items;
  } catch (error) {
    return faultWords(error);
  }
}
