// What a backend with sessions is sent of a request without a session: every byte except the id, the token and the envelope.
import t from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { withEdit } from '../../src/messages/rewriting.js';
import { partsOf } from '../../src/bytes/edits.js';
import { legacyMessage } from '../../src/modern/legacy-message.js';
import { limits } from '../../src/shared/limits.js';
import type { OutgoingMessage } from '../../src/http-client/http-upstream.js';
import { Random } from '../support/random.js';

const VERSION = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const CAPABILITIES = '"io.modelcontextprotocol/clientCapabilities" : {"a":{"b":[",}"]}}';
const INFO = '"io.modelcontextprotocol/clientInfo":{"name":"c,\\"d"}';
const LEVEL = '"io.modelcontextprotocol/logLevel":"debug"';
const OWN = Buffer.from('"own"');

function textOf({ body, leftOut, putIn = Buffer.alloc(0) }: OutgoingMessage): string {
  return Buffer.concat(partsOf(body, [{ start: 0, end: 0, ...leftOut, putIn }])).toString();
}

function sent(text: string, change = (outgoing: OutgoingMessage): OutgoingMessage => outgoing): string | undefined {
  const body = Buffer.from(text);
  const outgoing = legacyMessage(change({ body }), readClientMessage(body) as ClientMessage, OWN);
  return outgoing && textOf(outgoing);
}

t.test('the envelope is left out, wherever it is, and nothing else', (t) => {
  const forms: readonly (readonly [string, string])[] = [
    [`{${VERSION},${CAPABILITIES}}`, '{}'],
    [`{ ${VERSION} ,\n${CAPABILITIES} }`, '{  }'],
    [`{"a":1.0,${VERSION},${CAPABILITIES}}`, '{"a":1.0}'],
    [`{${VERSION},${CAPABILITIES},"a":1.0}`, '{"a":1.0}'],
    [`{${CAPABILITIES},"a":[1.0] , ${INFO},${VERSION},"b":"\\u0062",${LEVEL}}`, '{"a":[1.0] , "b":"\\u0062"}'],
    [`{"a":{},${LEVEL},"b":{},${INFO},"c":{},${VERSION},"d":{},${CAPABILITIES}}`, '{"a":{},"b":{},"c":{},"d":{}}'],
    [`{${VERSION.replace('/', '\\/').replace('i', '\\u0069')},"a":1,${CAPABILITIES}}`, '{"a":1}'],
    [`{"progressToken":7,${VERSION},${CAPABILITIES}}`, '{"progressToken":"own"}'],
    [`{${VERSION},"progressToken" : "t" ,${CAPABILITIES}}`, '{"progressToken" : "own" }'],
  ];
  for (const [meta, left] of forms) {
    const message = (id: string, meta: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x" , "_meta":${meta},"arguments":{"n":1.0}}}`;
    t.equal(sent(message('7', meta)), message('"own"', left));
  }
  t.end();
});

t.test('in any order, with anything beside it, only the envelope is left out', (t) => {
  const random = new Random(20260728);
  for (let round = 0; round < 300; round += 1) {
    const others = Array.from(
      { length: random.below(4) },
      (_, n) => `"m${n}":${['1.0', '","', '{"x":[]}'][random.below(3)]}`,
    );
    const rest = [VERSION, CAPABILITIES, INFO, LEVEL].slice(0, 2 + random.below(3)).concat(others);
    const members: string[] = [];
    while (rest.length > 0) members.push(...rest.splice(random.below(rest.length), 1));
    const blank = (): string => ['', ' ', '\n\t'][random.below(3)] ?? '';
    const meta = members.map((member) => `${blank()}${member}${blank()}`).join(',');
    const text = sent(`{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{${meta}}}}`) ?? '';
    const { params } = JSON.parse(text) as { params: { _meta: object } };
    const left = JSON.parse(`{${members.filter((member) => others.includes(member)).join(',')}}`) as object;
    t.strictSame(Object.entries(params._meta), Object.entries(left), meta);
  }
  t.end();
});

t.test('the envelope is left out of an edited message too, unless that is too large to be read again', (t) => {
  const message = (fill: string): string =>
    `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"b-x","_meta":{${VERSION},${CAPABILITIES}},"arguments":{"fill":"${fill}"}},"id":1}`;
  const change = (outgoing: OutgoingMessage): OutgoingMessage => {
    const at = (text: string): number => outgoing.body.indexOf(text);
    const named = withEdit(outgoing, { start: at('b-x'), end: at('x"'), putIn: Buffer.alloc(0) });
    const fixed = at('"fill"');
    return withEdit(named, { start: fixed, end: fixed, putIn: Buffer.from('"more":1,') });
  };
  t.strictSame(JSON.parse(sent(message('f'), change) ?? ''), {
    jsonrpc: '2.0',
    method: 'tools/call',
    params: { name: 'x', _meta: {}, arguments: { more: 1, fill: 'f' } },
    id: 'own',
  });
  t.equal(sent(message('f'.repeat(limits.readAtOnceBytesMax)), change), undefined, 'one that is too large is not');
  t.end();
});
