// Whether a result of MCP 2026-07-28 is complete, asks for input, or is of a type that nobody knows.
import t from 'tap';
import { readResultType } from '../../src/mcp/result-type.js';
import { limits } from '../../src/shared/limits.js';
import { until } from '../support/until.js';

async function read(result: string): Promise<string> {
  let told = '';
  readResultType('ada', Buffer.from(result), (type) => void (told = type));
  await until(() => told !== '', 'the reading');
  return told;
}

const many = '{"resultType":"complete"},'.repeat(100);
const padding = `"x":"${'x'.repeat(2 * limits.readAtOnceBytesMax)}"`;

t.test('the type of a result is a member of the result itself, however it is written', async (t) => {
  for (const [result, type] of [
    ['{}', 'complete'],
    ['{"content":[]}', 'complete'],
    ['{"resultType":"complete"}', 'complete'],
    ['{"resultType": "complete"}', 'complete'],
    ['{"resultType"  :\n"complete"}', 'complete'],
    ['{"resultType":"c\\u006fmplete"}', 'complete'],
    ['{"resultType":"input_required"}', 'input_required'],
    ['{"x":{"resultType":"complete"},"resultType":"input_required"}', 'input_required'],
    ['{"x":{"resultType":"input_required"}}', 'complete'],
    ['{"content":[{"text":"\\"resultType\\":\\"input_required\\""}]}', 'complete'],
    ['{"resultType":"completed"}', 'other'],
    ['{"resultType":"task"}', 'other'],
    ['{"resultType":7}', 'other'],
    ['{"resultType":null}', 'other'],
    ['{"resultType":"input_required","resultType":"complete"}', 'other'],
    ['["resultType"]', 'other'],
    [`{"x":[${many}0],"resultType":"input_required"}`, 'input_required'],
    [`{"x":[${many}0],"resultType":"complete"}`, 'complete'],
    [`{${padding},"resultType":"input_required"}`, 'input_required'],
    [`{${padding},"y":{"resultType":"task"}}`, 'complete'],
    [`{${padding},"resultType":"task"}`, 'other'],
  ] as const)
    t.equal(await read(result), type, result.length < 100 ? result : `${result.slice(0, 20)}…${result.slice(-40)}`);
});
