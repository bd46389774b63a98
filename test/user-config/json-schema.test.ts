// The published JSON Schema is the program's own, explains every member, and judges configs as the program does.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { memberDescriptions, userConfigJsonSchema } from '../../src/user-config/json-schema.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';

const url = 'https://b.example/mcp';
const validate = new Ajv2020({ strict: true }).compile(userConfigJsonSchema());

t.test('docs/user-config.schema.json is what `switchyard config schema` prints', async (t) => {
  const published = readFileSync(new URL('../../../docs/user-config.schema.json', import.meta.url), 'utf8');
  t.strictSame(JSON.parse(published), JSON.parse(JSON.stringify(userConfigJsonSchema())));
});

t.test('every explanation is that of a member, and every member of a backend has one', async (t) => {
  const places: string[] = [];
  const walk = (schema: Record<string, unknown>, place: readonly string[]): void => {
    places.push(place.join('.'));
    for (const [name, member] of Object.entries(schema['properties'] ?? {}))
      walk(member as Record<string, unknown>, [...place, name]);
    const each = schema['additionalProperties'];
    if (typeof each === 'object' && each !== null) walk(each as Record<string, unknown>, [...place, '*']);
  };
  walk(userConfigJsonSchema(), []);
  t.strictSame(
    Object.keys(memberDescriptions).filter((place) => !places.includes(place)),
    [],
  );
  const ofBackend = places.filter((place) => /^virtual_hosts\.\*\.backends\.\*\.[^.]+$/.test(place));
  t.ok(ofBackend.length > 5);
  t.strictSame(
    ofBackend.filter((place) => memberDescriptions[place]?.['description'] === undefined),
    [],
  );
});

t.test('the schema accepts what the program accepts, and refuses what it refuses', async (t) => {
  const withBackend = (backend: unknown): unknown => ({ virtual_hosts: { vh: { backends: { b: backend } } } });
  const configs: readonly unknown[] = [
    { virtual_hosts: {} },
    {},
    [],
    { virtual_hosts: [] },
    { virtual_hosts: { vh: {} } },
    { virtual_hosts: { vh: { backends: { '': { url } } } } },
    { colour: 1, virtual_hosts: { vh: { colour: 1, backends: { b: { url, colour: 1 } } } } },
    withBackend({}),
    withBackend({ url }),
    withBackend({ url: 'http://u:p@x/' }),
    withBackend({ url: 'ftp://x' }),
    withBackend({ url: 'x' }),
    withBackend({ url: 'HTTP://x?y=@' }),
    withBackend({ url, transport: 'SSE', passthrough_headers: ['a'], exposes: ['tools'] }),
    withBackend({ url, transport: 'sse' }),
    withBackend({ url, allowed_tool_names: [1] }),
    withBackend({ url, allowed_tool_names: null }),
    withBackend({ url, exposes: ['all'] }),
    withBackend({ url, auth: { type: 'headers', headers: { 'x-key': { file: 'key' } } } }),
    withBackend({ url, auth: { type: 'headers', headers: {}, more: 1 } }),
    withBackend({ url, auth: { type: 'other', headers: {} } }),
  ];
  for (const config of configs) {
    const text = JSON.stringify(config);
    t.equal(validate(config), decodeUserConfig(Buffer.from(text)).ok, text);
  }
});
