// What is read of a backend's own request, its withdrawal and its progress, and of a client's answer.
import t from 'tap';
import {
  readCreatedTask,
  readProgressKey,
  readRequestDetail,
  readRequestId,
  type RequestDetail,
} from '../../src/mcp/backend-request.js';
import { idKey } from '../../src/bytes/index.js';
import { limits } from '../../src/shared/limits.js';

const BEFORE = '{"params":';

/** The message with these params, and where they are. */
function messageOf(params: string): [Buffer, { paramsStart: number; paramsEnd: number }] {
  const bytes = Buffer.from(`${BEFORE}${params}}`);
  return [bytes, { paramsStart: BEFORE.length, paramsEnd: bytes.length - 1 }];
}

const ABSENT = { paramsStart: -1, paramsEnd: -1 };
const NONE: RequestDetail = { progressKey: undefined, mode: '', asksForTask: false, taskId: undefined };

function keyOf(id: string): string {
  return idKey(Buffer.from(id), 0, id.length);
}

t.test('progress token, mode, task and task id of a request are found in their places', async (t) => {
  for (const [params, detail] of [
    ['{}', {}],
    ['{"_meta":{"progressToken":7}}', { progressKey: keyOf('7') }],
    ['{"_meta":{"progressToken":"a\\u0062"}}', { progressKey: keyOf('"ab"') }],
    ['{"_meta":{"progressToken":true}}', {}],
    ['{"progressToken":7,"_meta":7}', {}],
    ['{"mode":"url","task":{}}', { mode: 'url', asksForTask: true }],
    ['{"mode":7000,"task":null}', { asksForTask: true }],
    ['{"taskId":"t\\n1"}', { taskId: 't\n1' }],
    ['{"taskId":7}', {}],
    ['[]', {}],
  ] as const)
    t.same(readRequestDetail(...messageOf(params)), { ...NONE, ...detail }, params);
  t.same(readRequestDetail(Buffer.from('{}'), ABSENT), NONE, 'without params');
});

t.test('what is too long counts as absent, but a request too large to be read may ask for a task', async (t) => {
  const id = `"${'i'.repeat(limits.backendRequestIdBytesMax - 2)}"`;
  const token = (text: string): unknown =>
    readRequestDetail(...messageOf(`{"_meta":{"progressToken":${text}}}`)).progressKey;
  t.equal(token(id), keyOf(id));
  t.equal(token(`"i${id.slice(1)}`), undefined);
  const task = 't'.repeat(limits.toolNameBytesMax);
  const taskId = (text: string): unknown => readRequestDetail(...messageOf(`{"taskId":"${text}"}`)).taskId;
  t.equal(taskId(task), task);
  t.equal(taskId(`${task}t`), undefined);
  t.equal(readRequestDetail(...messageOf(`{"mode":"${'m'.repeat(1_000)}"}`)).mode, '');
  const padding = 'x'.repeat(limits.readAtOnceBytesMax);
  t.same(readRequestDetail(...messageOf(`{"mode":"url","x":"${padding}"}`)), { ...NONE, asksForTask: true });
});

t.test('a withdrawal names the request by a short id, as it was written', async (t) => {
  const read = (params: string): string | undefined => {
    const [bytes, message] = messageOf(params);
    const span = readRequestId(bytes, message);
    return span && bytes.toString('utf8', span.start, span.end);
  };
  t.equal(read('{"reason":"x","requestId":"a\\u0062"}'), '"a\\u0062"');
  t.equal(read('{"requestId":-1.0}'), '-1.0');
  const long = `"${'i'.repeat(limits.backendRequestIdBytesMax)}"`;
  for (const params of [
    '{}',
    '{"requestId":null}',
    '{"requestId":{}}',
    `{"requestId":${long}}`,
    '{"requestId":1,"requestId":2}',
  ])
    t.equal(read(params), undefined, params.slice(0, 60));
  t.equal(readRequestId(Buffer.from('{}'), ABSENT), undefined);
});

t.test('progress names its token, which may be any id', async (t) => {
  t.equal(readProgressKey(...messageOf('{"progress":1,"progressToken":"p"}')), keyOf('"p"'));
  t.equal(readProgressKey(...messageOf('{"progressToken":7}')), keyOf('7'));
  t.not(keyOf('7'), keyOf('"7"'));
  for (const params of ['{"progress":1}', '{"progressToken":false}', '{"_meta":{"progressToken":1}}'])
    t.equal(readProgressKey(...messageOf(params)), undefined, params);
  t.equal(readProgressKey(Buffer.from('{}'), ABSENT), undefined);
});

t.test('the task that a request has become is named in the result of its answer', async (t) => {
  const read = (answer: string): string | undefined => readCreatedTask(Buffer.from(answer));
  t.equal(read('{"id":1,"result":{"task":{"taskId":"t1","status":"working"}}}'), 't1');
  for (const answer of [
    '{"result":{"taskId":"t1"}}',
    '{"task":{"taskId":"t1"}}',
    '{"result":{"task":{"taskId":7}}}',
    '{"result":{"task":[]}}',
    '{"error":{}}',
    '[]',
    `{"x":"${'x'.repeat(limits.readAtOnceBytesMax)}","result":{"task":{"taskId":"t1"}}}`,
  ])
    t.equal(read(answer), undefined, answer.slice(0, 60));
});
