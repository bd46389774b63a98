// Slips in tasks: who owns them, the id that each side knows them by, and the corresponding edits of messages.
import { mutantsOf, type Mutant } from '../mutant.js';

export const taskMutants: readonly Mutant[] = [
  ...mutantsOf(
    'src/relay/message/task-ids.ts',
    ['relay/message/task-ids'],
    [
      {
        slip: 'ids are rewritten at places where they are not the backend’s',
        text: 'if ((places & place) === 0) continue;',
        becomes: '',
      },
      {
        slip: 'the client’s own task gets the backend’s name',
        text: 'if (place === taskPlace.related && form.isClients(taskId)) continue;',
        becomes: '',
      },
      {
        slip: 'a backend’s task that is like one of the client’s keeps its bare id',
        text: 'place === taskPlace.related && form.isClients(taskId)',
        becomes: 'form.isClients(taskId)',
      },
      {
        slip: 'a task that would be another backend’s is told',
        text: 'if (!form.isReachable(taskId)) return undefined;',
        becomes: '',
      },
      {
        slip: 'the name goes before the quote',
        text: 'edits.push({ start: start + 1, end: start + 1,',
        becomes: 'edits.push({ start, end: start,',
      },
      {
        slip: 'no message belongs to a task',
        text: '=== taskPlace.related) return true;',
        becomes: '=== 0) return true;',
      },
      {
        slip: 'the client’s own task loses what is like a name',
        text: ' || form?.isClients(id) === true) return undefined;',
        becomes: ') return undefined;',
      },
      {
        slip: 'a name is cut from the id of another',
        text: 'if (!id.startsWith(`${name}-`) ||',
        becomes: 'if (!id.startsWith(name) ||',
      },
      {
        slip: 'an escaped name is cut as if it were not',
        text: 'if (prefix.compare(body, start + 1, idStart) === 0)',
        becomes: 'if (prefix.length > 0)',
      },
      {
        slip: 'what stands behind an escaped name keeps its dash',
        text: 'id.slice(name.length + 1)',
        becomes: 'id.slice(name.length)',
      },
      {
        slip: 'a name is put in as it is, quotes and all',
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
        slip: 'a task is of every backend',
        text: 'return this.#tasks.get(taskId)?.upstream === upstream;',
        becomes: 'return this.#tasks.has(taskId);',
      },
      {
        slip: 'one that is given out again weighs twice',
        text: '    this.#forget(taskId);',
        after: 'tokenKey: string | undefined): void {',
        becomes: '',
      },
      {
        slip: 'one more than may be is kept',
        text: 'if (this.#tasks.size < limits.clientTasksMax) break;',
        becomes: 'if (this.#tasks.size <= limits.clientTasksMax) break;',
      },
      { slip: 'there is no bound for them', text: '      this.#forget(oldestId);', becomes: '      break;' },
      { slip: 'they are in no share', text: 'if (!this.#memory.hasRoomFor(bytes)) return;', becomes: '' },
      { slip: 'a token weighs nothing', text: '(taskId.length + (tokenKey?.length ?? 0))', becomes: '(taskId.length)' },
      { slip: 'what is forgotten still weighs', text: '    this.#memory.drop(task.bytes);', becomes: '' },
      {
        slip: 'a token that two tasks share is of the first',
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
        slip: 'edits are made in the order in which they come',
        text: 'before !== undefined && before.start > added.start;',
        becomes: 'false;',
      },
      {
        slip: 'of edits at one place the later comes first',
        text: 'before.start > added.start;',
        becomes: 'before.start >= added.start;',
      },
      { slip: 'what goes stays', text: '    at = end;', becomes: '    at = start;' },
      { slip: 'what stands behind the last edit is lost', text: 'parts.push(bytes.subarray(at));', becomes: '' },
      {
        slip: 'bytes are copied',
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
        slip: 'a key in escapes is not looked for',
        text: 'return bytes.includes(BACKSLASH) && ESCAPED_LETTERS',
        becomes: 'return bytes.length === 0 && ESCAPED_LETTERS',
      },
      {
        slip: 'what is no text is taken for an id',
        text: 'if (tape.kind(node) === jsonKind.string) spans',
        becomes: 'spans',
      },
      {
        slip: 'a result’s own task is one that a call has become',
        text: "{ place: taskPlace.own, path: ['result', 'taskId'] },",
        becomes: "{ place: taskPlace.created, path: ['result', 'taskId'] },",
      },
      {
        slip: 'tasks that notifications belong to are not found',
        text: "{ place: taskPlace.related, path: ['params', '_meta', RELATED_TASK, 'taskId'] },",
        becomes: '',
      },
    ],
  ),
];
