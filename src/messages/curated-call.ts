// Curates the arguments in a request for a tool or prompt, where the config fixes or hides some. Fixed arguments are inserted. A request
// that contains a withheld argument (a fixed or a hidden one), in any letter case, is refused. Warm path.
import {
  MEMBER_ABSENT,
  MEMBER_AMBIGUOUS,
  ESCAPE_BYTES_MAX,
  findMember,
  stringValue,
  JsonScanner,
  jsonKind,
  type Edit,
} from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import { caseFolded, type CuratedItem } from '../user-config/index.js';

/** The depth of arguments in a request: `{"params":{"arguments":{"v":…}}}`. Clients' messages are scanned to the same depth. */
const ARGUMENT_DEPTH = 3;
/** The depth of arguments in the context of a completion: `{"arguments":{"v":…}}`. */
const CONTEXT_DEPTH = 2;

const ownTape = new JsonScanner();
const contextTape = new JsonScanner();

/** Curates a request's arguments. @returns the edit to make, or why the request is refused; `undefined` when nothing changes. */
export function curateArguments(
  body: Buffer,
  message: ClientMessage,
  item: CuratedItem | undefined,
): Edit | RpcError | undefined {
  if (item === undefined || item.withheldArguments.size === 0) return undefined;
  const tape = tapeOf(body, message);
  if (tape === undefined) return rpcErrors.argumentsInvalid(message.method);
  const params = findMember(tape, body, 0, 'params');
  if (message.method === 'completion/complete')
    return refusalOfCompletion(tape, body, params, item) ?? curateContext(tape, body, params, message, item);
  const values = findMember(tape, body, params, 'arguments');
  if (values !== MEMBER_ABSENT) return curateValues(tape, body, values, message.nameStart, message.method, item);
  if (item.fixedMembers === '') return undefined;
  const at = message.nameEnd;
  return { start: at, end: at, putIn: Buffer.from(`,"arguments":{${item.fixedMembers}}`) };
}

/** Curates arguments. @param values the arguments' node, or `MEMBER_AMBIGUOUS`. @param nameAt the offset of the name, also edited. */
function curateValues(
  tape: JsonScanner,
  bytes: Buffer,
  values: number,
  nameAt: number,
  method: string,
  item: CuratedItem,
): Edit | RpcError | undefined {
  const { fixedMembers } = item;
  if (values === MEMBER_AMBIGUOUS) return rpcErrors.argumentsInvalid(method);
  if (tape.kind(values) === jsonKind.null) {
    const [start, end] = [tape.start(values), tape.end(values)];
    return fixedMembers === '' ? undefined : { start, end, putIn: Buffer.from(`{${fixedMembers}}`) };
  }
  if (tape.kind(values) !== jsonKind.object) return rpcErrors.argumentsInvalid(method);
  const refusal = refusalOfValues(tape, bytes, values, item);
  if (refusal !== undefined) return refusal;
  return fixedMembers === '' ? undefined : insertMembers(tape, values, nameAt, fixedMembers);
}

/** Inserts members first or last in the object, whichever is nearer to the name: the bytes between this edit and the name's are copied. */
function insertMembers(tape: JsonScanner, object: number, nameAt: number, members: string): Edit {
  const isEmpty = tape.next(object) === object + 1;
  const isNameBehind = nameAt > tape.start(object);
  const at = isNameBehind ? tape.end(object) - 1 : tape.start(object) + 1;
  return { start: at, end: at, putIn: Buffer.from(isEmpty ? members : isNameBehind ? `,${members}` : `${members},`) };
}

/** The refusal of a completion for a withheld argument; `undefined` if the completion is allowed. */
function refusalOfCompletion(tape: JsonScanner, body: Buffer, params: number, item: CuratedItem): RpcError | undefined {
  const argument = findMember(tape, body, params, 'argument');
  if (argument === MEMBER_AMBIGUOUS) return rpcErrors.argumentsInvalid('completion/complete');
  if (argument === MEMBER_ABSENT || tape.kind(argument) !== jsonKind.object) return undefined;
  const name = findMember(tape, body, argument, 'name');
  if (name === MEMBER_AMBIGUOUS) return rpcErrors.argumentsInvalid('completion/complete');
  if (name === MEMBER_ABSENT || tape.kind(name) !== jsonKind.string) return undefined;
  const [start, end] = [tape.start(name), tape.end(name)];
  if (isLongerThanWithheld(start, end, item)) return undefined;
  const text = stringValue(body, start, end);
  return item.withheldArguments.has(caseFolded(text)) ? rpcErrors.argumentNotAccepted(text) : undefined;
}

/** Curates the other arguments, which a completion has in its `context`, deeper than messages are scanned. */
function curateContext(
  tape: JsonScanner,
  body: Buffer,
  params: number,
  { method, nameStart }: ClientMessage,
  item: CuratedItem,
): Edit | RpcError | undefined {
  const context = findMember(tape, body, params, 'context');
  if (context === MEMBER_ABSENT || (context !== MEMBER_AMBIGUOUS && tape.kind(context) === jsonKind.null))
    return undefined;
  if (context === MEMBER_AMBIGUOUS || tape.kind(context) !== jsonKind.object) return rpcErrors.contextInvalid(method);
  const start = tape.start(context);
  const bytes = body.subarray(start, tape.end(context));
  if (bytes.length > limits.readAtOnceBytesMax || !contextTape.scan(bytes, CONTEXT_DEPTH))
    return rpcErrors.contextInvalid(method);
  const values = findMember(contextTape, bytes, 0, 'arguments');
  const nameAt = nameStart - start;
  if (values === MEMBER_ABSENT && item.fixedMembers === '') return undefined;
  const edit =
    values === MEMBER_ABSENT
      ? insertMembers(contextTape, 0, nameAt, `"arguments":{${item.fixedMembers}}`)
      : curateValues(contextTape, bytes, values, nameAt, method, item);
  if (edit === undefined || 'code' in edit) return edit;
  return { start: edit.start + start, end: edit.end + start, putIn: edit.putIn };
}

/** A message's tape. A large message has its tape while it is handled; a small one is scanned again. `undefined` if neither is possible. */
export function tapeOf(body: Buffer, { tape }: ClientMessage): JsonScanner | undefined {
  if (tape !== undefined) return tape;
  return body.length <= limits.readAtOnceBytesMax && ownTape.scan(body, ARGUMENT_DEPTH) ? ownTape : undefined;
}

/** Why the values are refused. Only names short enough to be withheld are decoded, and at most `argumentsExaminedMax`. */
function refusalOfValues(tape: JsonScanner, body: Buffer, object: number, item: CuratedItem): RpcError | undefined {
  const subtreeEnd = tape.next(object);
  let examinedCount = 0;
  for (let node = object + 1; node < subtreeEnd; node = tape.next(node)) {
    const [start, end] = [tape.keyStart(node) - 1, tape.keyEnd(node) + 1];
    if (isLongerThanWithheld(start, end, item)) continue;
    examinedCount += 1;
    if (examinedCount > limits.argumentsExaminedMax) return rpcErrors.tooManyArguments;
    const name = stringValue(body, start, end);
    if (item.withheldArguments.has(caseFolded(name))) return rpcErrors.argumentNotAccepted(name);
  }
  return undefined;
}

function isLongerThanWithheld(start: number, end: number, { withheldCharsMax }: CuratedItem): boolean {
  return end - start - 2 > ESCAPE_BYTES_MAX * withheldCharsMax;
}
