// The places of task ids in a backend's message. Few backends have tasks, and only their messages are searched.
import { Places } from './uri-places.js';

/** The member of `_meta` that says which task a message belongs to. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Places of a task id: the task that a call has become, the task that a message is about, the task that a message belongs to. */
export const taskPlace = { created: 1, own: 2, related: 4 } as const;

function idAt(place: number) {
  return ['taskId', { place }] as const;
}

const ABOUT = [
  idAt(taskPlace.own),
  ['_meta', { members: [[RELATED_TASK, { members: [idAt(taskPlace.related)] }]] }],
] as const;

export const taskIds = new Places('"taskId"', ['\\u006', '\\u007', '\\u0049'], {
  members: [
    ['result', { members: [...ABOUT, ['task', { members: [idAt(taskPlace.created)] }]] }],
    ['params', { members: ABOUT }],
  ],
});
