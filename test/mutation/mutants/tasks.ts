// Slips in tasks: who owns them, the id that each side knows them by, and the corresponding edits of messages.
import { mutantsOf, type Mutant } from '../mutant.js';

export const taskMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/relay/message/task-ids.ts',
    ['relay/message/task-ids'],
    [
      {
        slip: 'task ids are rewritten at places where they are not the backend’s',
        text: 'if ((places & place) === 0) continue;',
        becomes: '',
      },
      {
        slip: 'the client’s own task id gets the prefix of the backend',
        text: 'if (place === taskPlace.related && form.isClients(taskId)) continue;',
        becomes: '',
      },
      {
        slip: 'a backend’s own task id stays bare if a task of the client has the same id',
        text: 'place === taskPlace.related && form.isClients(taskId)',
        becomes: 'form.isClients(taskId)',
      },
      {
        slip: 'a task id that would be routed to another backend is passed on',
        text: 'if (!form.isReachable(taskId)) return undefined;',
        becomes: '',
      },
      {
        slip: 'the prefix is inserted before the opening quote',
        text: 'edits.push({ start: start + 1, end: start + 1,',
        becomes: 'edits.push({ start, end: start,',
      },
      {
        slip: 'no message counts as belonging to a task',
        text: '=== taskPlace.related) return true;',
        becomes: '=== 0) return true;',
      },
      {
        slip: 'the client’s own task id loses a beginning that is like the prefix',
        text: ' || form?.isClients(id) === true) return undefined;',
        becomes: ') return undefined;',
      },
      {
        slip: 'the backend’s name is cut from an id in which no dash follows it',
        text: 'if (!id.startsWith(`${name}-`) ||',
        becomes: 'if (!id.startsWith(name) ||',
      },
      {
        slip: 'a prefix written with escapes is cut as if it had none',
        text: 'if (prefix.compare(body, start + 1, idStart) === 0)',
        becomes: 'if (prefix.length > 0)',
      },
      {
        slip: 'the dash of a prefix written with escapes is not cut',
        text: 'id.slice(name.length + 1)',
        becomes: 'id.slice(name.length)',
      },
      {
        slip: 'a backend’s name is put into JSON without escaping',
        text: 'JSON.stringify(`${backendName}-`).slice(1, -1)',
        becomes: '`${backendName}-`',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/asking/client-tasks.ts',
    ['relay/asking/client-tasks'],
    [
      {
        slip: 'a client’s task counts as every backend’s',
        text: 'return this.#tasks.get(taskId)?.upstream === upstream;',
        becomes: 'return this.#tasks.has(taskId);',
      },
      {
        slip: 'a task that is noted again counts twice in memory',
        text: '    this.#forget(taskId);',
        after: 'tokenKey: string | undefined): void {',
        becomes: '',
      },
      {
        slip: 'one task more than the limit is kept',
        text: 'if (this.#tasks.size < limits.clientTasksMax) break;',
        becomes: 'if (this.#tasks.size <= limits.clientTasksMax) break;',
      },
      { slip: 'the number of kept tasks has no bound', text: '      this.#forget(oldestId);', becomes: '      break;' },
      {
        slip: 'a task is kept although its share has no room',
        text: 'if (!this.#memory.hasRoomFor(bytes)) return;',
        becomes: '',
      },
      {
        slip: 'the bytes of a progress token do not count in memory',
        text: '(taskId.length + (tokenKey?.length ?? 0))',
        becomes: '(taskId.length)',
      },
      { slip: 'a forgotten task still counts in memory', text: '    this.#memory.drop(task.bytes);', becomes: '' },
      {
        slip: 'a progress token that two tasks share counts as that of the first',
        text: 'return others.length === 0 ? task?.upstream : undefined;',
        becomes: 'return others.length >= 0 ? task?.upstream : undefined;',
      },
    ],
  ),
  ...mutantsOf(
    'src/relay/message/edits.ts',
    ['relay/message/edits'],
    [
      {
        slip: 'edits are applied in the order in which they are given',
        text: 'before !== undefined && before.start > added.start;',
        becomes: 'false;',
      },
      {
        slip: 'of two edits at one place the later is applied first',
        text: 'before.start > added.start;',
        becomes: 'before.start >= added.start;',
      },
      { slip: 'the bytes that an edit replaces stay', text: '    at = end;', becomes: '    at = start;' },
      { slip: 'the bytes behind the last edit are lost', text: 'parts.push(bytes.subarray(at));', becomes: '' },
      {
        slip: 'bytes that no edit changes are copied',
        text: 'parts.push(bytes.subarray(at, start), putIn);',
        becomes: 'parts.push(Buffer.from(bytes.subarray(at, start)), putIn);',
      },
    ],
  ),
  ...mutantsOf(
    'src/protocol/task-places.ts',
    ['relay/message/task-ids'],
    [
      {
        slip: 'a `taskId` key that is written with escapes is not found',
        text: 'return bytes.includes(BACKSLASH) && ESCAPED_LETTERS',
        becomes: 'return bytes.length === 0 && ESCAPED_LETTERS',
      },
      {
        slip: 'a value that is not a string is taken for a task id',
        text: 'if (tape.kind(node) === jsonKind.string) spans',
        becomes: 'spans',
      },
      {
        slip: 'the id of a task in its own result counts as that of a created task',
        text: "{ place: taskPlace.own, path: ['result', 'taskId'] },",
        becomes: "{ place: taskPlace.created, path: ['result', 'taskId'] },",
      },
      {
        slip: 'the task that a notification belongs to is not found',
        text: "{ place: taskPlace.related, path: ['params', '_meta', RELATED_TASK, 'taskId'] },",
        becomes: '',
      },
    ],
  ),
];
