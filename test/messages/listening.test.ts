// What a `subscriptions/listen` may ask for, what is acknowledged, and the id that notifications for it carry: the other bytes stay.
import t from 'tap';
import { readBackendMessage, readClientMessage } from '../../src/mcp/json-rpc.js';
import {
  filterJson,
  readListenFilter,
  SUBSCRIPTION_ID_KEY,
  taggedNotification,
  untaggedNotification,
} from '../../src/messages/listening.js';
import { limits } from '../../src/shared/limits.js';

function acknowledged(filter: ReturnType<typeof readListenFilter>): string {
  return typeof filter === 'string' ? filter : filterJson(filter);
}

function filterOf(params: string): ReturnType<typeof readListenFilter> {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":${params}}`);
  const message = readClientMessage(body);
  if (typeof message === 'string' || message.kind === 'batch') throw new Error('no message');
  return readListenFilter(body, message);
}

t.test('a filter is read, each URI once, and acknowledged with what it asks for', (t) => {
  const asked = {
    toolsListChanged: true,
    promptsListChanged: false,
    resourcesListChanged: null,
    resourceSubscriptions: ['a:1', '', 'b:2', 'a:1'],
  };
  const filter = filterOf(JSON.stringify({ notifications: asked }));
  t.match(filter, { changes: [{ member: 'toolsListChanged' }], uris: ['a:1', 'b:2'], wantsTasks: false });
  t.equal(acknowledged(filter), '{"toolsListChanged":true,"resourceSubscriptions":["a:1","b:2"]}');
  const all = filterOf(
    '{"notifications":{"resourcesListChanged":true,"promptsListChanged":true,"toolsListChanged":true,"taskIds":["t"]}}',
  );
  t.match(all, { uris: [], wantsTasks: true });
  t.equal(acknowledged(all), '{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}');
  t.match(filterOf('{"notifications":{}}'), { changes: [], uris: [] });
  t.end();
});

t.test('a filter that cannot be obeyed is refused with what is wrong', (t) => {
  const many = (count: number): string =>
    JSON.stringify({ notifications: { resourceSubscriptions: Array.from({ length: count }, (_, n) => `a:${n}`) } });
  const faults: readonly (readonly [string, string])[] = [
    ['{}', 'notifications must be an object'],
    ['{"notifications":[]}', 'notifications must be an object'],
    ['{"notifications":{"toolsListChanged":"yes"}}', 'toolsListChanged must be a boolean'],
    ['{"notifications":{"resourceSubscriptions":"a"}}', 'resourceSubscriptions must be an array of strings'],
    ['{"notifications":{"resourceSubscriptions":[1]}}', 'resourceSubscriptions must be an array of strings'],
    ['{"notifications":{"taskIds":"t"}}', 'taskIds must be an array of strings'],
    [
      many(limits.subscriptionsMax + 1),
      `resourceSubscriptions must not have more than ${limits.subscriptionsMax} members`,
    ],
    [JSON.stringify({ x: 'x'.repeat(limits.readAtOnceBytesMax), notifications: {} }), 'params are too large'],
  ];
  for (const [params, fault] of faults) t.equal(filterOf(params), fault, params.slice(0, 60));
  t.equal(typeof filterOf(many(limits.subscriptionsMax)), 'object', 'as many as there may be');
  const longest = limits.readAtOnceBytesMax - JSON.stringify({ x: '', notifications: {} }).length;
  t.match(
    filterOf(JSON.stringify({ x: 'x'.repeat(longest), notifications: {} })),
    { uris: [] },
    'as long as it may be',
  );
  t.end();
});

const KEY = JSON.stringify(SUBSCRIPTION_ID_KEY);
const notice = (params: string | undefined): string =>
  `{"jsonrpc":"2.0","method":"notifications/x"${params === undefined ? '' : `,"params":${params}`}}`;

function rewritten(text: string, rewrite: typeof untaggedNotification): string | undefined {
  const bytes = Buffer.from(text);
  const message = readBackendMessage(bytes);
  if (message === undefined) throw new Error(`no message: ${text}`);
  return rewrite(bytes, message)?.toString();
}

t.test('a notification gets the id of its listener, and every other byte stays', (t) => {
  const tagged = (params: string | undefined): string | undefined =>
    rewritten(notice(params), (bytes, message) => taggedNotification(bytes, message, '"l 1"'));
  for (const [before, after] of [
    [undefined, `{"_meta":{${KEY}:"l 1"}}`],
    ['{}', `{"_meta":{${KEY}:"l 1"}}`],
    ['{ "a" : 1.0 }', `{"_meta":{${KEY}:"l 1"}, "a" : 1.0 }`],
    ['{"_meta":{}}', `{"_meta":{${KEY}:"l 1"}}`],
    ['{"a":1,"_meta":{ "b":2 }}', `{"a":1,"_meta":{${KEY}:"l 1", "b":2 }}`],
    [`{"_meta":{"b":2,${KEY}: 7 ,"c":3}}`, `{"_meta":{"b":2,${KEY}: "l 1" ,"c":3}}`],
  ] as const)
    t.equal(tagged(before), notice(after), before ?? 'without params');
  for (const params of ['{"_meta":1}', '{"_meta":{},"_meta":{}}', `{"_meta":{${KEY}:1,${KEY}:2}}`])
    t.equal(tagged(params), undefined, params);
  t.end();
});

t.test('an id that a backend has put into a notification is taken out, and every other byte stays', (t) => {
  for (const [before, after] of [
    [undefined, undefined],
    ['{"a":1}', '{"a":1}'],
    ['{"_meta":{ "b":2 }}', '{"_meta":{ "b":2 }}'],
    [`{"_meta":{${KEY}:7}}`, '{"_meta":{}}'],
    [`{"_meta":{${KEY}:7,"b":2}}`, '{"_meta":{"b":2}}'],
    [`{"_meta":{"b":2,${KEY}:{"x":[]}},"c":1}`, '{"_meta":{"b":2},"c":1}'],
  ] as const)
    t.equal(rewritten(notice(before), untaggedNotification), notice(after), before ?? 'without params');
  for (const params of ['{"_meta":1}', '{"_meta":{},"_meta":{}}', `{"_meta":{${KEY}:1,${KEY}:2}}`])
    t.equal(rewritten(notice(params), untaggedNotification), undefined, params);
  t.end();
});
