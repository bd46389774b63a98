// Every client with every backend, and what each pair can do: a cell is `ok`, or says what happened instead.
import { inParallel } from '../support/in-parallel.js';
import { until } from '../support/until.js';
import { BACKEND_ERAS, RESOURCE, startEraBackend, type BackendEra, type EraBackend } from './backends.js';
import { CLIENT_ERAS, connectEraClient, type ClientEra, type EraClient } from './clients.js';

/** An endpoint that has one backend, of this name; the backend itself where there is no name. */
export interface Endpoint {
  readonly url: string;
  readonly token: string | undefined;
  readonly backendName: string | undefined;
}

export interface Pair {
  readonly client: ClientEra;
  readonly backend: BackendEra;
  /** The version that the client has agreed on. */
  readonly version: string;
  readonly cells: Readonly<Record<Feature, string>>;
}

interface Stage {
  readonly client: EraClient;
  readonly backend: EraBackend;
  readonly name: (bare: string) => string;
  readonly uri: string;
}

const PROGRESS_COUNT = 3;
/** Pairs at once: each mostly waits. */
const LANES = 3;

/** Throws where it does not work. */
const features = {
  call: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('echo')), 'done');
    expect(backend.deeds.done.get('echo'), 1, 'times that the backend did it');
  },
  progress: async ({ client, name }: Stage) => {
    let count = 0;
    await client.call(name('count'), { onProgress: () => (count += 1) });
    expect(count, PROGRESS_COUNT, 'reports of progress');
  },
  elicitation: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('ask_user')), 'yes');
    expect(backend.deeds.done.get('ask_user'), 1, 'times that the backend did it');
  },
  sampling: async ({ client, backend, name }: Stage) => {
    expect(await client.call(name('ask_model')), '{"type":"text","text":"text"}');
    expect(backend.deeds.done.get('ask_model'), 1, 'times that the backend did it');
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

/** All of them, row by row. */
export const PAIRS = CLIENT_ERAS.flatMap((client) => BACKEND_ERAS.map((backend) => ({ client, backend })));

/** @param endpointOf what the clients are to talk to for a backend. */
export async function fillMatrix(
  endpointOf: (backend: EraBackend) => Promise<Endpoint>,
  pairs: readonly (Pick<Pair, 'client' | 'backend'> & { readonly wanted?: readonly Feature[] })[] = PAIRS,
): Promise<readonly Pair[]> {
  const filled: Pair[] = [];
  await inParallel(pairs, LANES, async (pair) => {
    const backend = await startEraBackend(pair.backend);
    try {
      const { client, wanted = FEATURES } = pair;
      const outcome = await tryPair(client, backend, await endpointOf(backend), wanted);
      filled.push({ client, backend: pair.backend, ...outcome });
    } finally {
      backend.close();
    }
  });
  return pairs.map(({ client, backend }) => filled.find((pair) => pair.client === client && pair.backend === backend)!);
}

async function tryPair(
  era: ClientEra,
  backend: EraBackend,
  { url, token, backendName }: Endpoint,
  wanted: readonly Feature[],
): Promise<Pick<Pair, 'version' | 'cells'>> {
  const name = (bare: string): string => (backendName === undefined ? bare : `${backendName}-${bare}`);
  const uri = backendName === undefined ? RESOURCE : `${backendName}+${RESOURCE}`;
  let client: EraClient;
  try {
    client = await connectEraClient(era, url, token);
  } catch (error) {
    const why = `no connection: ${wordsOf(error)}`;
    return { version: 'none', cells: Object.fromEntries(wanted.map((feature) => [feature, why])) as Pair['cells'] };
  }
  const cells = new Map<Feature, string>();
  try {
    for (const feature of wanted) {
      const outcome = features[feature]({ client, backend, name, uri });
      cells.set(feature, await outcome.then(() => 'ok', wordsOf));
    }
  } finally {
    await client.close();
  }
  return { version: client.version ?? 'none', cells: Object.fromEntries(cells) as Pair['cells'] };
}

function expect(got: unknown, wanted: unknown, what = 'answer'): void {
  if (got !== wanted) throw new Error(`${what}: ${String(got)} in place of ${String(wanted)}`);
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
