// Which backend each of the client's tasks belongs to: a backend cannot look at what the client does for another, and a client
// that invents ids without end takes no more than its share.
import t from 'tap';
import { ClientTasks, CLIENT_TASKS_MAX, CLIENT_TASK_BYTES_EACH } from '../../../src/streams/asking/client-tasks.js';
import type { UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import { BoundedShare } from '../../support/bounded-share.js';

/** Stand-ins that are compared by identity; nothing is called on them. */
const [one, two] = [{}, {}] as [UpstreamSession, UpstreamSession];

t.test('a task belongs to the backend that it was created for, and to no other', (t) => {
  const tasks = new ClientTasks(new BoundedShare(Infinity));
  tasks.add('a', one, undefined);
  t.equal(tasks.ownerOf('a'), one);
  t.equal(tasks.ownerOf('b'), undefined);
  t.end();
});

t.test('an id that the client reuses belongs to the later backend, and counts once', (t) => {
  const share = new BoundedShare(Infinity);
  const tasks = new ClientTasks(share);
  tasks.add('a', one, undefined);
  const { heldBytes } = share;
  t.equal(heldBytes, CLIENT_TASK_BYTES_EACH + 2);
  tasks.add('a', two, undefined);
  t.equal(tasks.ownerOf('a'), two);
  t.equal(share.heldBytes, heldBytes);
  t.end();
});

t.test('when there are too many tasks, the oldest is forgotten', (t) => {
  const share = new BoundedShare(Infinity);
  const tasks = new ClientTasks(share);
  for (let number = 0; number < CLIENT_TASKS_MAX; number += 1) tasks.add(`t${1_000 + number}`, one, undefined);
  const { heldBytes } = share;
  t.equal(tasks.ownerOf('t1000'), one, 'as many as may be');
  tasks.add('t9999', one, undefined);
  t.equal(tasks.ownerOf('t1000'), undefined);
  t.same([tasks.ownerOf('t1001'), tasks.ownerOf('t9999')], [one, one]);
  t.equal(share.heldBytes, heldBytes);
  t.end();
});

t.test('a task without room is not kept', (t) => {
  const share = new BoundedShare(1_000);
  const tasks = new ClientTasks(share);
  tasks.add('x'.repeat(500), one, undefined);
  t.equal(tasks.ownerOf('x'.repeat(500)), undefined);
  tasks.add('x', one, 'y'.repeat(500));
  t.equal(tasks.ownerOf('x'), undefined, 'its token weighs too');
  t.equal(share.heldBytes, 0);
  t.end();
});

t.test('a progress token belongs to the one task that has it', (t) => {
  const tasks = new ClientTasks(new BoundedShare(Infinity));
  tasks.add('a', one, '7');
  tasks.add('b', two, '8');
  t.equal(tasks.ownerOfProgress('7'), one);
  t.equal(tasks.ownerOfProgress('9'), undefined);
  tasks.add('c', two, '7');
  t.equal(tasks.ownerOfProgress('7'), undefined, 'two tasks share it');
  t.end();
});
