// The largest inputs of a control plane: request bodies, messages to its /mcp, user configs that it publishes into, and
// compositions with many subjects. No turn of its event loop takes long.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { detailOf, startControlPlane, type ApiCaller } from '../support/control-plane.js';
import { writeRawConfig } from '../support/config-writer.js';
import { backendFor } from '../support/deployment.js';
import { TurnLog } from '../support/turn-log.js';

const MIB = 1024 * 1024;
/** The default of `--max-body-bytes`. */
const BODY_BYTES = 4 * MIB;
const VALUES = limits.controlPlaneBodyValuesMax - 10;
const TOOLS = 1_000;
const SUBJECTS = 200;

const turns = new TurnLog(t);
const controlPlane = await startControlPlane(t, { environment: turns.environment });
const tools = Array.from({ length: TOOLS }, (_, n) => `tool-${n}-${'t'.repeat(50)}`);
const backend = await backendFor(t, { tools });

async function whileWatched(t: Test, what: string, action: (api: ApiCaller) => Promise<void>): Promise<void> {
  const api = await controlPlane.caller(t);
  await turns.check(
    t,
    what,
    () => [controlPlane.program.pid],
    async () => {
      await action(api);
      // The cost of a turn is recorded in the next turn.
      await api.get('/health');
    },
  );
}

/** JSON values of the given number of bytes, each slow to parse in its own way. */
const bulks: Readonly<Record<string, (bytes: number) => string>> = {
  'a token a byte': (bytes) => `[${'1,'.repeat(bytes / 2)}1]`,
  'empty objects': (bytes) => `[${'{},'.repeat(bytes / 3)}{}]`,
  members: (bytes) =>
    `{${Array.from({ length: bytes / 12 }, (_, n) => `"${n.toString(36).padStart(7, 'm')}":0`).join()}}`,
  escapes: (bytes) => `"${'\\n'.repeat(bytes / 2)}"`,
  'plain text': (bytes) => `"${'ä'.repeat(bytes / 2)}"`,
  'short texts': (bytes) => `[${'"a",'.repeat(bytes / 4)}""]`,
};

/** Bodies with as many bytes, and as many values, as a body may have. */
const fullest: Readonly<Record<string, (bytes: number) => string>> = {
  'as many members as there may be': (bytes) =>
    `{${Array.from({ length: VALUES }, (_, n) => `"${`${n}`.padStart(bytes / VALUES - 4, 'm')}":0`).join()}}`,
  'as many objects as there may be': (bytes) => `[${`{},${' '.repeat(bytes / VALUES - 3)}`.repeat(VALUES - 1)}{}]`,
};

t.test('a large body', async (t) => {
  for (const [path, member] of [
    ['/servers', 'tags'],
    ['/compositions', 'subjects'],
  ] as const) {
    for (const [what, bulk] of [...Object.entries(bulks), ...Object.entries(fullest)]) {
      const text = `{"name":"x","${member}":${bulk(BODY_BYTES - 100)}}`;
      await whileWatched(t, `${path}: ${what}`, async (api) => {
        const { status } = await api.send('POST', path, { text, headers: [['content-type', 'application/json']] });
        t.ok(status >= 400 && status < 500, `${status}`);
      });
    }
  }
});

t.test('a large message to /mcp', async (t) => {
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
  ];
  for (const [what, bulk] of Object.entries(bulks)) {
    for (const [method, params] of [
      ['initialize', `{"x":${bulk(BODY_BYTES - 200)}}`],
      ['tools/call', `{"name":"s-tool","arguments":{"x":${bulk(BODY_BYTES - 200)}}}`],
    ] as const) {
      const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
      await whileWatched(t, `${method}: ${what}`, async (api) => {
        const answer = await api.send('POST', '/mcp', { text, headers });
        t.match(answer.text, /"error"/);
      });
    }
  }
});

t.test('a publication', async (t) => {
  const registering = await controlPlane.caller(t);
  t.equal((await registering.post('/servers', { name: 's', url: backend.url })).status, 201);
  const subjects = Array.from({ length: SUBJECTS }, (_, n) => `subject-${n}@example.com`);

  // Small members, as many as fit beside one small virtual host.
  const members = Array.from({ length: 45_000 }, (_, n) => `"b${n}":{"url":"http://b.example/${n}","name":"${n}"}`);
  const full = `{"virtual_hosts":{"own":{"backends":{${members.join()}}}}}`;
  t.ok(full.length > 2 * MIB && full.length < 4 * MIB);
  await writeRawConfig(controlPlane.storeOptions, 'full@example.com', Buffer.from(full));
  await whileWatched(t, 'to a user with a large config', async (api) => {
    const composed = {
      name: 'small',
      servers: [{ name: 's', tools: tools.slice(0, 1) }],
      subjects: ['full@example.com'],
    };
    t.equal((await api.post('/compositions', composed)).status, 201);
    t.equal((await api.delete('/compositions/small')).status, 204);
  });
  await whileWatched(t, 'to many users', async (api) => {
    for (const name of ['one', 'two']) {
      const answer = await api.post('/compositions', { name, servers: [{ name: 's', tools }], subjects });
      t.ok([201, 202].includes(answer.status), answer.status >= 400 ? detailOf(answer) : `${answer.status}`);
    }
    for (const name of ['one', 'two']) await api.delete(`/compositions/${name}`);
  });
});
