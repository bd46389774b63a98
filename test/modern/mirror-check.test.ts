import t from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { headerText } from '../../src/messages/mirrored-params.js';
import { mirrorFault } from '../../src/modern/mirror-check.js';
import { VERSION } from './modern-request.js';

/** @param name of the tool, as JSON. @param header what the caller says in `mcp-name`. */
function faultOf(name: string, header: string): string | undefined {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name}}}`);
  const mirror = { protocolVersion: VERSION, method: 'tools/call', name: header, params: [] };
  return mirrorFault(body, readClientMessage(body) as ClientMessage, mirror);
}

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

t.test('a name is the same however the body and the header spell it', async (t) => {
  for (const [name, header] of [
    ['"abc"', 'abc'],
    ['"\\u0061\\u0062\\u0063"', 'abc'],
    ['"\\u00fc"', base64('ü')],
    ['"ab"', base64('ab')],
  ] as const)
    t.equal(faultOf(name, header), undefined, name);
});

t.test('another name is another, whatever its length', async (t) => {
  for (const name of [
    '"abd"',
    '"ABC"',
    '"ab"',
    '"abcd"',
    '"abc "',
    '""',
    `"abc${'x'.repeat(100)}"`,
    `"${'\\u0061'.repeat(4)}"`,
  ])
    t.equal(faultOf(name, 'abc'), 'mcp-name differs from the body', name);
});

t.test('a value marked as base64 is read as that alone, in one spelling', async (t) => {
  t.equal(headerText('=?base64?YWI=?='), 'ab');
  t.equal(headerText('=?base64??='), '');
  for (const value of [
    '=?base64?YWI?=',
    '=?base64?YWJ=?=',
    '=?base64?Y WI=?=',
    '=?base64?/w==?=',
    '=?base64?YQ==YQ==?=',
  ])
    t.equal(headerText(value), undefined, value);
  for (const value of ['YWI=', '=?base64?YWI=', 'YWI=?=', '=?BASE64?YWI=?=', ''])
    t.equal(headerText(value), value, 'not marked');
});
