import t from 'tap';
import type { ExchangeWatcher } from '../../src/exchange/exchange.js';
import type { OutgoingMessage } from '../../src/http-client/http-upstream.js';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { routeName } from '../../src/user-config/routing.js';
import { bareNameBody } from '../../src/messages/rewriting.js';
import { tracedMessage } from '../../src/messages/trace-passing.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { virtualHostOf } from '../relay/virtual-host.js';

/** What the backend is sent when a caller sends this text. */
function relayed(text: string, backendName: string): string {
  const body = Buffer.from(text);
  const message = readClientMessage(body) as ClientMessage;
  const { name } = (JSON.parse(text) as { params: { name: string } }).params;
  const route = routeName(virtualHostOf({ [backendName]: {} }), 'tools', name);
  if (route === undefined) throw new Error(`no route for ${name}`);
  const before = Buffer.from(body);
  const result = bareNameBody(body, message, route);
  if (!body.equals(before)) throw new Error("the caller's bytes were changed");
  return textOf(result);
}

function textOf({ body, leftOut = { start: 0, end: 0 }, putIn = Buffer.alloc(0) }: OutgoingMessage): string {
  return Buffer.concat([body.subarray(0, leftOut.start), putIn, body.subarray(leftOut.end)]).toString();
}

function call(nameToken: string, argumentsText = '{}', members = ''): string {
  return `{"jsonrpc":"2.0","id":1,${members}"method":"tools/call","params":{"name":${nameToken},"arguments":${argumentsText}}}`;
}

t.test('only the name changes', async (t) => {
  const argumentsText = '{ "n" : 1.0 , "big":12345678901234567890,"n":2, "name":"b-x","t":"\\u00e9\\/" }';
  t.equal(relayed(call('"b-x"', argumentsText), 'b'), call('"x"', argumentsText));
  const spaced =
    ' {\n"params" : { "arguments":{}, "_meta":{"a":1.50}, "name" : "b-x" },"method":"tools/call", "id":"é", "jsonrpc":"2.0" } ';
  t.equal(relayed(spaced, 'b'), spaced.replace('b-x', 'x'));
});

t.test('a bare name may be empty, begin with a hyphen, or hold the prefix again', async (t) => {
  t.equal(relayed(call('"b-"'), 'b'), call('""'));
  t.equal(relayed(call('"b--x-"'), 'b'), call('"-x-"'));
  t.equal(relayed(call('"b-b-x"'), 'b'), call('"b-x"'));
  t.equal(relayed(call('"a-b-x"'), 'a-b'), call('"x"'));
});

t.test('names with several bytes per character lose whole characters only', async (t) => {
  t.equal(relayed(call('"é-ß"'), 'é'), call('"ß"'));
  t.equal(relayed(call('"日本-語"'), '日本'), call('"語"'));
  t.equal(relayed(call('"🚂🚃-🚋"'), '🚂🚃'), call('"🚋"'));
  t.equal(relayed(call('"\u2028-\u2029"'), '\u2028'), call('"\u2029"'));
});

t.test('escapes in a name are understood, in the prefix and after it', async (t) => {
  const meanings: Record<string, string> = {
    '"\\u0062-x"': 'x',
    '"b\\u002dx"': 'x',
    '"b-\\u0078"': 'x',
    '"b-\\"\\\\\\/"': '"\\/',
    '"b-\\n\\u0000"': '\n\u0000',
    '"b-\\u00e9\\ud83d\\ude82"': 'é🚂',
    '"b-é\\u00e9"': 'éé',
    // Half of a surrogate pair has no bytes of its own, so it stays an escape.
    '"b-\\ud83d"': '\ud83d',
  };
  for (const [token, meaning] of Object.entries(meanings)) {
    const result = relayed(call(token, '{"n":1.0}'), 'b');
    t.equal(result, call(JSON.stringify(meaning), '{"n":1.0}'), token);
  }
});

t.test('escapes elsewhere in the message do not matter', async (t) => {
  t.equal(relayed(call('"b-x"', '{"a":"\\u0062-x"}'), 'b'), call('"x"', '{"a":"\\u0062-x"}'));
  const before = '"x":"\\\\",';
  t.equal(relayed(call('"b-x"', '{}', before), 'b'), call('"x"', '{}', before));
});

t.test('agrees with JSON.parse on random names', async (t) => {
  const random = new Random(7);
  const pieces = ['a', '-', 'é', '🚂', '"', '\\', '\n', '\u0001', '/', '語'];
  const text = (lengthMax: number): string =>
    Array.from({ length: random.below(lengthMax + 1) }, () => random.pick(pieces)).join('');
  /** A JSON string in which each character is plain or escaped, at random. */
  const token = (value: string): string => {
    const escaped = Array.from(value, (character) => {
      const plain = JSON.stringify(character).slice(1, -1);
      if (random.chance(0.7)) return plain;
      return Array.from({ length: character.length }, (_, at) => {
        return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
      }).join('');
    });
    return `"${escaped.join('')}"`;
  };
  for (let round = 0; round < 300; round += 1) {
    const backendName = `n${text(3)}`;
    const bareName = text(5);
    const sent = call(token(`${backendName}-${bareName}`), '{"n":1.0}');
    // There is only one backend, so everything after its prefix is the name of the tool.
    const result = JSON.parse(relayed(sent, backendName)) as { params: { name: string } };
    if (result.params.name !== bareName) t.equal(result.params.name, bareName, printable(sent));
  }
  t.pass('300 names');
});

t.test('a trace in the message becomes that of the request to the backend, and nothing else changes', async (t) => {
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const parent = own.replaceAll('b', 'c');
  const large = `"${'x'.repeat(limits.readAtOnceBytesMax)}"`;
  for (const [members, read] of [
    [`"_meta":{"traceparent":"${parent}","n":1.0}`, parent],
    [`"arguments":{"n":1.0}, "_meta" : {"n":1.0,"traceparent" : "${parent}" }`, parent],
    [`"arguments":{"traceparent":"${parent}"},"_meta":{"n":1.0}`, ''],
    ['"_meta":{"traceparent":7}', ''],
    [`"_meta":"traceparent"`, ''],
    [`"_meta":{"traceparent":"${parent}"},"arguments":{"t":${large}}`, ''],
  ] as const) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",${members}}}`;
    const body = Buffer.from(text);
    const given: string[] = [];
    const watcher: Pick<ExchangeWatcher, 'onSending'> = {
      onSending: (inMessage) => {
        given.push(inMessage);
        return { traceparent: own, tracestate: '' };
      },
    };
    const plan = { exchange: { request: { body } }, message: readClientMessage(body), metadata: { headers: [] } };
    const sent = tracedMessage(watcher as ExchangeWatcher, plan as never, { body }, { bytes: body, start: 0, end: 0 });
    t.same(given, [read], printable(members.slice(0, 100)));
    t.equal(sent.trace?.traceparent, own, 'in a header in any case');
    t.ok(textOf(sent) === (read === '' ? text : text.replace(parent, own)));
  }
});
