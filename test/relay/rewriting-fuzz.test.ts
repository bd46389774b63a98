// URIs of resources in random messages, down to the caller and up again: what the caller gets is compared, byte for byte, with the
// text that it was made of, and with a walk over the parsed message; its URIs, when the caller sends them back, must become the
// backend's own again.
import t from 'tap';
import {
  readBackendAnswer,
  readBackendMessage,
  readClientMessage,
  type BackendMessage,
} from '../../src/mcp/json-rpc.js';
import { readLargeBackendMessage } from '../../src/mcp/large-messages.js';
import { uriLocation } from '../../src/mcp/value-finder.js';
import { adaptedForClient, type NotifiedSession } from '../../src/session/backend-notifications.js';
import { callersParts } from '../../src/messages/rewriting.js';
import { readTarget, type TargetMethod } from '../../src/calls/targets.js';
import { routeUri } from '../../src/messages/uris.js';
import type { OutgoingMessage } from '../../src/http-client/http-upstream.js';
import type { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import {
  backendsText,
  callersText,
  callersUriOf,
  markCount,
  markedToken,
  randomUri,
  URI_NAMES,
} from '../support/marked-uris.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { randomJson } from '../support/random-json.js';
import { backendOf, virtualHostOf } from './virtual-host.js';

const INPUTS = fuzzInputs(2_000);
const NAMES = Object.keys(URI_NAMES);
const HOST = virtualHostOf(Object.fromEntries(NAMES.map((name) => [name, {}])));
const IS_URI = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;
const ID = { bytes: Buffer.from('7'), start: 0, end: 1 };

/** What else is in the messages. */
class Noise {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  /** An object of these members and others, in any order. */
  members(...own: string[]): string {
    const others = Array.from({ length: this.random.below(3) }, () => {
      return `"n${this.random.below(9)}":${randomJson(this.random, 3)}`;
    });
    const all = [...own, ...others].sort(() => (this.random.chance(0.5) ? 1 : -1));
    return `{${all.join(this.random.pick([',', ' , ', '\n,']))}}`;
  }

  list(make: () => string): string {
    return `[${Array.from({ length: this.random.below(4) }, make).join()}]`;
  }

  /** A member with a URI of the backend, marked. */
  uri(): string {
    return `"uri":${markedToken(this.random, randomUri(this.random))}`;
  }

  /** What an error says is missing, which may be said in words. */
  missing(): string {
    const uri = randomUri(this.random);
    return `"uri":${IS_URI.test(uri) ? markedToken(this.random, uri) : JSON.stringify(uri)}`;
  }
}

type Edit = (uri: string) => string;
type Value = Record<string, unknown>;

/** The walk: replaces the URI in each place. */
function editUris(message: unknown, places: number, edit: Edit): void {
  const owner = (value: unknown): void => {
    const { uri } = (value ?? {}) as Value;
    if (typeof uri === 'string') (value as Value)['uri'] = edit(uri);
  };
  const block = (value: unknown): void => {
    const { type, uri, resource } = (value ?? {}) as Value;
    if (type === 'resource') owner(resource);
    else if (type === 'resource_link' && !/^https?:/i.test(String(uri))) owner(value);
  };
  const each = (value: unknown, visit: (item: unknown) => void): void => {
    if (Array.isArray(value)) value.forEach(visit);
  };
  const { result, error } = message as { readonly result?: Value; readonly error?: Value };
  if (places & uriLocation.content) each(result?.['content'], block);
  if (places & uriLocation.contents) each(result?.['contents'], owner);
  if (places & uriLocation.messages)
    each(result?.['messages'], (item) => {
      const { content } = item as Value;
      if (Array.isArray(content)) content.forEach(block);
      else block(content);
    });
  if (places & uriLocation.error && IS_URI.test(String((error?.['data'] as Value | undefined)?.['uri'])))
    owner(error?.['data']);
}

function edited(text: string, places: number, edit: Edit): string {
  const message: unknown = JSON.parse(text);
  editUris(message, places, edit);
  return JSON.stringify(message);
}

function written(bytes: Buffer, message: BackendMessage | undefined, places: number, uriName: string): string {
  if (message === undefined) throw new Error('not a message');
  const parts = callersParts(bytes, message, ID, uriName, places) ?? [bytes];
  if (typeof parts === 'string') throw new Error(parts);
  return Buffer.concat(parts).toString();
}

/** The backend's own URI for one that its caller sends. */
function bareUriOf(name: string, uri: string): string {
  const route = routeUri(HOST, uri);
  if (route?.backend.name !== name) throw new Error(`${uri} leads to ${route?.backend.name}, not to ${name}`);
  return route.bareUri;
}

function sentText({ body, leftOut, putIn = Buffer.alloc(0) }: OutgoingMessage): string {
  const { start, end } = leftOut ?? { start: 0, end: 0 };
  return Buffer.concat([body.subarray(0, start), putIn, body.subarray(end)]).toString();
}

t.test('answers go down byte for byte and as the walk says, and come up again unchanged', async (t) => {
  const random = new Random(97);
  const noise = new Noise(random);
  const link = (): string => {
    const uri = randomUri(random);
    const token = /^https?:/.test(uri) ? JSON.stringify(uri) : markedToken(random, uri);
    return noise.members('"type":"resource_link"', `"uri":${token}`);
  };
  const embedded = (): string => noise.members('"type":"resource"', `"resource":${noise.members(noise.uri())}`);
  const decoy = (): string => noise.members('"type":"text"', '"uri":"a:1"', '"x":{"resource":{"uri":"ui://x"}}');
  const block = (): string => random.pick([link, embedded, decoy])();
  const content = (): string => (random.chance(0.5) ? block() : noise.list(block));
  const kinds: readonly (readonly [places: number, make: () => string])[] = [
    [
      uriLocation.content,
      () => `"result":${noise.members(`"content":${noise.list(block)}`, '"contents":[{"uri":"a:1"}]')}`,
    ],
    [
      uriLocation.messages,
      () => `"result":${noise.members(`"messages":${noise.list(() => noise.members(`"content":${content()}`))}`)}`,
    ],
    [
      uriLocation.contents,
      () => `"result":${noise.members(`"contents":${noise.list(() => noise.members(noise.uri()))}`, '"content":[]')}`,
    ],
    [uriLocation.error, () => `"error":{"code":1,"message":"","uri":"a:1","data":${noise.members(noise.missing())}}`],
  ];
  let uriCount = 0;
  for (let round = 0; round < INPUTS; round += 1) {
    const [place, make] = random.pick(kinds);
    const places = place | uriLocation.error;
    const name = random.pick(NAMES);
    const uriName = URI_NAMES[name]!;
    const text = `{"jsonrpc":"2.0","id":7,${make()}}`;
    uriCount += markCount(text);
    const original = backendsText(text);
    const bytes = Buffer.from(original);
    const down = written(bytes, readBackendAnswer(bytes), places, uriName);
    const asEvent = written(bytes, readBackendMessage(bytes), places, uriName);
    const inSlices = await new Promise<string>((resolve) => {
      readLargeBackendMessage('s', bytes, (message) => resolve(written(bytes, message, places, uriName)));
    });
    const expected = callersText(text, uriName);
    if (down !== expected) t.equal(down, expected, printable(original));
    if (asEvent !== expected) t.equal(asEvent, expected, `as an event: ${printable(original)}`);
    if (inSlices !== expected) t.equal(inSlices, expected, `in slices: ${printable(original)}`);
    const walked = edited(original, places, (uri) => callersUriOf(uriName, uri));
    if (JSON.stringify(JSON.parse(down)) !== walked) t.equal(down, walked, `the walk: ${printable(original)}`);
    const up = edited(down, places, (uri) => bareUriOf(name, uri));
    if (up !== JSON.stringify(JSON.parse(original))) t.equal(up, original, 'up again');
  }
  t.ok(uriCount > INPUTS / 2, `${uriCount} URIs`);
});

t.test('requests go up byte for byte, except that a URI with escapes keeps only its meaning', async (t) => {
  const random = new Random(31);
  const noise = new Noise(random);
  const methods = ['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'completion/complete'] as const;
  let escapedCount = 0;
  for (let round = 0; round < INPUTS; round += 1) {
    const method: TargetMethod = random.pick(methods);
    const name = random.pick(NAMES);
    const uri = randomUri(random);
    const token = markedToken(random, uri);
    const member = '"uri":@';
    const ref = `"ref":${noise.members('"type":"ref/resource"', member)}`;
    const params = noise.members(method === 'completion/complete' ? ref : member);
    const frame = noise.members('"jsonrpc":"2.0"', `"id":${round}`, `"method":"${method}"`, `"params":${params}`);
    const put = (text: string): string => frame.replace(member, () => `"uri":${text}`);
    const body = Buffer.from(put(callersText(token, URI_NAMES[name]!)));
    const message = readClientMessage(body);
    if (typeof message === 'string' || message.kind !== 'request') throw new Error(`not a request: ${body.toString()}`);
    const { target } = readTarget(method, HOST, body, message);
    if ('error' in target) throw new Error(`${target.error.message}: ${body.toString()}`);
    const bare = backendsText(token);
    const isEscaped = bare.includes('\\');
    if (isEscaped) escapedCount += 1;
    const expected = put(isEscaped ? JSON.stringify(uri) : bare);
    const sent = sentText(target.outgoing);
    if (target.backend.name !== name) t.equal(target.backend.name, name, printable(body.toString()));
    if (sent !== expected) t.equal(sent, expected, printable(body.toString()));
  }
  t.ok(escapedCount > INPUTS / 20 && escapedCount < INPUTS, `${escapedCount} with escapes`);
});

t.test('updates of resources go down byte for byte, and come up again unchanged', async (t) => {
  const random = new Random(53);
  const noise = new Noise(random);
  const session: NotifiedSession = { subscriptionsIfAny: undefined, taskOwnership: () => undefined };
  for (let round = 0; round < INPUTS; round += 1) {
    const name = random.pick(NAMES);
    const method = '"method":"notifications/resources/updated"';
    const text = noise.members('"jsonrpc":"2.0"', method, `"params":${noise.members(noise.uri())}`);
    const bytes = Buffer.from(backendsText(text));
    const upstream = { backend: backendOf(HOST, name) } as UpstreamSession;
    const parts = adaptedForClient(session, upstream, bytes, readBackendMessage(bytes)!);
    const down = Buffer.concat(parts ?? []).toString();
    const expected = callersText(text, URI_NAMES[name]!);
    if (down !== expected) t.equal(down, expected, printable(bytes.toString()));
    const uriIn = (said: string): string => (JSON.parse(said) as { params: { uri: string } }).params.uri;
    const up = bareUriOf(name, uriIn(down));
    if (up !== uriIn(bytes.toString())) t.equal(up, uriIn(bytes.toString()), 'up again');
  }
  t.pass(`${INPUTS} updates`);
});
