// The arguments of a tool or prompt of which the config fixes or hides some: what is fixed is put into the request's bytes, and a
// request that gives such an argument itself is refused, in whatever capitals it does. Warm: other requests never come here.
import { ABSENT, AMBIGUOUS, findMember, stringValue } from '../protocol/json-member.js';
import type { ClientMessage } from '../protocol/json-rpc.js';
import { JsonScanner, jsonKind } from '../protocol/json-scanner.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import { folded, type CuratedItem } from '../user-config/curation.js';
import type { RpcError } from './answers.js';
import type { Edit } from './edits.js';

/** The names of arguments: `{"params":{"arguments":{"v":…}}}`. As deep as clients' messages are looked at. */
const ARGUMENT_DEPTH = 3;

const ownTape = new JsonScanner();

/** @returns what has to change beside the name; `undefined` when nothing has to. */
export function curatedArguments(
  body: Buffer,
  message: ClientMessage,
  item: CuratedItem | undefined,
): Edit | RpcError | undefined {
  if (item === undefined || item.closedArguments.size === 0) return undefined;
  const tape = tapeOf(body, message);
  if (tape === undefined) return invalidArguments(message.method);
  const params = findMember(tape, body, 0, 'params');
  if (message.method === 'completion/complete') return closedCompletion(tape, body, params, item);
  const { fixedMembers } = item;
  const values = findMember(tape, body, params, 'arguments');
  if (values === AMBIGUOUS) return invalidArguments(message.method);
  if (values === ABSENT) {
    if (fixedMembers === '') return undefined;
    // There is a name, so that something follows.
    const at = message.paramsStart + 1;
    return { start: at, end: at, putIn: Buffer.from(`"arguments":{${fixedMembers}},`) };
  }
  const start = tape.start(values);
  if (tape.kind(values) === jsonKind.null) {
    return fixedMembers === '' ? undefined : { start, end: tape.end(values), putIn: Buffer.from(`{${fixedMembers}}`) };
  }
  if (tape.kind(values) !== jsonKind.object) return invalidArguments(message.method);
  const given = givenArgument(tape, body, values, item.closedArguments);
  if (given !== undefined) return argumentClosed(given);
  if (fixedMembers === '') return undefined;
  const isEmpty = tape.next(values) === values + 1;
  return { start: start + 1, end: start + 1, putIn: Buffer.from(isEmpty ? fixedMembers : `${fixedMembers},`) };
}

/** What a completion is for is one argument. */
function closedCompletion(
  tape: JsonScanner,
  body: Buffer,
  params: number,
  { closedArguments }: CuratedItem,
): RpcError | undefined {
  const argument = findMember(tape, body, params, 'argument');
  if (argument === AMBIGUOUS) return invalidArguments('completion/complete');
  if (argument === ABSENT || tape.kind(argument) !== jsonKind.object) return undefined;
  const name = findMember(tape, body, argument, 'name');
  if (name === AMBIGUOUS) return invalidArguments('completion/complete');
  if (name === ABSENT || tape.kind(name) !== jsonKind.string) return undefined;
  const text = stringValue(body, tape.start(name), tape.end(name));
  return closedArguments.has(folded(text)) ? argumentClosed(text) : undefined;
}

/** Of a large message it is there while the message is handed on; a small one is soon scanned again. */
function tapeOf(body: Buffer, { tape }: ClientMessage): JsonScanner | undefined {
  if (tape !== undefined) return tape;
  return body.length <= limits.readAtOnceBytesMax && ownTape.scan(body, ARGUMENT_DEPTH) ? ownTape : undefined;
}

function givenArgument(
  tape: JsonScanner,
  body: Buffer,
  object: number,
  closed: ReadonlySet<string>,
): string | undefined {
  const past = tape.next(object);
  for (let node = object + 1; node < past; node = tape.next(node)) {
    const name = stringValue(body, tape.keyStart(node) - 1, tape.keyEnd(node) + 1);
    if (closed.has(folded(name))) return name;
  }
  return undefined;
}

function argumentClosed(name: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Argument not accepted: ${name}` };
}

function invalidArguments(method: string): RpcError {
  return { code: rpcCodes.invalidParams, message: `Invalid arguments of ${method}: they must be an object, once` };
}
