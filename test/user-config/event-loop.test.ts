// How long the event loop is held by the largest configs.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { UserConfigRead } from '../../src/user-config/compiled-config.js';
import { dearestTurnMs, slownessNow } from '../support/turn-cost.js';
import { configsOf } from './scripted-store.js';

const TRIES_MAX = 3;
const url = 'https://b.example/mcp';

t.test('a config of the maximum size does not block the event loop', async (t) => {
  const fill = (member: (index: number) => string): string => {
    const list: string[] = [];
    for (let chars = 0; chars < limits.userConfigBytesMax - 200; chars += list.at(-1)!.length + 1) {
      list.push(member(list.length));
    }
    return list.slice(0, -1).join();
  };
  const kinds = {
    'virtual hosts': `{"virtual_hosts":{${fill((index) => `"h${index}":{"backends":{"b":{"url":"${url}"}}}`)}}}`,
    backends: `{"virtual_hosts":{"vh":{"backends":{${fill((index) => `"b${index}":{"url":"${url}"}`)}}}}}`,
    tools: `{"virtual_hosts":{"vh":{"backends":{"b":{"url":"${url}","allowed_tool_names":[${fill((index) => `"t${index}"`)}]}}}}}`,
  };
  for (const [what, text] of Object.entries(kinds)) {
    // The cost of a config itself recurs at each try; delays by other processes do not.
    for (let tries = 1; ; tries += 1) {
      const { store, configs } = configsOf(t);
      store.answer = { kind: 'found', value: Buffer.from(text) };
      let read: UserConfigRead | undefined;
      const dearestMs = await dearestTurnMs(
        () => void Promise.resolve(configs.read('alice')).then((settled) => (read = settled)),
        () => read !== undefined,
      );
      t.match(read, { kind: 'found' }, what);
      const boundMs = dearestMs < 50 ? 50 : 50 * slownessNow();
      if (dearestMs >= boundMs && tries < TRIES_MAX) continue;
      const words = `${what}: the dearest turn cost ${Math.round(dearestMs)} ms of ${Math.round(boundMs)} at most`;
      t.ok(dearestMs < boundMs, words);
      break;
    }
  }
});
