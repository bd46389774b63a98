// How soon `find_tools` answers once the lists were read. The first question builds the catalogue of all tools, which later ones
// use. Started by hand: `node build/bench/find-tools.js [tools] [backends]`. No gateway and no network: a list thread as a worker
// has it, and lists as large as real ones.
import { pino } from 'pino';
import { listKinds } from '../src/mcp/list-kinds.js';
import type { ReadPage } from '../src/lists/answer-reader.js';
import { ListMerger, type KeptInThread } from '../src/lists/list-merger.js';
import type { BackendPages } from '../src/lists/merge.js';
import { shareTable } from '../src/relay/relay-options.js';
import { Accounts } from '../src/fair/share.js';
import { DeadlineWheel } from '../src/fair/deadline-wheel.js';
import { LIST_BYTES_INLINE_MAX } from '../src/lists/list-memory.js';
import { limits } from '../src/shared/limits.js';
import { compileUserConfig } from '../src/user-config/compile-config.js';
import { decodeUserConfig } from '../src/user-config/user-config-schema.js';
import { listAnswer, toolTexts } from './tool-list.js';

const SUBJECT = 'bench';
const QUESTIONS = 20;
const MAX = Number.MAX_SAFE_INTEGER;
const ID = '"x"';
const VERBS = ['create', 'list', 'delete', 'update', 'search', 'archive', 'merge', 'export', 'review', 'assign'];
const THINGS = ['issue', 'ticket', 'invoice', 'branch', 'file', 'message', 'calendar', 'customer', 'order', 'report'];
const PLACES = [
  'workspace',
  'repository',
  'account',
  'folder',
  'channel',
  'project',
  'team',
  'board',
  'region',
  'shop',
];

const [tools = 5_000, backends = 10] = process.argv.slice(2).map(Number);

function toolText(text: string, number: number): string {
  const [verb, thing, place] = [VERBS, THINGS, PLACES].map((words, at) => words[Math.floor(number / 10 ** at) % 10]!);
  const tool = JSON.parse(text) as object;
  const description = `Use this to ${verb} one ${thing} or several of a ${place}, with all that belongs to it (${number}).`;
  return JSON.stringify({ ...tool, name: `${verb}_${place}_${thing}_${number}`, description });
}

const config = decodeUserConfig(
  Buffer.from(
    JSON.stringify({
      virtual_hosts: {
        v: {
          exposure: 'search',
          backends: Object.fromEntries(
            Array.from({ length: backends }, (_, n) => [`b${n}`, { url: `https://b${n}.example/mcp` }]),
          ) as unknown,
        },
      },
    }),
  ),
);
if (!config.ok) throw new Error(config.issues);
const virtualHost = compileUserConfig(config.config, 'tls-only').virtualHosts.get('v')!;

const deadlines = new DeadlineWheel();
const accounts = new Accounts(
  shareTable({
    ...{ sessionsMax: MAX, subjectSessionsMax: MAX, sessionBytesMax: MAX, subjectSessionBytesMax: MAX },
    ...{
      requestsInFlightMax: MAX,
      subjectRequestsInFlightMax: MAX,
      bytesInFlightMax: MAX,
      subjectBytesInFlightMax: MAX,
    },
    ...{ listBytesMax: MAX, subjectListBytesMax: MAX },
  }),
);
const merger = new ListMerger(deadlines, accounts, pino({ level: 'silent' }));
const kind = listKinds.tools;
const frame = { head: '{"jsonrpc":"2.0","id":1,"result":', framing: 'message' } as const;

async function pageOf(backend: number): Promise<ReadPage> {
  const each = Math.ceil(tools / backends);
  const texts = toolTexts(each).map((text, at) => toolText(text, backend * each + at));
  const reading = merger.createReader(SUBJECT, kind);
  const answer = Buffer.from(listAnswer(ID, texts));
  return new Promise((resolve, reject) => {
    reading.end([answer], Buffer.from(ID), LIST_BYTES_INLINE_MAX, limits.listTaskMsMax, (read) => {
      if (typeof read === 'object' && read.kind === 'page') resolve(read.page);
      else reject(new Error(JSON.stringify(read)));
    });
  });
}

async function catalogue(parts: readonly BackendPages<ReadPage>[]): Promise<KeptInThread> {
  return new Promise((resolve, reject) => {
    merger.makeCatalogue(SUBJECT, { kind, rules: virtualHost, parts, unavailable: [] }, (made) => {
      if (typeof made === 'string') reject(new Error(made));
      else resolve(made);
    });
  });
}

async function ask(key: number, query: string): Promise<number> {
  return new Promise((resolve, reject) => {
    merger.searchCatalogue(SUBJECT, { key, query, toolsMax: 10, frame }, (answer) => {
      if (typeof answer === 'string') reject(new Error(answer));
      else resolve(answer.length);
    });
  });
}

// As with the first question in a process, which prepares this while the backends are asked.
merger.warmUpCatalogues(SUBJECT);
const parts: BackendPages<ReadPage>[] = [];
for (const [n, backend] of [...virtualHost.backends.values()].entries())
  parts.push({ backend, pages: [await pageOf(n)] });
const begunMs = performance.now();
const { key, bytes } = await catalogue(parts);
const madeMs = performance.now() - begunMs;
await ask(key, 'create an issue in a repository');
const firstMs = performance.now() - begunMs;
const laterMs: number[] = [];
for (let n = 0; n < QUESTIONS; n += 1) {
  const atMs = performance.now();
  await ask(key, `${VERBS[n % 10]} every ${THINGS[(n * 3) % 10]} of my ${PLACES[(n * 7) % 10]}`);
  laterMs.push(performance.now() - atMs);
}
laterMs.sort((one, other) => one - other);
const figures = {
  tools,
  backends,
  catalogueMs: Math.round(madeMs * 10) / 10,
  firstAnswerMs: Math.round(firstMs * 10) / 10,
  laterMedianMs: Math.round(laterMs[QUESTIONS / 2]! * 10) / 10,
  laterLongestMs: Math.round(laterMs.at(-1)! * 10) / 10,
  keptMiB: Math.round((bytes / 1024 / 1024) * 10) / 10,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await merger.close();
deadlines.stop();
