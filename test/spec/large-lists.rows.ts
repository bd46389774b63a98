// Decisions 2.5 and 2.6 for lists that are merged off the event loop: every byte, in every form and framing, at the owner and one hop away.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { JsonText, memberText } from '../support/json-text.js';
import type { McpBackendOptions } from '../support/mcp-backend.js';
import { answerText } from '../support/mcp-caller.js';

const TOOLS_PER_BACKEND = 300;

/** 2 to 4 KB of bytes that no serializer would write. */
function toolText(name: string, number: number): string {
  const description = `a\\/b \\u00e9 é 🚂 ${'x'.repeat(2_000 + (number % 10) * 200)}`;
  return `{ "n" : 1.0, "name" :"${name}" ,"inputSchema":{"type":"object","name":12345678901234567890},"d":"${description}" }`;
}

function nameOf(number: number): string {
  return `tool-${String((number * 7) % TOOLS_PER_BACKEND).padStart(3, '0')}`;
}

const tools = Array.from({ length: TOOLS_PER_BACKEND }, (_, number) => new JsonText(toolText(nameOf(number), number)));

const styles: Readonly<Record<string, McpBackendOptions>> = {
  length: { framing: 'length' },
  chunked: { framing: 'chunked' },
  events: { answerAs: 'event-stream', framing: 'chunked', withPriming: true },
  pages: { framing: 'length', pageSize: 140 },
  sessions: { answerAs: 'event-stream', framing: 'chunked', withSessions: true },
};

/** The merged list of all backends. */
function expectedResult(): string {
  const texts = Object.keys(styles).flatMap((backend) =>
    tools.map((_, number) => ({
      name: `${backend}-${nameOf(number)}`,
      text: toolText(nameOf(number), number).replace(`"${nameOf(number)}"`, `"${backend}-${nameOf(number)}"`),
    })),
  );
  texts.sort((one, other) => (one.name < other.name ? -1 : 1));
  return `{"tools":[${texts.map(({ text }) => text).join()}]}`;
}

const expected = `{"jsonrpc":"2.0","id":5,"result":${expectedResult()}}`;

await forEachDeployment(t, {}, async (t, deployment) => {
  const entries = await Promise.all(
    Object.entries(styles).map(async ([name, style]) => {
      const backend = await backendFor(t, { tools, ...style });
      return [name, { url: backend.url }] as const;
    }),
  );
  const session = await (await deployment.caller(Object.fromEntries(entries))).openSession();

  await t.test('a large list is sorted, complete and the same byte for byte, at every worker', async (t) => {
    // Each has a connection of its own: with four workers most take a hop. JSON only, since a slow list might else become a stream.
    const accept = 'application/json';
    const answers = await Promise.all(Array.from({ length: 6 }, () => session.list({ accept })));
    for (const answer of answers) {
      t.equal(answer.status, 200);
      t.equal(answer.contentType, 'application/json');
      t.ok(answer.text === expected, 'every byte');
    }
  });

  await t.test('a large list is an event for callers who accept nothing else', async (t) => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => session.list({ accept: 'text/event-stream' })));
    for (const answer of answers) {
      t.equal(answer.contentType, 'text/event-stream');
      t.ok(answerText(answer) === expected, 'every byte');
    }
  });

  await t.test('a large list of resources, whose URIs get the names of their backends', async (t) => {
    const uriOf = (number: number): string => `test:\\/\\/${nameOf(number)}`;
    const texts = tools.map(({ text }, number) => text.replace('"name" :', `"uri":"${uriOf(number)}", "name" :`));
    const page = new JsonText(`{"resources":[${texts.join()}]}`);
    const options = { capabilities: { resources: {} }, methods: { 'resources/list': () => page } };
    const [plain, events] = [
      await backendFor(t, options),
      await backendFor(t, { ...options, answerAs: 'event-stream', framing: 'chunked' }),
    ];
    const session = await (
      await deployment.caller({ a_b: { url: plain.url }, events: { url: events.url } })
    ).openSession();
    const sorted = texts.toSorted((one, other) => (memberText(one, 'uri')! < memberText(other, 'uri')! ? -1 : 1));
    const merged = ['a.5fb', 'events'].map((name) => sorted.map((text) => text.replace('"test:', `"${name}+test:`)));
    const expected = `{"jsonrpc":"2.0","id":6,"result":{"resources":[${merged.flat().join()}]}}`;
    const body = '{"jsonrpc":"2.0","id":6,"method":"resources/list"}';
    for (const accept of ['application/json', 'text/event-stream']) {
      t.ok(answerText(await session.send(body, { accept })) === expected, `every byte, as ${accept}`);
    }
  });

  await t.test('a call is served while large lists are asked for', async (t) => {
    const lists = Array.from({ length: 4 }, () => session.list({ accept: 'application/json' }));
    t.equal((await session.call(`length-${nameOf(1)}`)).status, 200);
    for (const answer of await Promise.all(lists)) t.ok(answer.text === expected, 'every byte');
  });
});
