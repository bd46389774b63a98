// What callers have compared with much: queries with the texts of tools, URIs with the templates of an allow-list, the names of a call's
// arguments with those that a config fixes. The cost of one such request must not grow with the product of both.
import { inParallel } from '../../support/in-parallel.js';
import { answerText, type McpSession } from '../../support/mcp-caller.js';
import { expect, tally, type Experiment } from '../experiment.js';

const KIB = 1_024;
const MIB = KIB * KIB;
const LANES = 8;
/** Far more than any of these takes, also on a busy machine: without bounds, one takes as long by itself. */
const ANSWER_MS_MAX = 20_000;

export const wordyQueries: Experiment = {
  name: 'wordy-queries',
  expected: 'queries of 1 KiB of invented words, over 200 tools with 4 KiB of similar words: each is answered in time',
  async run(stage) {
    const tools = Array.from({ length: 200 }, (_, tool) => ({
      name: `tool${tool}`,
      description: wordsOf(tool, 4 * KIB),
      inputSchema: { type: 'object' },
    }));
    const backend = await stage.backend({ tools });
    const caller = await stage.caller({});
    await caller.configure({ one: { url: backend.url } }, { exposure: 'search' });
    const session = await caller.openSession();
    return answered(stage.scaled(400, 80), (turn) =>
      session.call('find_tools', JSON.stringify({ query: wordsOf(turn, KIB) })),
    );
  },
};

export const longUris: Experiment = {
  name: 'long-uris',
  expected: 'URIs of 16 KiB, read past an allow-list of 500 templates: each is answered in time',
  async run(stage) {
    const backend = await stage.backend({
      capabilities: { resources: {} },
      methods: {
        'resources/list': () => ({ resources: [] }),
        'resources/templates/list': () => ({ resourceTemplates: [] }),
      },
    });
    const templates = Array.from({ length: 500 }, (_, at) => `file:///{a}x{b}x{c}x{d}y${at}`);
    const caller = await stage.caller({ one: { url: backend.url, allowed_resource_names: templates } });
    const session = await caller.openSession();
    const uri = `one+file:///${'x'.repeat(16_000)}`;
    return answered(stage.scaled(2_000, 400), (turn) =>
      session.send(`{"jsonrpc":"2.0","id":${turn},"method":"resources/read","params":{"uri":"${uri}"}}`),
    );
  },
};

export const fixedArguments: Experiment = {
  name: 'fixed-arguments',
  expected: 'calls of 3 MiB to a tool with an argument that the config fixes: each is answered in time',
  async run(stage) {
    const backend = await stage.backend({ tools: ['echo'], onCall: () => ({ content: [] }) });
    const tools = { echo: { fixed_arguments: { value: 1 } } };
    const caller = await stage.caller({ one: { url: backend.url, tools } });
    const session = await caller.openSession();
    // Almost as many as are examined.
    const value = '0'.repeat(180);
    const members = Array.from({ length: (3 * MIB) / 200 }, (_, at) => `"valux${at}":"${value}"`).join(',');
    return answered(stage.scaled(200, 40), () => session.call('one-echo', `{${members}}`));
  },
};

type Answer = Awaited<ReturnType<McpSession['send']>>;

/** Asks over a few connections at once, and returns what came and the longest time that one took. */
async function answered(count: number, ask: (turn: number) => Promise<Answer>): Promise<string> {
  const words: string[] = [];
  let longestMs = 0;
  await inParallel(
    Array.from({ length: count }, (_, turn) => turn),
    LANES,
    async (turn) => {
      const begin = performance.now();
      const answer = await ask(turn);
      longestMs = Math.max(longestMs, performance.now() - begin);
      words.push(wordOf(answer));
    },
  );
  const seen = `${tally(words)}; the longest after ${Math.round(longestMs)} ms`;
  expect(longestMs < ANSWER_MS_MAX, seen);
  return seen;
}

function wordOf(answer: Answer): string {
  if (answer.status !== 200) return `${answer.status} ${answer.text.slice(0, 60)}`;
  return /"error":.*/.exec(answerText(answer))?.[0].slice(0, 60) ?? '200';
}

/** Words that differ in a letter or two, and that nobody uses: a search that forgives misspellings compares each with each. */
function wordsOf(seed: number, bytes: number): string {
  const words: string[] = [];
  for (let at = 0, length = 0; length < bytes; at += 1) {
    const word = `transfer${((at * 7 + seed) % 997).toString(36)}operation${((at + seed) % 31).toString(36)}s`;
    words.push(word);
    length += word.length + 1;
  }
  return words.join(' ').slice(0, bytes);
}
