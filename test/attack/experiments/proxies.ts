// A proxy in front that gives up on a silent response, as nginx does after 60 s by default, and sooner in many setups: with the
// gateway's defaults, responses that take longer still arrive.
import { setTimeout as sleep } from 'node:timers/promises';
import { EventReader } from '../../support/event-reader.js';
import { McpCaller, rpc } from '../../support/mcp-caller.js';
import { startNginxBefore } from '../../support/nginx.js';
import type { EventStreamBody } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';
import { expect, type Experiment } from '../experiment.js';

const READ_TIMEOUT_MS = 20_000;
const SILENCE_MS = 32_000;
const MESSAGE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}';

export const slowAnswers: Experiment = {
  name: 'proxied-slow-answers',
  control: { options: ['--slow-answer', '10m'], noticedBy: 'experiment' },
  isLong: true,
  workersMin: 2,
  expected: `a call and a GET stream through nginx that are silent for ${SILENCE_MS / 1_000} s: both arrive, though it waits ${READ_TIMEOUT_MS / 1_000} s`,
  async run(stage) {
    const streams: EventStreamBody[] = [];
    const backend = await stage.backend({
      capabilities: { tools: {}, logging: {} },
      onCall: () => sleep(SILENCE_MS, undefined),
      onRequest: (request) => {
        if (request.method !== 'GET') return false;
        streams.push(request.eventStream());
        return true;
      },
    });
    const direct = await stage.caller({ one: { url: backend.url } });
    const proxy = await startNginxBefore(stage.scope, stage.origin, READ_TIMEOUT_MS);
    const session = await new McpCaller(proxy, direct.path, direct.token).openSession();
    const reader = await EventReader.open(session.caller, {
      ...{ method: 'GET', session: session.id, accept: 'text/event-stream' },
    });
    await until(() => streams.length === 1, "the backend's stream");
    // On connections of their own, so that most of them hop.
    const calls = Array.from({ length: 8 }, (_, id) => session.call('one-echo', '{"n":1.0}', { id: String(id) }));
    const answers = await Promise.all(calls);
    await streams[0]!.event(MESSAGE);
    const heard = await reader.next();
    reader.close();
    const whole = answers.filter((answer, id) => {
      const { id: answered, result } = answer.status === 200 ? rpc(answer) : {};
      return answered === id && JSON.stringify(result).includes('{"n":1}');
    });
    const seen = `${whole.length} of ${calls.length} calls, GET ${heard === MESSAGE ? 'heard' : `broke: ${heard}`}`;
    expect(whole.length === calls.length && heard === MESSAGE, seen);
    return seen;
  },
};
