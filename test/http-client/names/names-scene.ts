// The scene of the tests of names: a name server on this machine, and a clock that the test moves.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Names, type NameOutcome, type NamesOptions } from '../../../src/http-client/names/names.js';
import { startNameServer, type NameRecord, type NameServer } from '../../support/name-server.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';

export interface Scene {
  readonly nameServer: NameServer;
  readonly names: Names;
  /** Advances the clock for cached names; the time of look-ups is real. */
  readonly pass: (ms: number) => void;
  readonly writeHosts: (text: string) => void;
  readonly writeSettings: (text: string) => void;
  readonly lookUp: (name: string, subject?: string) => Promise<NameOutcome>;
}

/** Starts a `Names` with a name server of its own. */
export async function start(t: Test, records: Record<string, NameRecord>, options: NamesOptions = {}): Promise<Scene> {
  const nameServer = await startNameServer(records);
  const directory = createScratchDirectory(t);
  const hostsPath = join(directory, 'hosts');
  const resolverSettingsPath = join(directory, 'resolv.conf');
  let nowMs = 1_000_000;
  const names = new Names({
    nameServers: [nameServer.address],
    hostsPath,
    resolverSettingsPath,
    nowMs: () => nowMs,
    ...options,
  });
  t.teardown(() => {
    names.close();
    nameServer.close();
  });
  return {
    nameServer,
    names,
    pass: (ms) => (nowMs += ms),
    writeHosts: (text) => writeFileSync(hostsPath, text),
    writeSettings: (text) => writeFileSync(resolverSettingsPath, text),
    lookUp: (name, subject = 'alice') => new Promise((resolve) => names.lookUp(name, subject, resolve)),
  };
}

/** How many times the name server was asked for both address families of the name. */
export function roundsOf({ nameServer }: Scene, name: string): number {
  return nameServer.countOf(name) / 2;
}
