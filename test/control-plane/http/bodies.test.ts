// Bodies of requests: which types, how large, how deep, how many values; and what a merge patch does (RFC 7396).
import type { LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { limits } from '../../../src/shared/limits.js';
import { mint } from '../../support/tokens.js';
import { openApp, SECRET, type Kept } from './app.js';

const MERGE = 'application/merge-patch+json';
const authorization = `Bearer ${await mint({ sub: 'alice', algorithm: 'HS256', key: SECRET })}`;
const composition = {
  ...{ id: 'c'.repeat(32), name: 'desk', description: 'd', exposure: 'search', subjects: ['bob'], team: 'ops' },
  ...{ servers: [{ name: 'files', tools: ['read'], more: 1 }], updatedAt: 'then', ofAnotherVersion: true },
};
/** What compositions were replaced with. */
const replaced: Readonly<Record<string, unknown>>[] = [];
const take = async (_reference: string, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
  replaced.push(input);
  return composition;
};
const kept = {
  registry: { find: async () => ({ name: 'files', url: 'http://127.0.0.1:1/mcp' }) },
  compositions: {
    find: async () => composition,
    replace: take,
    create: async (input: Readonly<Record<string, unknown>>) => take('', input),
  },
  records: {},
} as unknown as Kept;
const app = await openApp(t, { ...kept, bodyBytesMax: 1_000_000 });

async function send(
  payload: string | Buffer,
  type = 'application/json',
  method: 'PUT' | 'PATCH' = 'PUT',
  url = '/compositions/desk',
): Promise<LightMyRequestResponse> {
  replaced.length = 0;
  const headers = { host: 'localhost', authorization, ...(type !== '' && { 'content-type': type }) };
  return app.inject({ method, url, headers, payload });
}

async function outcomeOf(...sent: Parameters<typeof send>): Promise<string> {
  const answer = await send(...sent);
  return `${answer.statusCode} ${answer.json<{ detail?: string }>().detail ?? 'well'}`;
}

const bodyWith = (servers: string): string => `{"name":"desk","servers":${servers}}`;
const padded = (text: string): string => text.padEnd(limits.readAtOnceBytesMax + 1);

t.test('a body is JSON in UTF-8, whether it is small or large', async (t) => {
  for (const size of [(text: string) => text, padded]) {
    t.equal(await outcomeOf(size(bodyWith('[]'))), '200 well');
    t.same(replaced, [{ name: 'desk', servers: [], isForced: false }]);
    t.equal(
      await outcomeOf(size('{"name":"desk",}')),
      size === padded ? `400 ${NOT_JSON}` : '400 The body is not JSON',
    );
  }
  const torn = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('","servers":[]}')]);
  t.equal(await outcomeOf(torn), '400 The body is not UTF-8');
  t.equal(await outcomeOf(Buffer.concat([torn, Buffer.alloc(limits.readAtOnceBytesMax, ' ')])), `400 ${NOT_JSON}`);
  t.equal(await outcomeOf('', ''), '422 the body must be an object', 'none is none');
  t.match(await outcomeOf('{"__proto__":{"x":1},"name":"desk","servers":[]}'), /^400 /, 'no prototype is set');
});

const NOT_JSON = `The body is not JSON in UTF-8, or has far more than ${limits.controlPlaneBodyValuesMax} values`;

t.test('a body has a bounded number of bytes and of values', async (t) => {
  t.equal(await outcomeOf(bodyWith('[]').padEnd(1_000_001)), '413 Request body too large');
  const valuesOf = (count: number): string => bodyWith(`[${'1,'.repeat(count)}1]`);
  t.equal(
    await outcomeOf(padded(valuesOf(limits.controlPlaneBodyValuesMax))),
    `413 The body has more than ${limits.controlPlaneBodyValuesMax} values: send fewer`,
  );
  t.match(await outcomeOf(padded(valuesOf(1_000))), /^422 servers\.0 must be an object/, 'which are judged');
  t.same(replaced, []);
});

t.test('other types are refused, each with what to send', async (t) => {
  t.equal(await outcomeOf('{}', 'text/plain'), '415 Unsupported content type: send application/json');
  t.equal(await outcomeOf('{}', MERGE), '415 Unsupported content type: send application/json');
  for (const type of ['application/json', 'text/plain']) {
    const answer = await send('{}', type, 'PATCH');
    t.same([answer.statusCode, answer.json()], [415, { detail: `Unsupported content type: send ${MERGE}` }]);
    t.equal(answer.headers['accept-patch'], MERGE);
  }
});

t.test('a patch changes what it names, removes what it nulls, and leaves the rest', async (t) => {
  const patched = async (patch: object): Promise<object | undefined> => {
    t.equal(await outcomeOf(JSON.stringify(patch), MERGE, 'PATCH'), '200 well');
    return replaced[0];
  };
  const { id: _id, updatedAt: _at, ofAnotherVersion: _of, ...input } = composition;
  const servers = [{ name: 'files', tools: ['read'] }];
  t.same(await patched({ servers }), { ...input, servers, isForced: false }, 'without what is not set by people');
  t.same(
    await patched({ servers, description: null, exposure: null, subjects: null, team: null }),
    { name: 'desk', servers, description: '', exposure: 'all', subjects: [], team: null, isForced: false },
    'what is removed has its default',
  );
  t.same(await patched({ servers, subjects: ['carol'] }), { ...input, servers, subjects: ['carol'], isForced: false });
});

t.test('a patched record is judged like a whole one', async (t) => {
  const patch = async (text: string): Promise<string> => outcomeOf(text, MERGE, 'PATCH');
  t.equal(await patch('{"servers":null}'), '422 servers is missing');
  t.equal(await patch('{"name":7}'), '422 name must be null or a string');
  t.equal(await patch('{"unknown":7}'), '422 unknown is not a known member: remove it or correct its name');
  t.match(await patch('{"exposure":"some"}'), /^422 exposure must be one of /);
  t.equal(await patch('[]'), '422 the body must be an object');
  const nested = (depth: number): string => `{"auth":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
  const patchServer = async (text: string): Promise<string> => outcomeOf(text, MERGE, 'PATCH', '/servers/files');
  t.equal(await patchServer(nested(64)), '422 the body is nested too deeply');
  t.match(await patchServer(nested(63)), /^422 auth/, 'up to there it is judged');
  t.same(replaced, []);
});
