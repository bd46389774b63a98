// Lists of tools in the shapes of well-known servers, in words of our own. Their texts are listed to the byte: `1.0` stays `1.0`, and an
// escape stays an escape.
import { encodeJson, JsonText } from '../support/json-text.js';

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, extras: Schema = {}): Schema => ({ type: 'string', description, ...extras });
const object = (properties: Schema, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});

/** Ninety tools over nested objects, as of a host of code. */
function codeHost(): readonly JsonText[] {
  const things = [
    'issue',
    'pull_request',
    'branch',
    'commit',
    'release',
    'label',
    'gist',
    'workflow',
    'runner',
    'alert',
  ];
  const deeds = ['list', 'get', 'create', 'update', 'delete', 'search', 'lock', 'assign', 'comment_on'];
  return things.flatMap((thing) =>
    deeds.map((deed) =>
      asText({
        name: `${deed}_${thing}`,
        title: `${deed} ${thing}`.replaceAll('_', ' '),
        description: `To ${deed} a ${thing} in a repository.`,
        inputSchema: object(
          {
            owner: text('Whose repository it is'),
            repo: text('Which repository'),
            [thing]: object({
              labels: {
                type: 'array',
                items: object({ name: text('Of the label'), colour: text('As hex', { pattern: '^#[0-9a-f]{6}$' }) }),
              },
              milestone: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], default: null },
              state: { enum: ['open', 'closed', 'all'], default: 'open' },
            }),
            page: { type: 'number', minimum: 1, default: 1 },
          },
          ['owner', 'repo'],
        ),
        annotations: { readOnlyHint: ['list', 'get', 'search'].includes(deed), openWorldHint: true },
      }),
    ),
  );
}

/** A browser: few members each, hints on all. */
function browser(): readonly JsonText[] {
  const deeds = {
    navigate: 'url',
    click: 'element',
    type: 'text',
    press_key: 'key',
    select_option: 'values',
    wait_for: 'time',
  };
  return Object.entries(deeds).map(([deed, of]) =>
    asText({
      name: `browser_${deed}`,
      description: `In the open page: ${deed.replace('_', ' ')}`,
      inputSchema: {
        type: 'object',
        properties: {
          [of]: of === 'values' ? { type: 'array', items: { type: 'string' } } : text(`Of what is done: ${of}`),
          ref: text('From the snapshot'),
        },
        required: [of],
        additionalProperties: false,
        $schema: 'http://json-schema.org/draft-07/schema#',
      },
      annotations: { title: deed, readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    }),
  );
}

/** Pages and databases, with descriptions of 16 KB that hold examples, lines and quotes. */
function workspace(): readonly JsonText[] {
  const example =
    '\n## Example\n<example>{"page": {"id": "…", "properties": {"Due \\"date\\"": null}}}</example>\n\t- `a\\nb`\u2028';
  return ['search', 'fetch', 'create-pages', 'update-page', 'move-pages', 'create-database'].map((deed, at) =>
    asText({
      name: `workspace-${deed}`,
      description: `Pages: ${deed}.${example.repeat(200 + at)}`,
      inputSchema: object({
        pages: {
          type: 'array',
          maxItems: 100,
          items: object({
            properties: { type: 'object', additionalProperties: { type: ['string', 'number', 'null'] } },
            content: text(example.repeat(10)),
          }),
        },
      }),
    }),
  );
}

/** A chat: results described, too; with metadata of its own. */
function chat(): readonly JsonText[] {
  const message = object(
    { ts: text('When, as text', { examples: ['1700000000.000100'] }), text: text('What was said') },
    ['ts'],
  );
  return ['post_message', 'reply_to_thread', 'add_reaction', 'get_channel_history', 'get_users'].map((deed) =>
    asText({
      name: `chat_${deed}`,
      description: `Chat: ${deed.replaceAll('_', ' ')}`,
      inputSchema: object({ channel_id: text('Where'), limit: { type: 'integer', default: 100, maximum: 1000 } }, [
        'channel_id',
      ]),
      outputSchema: object({ ok: { type: 'boolean' }, messages: { type: 'array', items: message } }, ['ok']),
      _meta: { 'chat.example/scopes': ['channels:read', 'chat:write'], 'chat.example/tier': 3 },
      icons: [{ src: 'data:image/png;base64,iVBORw0KGgo=', mimeType: 'image/png', sizes: ['48x48'] }],
    }),
  );
}

/** Texts and members in many scripts, escaped and not; numbers that JSON.parse would change. */
const scripts: readonly JsonText[] = ['wetter_abrufen', 'поиск', '天気予報', 'büro.suche', 'emoji_🛠️', 'e\u0301te'].map(
  (name, at) =>
    new JsonText(
      `{"name":${JSON.stringify(name)},"description":"Gr\\u00fc\\u00dfe \\ud83d\\ude00 ${name} \\/ done","inputSchema":{ "type":"object",` +
        `"properties":{"größe ${at}":{"type":"number","minimum":1.0,"maximum":12345678901234567890,"multipleOf":1e-2},` +
        `"ключ":{"const":"значение\\u2029"}} }}`,
    ),
);

/** Schemas that refer to themselves and to each other. */
const recursive: readonly JsonText[] = [
  ['filter', { $ref: '#/$defs/Clause' }],
  ['tree', { anyOf: [{ $ref: '#/$defs/Node' }, { $ref: '#/$defs/Node/properties/children/items' }] }],
  ['dynamic', { $dynamicRef: '#node', unevaluatedProperties: false }],
].map(([name, where]) =>
  asText({
    name,
    description: 'A tree',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `https://lists.example/tree`,
      type: 'object',
      properties: { where, any: {} },
      $defs: {
        Clause: {
          oneOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/$defs/Clause' } }, { $ref: '#/$defs/Node' }],
        },
        Node: {
          $dynamicAnchor: 'node',
          type: 'object',
          properties: { children: { type: 'array', items: { $ref: '#/$defs/Node' } } },
        },
      },
    },
  }),
);

export const LISTS: Readonly<Record<string, readonly JsonText[]>> = {
  'a host of code, 90 tools': codeHost(),
  'a browser': browser(),
  'a workspace, long descriptions': workspace(),
  'a chat, with results': chat(),
  'many scripts': scripts,
  'recursive schemas': recursive,
};

function asText(tool: Schema): JsonText {
  return new JsonText(encodeJson(tool));
}
