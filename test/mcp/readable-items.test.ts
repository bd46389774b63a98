// Whatever a backend lists, the schemas of the official client accept.
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { listKinds, type ListKind } from '../../src/mcp/list-kinds.js';
import { readListAnswer } from '../../src/mcp/list-page.js';
import { Random } from '../support/random.js';

interface Accepting {
  safeParse(value: unknown): { readonly success: boolean };
}

const KINDS: readonly [kind: ListKind, schema: Accepting, members: string][] = [
  [
    listKinds.tools,
    ListToolsResultSchema,
    'title description annotations icons execution _meta inputSchema outputSchema',
  ],
  [listKinds.prompts, ListPromptsResultSchema, 'title description icons arguments _meta'],
  [listKinds.resources, ListResourcesResultSchema, 'name title description mimeType size icons annotations _meta'],
  [listKinds.templates, ListResourceTemplatesResultSchema, 'name title description mimeType icons annotations _meta'],
];
/** What a member may have inside: names of all shapes, and others. */
const INNER =
  'title src mimeType sizes theme readOnlyHint destructiveHint idempotentHint openWorldHint taskSupport type properties required ' +
  'audience priority lastModified name description x';
const SCALARS = [
  ...['null', 'true', 'false', '0', '0.5', '7', '-1', '""', '"x"', '"48x48"', '"light"', '"optional"', '"object"'],
  ...['"user"', '"2026-11-30T03:00:00Z"', '"2026-11-30"', '"2026-11-30T03:00:00.5+01:00"', '"http://a"', '[]', '{}'],
  ...['["object","null"]', '["user"]', '["a",1]', '["48x48"]'],
];

function randomValue(random: Random, depth: number): string {
  if (depth === 0 || random.chance(0.4)) return random.pick(SCALARS);
  const count = random.below(5);
  const values = Array.from({ length: count }, () => randomValue(random, depth - 1));
  if (random.chance(0.4)) return `[${values.join(', ')}]`;
  return `{${values.map((value) => `"${random.pick(INNER.split(' '))}":${value}`).join(',')}}`;
}

t.test('a list of anything is one that clients accept, with all its items', async (t) => {
  const random = new Random(35);
  for (const [kind, schema, members] of KINDS) {
    let refused = 0;
    for (let round = 0; round < 3_000; round++) {
      const item = Array.from(
        { length: random.below(6) },
        () => `"${random.pick(members.split(' '))}":${randomValue(random, 3)}`,
      );
      item.splice(random.below(item.length + 1), 0, `"${kind.key}":"k"`);
      const result = `{"${kind.member}":[{${item.join()}}]}`;
      if (!schema.safeParse(JSON.parse(result)).success) refused++;
      const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
      const answer = readListAnswer(bytes, Buffer.from('1'), kind);
      const page = answer.kind === 'page' ? answer.page.bytes.toString() : '';
      const parsed = page === '' ? undefined : (JSON.parse(page) as { result: Record<string, unknown[]> }).result;
      if (parsed?.[kind.member]?.length !== 1 || !schema.safeParse(parsed).success) t.fail(`${result}\n${page}`);
    }
    t.ok(refused > 1_000, `${kind.name}: ${refused} were repaired`);
  }
});

t.test('what clients accept keeps its bytes', async (t) => {
  const random = new Random(36);
  for (const [kind, schema, members] of KINDS) {
    let count = 0;
    for (let round = 0; round < 3_000; round++) {
      const member = `"${random.pick(members.split(' '))}":${randomValue(random, 3)}`;
      const required = kind.name === 'tools' ? ',"inputSchema":{"type":"object"}' : ',"name":"n"';
      const own = member.startsWith('"inputSchema"') || member.startsWith('"name"') ? '' : required;
      const keyed = kind.key === 'name' && own === ',"name":"n"' ? '' : own;
      const result = `{"${kind.member}":[{"${kind.key}":"k"${keyed},${member}}]}`;
      // The official client for Python refuses half a byte.
      if (!schema.safeParse(JSON.parse(result)).success || member === '"size":0.5') continue;
      count++;
      const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
      const answer = readListAnswer(bytes, Buffer.from('1'), kind);
      if (answer.kind !== 'page' || !answer.page.bytes.equals(bytes)) t.fail(result);
    }
    t.ok(count > 300, `${kind.name}: ${count}`);
  }
});
