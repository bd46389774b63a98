// Finds what a caller's request is about, depending on its method: the name of a tool or a prompt, the URI of a resource, the id of a task.
// Hot path: once per message of a caller.
import { ABSENT, AMBIGUOUS, findIn, isString, MemberNames, jsonKind, type JsonScanner } from '../bytes/index.js';

const taskNames = new MemberNames('taskId');
const uriNames = new MemberNames('uri');
const refParamsNames = new MemberNames('ref');
const refNames = new MemberNames('type', 'name', 'uri');
const inTask = new Int32Array(taskNames.all.length);
const inUri = new Int32Array(uriNames.all.length);
const inRefParams = new Int32Array(refParamsNames.all.length);
const inRef = new Int32Array(refNames.all.length);

/** Whether the last result of `requestSubjectOf` is a URI. */
let isUri = false;

/**
 * @param name the node of `params.name`, which the caller has already found.
 * @returns the node of what the request is about; otherwise `ABSENT` or `AMBIGUOUS`.
 */
export function requestSubjectOf(
  tape: JsonScanner,
  bytes: Uint8Array,
  method: string,
  params: number,
  name: number,
): number {
  isUri = false;
  switch (method) {
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      isUri = true;
      return findIn(tape, bytes, params, uriNames, inUri) ? inUri[0]! : AMBIGUOUS;
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/cancel':
    case 'tasks/update':
      return findIn(tape, bytes, params, taskNames, inTask) ? inTask[0]! : AMBIGUOUS;
    case 'completion/complete':
      if (!findIn(tape, bytes, params, refParamsNames, inRefParams)) return AMBIGUOUS;
      return findIn(tape, bytes, inRefParams[0]!, refNames, inRef) ? subjectOfRef(tape, bytes) : AMBIGUOUS;
    default:
      return name;
  }
}

/** Whether the last result of `requestSubjectOf` is a resource's URI. */
export function isSubjectUri(): boolean {
  return isUri;
}

function subjectOfRef(tape: JsonScanner, bytes: Uint8Array): number {
  const [type = ABSENT, name = ABSENT, uri = ABSENT] = inRef;
  if (type === ABSENT || tape.kind(type) !== jsonKind.string) return ABSENT;
  if (isString(bytes, tape.start(type), tape.end(type), 'ref/prompt')) return name;
  isUri = isString(bytes, tape.start(type), tape.end(type), 'ref/resource');
  return isUri ? uri : ABSENT;
}
