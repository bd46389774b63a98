// Tries every client with every backend, feature by feature: a cell is `ok`, or says what happened instead.
import { eraOfVersion } from '../../src/mcp/protocol-versions.js';
import { inParallel } from '../support/in-parallel.js';
import { until } from '../support/until.js';
import { BACKEND_KINDS, RESOURCE, type BackendKind, type EraBackend } from './backends.js';
import { CLIENT_KINDS, type ClientKind, type EraClient } from './clients.js';

/** An endpoint with one backend of this name; without a name, the backend itself. */
export interface Endpoint {
  readonly url: string;
  readonly token: string | undefined;
  readonly backendName: string | undefined;
}

/** A client and a backend to try, and the features to which the trial is limited. */
export interface WantedPair {
  readonly client: ClientKind;
  readonly backend: BackendKind;
  readonly wanted?: readonly Feature[];
}

export interface Pair {
  /** The labels of client and backend. */
  readonly client: string;
  readonly backend: string;
  /** The version that the client has negotiated. */
  readonly version: string;
  readonly cells: Readonly<Record<Feature, string>>;
}

interface Stage {
  readonly client: EraClient;
  readonly backend: EraBackend;
  readonly name: (bare: string) => string;
  readonly uri: string;
}

export const GOOD = 'ok';
const PROGRESS_COUNT = 3;
const TRIAL_MS_MAX = 20_000;
/** How many pairs are tried at once: each mostly waits. */
const LANES = 3;

/** Each throws when the feature does not work. */
const features = {
  call: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('echo')), 'done');
    await backendDid('echo', backend);
  },
  progress: async ({ client, name }: Stage) => {
    let count = 0;
    await client.call(name('count'), { onProgress: () => (count += 1) });
    // A client in another program may report progress later than the result.
    await until(() => count >= PROGRESS_COUNT, `${PROGRESS_COUNT} reports of progress`);
    expect(count, PROGRESS_COUNT, 'reports of progress');
  },
  elicitation: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('ask_user')), 'yes');
    await backendDid('ask_user', backend);
  },
  sampling: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('ask_model')), '{"type":"text","text":"text"}');
    await backendDid('ask_model', backend);
  },
  resource: async ({ client, uri }: Stage) => expect(await client.read(uri), 'the document'),
  prompt: async ({ client, name }: Stage) => expect(await client.prompt(name('greet')), 'hello'),
  subscribe: async ({ client, backend, uri }: Stage) => {
    const updates = await client.watch(uri);
    await backend.touch(() => updates.includes(uri));
  },
  cancel: async ({ client, backend, name }: Stage) => {
    const canceller = new AbortController();
    const call = client.call(name('wait'), { signal: canceller.signal });
    const ended = call.then(
      () => new Error('the call has ended'),
      (error: unknown) => error,
    );
    const early = await Promise.race([until(() => backend.deeds.waiting === 1, 'the call at the backend'), ended]);
    if (early instanceof Error) throw early;
    canceller.abort();
    await ended;
    await until(() => backend.deeds.cancelled === 1, 'the cancellation at the backend');
  },
} as const;

export type Feature = keyof typeof features;

export const FEATURES = Object.keys(features) as readonly Feature[];

/** All pairs, row by row. */
export const PAIRS: readonly WantedPair[] = pairsOf(CLIENT_KINDS, BACKEND_KINDS);

export function pairsOf(clients: readonly ClientKind[], backends: readonly BackendKind[]): readonly WantedPair[] {
  return clients.flatMap((client) => backends.map((backend) => ({ client, backend })));
}

/** @param endpointOf returns the endpoint that clients use for a backend. */
export async function fillMatrix(
  endpointOf: (backend: EraBackend) => Promise<Endpoint>,
  pairs: readonly WantedPair[] = PAIRS,
): Promise<readonly Pair[]> {
  const filled = new Map<WantedPair, Pair>();
  await inParallel(pairs, LANES, async (pair) => {
    const backend = await pair.backend.start();
    try {
      const outcome = await tryPair(pair, backend, await endpointOf(backend));
      filled.set(pair, { client: pair.client.label, backend: pair.backend.label, ...outcome });
    } finally {
      backend.close();
    }
  });
  return pairs.map((pair) => filled.get(pair)!);
}

async function tryPair(
  { client: kind, backend: { label: backendLabel, cannot: backendCannot }, wanted = FEATURES }: WantedPair,
  backend: EraBackend,
  { url, token, backendName }: Endpoint,
): Promise<Pick<Pair, 'version' | 'cells'>> {
  const name = (bare: string): string => (backendName === undefined ? bare : `${backendName}-${bare}`);
  const uri = backendName === undefined ? RESOURCE : `${backendName}+${RESOURCE}`;
  let client: EraClient;
  try {
    client = await kind.connect(url, token);
  } catch (error) {
    const why = `no connection: ${wordsOf(error)}`;
    return { version: 'none', cells: Object.fromEntries(wanted.map((feature) => [feature, why])) as Pair['cells'] };
  }
  const cells = new Map<Feature, string>();
  try {
    for (const feature of wanted) {
      const excuse = kind.cannot?.[feature] ?? backendCannot?.[feature];
      const outcome = inTime(features[feature]({ client, backend, name, uri }));
      cells.set(
        feature,
        await outcome.then(
          () => GOOD,
          (error: unknown) => excuse ?? wordsOf(error),
        ),
      );
    }
    for (const [feature, tool] of Object.entries(DOING_ONCE))
      if (cells.get(feature as Feature) === GOOD) expectOnce(tool, backend.deeds);
    if (backendLabel === 'dual') expectOwnEra(client, backend.deeds);
  } finally {
    await client.close();
  }
  return { version: client.version ?? 'none', cells: Object.fromEntries(cells) as Pair['cells'] };
}

/** Gives up earlier than `until` would on something that never comes. */
async function inTime(trial: Promise<void>): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const lateness = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`nothing came of it in ${TRIAL_MS_MAX / 1_000} s`)), TRIAL_MS_MAX);
  });
  try {
    await Promise.race([trial, lateness]);
  } finally {
    clearTimeout(late);
  }
}

const DOING_ONCE: Readonly<Partial<Record<Feature, string>>> = {
  call: 'echo',
  elicitation: 'ask_user',
  sampling: 'ask_model',
};

/** A backend in another program may report its work later than the tool's result. */
async function backendDid(tool: string, { deeds }: EraBackend): Promise<void> {
  await until(() => deeds.done.has(tool), 'what the backend says of it');
  expectOnce(tool, deeds);
}

function expectOnce(tool: string, { done }: EraBackend['deeds']): void {
  expect(done.get(tool), 1, `times that the backend did ${tool}`);
}

/** A backend of both eras could otherwise hide that its client was bridged: each of its halves does the same in another way. */
function expectOwnEra({ version }: EraClient, { eras }: EraBackend['deeds']): void {
  if (eras.size > 0) expect([...eras].join(), eraOfVersion(version ?? ''), 'era of the calls to a backend of both');
}

function expect(got: unknown, wanted: unknown, what = 'answer'): void {
  if (got !== wanted) throw new Error(`${what}: ${String(got)} in place of ${String(wanted)}`);
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
