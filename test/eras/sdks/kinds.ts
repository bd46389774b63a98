// The SDKs of other languages as kinds of clients and backends: the same interface as those of TypeScript, implemented by foreign
// programs.
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../support/until.js';
import { Deeds, type BackendKind, type EraBackend } from '../backends.js';
import type { ClientKind, EraClient } from '../clients.js';
import { ForeignProgram, type Told } from './foreign-program.js';
import type { SdkPrograms } from './preparation.js';

const TOUCH_EVERY_MS = 20;
/** The client of the Python SDK 1 does not notify anyone that a call was cancelled. */
const SILENT = 'this SDK’s client tells nobody that it gives a call up';

interface ClientRow {
  readonly sdk: string;
  readonly era: string;
  readonly cannot?: ClientKind['cannot'];
}

const CLIENT_ROWS: readonly ClientRow[] = [
  { sdk: 'Python 1', era: 'legacy', cannot: { cancel: SILENT } },
  ...['legacy', 'modern', 'auto'].map((era) => ({ sdk: 'Python 2', era })),
  // The Go client negotiates, unless it is told to begin with a session.
  ...['legacy', 'auto'].map((era) => ({ sdk: 'Go', era })),
];

const BACKEND_ROWS = [
  { sdk: 'Python 1', era: 'legacy' },
  ...['modern', 'dual'].map((era) => ({ sdk: 'Python 2', era })),
  ...['legacy', 'modern', 'dual', 'stateless'].map((era) => ({ sdk: 'Go', era })),
];

const labelOf = ({ sdk, era }: { readonly sdk: string; readonly era: string }): string => `${sdk} ${era}`;

export const FOREIGN_CLIENTS = CLIENT_ROWS.map(labelOf);
export const FOREIGN_BACKENDS = BACKEND_ROWS.map(labelOf);

export function foreignClients(programs: SdkPrograms): readonly ClientKind[] {
  return CLIENT_ROWS.map((row) => ({
    label: labelOf(row),
    ...(row.cannot && { cannot: row.cannot }),
    connect: (url, token) => connect([...programs.clientOf(row.sdk), row.era, url, token ?? '']),
  }));
}

export function foreignBackends(programs: SdkPrograms): readonly BackendKind[] {
  return BACKEND_ROWS.map((row) => ({
    label: labelOf(row),
    start: () => start([...programs.backendOf(row.sdk), row.era]),
  }));
}

async function connect(command: readonly string[]): Promise<EraClient> {
  const updates: string[] = [];
  const progress = new Map<number, () => void>();
  const onEvent = ({ event, id, uri }: Told): void => {
    if (event === 'progress') progress.get(id ?? 0)?.();
    else if (event === 'updated') updates.push(uri ?? '');
  };
  const [program, { version }] = await ForeignProgram.start(command, onEvent);
  return {
    version,
    call: (name, { onProgress, signal } = {}) =>
      program.tell({ do: 'call', name }, (id) => {
        if (onProgress !== undefined) progress.set(id, onProgress);
        signal?.addEventListener('abort', () => program.say({ do: 'cancel', of: id }), { once: true });
      }),
    read: (name) => program.tell({ do: 'read', name }),
    prompt: (name) => program.tell({ do: 'prompt', name }),
    watch: async (name) => {
      await program.tell({ do: 'watch', name });
      return updates;
    },
    close: () => program.close(),
  };
}

async function start(command: readonly string[]): Promise<EraBackend> {
  const deeds = new Deeds();
  const onEvent = ({ event, tool }: Told): void => {
    if (event === 'done') deeds.note(tool ?? '');
    else if (event === 'waiting') deeds.waiting += 1;
    else if (event === 'cancelled') deeds.cancelled += 1;
  };
  const [program, { url = '' }] = await ForeignProgram.start(command, onEvent);
  return {
    url,
    deeds,
    touch: (isHeard) =>
      until(async () => {
        program.say({ do: 'touch' });
        await sleep(TOUCH_EVERY_MS);
        return isHeard();
      }, 'somebody who has heard of the resource'),
    close: () => program.kill(),
  };
}
